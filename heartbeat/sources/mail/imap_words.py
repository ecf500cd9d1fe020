"""The words of IMAP: folder names, dates and FETCH answers, as bytes on the wire and as values here."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import takewhile

from heartbeat.sources import SourceFailed
from heartbeat.sources.mail.message import WANTED

LONGEST = 64 << 10
"""Bytes of a header that are asked for."""
ITEMS = f"(UID FLAGS INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER.FIELDS ({' '.join(WANTED).upper()})]<0.{LONGEST}>)"
"""PEEK: without it, reading marks as read."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MARGIN = timedelta(days=2)
_NUMBER = re.compile(rb"\d{1,10}")
_UID = re.compile(rb"\bUID (\d{1,10})\b", re.IGNORECASE)
_FLAGS = re.compile(rb"\bFLAGS \(([^)]*)\)", re.IGNORECASE)
_ARRIVAL = re.compile(
    rb'\bINTERNALDATE "([ 0-3]?\d)-([A-Za-z]{3})-(\d{4}) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)"', re.IGNORECASE
)
_NAME = re.compile(rb'^\([^)]*\) (?:"(?:[^"\\]|\\.)*"|NIL) "?(.+?)"?$', re.IGNORECASE)
_UNPRINTABLE = re.compile(r"[^ -~]+")
_SHIFTED = re.compile(r"&([^-]*)-")


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a server answered about one mail."""

    uid: int
    seen: bool
    arrived_at: datetime | None
    header: bytes


def criteria(since: datetime) -> tuple[str, ...]:
    """Unread and not older: SINCE counts whole days in the zone of the server, so two more are asked for."""
    day = (since - _MARGIN).astimezone(UTC)
    return "UNSEEN", "SINCE", f"{day.day:02}-{_MONTHS[day.month - 1]}-{day.year:04}"


def uids(data: Sequence[bytes | None]) -> list[int]:
    """The numbers of a SEARCH answer, newest first; some servers have words behind them, or instead of them."""
    numbers = (takewhile(_NUMBER.fullmatch, line.split()) for line in data if line)
    return sorted({int(number) for line in numbers for number in line}, reverse=True)


def fetched(data: Sequence[bytes | tuple[bytes, bytes] | None]) -> Iterator[Fetched]:
    """The mails of a FETCH answer; what else the server tells meanwhile, such as changed flags, is passed over."""
    for place, item in enumerate(data):
        if not isinstance(item, tuple):
            continue
        # Some servers give the other items behind the header.
        behind = data[place + 1] if place + 1 < len(data) else b""
        told = item[0] + b" " + (behind if isinstance(behind, bytes) else b"")
        if uid := _UID.search(told):
            flags = _FLAGS.search(told)
            seen = flags is not None and b"\\seen" in flags[1].lower().split()
            yield Fetched(int(uid[1]), seen, _arrival(told), item[1])


def _arrival(told: bytes) -> datetime | None:
    found = _ARRIVAL.search(told)
    if found is None:
        return None
    day, month, year, hour, minute, second, sign, hours, minutes = (part.decode("ascii") for part in found.groups())
    away = timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == "-" else 1)
    try:
        number = _MONTHS.index(month.capitalize()) + 1
        return datetime(int(year), number, int(day), int(hour), int(minute), int(second), tzinfo=timezone(away))
    except ValueError:
        return None


def quoted(text: str) -> str:
    """An argument in quotes. Raises SourceFailed where it cannot stand in them."""
    if not text.isascii() or not text.isprintable():
        raise SourceFailed("cannot use a name with these signs here; mend user, password or folders")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def encoded(folder: str) -> str:
    """A folder's name in the UTF-7 of IMAP (RFC 3501, section 5.1.3)."""

    def shift(found: re.Match[str]) -> str:
        packed = base64.b64encode(found[0].encode("utf-16-be", "surrogatepass"), b"+,").decode("ascii")
        return f"&{packed.rstrip('=')}-"

    return _UNPRINTABLE.sub(shift, folder.replace("&", "&-"))


def folder_name(line: bytes) -> str:
    """The name in one line of a LIST answer, decoded as far as possible; empty where there is none."""
    found = _NAME.match(line)
    if found is None:
        return ""

    def unshift(found: re.Match[str]) -> str:
        packed = found[1]
        try:
            return base64.b64decode(packed + "=" * (-len(packed) % 4), b"+,", validate=True).decode("utf-16-be") or "&"
        except ValueError:
            return found[0]

    return _SHIFTED.sub(unshift, found[1].decode("ascii", "replace"))
