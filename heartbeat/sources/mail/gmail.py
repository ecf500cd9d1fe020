"""Unread mails of Gmail, by Google's command line tool `gws`: one call lists them, one call a mail gives its header.

Its own summary (`+triage`) is not used: it leaves out mails that it cannot read, and the fields that tell a forged one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any

from heartbeat.sources import SourceFailed
from heartbeat.sources.commands import run
from heartbeat.sources.entries import Entry
from heartbeat.sources.mail.ask import Ask, file_of, text_of
from heartbeat.sources.mail.headers_cache import HeadersCache
from heartbeat.sources.mail.message import WANTED, Message, Unread
from heartbeat.sources.text import clean_title

MOST = 2_000
"""Mails that are looked at, the newest."""
MOST_NEW = 200
"""Of them asked for in one run, the newest; the rest follows, for what was asked for is kept."""
LONGEST = 64 << 10
"""Bytes of a header that are kept."""
_PAGE = 500
_SIDE_BY_SIDE = 4
_MARGIN = timedelta(days=1)
_GONE = 404
_REMEDIES = {
    1: "see whether the Gmail API is enabled and the account may read mail",
    2: "log in with gws auth login",
    3: "mend query, or what stands for gmail",
    4: "see whether the network is up",
}


class _Refused(SourceFailed):
    """gws said why not; *code* is that of the service, 0 where there is none."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def read(entry: Entry, ask: Ask) -> Unread:
    """The unread mails of an account; `gmail` is the user in the words of the service, `me` for who is logged in."""
    gws = _Gws(entry, ask)
    cache = HeadersCache(ask.cache, (gws.config, gws.user))
    numbers, fault = gws.unread(text_of(entry, "query", "in:inbox"))
    known = cache.load()
    held = {number: known[number] for number in numbers if number in known}
    new = [number for number in numbers if number not in held]
    faults = [fault] if fault else []
    if len(new) > MOST_NEW:
        faults.append(f"{len(new) - MOST_NEW} older unread mails are looked at next time; too many are new at once")
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        for number, got in pool.map(gws.header, new[:MOST_NEW]):
            if isinstance(got, Message):
                held[number] = got
            elif got:
                faults.append(got)
    if held != known:
        cache.store(held)
    messages = tuple(held[number] for number in numbers if number in held)
    missed = len(faults) - 1
    return Unread(messages, f"{faults[0]} (and {missed} more)" if missed > 0 else "".join(faults))


class _Gws:
    """The tool with its settings. Nothing that it is told is a secret: it keeps those itself."""

    def __init__(self, entry: Entry, ask: Ask) -> None:
        self.config = file_of(entry, "config")
        self.user = entry.place
        self._ask = ask
        program = text_of(entry, "program", "gws")
        # Looked for here: env would only say that something is missing.
        if shutil.which(program) is None:
            where = os.environ.get("PATH", os.defpath)
            raise SourceFailed(
                f"cannot start {program}: no such program in PATH {where!r}; install it, or name program"
            )
        self._begin = ["env", f"GOOGLE_WORKSPACE_CLI_CONFIG_DIR={self.config}", program] if self.config else [program]

    def unread(self, query: str) -> tuple[list[str], str]:
        """The numbers of the unread mails, newest first, and what is wrong with the list."""
        since = int((self._ask.since - _MARGIN).timestamp())
        wanted = {
            "q": f"is:unread after:{since}" + (f" ({query})" if query else ""),
            "maxResults": _PAGE,
            "fields": "messages/id,nextPageToken",
        }
        pages = self._call("list", wanted, "--page-all", "--page-limit", str(MOST // _PAGE))
        listed = [mail for page in pages for mail in page.get("messages") or ()]
        numbers = list(dict.fromkeys(str(mail["id"]) for mail in listed if isinstance(mail, dict) and "id" in mail))
        if len(numbers) <= MOST and not pages[-1].get("nextPageToken"):
            return numbers, ""
        return numbers[:MOST], f"cannot look at more than the newest {MOST} unread mails; narrow query"

    def header(self, number: str) -> tuple[str, Message | str]:
        """The mail of a number; else why it cannot be had, empty where it is not there any more."""
        # Without the list of fields there would be a snippet of the body in the answer.
        fields = "internalDate,payload/headers"
        wanted = {
            "id": number,
            "format": "metadata",
            "metadataHeaders": [name.title() for name in WANTED],
            "fields": fields,
        }
        try:
            return number, _message(self._call("get", wanted)[0])
        except _Refused as refused:
            return number, "" if refused.code == _GONE else str(refused)
        except SourceFailed as failed:
            return number, str(failed)
        except TimeoutError:
            return number, "cannot read all mails in time; the rest follows next time"

    def _call(self, verb: str, given: Mapping[str, Any], *more: str) -> list[Mapping[str, Any]]:
        """The JSON documents that a call gives, at least one."""
        params = json.dumps({"userId": self.user, **given})
        argv = [*self._begin, "gmail", "users", "messages", verb, "--params", params, *more]
        output = run(argv, self._ask.left)
        documents = list(_documents(output.stdout.decode("utf-8", "replace")))
        if output.status or any("error" in document for document in documents):
            raise _refusal(output.status, documents)
        if not documents:
            # Silence is not "no mail": that has a document, too.
            raise SourceFailed("cannot use gws: it ended well and said nothing; update it, and try it by hand")
        return documents


def _documents(text: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects in an output, whatever lines of chatter stand between them."""
    decoder = json.JSONDecoder()
    place = text.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            raise SourceFailed("cannot use gws: its answer is no JSON; update it, and try it by hand") from None
        yield value
        place = text.find("{", end)


def _refusal(status: int, documents: list[Mapping[str, Any]]) -> _Refused:
    told: Mapping[str, Any] = next(
        (document["error"] for document in documents if isinstance(document.get("error"), dict)), {}
    )
    code = told.get("code") if isinstance(told.get("code"), int) else 0
    words = clean_title(" ".join(str(told[key]) for key in ("code", "reason") if key in told), 80)
    remedy = _REMEDIES.get(status, "try it by hand")
    return _Refused(f"cannot use gws: it ended with {status}{f' ({words})' if words else ''}; {remedy}", code or 0)


def _message(mail: Mapping[str, Any]) -> Message:
    try:
        arrived_at = datetime.fromtimestamp(int(mail["internalDate"]) / 1000, UTC)
        headers = [(str(field["name"]).lower(), str(field["value"])) for field in mail["payload"]["headers"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        raise SourceFailed("cannot use gws: a mail of its has no header; update it, and try it by hand") from None
    fields = [(name, _unfolded(value)) for name, value in headers if name in WANTED]
    sizes = accumulate(len(value) for _, value in fields)
    return Message(tuple(field for field, size in zip(fields, sizes, strict=True) if size <= LONGEST), arrived_at)


def _unfolded(value: str) -> bytes:
    return value.replace("\r", "").replace("\n", "").encode("utf-8", "surrogatepass").strip(b" \t")
