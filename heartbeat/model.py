"""The frozen records that travel between the rooms, in the design's words."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """What `judge` says of a run."""

    WAKE = "wake"
    QUIET = "quiet"
    MALFORMED = "malformed"
    FAILED = "failed"
    TIMEOUT = "timeout"

    @property
    def is_fault(self) -> bool:
        return self not in (Verdict.WAKE, Verdict.QUIET)


class Action(StrEnum):
    """What `decide` says of a finding."""

    WAKE = "wake"
    HOLD = "hold"
    BRIEF = "brief"
    DUPLICATE = "duplicate"
    DROP = "drop"


class Change(StrEnum):
    """How a reported finding relates to what the ledger holds under its key."""

    NEW = "new"
    UPDATE = "update"
    """The key is known with another version, and the owner was told that one."""
    SAME = "same"
    RETRACTION = "retraction"
    """What the owner was told under this key no longer holds."""
    WITHDRAWAL = "withdrawal"
    """What waited under this key is taken back before anybody was told."""
    FORGOTTEN = "forgotten"
    """A condition ended; its return will be new."""


class State(StrEnum):
    """Where a finding of the ledger stands."""

    WAKE = "wake"
    """In a wake that the agent has not accepted yet."""
    HELD = "held"
    BRIEF = "brief"
    """Waiting for the morning brief."""
    TOLD = "told"
    """The agent accepted the wake."""
    BRIEFED = "briefed"
    KNOWN = "known"
    """Recorded by a baseline run; the owner knew it already."""
    WITHDRAWN = "withdrawn"
    DROPPED = "dropped"

    @property
    def was_told(self) -> bool:
        return self in (State.TOLD, State.BRIEFED)


class Urgency(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    CRITICAL = "critical"


class WhenAbsent(StrEnum):
    """What it means that a later run no longer reports a finding."""

    KEEP = "keep"
    FORGET = "forget"
    RETRACT = "retract"


@dataclass(frozen=True, slots=True)
class Captured:
    """One output stream of a child: its first and last bytes, and how many were left out between."""

    head: bytes = b""
    tail: bytes = b""
    dropped: int = 0

    @property
    def total(self) -> int:
        return len(self.head) + len(self.tail) + self.dropped

    def joined(self) -> bytes:
        """The stream, with a line of its own in place of what was left out."""
        if not self.dropped:
            return self.head + self.tail
        return self.head + b"\n[%d bytes left out]\n" % self.dropped + self.tail


@dataclass(frozen=True, slots=True)
class Execution:
    """One finished child process."""

    started_at: datetime
    ended_at: datetime
    exit_code: int | None = None
    """None when it was ended by a signal or could not be started."""
    signal: int | None = None
    start_error: str = ""
    """Why it could not be started; empty when it was."""
    timed_out: bool = False
    interrupted: bool = False
    """Ended by us, because heartbeat is stopping."""
    stdout: Captured = Captured()
    stderr: Captured = Captured()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a script reports, true now, under a stable key."""

    key: str
    title: str
    version: str = ""
    kind: str = ""
    body: str = ""
    urgency: Urgency = Urgency.NORMAL
    useful_until: datetime | None = None
    starts_at: datetime | None = None
    occurred_at: datetime | None = None
    source: str = ""
    url: str = ""
    origin: str = "third_party"
    """`owner` or `third_party`: who wrote the text."""
    retract: bool = False
    when_absent: WhenAbsent = WhenAbsent.KEEP
    data: Any = None


@dataclass(frozen=True, slots=True)
class Source:
    """What a script asked, and how it went."""

    name: str
    ok: bool
    items: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """A valid wake gate."""

    wake: bool
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    sources: tuple[Source, ...] = ()
    data: Any = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reason."""

    verdict: Verdict
    code: str
    """A word for programs: `wake`, `quiet`, `gate_not_json`, `exit_status`, …"""
    reason: str
    hint: str = ""
    """What the script's author should mend."""
    gate: Gate | None = None
    context: str = ""
    """The text above the gate."""


@dataclass(frozen=True, slots=True)
class Step:
    """One rule that was looked at, and what it said."""

    rule: str
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class Known:
    """What the ledger holds under a key of a job at this moment."""

    finding_id: str
    finding: Finding
    state: State
    rule: str
    """The rule that put it into this state."""
    sending: bool = False
    """Its wake is with the agent right now: too late to take back."""
    change: Change = Change.NEW
    """What the row has to tell; UPDATE: the owner was told an earlier version, whatever becomes of this one."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one finding, and why."""

    finding: Finding
    action: Action
    change: Change
    rule: str
    reason: str
    known: Known | None = None
    """The row it meets; for SAME it stays current, otherwise it is replaced."""
    trace: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class JobState:
    """What the ledger remembers of a job between runs."""

    job: str
    anchor_at: datetime
    """From here an interval counts."""
    last_slot_at: datetime | None = None
    backoff_until: datetime | None = None
    baseline_done: bool = False


@dataclass(frozen=True, slots=True)
class Streak:
    """Faults in a row of one subject: `job:NAME`, `source:JOB/NAME` or `agent:NAME`."""

    subject: str
    faults: int = 0
    message: str = ""
    last_ok_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Incident:
    """A lasting fault, raised once and resolved once."""

    id: str
    subject: str
    code: str
    message: str
    opened_at: datetime
    resolved_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FaultChange:
    """How a run moves the streak of one subject."""

    streak: Streak
    opens: bool = False
    """The streak has become an incident."""
    resolves: bool = False
    code: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that one run changes in the ledger, decided purely."""

    decisions: tuple[Decision, ...] = ()
    faults: tuple[FaultChange, ...] = ()
    backoff_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class View:
    """What the ledger knows of a job, read in the transaction that will record the plan."""

    state: JobState
    known: dict[str, Known] = field(default_factory=dict)
    streaks: dict[str, Streak] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """One execution, as the ledger keeps it."""

    id: str
    job: str
    trigger: str
    """`schedule` or `manual`."""
    slot_at: datetime | None
    started_at: datetime
    state: str = "running"
    """`running`, `ended` or `interrupted`."""
    ended_at: datetime | None = None
    verdict: Verdict | None = None
    code: str = ""
    reason: str = ""
    hint: str = ""
    exit_code: int | None = None
    signal: int | None = None
    stdout: Captured = Captured()
    stderr: Captured = Captured()
    sources: tuple[Source, ...] = ()
    data: Any = None
    context: str = ""
    """The text above the gate, for the agent; kept only with a wake."""


@dataclass(frozen=True, slots=True)
class FindingEvent:
    """One change of state of a finding."""

    at: datetime
    state: State
    rule: str
    reason: str
    run_id: str | None = None
    wake_id: str | None = None
    brief_id: str | None = None


@dataclass(frozen=True, slots=True)
class LedgerFinding:
    """A finding as the ledger keeps it: one row for each thing to tell (an update is a row of its own)."""

    id: str
    job: str
    finding: Finding
    change: Change
    state: State
    rule: str
    reason: str
    current: bool
    """Whether this row is what its key stands for now."""
    first_seen_at: datetime
    last_seen_at: datetime
    run_id: str
    """The run that first reported it."""
    wake_id: str | None = None
    brief_id: str | None = None
    events: tuple[FindingEvent, ...] = ()
    """Filled only when one finding is looked up."""


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
    source: str = ""
    urgency: Urgency = Urgency.NORMAL
    until: datetime | None = None
    state: str = "waiting"
    """`waiting`, `told` or `cancelled`."""


@dataclass(frozen=True, slots=True)
class Brief:
    """What had not been told when it was made."""

    id: str
    since: datetime | None
    """When the brief before it was consumed."""
    until: datetime
    items: tuple[LedgerFinding, ...] = ()
    incidents: tuple[Incident, ...] = ()
