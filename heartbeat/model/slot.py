"""What becomes of due instants, and what happened to the clock meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from heartbeat.model.words import SlotState


@dataclass(frozen=True, slots=True)
class Fate:
    """How slots of one job end without a run."""

    state: SlotState
    """`skipped` or `missed`."""
    first: datetime
    last: datetime
    """The same as *first* for one slot alone."""
    reason: str
    count: int | None = 1
    """How many slots from first to last; None when they are not counted."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One due instant of one job with its fate, or a stretch of them that ended alike, as the ledger keeps it."""

    job: str
    slot_at: datetime
    last_at: datetime
    """The last of a stretch; the same as *slot_at* for one slot alone."""
    count: int | None
    state: SlotState
    reason: str
    run_id: str | None
    """Its latest run."""
    at: datetime
    """When it got this state."""
    attempts: int = 0
    """How many runs were begun for it."""


@dataclass(frozen=True, slots=True)
class ClockEvent:
    """Something that happened to the clock, as noticed by the daemon."""

    at: datetime
    """The wall clock's reading when it was noticed."""
    kind: str
    """`suspend`, `forward`, `back`, `frozen` (the process stood still) or `zone`."""
    seconds: float
    """How long the suspend or the standstill was, or how far the clock was set (negative: back)."""
    detail: str
