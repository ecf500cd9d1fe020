"""When a mail arrived, by whoever can be believed most."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from heartbeat.sources.mail.message import Message

SKEW = timedelta(days=1)
"""How far ahead another clock may be."""
_OLDEST = 1990
"""A clock that shows an earlier year was never set."""
_LONGEST = 300
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONES = {"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7}
_DATE = re.compile(
    r"\b(?P<day>\d{1,2})[\s-]+(?P<month>[A-Za-z]{3})[a-z]*[\s,.-]+(?P<year>\d{4}|\d{2})[\s,]+"
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:\.\d{1,9})?"
    r"(?:\s*(?P<sign>[+-])(?P<off_hour>\d{2}):?(?P<off_minute>\d{2})|\s+(?P<zone>[A-Za-z]{1,5}))?"
)


def arrived(message: Message, now: datetime) -> datetime | None:
    """The server's word, else the topmost Received, else Date, else the file's time; None where nothing tells.

    A time in the future tells nothing either: no sender may hide a mail by its Date.
    """
    for instant in (message.arrived_at, *_dates(message), message.file_time):
        if instant is not None:
            return instant if instant <= now + SKEW else None
    return None


def read_date(field: bytes) -> datetime | None:
    """The instant of a Date, in UTC; without a zone it is taken for UTC."""
    found = _DATE.search(field[-_LONGEST:].decode("ascii", "replace"))
    if found is None or found["month"].lower() not in _MONTHS:
        return None
    year = int(found["year"])
    if len(found["year"]) == 2:  # noqa: PLR2004  # as RFC 5322 reads years of the last century
        year += 2000 if year < 50 else 1900  # noqa: PLR2004
    numbers = (int(found[name]) for name in ("day", "hour", "minute"))
    day, hour, minute = numbers
    second = min(int(found["second"] or 0), 59)  # a leap second
    try:
        local = datetime(
            year, _MONTHS.index(found["month"].lower()) + 1, day, hour, minute, second, tzinfo=_zone(found)
        )
        return local.astimezone(UTC) if year >= _OLDEST else None
    except (ValueError, OverflowError):
        return None


def _dates(message: Message) -> tuple[datetime | None, datetime | None]:
    received, date = next(message.all("received"), b""), next(message.all("date"), b"")
    return read_date(received.rpartition(b";")[2]), read_date(date)


def _zone(found: re.Match[str]) -> timezone:
    if not found["sign"]:
        return timezone(timedelta(hours=_ZONES.get((found["zone"] or "").lower(), 0)))
    offset = timedelta(hours=int(found["off_hour"]), minutes=int(found["off_minute"]))
    return timezone(-offset if found["sign"] == "-" else offset)
