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

    @property
    def identity(self) -> str:
        """A text that is another when other instants may be due; the ledger keeps it."""
        parts = [_identity(schedule) for schedule in self.schedules]
        if self.between or self.days != EVERY_DAY or any(isinstance(each, Cron) for each in self.schedules):
            parts += [f"zone {self.zone.key}"]  # to the other schedules a clock on the wall means nothing
        parts += [f"moved {self.shift.total_seconds():.0f}s"] if self.shift else []
        parts += [f"between {window.start}-{window.end}" for window in self.between]
        parts += ["days " + ",".join(map(str, sorted(self.days)))] if self.days != EVERY_DAY else []
        parts += [f"until {self.until.isoformat()}"] if self.until else []
        return "; ".join(parts)


def _identity(schedule: Schedule) -> str:
    match schedule:
        case Every(period):
            return f"every {period.total_seconds():.0f}s"
        case Cron(expression):
            return f"cron {expression}"
        case At(instant):
            return f"at {instant.isoformat()}"
