"""The fixed words: verdicts, actions, states and the like."""

from __future__ import annotations

from enum import StrEnum


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


class SlotState(StrEnum):
    """What became of a due instant; all but `claimed` are final, and `interrupted` may be run again."""

    CLAIMED = "claimed"
    RAN = "ran"
    SKIPPED = "skipped"
    """heartbeat was there and did not run it; the reason says why."""
    MISSED = "missed"
    """It passed while nobody was there to run it, and the job does not catch up."""
    INTERRUPTED = "interrupted"


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
