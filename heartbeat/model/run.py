"""What travels of a run: from the finished child to the ledger's row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from heartbeat.model.words import Verdict


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
class Source:
    """What a script asked, and how it went."""

    name: str
    ok: bool
    items: int | None = None
    message: str = ""


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
class JobState:
    """What the ledger remembers of a job between runs."""

    job: str
    anchor_at: datetime
    """From here an interval counts."""
    last_slot_at: datetime | None = None
    backoff_until: datetime | None = None
    baseline_done: bool = False
    fingerprint: str = ""
    """Of the script and options of its latest complete run; what it reports under others cannot be compared."""
    schedule: str = ""
    """The identity of the schedule that the slots were reckoned by; empty when it is not known."""
    interrupted_at: datetime | None = None
    """The latest slot, when its run was interrupted."""
    attempts: int = 0
    """How many runs were begun for the latest slot."""
    entered_at: datetime | None = None
    """When the latest slot got its fate."""

    def begins_anew_as(self, schedule: str) -> bool:
        """Whether under this schedule nothing of its past counts; a job without a slot was only run by hand."""
        return self.last_slot_at is None if self.schedule == "" else self.schedule != schedule


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
    told: int = 0
    """How often the owner was sent a message of it."""
    tell_at: datetime | None = None
    """When the next is due; None: never was told, or nothing more is to be said."""
    faults: int = 0
    """So many in a row there were; 0 when they are not counted, or it is over."""
    last_ok_at: datetime | None = None
    """Its last success before these, if they are counted and there was one."""


@dataclass(frozen=True, slots=True)
class FaultChange:
    """How a run moves the streak of one subject."""

    streak: Streak
    opens: bool = False
    """The streak has become an incident."""
    resolves: bool = False
    code: str = ""
