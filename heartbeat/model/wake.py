"""What reaches the agent and the owner: wakes, queue items, briefs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from heartbeat.model.agent import Usage
from heartbeat.model.finding import LedgerFinding
from heartbeat.model.words import Urgency


@dataclass(frozen=True, slots=True)
class Attempt:
    """One handing over of a wake to the agent."""

    number: int
    started_at: datetime
    ended_at: datetime | None = None
    outcome: str = "running"
    """`running`, `accepted`, `failed`, `held` (the agent asked for time) or `interrupted`."""
    message: str = ""
    session: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Wake:
    """One call of the agent, carrying one or more findings."""

    id: str
    job: str
    """The first that had something to tell; of a brief empty."""
    run_id: str
    agent: str
    state: str
    """`pending`, `sending`, `settled`, `failed` or `cancelled`."""
    created_at: datetime
    next_attempt_at: datetime | None = None
    attempts: int = 0
    """How often it was handed to the agent."""
    failures: int = 0
    """How many of these failed since it was made or retried by hand."""
    profile: str = ""
    """How the agent is to be called, as text; see `Target`."""
    brief_id: str | None = None
    """The brief that it is to write up; such a wake carries no findings."""
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
