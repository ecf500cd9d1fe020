"""When a mail arrived, by whoever can be believed most."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from itertools import chain, islice

from heartbeat.sources.mail.message import Message

SKEW = timedelta(days=1)
"""How far ahead another clock may be."""
_OLDEST = 1990
"""A clock that shows an earlier year was never set."""
_LONGEST = 300
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MOST_RECEIVED = 20
_MOST_PARTS = 5
_WEST = -12
"""Where a day ends last: an unknown zone is taken for it, for a mail may be told too long but not too short."""
_ZONES = {
    **dict.fromkeys(("", "z", "ut", "utc", "gmt", "wet"), 0), **dict.fromkeys(("bst", "cet", "met", "west"), 1),
    **dict.fromkeys(("cest", "mest", "eet", "sast"), 2), "eest": 3, "msk": 3, "hkt": 8, "jst": 9, "kst": 9, "aest": 10,
    "aedt": 11, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
}  # fmt: skip
_DATE = re.compile(
    r"\b(?P<day>\d{1,2})[\s-]+(?P<month>[A-Za-z]{3})[a-z]*[\s,.-]+(?P<year>\d{4}|\d{2})[\s,]+"
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:\.\d{1,9})?"
    r"(?:\s*(?:GMT|UTC)?(?P<sign>[+-])(?P<off_hour>\d{2}):?(?P<off_minute>\d{2})|\s+(?P<zone>[A-Za-z]{1,5}))?"
)


def arrived(message: Message, now: datetime) -> datetime | None:
    """The server's word, else the topmost Received with a date, else the file's time, else Date; None where nothing
    tells.

    Date comes last, for its sender could hide a mail by it. A time in the future tells nothing.
    """
    received = (_received(field) for field in islice(message.all("received"), _MOST_RECEIVED))
    date = (read_date(field) for field in islice(message.all("date"), 1))
    instants = chain((message.arrived_at,), received, (message.file_time,), date)
    return next((instant for instant in instants if instant is not None and instant <= now + SKEW), None)


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


def _received(field: bytes) -> datetime | None:
    """Its date stands behind the last semicolon, but for what some servers write behind it."""
    dates = (read_date(part) for part in reversed(field.rsplit(b";", _MOST_PARTS)))
    return next((date for date in dates if date is not None), None)


def _zone(found: re.Match[str]) -> timezone:
    if not found["sign"]:
        return timezone(timedelta(hours=_ZONES.get((found["zone"] or "").lower(), _WEST)))
    offset = timedelta(hours=int(found["off_hour"]), minutes=int(found["off_minute"]))
    return timezone(-offset if found["sign"] == "-" else offset)
