"""Points of time as calendars write them: on a wall clock, in a zone, or a whole day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from heartbeat.sources import zones
from heartbeat.sources.ics import Line
from heartbeat.sources.zones import Zones

_TIME = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})?(Z?))?")

_FIRST_YEAR, _LAST_YEAR = 2, 9998
"""At the very edges of time there is no room for the offset of another zone, nor for a day more."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A point of time as it was written: on a wall clock, in a zone; or a whole day."""

    wall: datetime
    zone: tzinfo
    whole_day: bool = False
    floating: bool = False
    """No zone was written with it."""

    @property
    def utc(self) -> datetime:
        return zones.to_utc(self.wall, self.zone)

    def on_clock_of(self, other: Moment) -> datetime:
        """The wall-clock time of this moment where *other* was written; a day takes the time of *other*."""
        if self.whole_day or other.whole_day:
            return datetime.combine(self.wall, other.wall.time())
        if self.floating or self.zone is other.zone:
            return self.wall  # whoever leaves the zone out means that of the series
        return self.utc.astimezone(other.zone).replace(tzinfo=None)


class TimeReader:
    """Reads time values in the zones of one calendar object."""

    def __init__(self, calendar_zones: Zones, warnings: list[str]) -> None:
        self._zones = calendar_zones
        self._warnings = warnings

    def moments(self, lines: list[Line]) -> Iterator[Moment]:
        """Every readable value of the lines; of a period, its start."""
        for line in lines:
            for value in line.value.split(","):
                try:
                    yield self._moment(value.partition("/")[0].strip().upper(), line.params.get("TZID", ""))
                except (ValueError, OverflowError):
                    self._warnings.append("an impossible date was left out")

    def _moment(self, value: str, zone_name: str) -> Moment:
        match = _TIME.fullmatch(value)
        if match is None:
            raise ValueError
        year, month, day = int(match[1]), int(match[2]), int(match[3])
        if match[4] is None:
            moment = Moment(datetime(year, month, day), self._zones.home, whole_day=True)  # noqa: DTZ001  # wall clock
        else:
            second = min(int(match[6] or 0), 59)  # a leap second is the one before it
            wall = datetime(year, month, day, int(match[4]), int(match[5]), second)  # noqa: DTZ001  # wall clock
            floating = not match[7] and not zone_name
            moment = Moment(wall, UTC if match[7] else self._zone(zone_name), floating=floating)
        if not _FIRST_YEAR <= year <= _LAST_YEAR:
            raise ValueError
        return moment

    def _zone(self, name: str) -> tzinfo:
        if not name:
            return self._zones.floating
        zone = self._zones.find(name)
        if zone is None:
            self._warnings.append("a time in an unknown zone was read in yours")
        return zone or self._zones.floating
