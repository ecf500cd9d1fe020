"""When the clock of a zone is set forward or back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

_SECOND = timedelta(seconds=1)
_STRIDE = timedelta(hours=12)
"""Two changes that undo each other lie further apart in every zone."""
_MARGIN = timedelta(days=2)
_FIRST = datetime.min.replace(tzinfo=UTC) + _MARGIN
_LAST = datetime.max.replace(tzinfo=UTC) - _MARGIN
"""Nearer to the ends of the calendar the wall clock of some zone cannot be told."""


def offset_at(instant: datetime, zone: tzinfo) -> timedelta:
    """How far the clock on the wall is ahead of UTC."""
    return instant.astimezone(zone).utcoffset() or timedelta()


def change_between(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The instant in (before, after], to the second, at which the offset becomes another; it must be one."""
    low, high, old = before, after, offset_at(before, zone)
    while high - low > _SECOND:
        middle = low + (high - low) / 2
        low, high = (middle, high) if offset_at(middle, zone) == old else (low, middle)
    return high.replace(microsecond=0)


def next_change(after: datetime, end: datetime, zone: tzinfo) -> datetime | None:
    """The first change of offset after *after* and up to *end*, in UTC; None when there is none."""
    low, end = max(after.astimezone(UTC), _FIRST), min(end.astimezone(UTC), _LAST)
    while low < end:
        high = min(low + _STRIDE, end)
        if offset_at(low, zone) != offset_at(high, zone):
            return change_between(low, high, zone)
        low = high
    return None
