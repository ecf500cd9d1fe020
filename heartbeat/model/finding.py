"""What a script reports, what is decided of it, and what the ledger keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from heartbeat.model.past import Past, Target
from heartbeat.model.run import FaultChange, JobState, Source, Streak
from heartbeat.model.words import Action, Change, State, Urgency, Verdict, WhenAbsent


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
    absences: int = 1
    """So many runs in a row must miss it before its absence means anything."""
    scope: str = ""
    """What part of the script's field it belongs to: a followed artist, a watched folder."""

    @property
    def was_snoozed(self) -> bool:
        """A reminder that comes again because the owner put it off: it says what it said before."""
        return self.kind == "reminder" and isinstance(self.data, dict) and "snoozed_until" in self.data


@dataclass(frozen=True, slots=True)
class Gate:
    """A valid wake gate."""

    wake: bool
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    sources: tuple[Source, ...] = ()
    data: Any = None
    scopes: tuple[str, ...] = ()
    """The scopes that were looked at whole."""


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
    """What the row has to tell; UPDATE: the owner was told an earlier version, whatever becomes of this one, or was
    told this one, which waits to be told again."""
    missed: int = 0
    """So many runs in a row could have reported it and did not."""
    unsure: bool = False
    """The job's options have changed since it was last reported: that it is missing need not mean anything."""
    since: datetime | None = None
    """When it came into this state."""
    retracting: str = ""
    """The id of the retraction of it, which nobody was told yet: once told, nothing stands under the key."""


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
    until: datetime | None = None
    """Of a hold: it is decided again then."""
    target: Target = field(default_factory=Target)
    """Of a wake: who is woken."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that one run changes in the ledger, decided purely."""

    decisions: tuple[Decision, ...] = ()
    faults: tuple[FaultChange, ...] = ()
    backoff_until: datetime | None = None
    fingerprint: str = ""
    """Of the job's script and options in this run."""
    missed: tuple[str, ...] = ()
    """The ids of the rows whose absence is counted, and means nothing yet."""


@dataclass(frozen=True, slots=True)
class View:
    """What the ledger knows of a job, read in the transaction that will record the plan."""

    state: JobState
    known: dict[str, Known] = field(default_factory=dict)
    streaks: dict[str, Streak] = field(default_factory=dict)
    scopes: frozenset[str] = frozenset()
    """Those that a run has looked at whole before."""
    past: Past = field(default_factory=Past)
    """What the outbox did lately, and what the owner said for the time being."""


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
    trace: tuple[Step, ...] = ()
    """Of a decision by time alone: every rule that was looked at. Those of a run are with its decisions."""


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
    held_until: datetime | None = None
    """Of one that is held: when it is decided again."""
    events: tuple[FindingEvent, ...] = ()
    """Filled only when one finding is looked up."""
