"""What a replay comes to: the fate of each finding that differs, and totals of both sides."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from heartbeat.model import Finding

_NO_MATTER = timedelta(minutes=1)
"""A daemon is not there at the very instant a hold ends; what moves by less is no difference."""


class End(StrEnum):
    """Where a finding ends."""

    WAKE = "wake"
    """An agent is called."""
    NOTICE = "notice"
    """The owner is told without an agent."""
    BRIEF = "brief"
    DROPPED = "dropped"
    WITHDRAWN = "withdrawn"
    """It was held, and taken back or replaced before it was told."""
    HELD = "held"
    """It still waits when the replay ends."""
    NOTHING = "nothing"
    """There is nothing to tell: it was told already, or was never told and holds no more."""
    UNKNOWN = "unknown"
    """It is not on record any more."""

    @property
    def interrupts(self) -> bool:
        return self in (End.WAKE, End.NOTICE)


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a finding on one side."""

    end: End
    at: datetime
    rule: str = ""
    """The first that decided: of what was held, why."""
    reason: str = ""
    was_held: bool = False
    call: str = ""
    """The wake it shares with others."""

    def differs(self, other: Fate) -> bool:
        if End.UNKNOWN in (self.end, other.end):
            return False
        if self.end is not other.end:
            return True
        return self.end.interrupts and abs(self.at - other.at) > _NO_MATTER


@dataclass(frozen=True, slots=True)
class Difference:
    """One finding that would have fared otherwise."""

    at: datetime
    """When it was reported."""
    job: str
    finding_id: str
    finding: Finding
    was: Fate
    would: Fate


@dataclass(frozen=True, slots=True)
class Busiest:
    """The 60 minutes with the most interruptions."""

    since: datetime
    interruptions: int


@dataclass(frozen=True, slots=True)
class Totals:
    """One side in figures."""

    wakes: int = 0
    """Calls of an agent, each for all that came due together."""
    notices: int = 0
    held: int = 0
    """Findings that waited, however they ended."""
    brief: int = 0
    dropped: int = 0
    """Also what was withdrawn while it waited."""
    per_day: float = 0.0
    """Interruptions: wakes and notices."""
    busiest: Busiest | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """The two sides of a stretch of time."""

    start: datetime
    end: datetime
    first_run_at: datetime | None
    """None: nothing is recorded."""
    runs: int
    findings: int
    differences: tuple[Difference, ...]
    """By the instant they were reported."""
    waiting: tuple[Difference, ...]
    """What would still be held at the end, differing or not."""
    was: Totals
    would: Totals
    unknown: int
    """Findings that are not on record any more, or not what became of them."""
    strange_jobs: tuple[str, ...] = ()
    """Jobs with something to tell that do not run under these rules."""
