"""From slot to slot: pure functions of a timing, the job's anchor and an instant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from heartbeat.schedule.cron import next_cron
from heartbeat.schedule.kinds import At, Cron, Every, Schedule, Timing
from heartbeat.schedule.windows import is_inside, next_opening

OVERLOOKED = timedelta(minutes=2)
"""An instant that passed no longer ago than this when heartbeat first saw it still counts."""

_SECOND = timedelta(seconds=1)
_TINY = timedelta.resolution
_BEGINNING = datetime(2, 1, 1, tzinfo=UTC)
"""In the first hours of the year 1 the wall clock of some zones cannot be told."""
_MOST_CLOSED, _LONGEST_CLOSED = 3000, timedelta(days=2 * 366)
"""So many times outside the windows, over so long a time: then there is no next slot.

With a window a day that is eight years. Both, because with ten windows a day the first would be less than one year.
"""


def first_slot(timing: Timing, *, anchor: datetime) -> datetime | None:
    """The first slot of a job seen first at *anchor*: an interval is due at once, anything else after the anchor."""
    return _first_slot(timing, anchor.astimezone(UTC))  # in one zone the two passes of an hour are equal to a cache


@lru_cache(maxsize=4096)  # jobs that are new are seen first at the same instant
def _first_slot(timing: Timing, anchor: datetime) -> datetime | None:
    earlier = anchor - OVERLOOKED  # an interval has no slot before its anchor

    def first_of(schedule: Schedule) -> datetime | None:
        after = anchor if isinstance(schedule, Cron) else earlier
        return next_slot(replace(timing, schedules=(schedule,)), after, anchor=anchor)

    return _earliest(first_of(schedule) for schedule in timing.schedules)


def next_slot(timing: Timing, after: datetime, *, anchor: datetime) -> datetime | None:
    """The first slot strictly after an instant, in UTC; None when there is none."""
    try:
        # In UTC: between two instants of one zone Python subtracts wall clocks, an hour off over a clock change.
        after, anchor = max(after, _BEGINNING).astimezone(UTC), anchor.astimezone(UTC)
        found = _inside(timing, after - timing.shift, anchor)
        slot = None if found is None else found + timing.shift
    except OverflowError:
        return None  # the calendar ends with the year 9999
    return None if slot is None or (timing.until is not None and slot > timing.until) else slot


def latest_slot(timing: Timing, first: datetime, end: datetime, *, anchor: datetime) -> datetime:
    """The last slot up to *end*, when *first* is one. Halves the time in question: a year of seconds costs little."""
    # So that no look goes on behind the end, through years of closed windows.
    timing = replace(timing, until=end if timing.until is None else min(end, timing.until))
    last, slot = end, first.astimezone(UTC)
    while end - slot >= _SECOND:
        middle = slot + (end - slot) / 2
        found = next_slot(timing, middle, anchor=anchor)
        if found is not None and found <= end:
            slot = found
        else:
            end = middle
    # The slots of a list may lie less than a second apart.
    return max(slots_between(timing, slot, last, anchor=anchor), default=slot)


def slots_between(timing: Timing, first: datetime, end: datetime, *, anchor: datetime) -> Iterator[datetime]:
    """The slots from *first*, which is one, up to and including *end*."""
    slot: datetime | None = first
    while slot is not None and slot <= end:
        yield slot
        slot = next_slot(timing, slot, anchor=anchor)


def _inside(timing: Timing, after: datetime, anchor: datetime) -> datetime | None:
    """The next instant inside the windows, not moved by the shift yet."""
    # All schedules at once: to look for one that never meets its windows takes long, and another may be near.
    found = _unbounded(timing, after, anchor)
    closed = 0
    while found is not None and not is_inside(found, timing.between, timing.days, timing.zone):
        closed += 1
        is_far = closed >= _MOST_CLOSED and found - after > _LONGEST_CLOSED
        if is_far or (timing.until is not None and found > timing.until):
            return None
        opening = next_opening(found, timing.between, timing.days, timing.zone)
        found = _unbounded(timing, opening - _TINY, anchor) if opening else None
    return found


def _unbounded(timing: Timing, after: datetime, anchor: datetime) -> datetime | None:
    return _earliest(_next_of(schedule, after, anchor, timing.zone) for schedule in timing.schedules)


def _next_of(schedule: Schedule, after: datetime, anchor: datetime, zone: ZoneInfo) -> datetime | None:
    try:
        match schedule:
            case Every(period):
                return anchor + max(0, (after - anchor) // period + 1) * period
            case Cron(expression):
                return next_cron(expression, after, zone)
            case At(instant):
                return instant.astimezone(UTC) if instant > after else None
    except OverflowError:
        return None  # that of a list which goes furthest must not hide the others


def _earliest(instants: Iterable[datetime | None]) -> datetime | None:
    return min((each for each in instants if each is not None), default=None)
