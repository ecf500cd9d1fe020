"""Parts of the day and days of the week: whether an instant lies inside, and where the next part begins."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from heartbeat.schedule.kinds import EVERY_DAY, Window
from heartbeat.schedule.offsets import next_change
from heartbeat.schedule.wall import instants_of

_DAY = 24 * 60
_WHOLE_DAY = Window(0, _DAY)
_DAYS_AHEAD = 15
"""The same day of the week comes again within these, though a change of the clock may leave it out once."""


def is_inside(instant: datetime, between: tuple[Window, ...], days: frozenset[int], zone: ZoneInfo) -> bool:
    """Whether the wall clock of the zone is inside a window of an allowed day."""
    if not between and days == EVERY_DAY:
        return True
    wall = instant.astimezone(zone)
    today = wall.weekday()
    if not between:
        return today in days
    minute = wall.hour * 60 + wall.minute
    part = bool(wall.second or wall.microsecond)  # a window ends with the first instant of its last minute
    for window in between:
        end = window.end if window.start <= window.end else window.end + _DAY
        for days_ago in (0, 1):
            since = minute + days_ago * _DAY
            # Shorter than a day: the midnight that ends a whole day belongs to the next.
            if window.start <= since < window.start + _DAY and since + part <= end and (today - days_ago) % 7 in days:
                return True
    return False


def next_opening(
    instant: datetime, between: tuple[Window, ...], days: frozenset[int], zone: ZoneInfo
) -> datetime | None:
    """The first instant after *instant*, which is outside, that may be inside; None when there is none.

    That is where a window begins on an allowed day, or where the clock changes: it may jump into a window that has
    begun or ended, so ask `is_inside` again.
    """
    today = instant.astimezone(zone).date()
    for number in range(_DAYS_AHEAD):
        day = today + timedelta(days=number)
        if day.weekday() in days:
            starts = (_starts(window.start, day.toordinal(), zone) for window in between or (_WHOLE_DAY,))
            later = [start for each in starts for start in each if start > instant]
            if later:
                return next_change(instant, min(later), zone) or min(later)
    return None


@lru_cache(maxsize=1024)
def _starts(minute: int, day: int, zone: ZoneInfo) -> tuple[datetime, ...]:
    wall = datetime.fromordinal(day) + timedelta(minutes=minute)
    return instants_of(wall, zone)  # none in a gap, whose end is a change of the clock
