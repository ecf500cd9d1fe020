"""The morning brief: what had not been told, and what else happened since the one before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from heartbeat.model.finding import LedgerFinding
from heartbeat.model.run import Incident
from heartbeat.model.words import Urgency

_RANKS = list(Urgency)


@dataclass(frozen=True, slots=True)
class Tally:
    """What happened since the brief before (or in the last day, if there was none)."""

    runs: int = 0
    faults: int = 0
    """Runs that ended `malformed`, `failed` or `timeout`, or were cut off."""
    missed: tuple[tuple[str, int, str], ...] = ()
    """Due instants that were not run: job, how many, and the commonest reason."""
    wakes: int = 0
    """Wakes that were settled by an agent."""
    notices: int = 0
    """Wakes that went to the owner without an agent."""
    avoided: int = 0
    """Runs after which no agent was called."""
    tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Brief:
    """What had not been told when it was made."""

    id: str
    since: datetime | None
    """When the brief before it was consumed."""
    until: datetime
    items: tuple[LedgerFinding, ...] = ()
    incidents: tuple[Incident, ...] = ()
    waiting: tuple[LedgerFinding, ...] = ()
    """What is held, or in a wake that the agent has not accepted: it is still to be told, whatever this brief says."""
    undelivered: tuple[str, ...] = ()
    """Ids of messages that no channel could deliver, and no brief has said so yet."""
    for_owner: frozenset[str] = frozenset()
    """Ids of wakes that wait for the owner's channels, not for an agent."""
    with_agent: tuple[tuple[date, str], ...] = ()
    """Briefs that an agent has not written up yet: their day, and the agent."""
    tally: Tally = Tally()
    day: date | None = None
    """The owner's day it is the brief of; None: it was asked for."""

    @property
    def is_empty(self) -> bool:
        return not (self.items or self.incidents or self.undelivered)

    @property
    def urgency(self) -> Urgency:
        """As a message: that of its most urgent item, but it breaks through nothing."""
        least = Urgency.NORMAL if self.incidents or self.undelivered else Urgency.LOW
        highest = max((least, *(item.finding.urgency for item in self.items)), key=_RANKS.index)
        return min(highest, Urgency.HIGH, key=_RANKS.index)


@dataclass(frozen=True, slots=True)
class MadeBrief:
    """A brief that was consumed, as it is kept."""

    id: str
    at: datetime
    items: int
    """So many findings it told of."""
    day: date | None = None
    """The owner's day it was the brief of; None: it was asked for."""
