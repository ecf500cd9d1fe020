"""What a schedule is made of. Plain values: equal ones may be shared by any number of jobs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

EVERY_DAY = frozenset(range(7))
"""Days of the week as `datetime.weekday` counts them: 0 is Monday."""


@dataclass(frozen=True, slots=True)
class Every:
    """Each multiple of a period, counted from the job's anchor in elapsed time."""

    period: timedelta


@dataclass(frozen=True, slots=True)
class Cron:
    """Five fields (minute first) or six (second first), on the wall clock of a zone."""

    expression: str


@dataclass(frozen=True, slots=True)
class At:
    """One instant."""

    instant: datetime


Schedule = Every | Cron | At


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the day by the wall clock, in minutes since midnight, both ends included.

    With an end before its start it reaches over midnight, and belongs to the day on which it starts.
    """

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Timing:
    """When a job is due: a slot is an instant of any of the schedules, inside the windows, moved by the shift."""

    schedules: tuple[Schedule, ...]
    zone: ZoneInfo
    shift: timedelta = timedelta()
    """The job's own share of its jitter; windows and days look at the instant before it is moved."""
    between: tuple[Window, ...] = ()
    days: frozenset[int] = EVERY_DAY
    until: datetime | None = None
    """No slot lies after it."""
