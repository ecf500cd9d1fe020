"""What the rules look back on: whom the outbox woke lately, what that cost, and what the owner said meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

OWNER = "owner"
"""The agent of a wake that calls none: what it carries goes to the owner's channels as it is."""


@dataclass(frozen=True, slots=True)
class Target:
    """Who a wake is for. What is for one target, and comes due together, is one wake."""

    agent: str = ""
    """The agent's name, or OWNER."""
    profile: str = ""
    """How it is to be called, as text; findings of jobs that want it called in another way do not share a wake."""


@dataclass(frozen=True, slots=True)
class Interruption:
    """A wake that was made and not taken back."""

    at: datetime
    critical: bool = False
    """It was made for something critical: it does not count to the budget of the others."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What one call of an agent cost."""

    at: datetime
    tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Hold:
    """An agent that is not to be called for a while."""

    agent: str
    until: datetime
    reason: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the owner said for the time being, beside the configuration."""

    quiet_until: datetime | None = None
    """Quiet until then, whatever the hours."""
    loud_until: datetime | None = None
    """No quiet hours until then."""
    zone: str = ""
    """Where the owner is now; empty: at home."""


@dataclass(frozen=True, slots=True)
class Past:
    """The last day of the outbox, oldest first, and what holds now."""

    interruptions: tuple[Interruption, ...] = ()
    """Wakes that are pending, sending or settled, by when they were made."""
    spending: tuple[Spending, ...] = ()
    holds: Mapping[str, Hold] = field(default_factory=dict)
    """By agent; also those that are over."""
    joinable: frozenset[Target] = frozenset()
    """Those for whom a wake waits that was not tried yet: what is told them now shares it."""
    overrides: Overrides = Overrides()
