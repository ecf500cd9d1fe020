"""A calendar at an address, which is a secret: `{ url = "https://…" }` or `{ url = { env = "NAME" } }`."""

from __future__ import annotations

import json
import re
from hashlib import sha256

from heartbeat.sources import SourceFailed
from heartbeat.sources.calendars.asking import Asking, Content, Ics, Unchanged
from heartbeat.sources.entries import Entry, path_of, secret

KIND = "url"
SETTINGS = ("user", "password", "ca_file")
IS_PATH = False
SECONDS = 20.0
_VALIDATORS = {"etag": "etag", "last_modified": "last-modified"}
_LONGEST_VALIDATOR = 1000
_STAMPS = rb"(?i)(?<=\n)DTSTAMP[:;][^\n]*\n"


def read(entry: Entry, ask: Asking) -> Content:
    """What the server answers, unless it or the answer says that it is what was read before."""
    from heartbeat.sources.fetch import Fetcher, Request  # imported here: httpx costs more than all the rest

    known: dict[str, str] = json.loads(ask.known) if ask.known else {}
    user, password = (secret(entry.settings.get(name, "")) for name in ("user", "password"))
    request = Request(
        entry.place,
        credentials=(user, password) if user or password else None,
        etag=known.get("etag", ""),
        last_modified=known.get("last_modified", ""),
    )
    ca_file = secret(entry.settings.get("ca_file", ""))
    with Fetcher(ask.now, path_of(ca_file) if ca_file else "") as fetcher:
        answer = fetcher.fetch(request, min(ask.left, SECONDS))
    if answer.unchanged and not (request.etag or request.last_modified):
        raise SourceFailed("cannot use the answer: it says unchanged to a first question; its server is in trouble")
    if answer.unchanged:
        return Unchanged()
    from heartbeat.sources.ics import holds_calendar  # imported here: most answers are 304, unchanged

    if not holds_calendar(answer.body):
        raise SourceFailed(_not_a_calendar(answer.body))
    fingerprint = {"digest": _digest(answer.body)}
    if answer.body.rstrip().upper().endswith(b"END:VCALENDAR"):
        # Never those of an answer that was cut: its server would say for ever that nothing has changed.
        fingerprint |= {name: _validator(answer.headers.get(field, "")) for name, field in _VALIDATORS.items()}
    told = json.dumps(fingerprint)
    return Unchanged(told) if known.get("digest") == fingerprint["digest"] else Ics((answer.body,), told)


def _validator(text: str) -> str:
    """A validator that can be sent back as it came."""
    return text if text.isascii() and text.isprintable() and len(text) <= _LONGEST_VALIDATOR else ""


def _digest(body: bytes) -> str:
    """The same for the same calendar: Google and Outlook stamp every event anew for every answer."""
    return sha256(re.sub(_STAMPS, b"", body)).hexdigest()


def _not_a_calendar(body: bytes) -> str:
    what = "a web page" if b"<" in body[:200] else "something else" if body.strip() else "nothing"
    return f"cannot use the answer: it is {what}, not a calendar; check the address, or whether it wants a login"
