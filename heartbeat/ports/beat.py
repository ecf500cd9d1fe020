"""The ledger as the beat needs it: what is due, what runs, what is decided."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from heartbeat.model import (
    ClockEvent,
    Decision,
    Execution,
    Fate,
    Incident,
    JobState,
    Judgement,
    LedgerFinding,
    Past,
    Plan,
    Run,
    View,
)

OFF = "off"
"""What the ledger keeps as the schedule of a job that is disabled, or is not in the configuration."""
TRUSTED = timedelta(hours=3)
"""How far the clock may be set back before what was entered under it stops counting (Debian's cron has the same)."""

Alive = Callable[[str], bool]
"""Whether the process that an owner text (`PID:START`) names still runs."""


class BeatLedger(Protocol):
    """From a due instant to what is recorded of its run."""

    def enlist(self, schedules: Iterable[tuple[str, str]], now: datetime) -> Collection[str]:
        """Take note of the jobs that are to run, each with the identity of its schedule, or OFF.

        All others are OFF from then on. A job that was never seen, or whose schedule is another now, begins anew:
        anchored at the second of *now*, with no slot behind it. Returns the names of those. One whose slots are
        known, but not by which schedule they were reckoned, goes on as it is.
        """

    def states(self) -> Mapping[str, JobState]:
        """The state of every job ever seen."""

    def state(self, job: str) -> JobState | None:
        """The state of *job*, if it was ever seen."""

    def claim(self, run: Run, owner: str, *, note: str = "", again: bool = False) -> None:
        """Enter *run* (state `running`) and its slot, if it has one, as claimed.

        Raises SlotTaken when the slot has a fate, and lets the schedule of the job go on after it; Refused while
        another run of the job is unfinished, and before the instant of the slot. These fates do not count: with
        *again* `interrupted`; one of a run that was entered more than TRUSTED after this run's start, under a clock
        that was wrong; and one without a run that was entered after it at all.
        """

    def pass_over(self, fates: Sequence[tuple[str, Fate]], now: datetime, *, advance: bool = True) -> None:
        """Enter how slots ended that will not run, each with its job, in one transaction.

        A slot that has a fate already keeps it (but for one entered under a clock that was wrong, as in `claim`).
        The schedule of each job goes on after the last of its slots, unless they are of a schedule that is not
        the job's any more (*advance* is false).
        """

    def move_on(self, job: str, now: datetime) -> None:
        """Let the schedule of *job* go on from *now*, its new anchor, without entering a slot."""

    def view(self, job: str, keys: Collection[str], now: datetime) -> View:
        """What a plan needs to know: the current rows under *keys*, and those that must not go absent unseen."""

    def record(
        self, run: Run, execution: Execution, judgement: Judgement, choose: Callable[[View], Plan]
    ) -> tuple[Plan, tuple[str, ...]]:
        """Complete a claimed run: read the view, let *choose* decide, write it all, in one transaction.

        *choose* is pure and may be called again. What it wakes for goes into one wake for each target: one that waits
        and was not tried yet, or else a new one. Returns the plan, and the ids of the wakes that now wait for it.
        Raises Refused when the run is no longer running (it was interrupted).
        """

    def abandon(self, run_id: str, reason: str, now: datetime) -> None:
        """End a running run as `interrupted`; its slot too."""

    def interrupt(self, alive: Alive, now: datetime) -> list[Run]:
        """End as `interrupted` every running run whose owner is gone; returns them."""

    def orphaned(self, alive: Alive) -> list[str]:
        """Ids of the running runs, and the wakes and messages that are being sent, whose owner is gone."""

    def note_clock(self, event: ClockEvent) -> None:
        """Enter what happened to the clock."""

    def decide_held(
        self,
        choose: Callable[[Sequence[LedgerFinding], Past], Sequence[Decision]],
        now: datetime,
        *,
        everything: bool = False,
        job: str | None = None,
    ) -> tuple[str, ...]:
        """Decide again what is held (of one job) and due, or all that is held: up to a thousand in a transaction.

        *choose* is pure and gives a decision for each finding, in order (change `same`); it is called for each
        transaction that has any, with the past as it stands then. What it wakes for goes into wakes as in `record`.
        A hold that only goes on is moved without an event. Returns the ids of the wakes that now wait.
        """

    def past(self, now: datetime) -> Past:
        """What the rules look back on; the same is in every view."""

    def fault(self, subject: str, code: str, message: str, now: datetime) -> Incident | None:
        """Open an incident for *subject*; None when one is open already."""

    def recover(self, subject: str, now: datetime, *, closed: str = "") -> Incident | None:
        """Resolve the open incident of *subject*, if any; *closed* says why, if not because it is well again.

        Then no message calls it well.
        """
