"""Unread mails at a JMAP server (RFC 8620, RFC 8621): their header fields as they were written, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from heartbeat.sources import SourceFailed
from heartbeat.sources.answers import FetchFailed
from heartbeat.sources.entries import Entry
from heartbeat.sources.fetch import Fetcher, Request
from heartbeat.sources.mail.ask import Ask, file_of, folders_of, text_of
from heartbeat.sources.mail.message import WANTED, Message, Unread
from heartbeat.sources.text import clean_title

_CORE = "urn:ietf:params:jmap:core"
_MAIL = "urn:ietf:params:jmap:mail"
_PAGE = 200
_MOST = 16 << 20
_MOST_KEPT = 64 << 20
_TOO_LARGE = "the answer is over"
_LISTED = 20
_FORMS = {name: f"header:{name}:asRaw:all" for name in WANTED}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class _Server:
    """Where to ask, for whom, and how much at once."""

    fetcher: Fetcher
    ask: Ask
    headers: Mapping[str, str]
    credentials: tuple[str, str] | None
    address: str
    account: str = ""
    page: int = _PAGE

    def fetch(self, body: bytes = b"") -> Any:
        """The JSON answer to GET, or to POST where there is a body."""
        headers = {**self.headers, "Accept": "application/json"}
        if body:
            headers["Content-Type"] = "application/json"
        request = Request(
            self.address, "POST" if body else "GET", body, headers, self.credentials, max_bytes=_MOST, tries=1
        )
        answer = self.fetcher.fetch(request, self.ask.left)
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            raise SourceFailed(
                "cannot use the answer: it is no JSON; see whether the address is that of JMAP"
            ) from None

    def call(self, *calls: tuple[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The results of methods, in order; each may refer to those before it."""
        named = [(name, {"accountId": self.account, **given}, str(place)) for place, (name, given) in enumerate(calls)]
        answer = self.fetch(json.dumps({"using": [_CORE, _MAIL], "methodCalls": named}).encode())
        results: dict[str, Mapping[str, Any]] = {}
        for name, result, place in answer["methodResponses"]:
            if name == "error":
                kind = clean_title(str(result.get("type", "")), 60)
                raise SourceFailed(f"cannot read the mailbox: the server answers {kind or 'an error'}; try again later")
            results[str(place)] = result
        return [results[str(place)] for place in range(len(calls))]


def read(entry: Entry, ask: Ask) -> Unread:
    """The unread mails of an account; a folder that is not there costs only itself."""
    headers, credentials = _credentials(entry)
    messages: list[Message] = []
    faults: list[str] = []
    with Fetcher(ask.now, file_of(entry, "ca_file")) as fetcher:
        try:
            server = _enter(_Server(fetcher, ask, headers, credentials, _session_address(entry.place)))
            known = _mailboxes(server)
            for name in folders_of(entry):
                if (found := known.get(name.casefold())) is None:
                    has = ", ".join(clean_title(path, 60) for path in list(known)[:_LISTED])
                    faults.append(f"cannot find the folder {clean_title(name, 100)!r}; the account has {has or 'none'}")
                else:
                    messages.extend(_unread(server, found, faults))
        except SourceFailed as failed:
            faults.append(str(failed))
        except TimeoutError:
            faults.append("cannot read all mails in time; the newest were read; see whether the server is slow")
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            faults.append("cannot use the answer: it is not what JMAP says; see whether the address is right")
    return Unread(tuple(messages), "; ".join(faults))


def _credentials(entry: Entry) -> tuple[Mapping[str, str], tuple[str, str] | None]:
    user, password, token = (text_of(entry, key) for key in ("user", "password", "token"))
    if bool(token) == bool(user and password):
        raise SourceFailed("cannot log in: write either token, or user and password")
    if not token:
        return {}, (user, password)
    if not token.isascii() or not token.isprintable():
        raise SourceFailed("cannot use the token: it holds signs that no token has; write it anew")
    return {"Authorization": f"Bearer {token}"}, None


def _session_address(place: str) -> str:
    """Where the session is described: at the address itself, or where a bare host has it by the standard."""
    _protected(place)
    return place if urlsplit(place).path.strip("/") else urljoin(place, "/.well-known/jmap")


def _protected(address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise SourceFailed("cannot use the address: only https:// keeps the token secret; write https://host")


def _enter(server: _Server) -> _Server:
    """The server where mail is asked for, from its description of the session."""
    session = server.fetch()
    address = urljoin(server.address, _word(session["apiUrl"]))
    _protected(address)
    page = min(_PAGE, max(1, int(session["capabilities"][_CORE].get("maxObjectsInGet", _PAGE))))
    account = _word(session["primaryAccounts"][_MAIL])
    return _Server(server.fetcher, server.ask, server.headers, server.credentials, address, account, page)


def _word(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value


def _mailboxes(server: _Server) -> dict[str, str]:
    """The id of each folder, by its path and by its role, in small letters."""
    result = server.call(("Mailbox/get", {"ids": None, "properties": ["name", "parentId", "role"]}))[0]
    boxes = {str(box["id"]): box for box in result["list"]}
    known: dict[str, str] = {}
    for number, box in boxes.items():
        names, above = [str(box["name"])], box.get("parentId")
        while above in boxes and len(names) < _LISTED:
            names.insert(0, str(boxes[above]["name"]))
            above = boxes[above].get("parentId")
        known.setdefault("/".join(names).casefold(), number)
    return {**known, **{str(box["role"]).casefold(): number for number, box in boxes.items() if box.get("role")}}


def _unread(server: _Server, mailbox: str, faults: list[str]) -> Iterator[Message]:
    """The newest first; of answers that are too large, smaller ones are asked for."""
    since = server.ask.since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    query = {
        "filter": {"inMailbox": mailbox, "notKeyword": "$seen", "after": since},
        "sort": [{"property": "receivedAt", "isAscending": False}],
    }
    ids = {"resultOf": "0", "name": "Email/query", "path": "/ids"}
    wanted = {"#ids": ids, "properties": ["receivedAt", *_FORMS.values()]}
    position, page, kept = 0, server.page, 0
    while kept <= _MOST_KEPT:
        try:
            found, got = server.call(
                ("Email/query", {**query, "position": position, "limit": page}), ("Email/get", wanted)
            )
        except FetchFailed as failed:
            if _TOO_LARGE not in str(failed):
                raise
            if page == 1:
                faults.append("cannot read a mail: its header is too large; delete it")
                position += 1
            page = max(1, page // 4)
            continue
        mails = [_message(mail) for mail in got["list"]]
        yield from mails
        kept += sum(len(value) for mail in mails for _, value in mail.fields)
        position += len(found["ids"])
        # The server may give fewer than were asked for, and still have more.
        if not found["ids"] or len(found["ids"]) < min(page, int(found.get("limit", page))):
            return
        page = min(server.page, page * 2)
    faults.append("cannot read all mails: their headers are too large; the newest were read")


def _message(mail: Mapping[str, Any]) -> Message:
    fields = [(name, _value(text)) for name, form in _FORMS.items() for text in _texts(mail.get(form))]
    return Message(tuple(fields), _instant(mail.get("receivedAt")))


def _texts(values: Any) -> Sequence[str]:
    return [text for text in values if isinstance(text, str)] if isinstance(values, list) else []


def _value(text: str) -> bytes:
    return text.replace("\r\n", "").replace("\n", "").encode("utf-8", "surrogatepass").strip(b" \t")


def _instant(text: Any) -> datetime | None:
    try:
        instant = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return instant if instant.tzinfo else None
