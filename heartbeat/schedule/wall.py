"""The clock on the wall of a zone: what it shows at an instant, and which instants a reading stands for.

A reading is a datetime without a zone. All this is on the hot path, so it is sums: `replace` takes ten times as long.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, tzinfo

from heartbeat.schedule.offsets import change_between

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_READING = datetime(1970, 1, 1)  # noqa: DTZ001 - what a clock in UTC shows then
_NONE = timedelta()


def reading_at(instant: datetime, zone: tzinfo) -> datetime:
    """What the clock shows at an instant, which is in UTC."""
    return _READING + (instant - _EPOCH + (zone.utcoffset(instant.astimezone(zone)) or _NONE))


def instants_of(wall: datetime, zone: tzinfo) -> tuple[datetime, ...]:
    """The instants, in UTC, at which the clock shows *wall*: two in a repeated hour, none in a gap."""
    first, second = _either(wall, zone)
    if first == second:
        return (first,)
    return (first, second) if first < second else ()


def passages(wall: datetime, zone: tzinfo) -> tuple[datetime, ...]:
    """The same; for a reading that the clock skips, the instant at which it does."""
    return instants_of(wall, zone) or (end_of_gap(wall, zone),)


def end_of_gap(wall: datetime, zone: tzinfo) -> datetime:
    """The change of the clock that skips *wall*, which is in a gap."""
    behind, before = _either(wall, zone)
    return change_between(before, behind, zone)


def _either(wall: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    """What *wall* stands for by the offset before the nearest change, and by the offset after it."""
    again = datetime.combine(wall, time(wall.hour, wall.minute, wall.second, wall.microsecond, fold=1))
    passed = _EPOCH + (wall - _READING)
    return passed - (zone.utcoffset(wall) or _NONE), passed - (zone.utcoffset(again) or _NONE)
