"""What a kind of calendar is asked, and the three ways in which it may answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from time import monotonic

from heartbeat.sources.occurrence import Occurrence


@dataclass(frozen=True, slots=True)
class Asking:
    """What is wanted of a calendar. The answer is kept, so it must not depend on anything else."""

    now: datetime
    since: datetime
    until: datetime
    """Every occurrence that starts between *since* and *until*, both included, is wanted; the span is wider than the
    lookahead, so that the next runs can be answered from what is kept. More than that does no harm."""
    home: tzinfo
    """The owner's zone: where floating times and whole days are meant."""
    owner: tuple[str, ...] = ()
    """The owner's mail addresses, in lower case."""
    description: bool = False
    """Descriptions are wanted too."""
    also: frozenset[str] = frozenset()
    """UIDs of what was told and may have moved beyond *until*: their later occurrences are welcome too."""
    deadline: float = float("inf")
    """`time.monotonic()` by which the answer must be there."""
    known: str = ""
    """The fingerprint of the last good answer to the same question, kept from an earlier run; empty when there is none.
    Only then may the answer be `Unchanged`."""

    @property
    def left(self) -> float:
        """Seconds until the deadline, never less than a tenth."""
        return max(self.deadline - monotonic(), 0.1)


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The calendar is what it was when its fingerprint was *known*: the kept occurrences still hold."""

    fingerprint: str = ""
    """What to know it by from now on; empty: by the same as before."""


@dataclass(frozen=True, slots=True)
class Ics:
    """iCalendar bytes, which are one calendar together; they are expanded elsewhere, in a process of its own."""

    contents: tuple[bytes, ...]
    fingerprint: str = ""
    """Any text of one's own (validators as JSON, a digest), with no secret in it; empty: always ask anew."""
    faults: tuple[str, ...] = ()
    """Why some of it could not be read, as a SourceFailed would say it; then the calendar is not whole, unless *names*
    and *missing* tell what that was."""
    names: tuple[str, ...] = ()
    """What each content is called, the same on every run."""
    missing: tuple[str, ...] = ()
    """The names of what could not be read: what stood in it is unknown, and all else is whole."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Occurrences, as a service has expanded them."""

    occurrences: tuple[Occurrence, ...]
    fingerprint: str = ""
    warnings: tuple[str, ...] = ()
    """What was guessed or left out, in words of our own."""
    whole: bool = True
    """Nothing is missing: what is not here is not in the calendar. If not, the warnings say why."""


Content = Unchanged | Ics | Listed
"""A failure is none of these, but a SourceFailed; its `retry_after`, if it has one, is obeyed over runs."""
