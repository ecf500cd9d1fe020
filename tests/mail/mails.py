"""Mails made for one test, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from heartbeat.sources.mail.judge import Rules, Verdict, judge
from heartbeat.sources.mail.message import Message
from heartbeat.sources.mail.patterns import Patterns
from heartbeat.sources.mail.raw import read_message
from heartbeat.sources.mail.vips import read_vips

NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
RAE = "Rae Boss <rae.boss@partner.example.org>"
ADDRESS = "rae.boss@partner.example.org"
EVE = "eve@attacker.example.com"
MINE = "mx.example.com"
RECEIVED = b"from out.example.org by mx.example.com id 4ab; Wed, 10 Jun 2026 07:55:02 +0000"


def mail(sender: str | bytes, /, **fields: str | bytes | list[str]) -> Message:
    """A mail with this From; `reply_to` is the field Reply-To, a list is a field that stands there several times."""
    lines = [("received", RECEIVED), ("from", _bytes(sender))]
    for name, value in fields.items():
        values = value if isinstance(value, list) else [value]
        lines += [(name.replace("_", "-"), _bytes(one)) for one in values]
    return read_message(b"".join(name.encode() + b": " + value + b"\r\n" for name, value in lines) + b"\r\n")


def rules(
    vips: Sequence[str] = (RAE,), patterns: Sequence[str] = (), authserv_id: str = "", *, with_bulk: bool = False
) -> Rules:
    read, faults = read_vips(list(vips))
    assert faults == []
    return Rules(read, Patterns(list(patterns)), authserv_id, with_bulk, timedelta(hours=48))


def verdict(message: Message, wanted: Rules | None = None) -> Verdict | None:
    return judge(message, wanted or rules(), NOW)


def kind(message: Message, wanted: Rules | None = None) -> str:
    """What it is: `vip`, `pattern`, `spoof` or `none`."""
    found = verdict(message, wanted)
    return found.kind.split("-")[0] if found else "none"


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
