"""What reaches the agent and the owner: wakes, queue items, briefs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from heartbeat.model.finding import LedgerFinding
from heartbeat.model.run import Incident
from heartbeat.model.words import Urgency


@dataclass(frozen=True, slots=True)
class Attempt:
    """One handing over of a wake to the agent."""

    number: int
    started_at: datetime
    ended_at: datetime | None = None
    outcome: str = "running"
    """`running`, `accepted`, `failed` or `interrupted`."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Wake:
    """One call of the agent, carrying one or more findings."""

    id: str
    job: str
    run_id: str
    agent: str
    state: str
    """`pending`, `sending`, `settled`, `failed` or `cancelled`."""
    created_at: datetime
    next_attempt_at: datetime | None = None
    attempts: int = 0
    """How often it was handed to the agent."""
    useful_until: datetime | None = None
    """After this no attempt is worth making."""
    settled_at: datetime | None = None
    reply: str = ""
    error: str = ""
    findings: tuple[LedgerFinding, ...] = ()
    history: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A time-sensitive item the owner or a program put in the queue."""

    id: str
    key: str
    message: str
    due_at: datetime
    """Of one that comes again its first slot; in one to be added the instant that is now means: from now on."""
    source: str = ""
    urgency: Urgency = Urgency.NORMAL
    until: datetime | None = None
    """Afterwards it is not worth telling, or does not come again."""
    state: str = "waiting"
    """`waiting`, `due`, `snoozed`, `told`, `dropped`, `expired` or `cancelled`, by the instant it was looked up for."""
    schedule: str = ""
    """The identity of the timing by which it comes again; empty for an item that is told once."""
    words: str = ""
    """The schedule as it was written."""
    snoozed_slot: datetime | None = None
    """The occurrence that was snoozed; of an item that is told once that is its due instant."""
    snoozed_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Brief:
    """What had not been told when it was made."""

    id: str
    since: datetime | None
    """When the brief before it was consumed."""
    until: datetime
    items: tuple[LedgerFinding, ...] = ()
    incidents: tuple[Incident, ...] = ()
