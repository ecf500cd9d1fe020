"""The time zone that a calendar object means by a name.

Each object has its own zones: two feeds may use one name for two of them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from heartbeat.sources.ics import CalendarObject, unescape
from heartbeat.sources.timetable import Workshop

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])([01]?[0-9])(?::?([0-5][0-9]))?")
_UTC_NAMES = ("z", "utc", "gmt", "coordinated universal time")


class Zones:
    """The zones of one calendar object."""

    def __init__(self, calendar: CalendarObject, home: tzinfo, workshop: Workshop | None = None) -> None:
        self.home = home
        self._workshop = workshop or Workshop()
        self._definitions = {name: lines for lines in calendar.zones if (name := _defined_name(lines))}
        self._found: dict[str, tzinfo | None] = {}
        self.floating = self.find(calendar.zone_name) or home
        """Where a time without a zone is meant; a whole day is the owner's, at *home*."""

    def find(self, name: str) -> tzinfo | None:
        """The zone *name* stands for, None when nothing tells."""
        name = _plain(name)
        if name not in self._found:
            self._found[name] = self._look_up(name) if name else None
        return self._found[name]

    def _look_up(self, name: str) -> tzinfo | None:
        return (
            _olson(name) or self._own(name) or _any_case(name) or _windows(name) or _olson_part(name) or _offset(name)
        )

    def _own(self, name: str) -> tzinfo | None:
        """The zone as the object itself defines it."""
        lines = self._definitions.get(name)
        return self._workshop.make(lines) if lines else None


def to_utc(wall: datetime, zone: tzinfo) -> datetime:
    """The instant of a wall-clock time: the first of two; in a gap, with the offset from before it (RFC 5545)."""
    instant = wall.replace(tzinfo=zone).astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == wall:
        return instant
    before = (wall - timedelta(days=1)).replace(tzinfo=zone).utcoffset() or timedelta(0)
    return (wall - before).replace(tzinfo=UTC)


def _plain(name: str) -> str:
    return unescape(name.strip().strip('"')).strip()


def _defined_name(lines: list[str]) -> str:
    return next((_plain(line[5:]) for line in lines if line[:5].upper() == "TZID:"), "")


@cache
def _olson(name: str) -> tzinfo | None:
    if name.lower() in _UTC_NAMES:
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return None


@cache
def _any_case(name: str) -> tzinfo | None:
    by_lower = {known.lower(): known for known in available_timezones()}
    known = by_lower.get(name.lower())
    return _olson(known) if known else None


def _windows(name: str) -> tzinfo | None:
    """A Windows name; Outlook numbers those it has changed (`Eastern Standard Time 1`)."""
    from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON  # imported here: rarely needed

    olson = WINDOWS_TO_OLSON.get(name) or WINDOWS_TO_OLSON.get(re.sub(r" [0-9]+$", "", name))
    return _olson(olson) if olson else None


def _olson_part(name: str) -> tzinfo | None:
    """The name at the end of a vendor's: `/mozilla.org/20050126_1/Europe/Berlin`."""
    parts = name.split("/")
    tails = ("/".join(parts[-count:]) for count in (3, 2) if len(parts) > count)
    return next((zone for tail in tails if (zone := _olson(tail))), None)


def _offset(name: str) -> tzinfo | None:
    match = _OFFSET.fullmatch(name)
    if match is None:
        return None
    size = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    return timezone(-size if match[1] == "-" else size)
