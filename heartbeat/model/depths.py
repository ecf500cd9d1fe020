"""How much waits in the ledger, for the proof of life."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Depths:
    """Counts, of each no more than MOST, and when a run was last over."""

    items: int = 0
    """Of the queue, still to come."""
    findings: int = 0
    """Not yet told: in a wake, held, or for the brief."""
    wakes: int = 0
    messages: int = 0
    last_run_at: datetime | None = None
