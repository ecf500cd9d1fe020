"""The coming slots of a job, as far as its configuration and what is known of it tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from heartbeat.job import Job
from heartbeat.model import JobState
from heartbeat.schedule import Every, Timing, first_slot, identity_of, next_slot
from heartbeat.slots import LATE, is_rewound, pending

UNREAD = "the daemon has not read this yet"
_TINY = timedelta.resolution


class Coming(NamedTuple):
    """One due instant; in order of time, then of the job."""

    at: datetime
    job: str
    note: str
    """What is known to keep it from running then."""
    is_at_once: bool = False
    """It has no instant yet: it comes when the daemon reads the job."""


@dataclass(frozen=True, slots=True)
class Future:
    """The slots after an instant."""

    job: Job
    state: JobState | None
    after: datetime
    now: datetime

    @property
    def _begun(self) -> JobState | None:
        """What is known of the schedule as it is now: another one begins anew, and so does one from a wrong clock."""
        state = self.state
        return None if state is None or self._is_new or is_rewound(state, self.now) else state

    @property
    def _is_new(self) -> bool:
        return self.state is None or self.state.begins_anew_as(identity_of(self.job.timing))

    @property
    def is_read(self) -> bool:
        """Whether the daemon goes by this schedule already."""
        return self._begun is not None

    @property
    def is_at_once(self) -> bool:
        """Whether it is due whenever the daemon reads it, which is no instant yet: an interval that has not begun."""
        if not self._is_new or not self.job.enabled or self.job.policy.paused or self._backoff is not None:
            return False
        return self.after == self.now and first_slot(self.job.timing, anchor=self.now) == self.now

    @property
    def _backoff(self) -> datetime | None:
        until = self.state.backoff_until if self.state else None
        return until if until is not None and until > self.now else None

    def entries(self) -> Iterator[Coming]:
        timing = self.job.timing
        if self.is_at_once:
            yield Coming(self.now, self.job.name, UNREAD, is_at_once=True)
            # When an interval comes again is not known before it has begun.
            timing = replace(timing, schedules=tuple(each for each in timing.schedules if not isinstance(each, Every)))
        at = self._next(timing, self.after) if timing.schedules else None
        while at is not None:
            yield Coming(at, self.job.name, self._note(at))
            at = self._next(timing, at)

    def _next(self, timing: Timing, after: datetime) -> datetime | None:
        return next_slot(timing, after, anchor=self._begun.anchor_at if self._begun else self.after)

    def _note(self, at: datetime) -> str:
        if self._begun is None:
            return UNREAD
        if self.job.policy.paused:
            return "paused"
        return "backing off" if self._backoff is not None and at < self._backoff else ""

    def next_run(self) -> datetime | None:
        """The next slot that will run, as far as one can tell; None also for what has no instant yet."""
        if not self.job.enabled or self.job.policy.paused or self.is_at_once:
            return None
        until = self._backoff
        return self._next(self.job.timing, max(self.after, until - _TINY) if until else self.after)

    def overdue_since(self) -> datetime | None:
        """The first slot that should have got its fate by now: the daemon does not run, or is behind."""
        if not self.job.enabled or self._begun is None:
            return None
        first = pending(self.job.timing, self._begun)
        return first if first is not None and self.now - first > LATE else None
