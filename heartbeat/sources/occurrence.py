"""One start of one event, whatever calendar it came from, as it is kept between runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

LONGEST = timedelta(days=36_525)
"""An end that comes later is none: a calendar program wrote the end of time."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """What a calendar says of one instance; what the owner does not want to hear of is left out later, not here."""

    uid: str
    slot: str
    """Which instance of a series it is: the UTC text of its original start; empty for an event that happens once."""
    title: str
    start: datetime
    """UTC; of an all-day event the first midnight in the owner's zone."""
    end: datetime | None = None
    all_day: bool = False
    cancelled: bool = False
    declined: bool = False
    """By the owner, or handed on to somebody else."""
    tentative: bool = False
    free: bool = False
    """Shown as free."""
    attendees: int = 0
    """How many are invited, the owner among them."""
    description: str = ""
    """One cleaned text, capped; only where it was asked for."""
