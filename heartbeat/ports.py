"""What others implement: the Protocols of the agent and the ledger."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from heartbeat.model import (
    Brief,
    ClockEvent,
    Decision,
    Execution,
    Fate,
    Incident,
    JobState,
    Judgement,
    LedgerFinding,
    Plan,
    QueueItem,
    Run,
    Slot,
    View,
    Wake,
)

OFF = "off"
"""What the ledger keeps as the schedule of a job that is disabled, or is not in the configuration."""
TRUSTED = timedelta(hours=3)
"""How far the clock may be set back before what was entered under it stops counting (Debian's cron has the same)."""

Alive = Callable[[str], bool]
"""Whether the process that an owner text (`PID:START`) names still runs."""


class Agent(Protocol):
    """Whoever is woken."""

    @property
    def name(self) -> str: ...

    def call(self, wake_id: str, prompt: str) -> str:
        """Hand over a prompt and return the reply; raises AgentError, whose `retryable` is meant.

        Returns only when the agent has accepted the wake. Bounded by the agent's own deadline.
        """


class Ledger(Protocol):
    """The durable memory. Every method is one transaction; every instant is aware.

    Raises LedgerError when the disk or a lock is in the way (nothing was changed), LedgerCorrupt when
    the file is damaged. Lookups of one thing by id raise NotFound.
    """

    # The beat

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
        self, run: Run, execution: Execution, judgement: Judgement, choose: Callable[[View], Plan], *, agent: str
    ) -> tuple[Plan, str | None]:
        """Complete a claimed run: read the view, let *choose* decide, write it all, in one transaction.

        *choose* is pure and may be called again. Returns its plan, and the id of the wake that now
        waits, if one was made. Raises Refused when the run is no longer running (it was interrupted).
        """

    def abandon(self, run_id: str, reason: str, now: datetime) -> None:
        """End a running run as `interrupted`; its slot too."""

    def interrupt(self, alive: Alive, now: datetime) -> list[Run]:
        """End as `interrupted` every running run whose owner is gone; returns them."""

    def orphaned(self, alive: Alive) -> list[str]:
        """Ids of the running runs and the sending wakes whose owner is gone."""

    def note_clock(self, event: ClockEvent) -> None:
        """Enter what happened to the clock."""

    # Wakes

    def due_wakes(self, now: datetime) -> list[str]:
        """Ids of the pending wakes whose next attempt is due, oldest first."""

    def begin_wake(self, wake_id: str, owner: str, now: datetime) -> Wake | None:
        """Move a wake from `pending` to `sending`; None when it is not pending (any more)."""

    def settle_wake(self, wake_id: str, reply: str, now: datetime) -> None:
        """The agent accepted it: the wake is `settled`, its findings are told. Refused if not sending."""

    def postpone_wake(self, wake_id: str, error: str, next_attempt_at: datetime, now: datetime) -> None:
        """The attempt failed: `pending` again."""

    def give_up_wake(self, wake_id: str, error: str, now: datetime) -> None:
        """No attempt is left: `failed`; its current findings wait for the brief, replaced ones are withdrawn."""

    def release_wakes(self, alive: Alive, now: datetime) -> list[str]:
        """Make `sending` wakes of owners that are gone pending again, and every pending wake due now."""

    def retry_wake(self, wake_id: str, now: datetime) -> None:
        """Make a pending, failed or cancelled wake pending and due now. Refused when sending or settled."""

    def cancel_wake(self, wake_id: str, reason: str, now: datetime) -> None:
        """End a pending wake as `cancelled`; its findings are dropped. Refused in any other state."""

    def fault(self, subject: str, code: str, message: str, now: datetime) -> Incident | None:
        """Open an incident for *subject*; None when one is open already."""

    def recover(self, subject: str, now: datetime) -> Incident | None:
        """Resolve the open incident of *subject*, if any."""

    # The brief

    def brief(self, now: datetime, since: datetime | None = None) -> Brief:
        """What waits to be told, oldest first; with *since*, only what was first seen from then on."""

    def consume_brief(self, now: datetime, since: datetime | None = None) -> Brief:
        """The same, and mark it told, atomically."""

    # The queue

    def enqueue(self, item: QueueItem, now: datetime) -> tuple[QueueItem, bool]:
        """Add *item*, or change the one with its key; returns it as stored, and whether it is new.

        One that comes again, whose due instant is *now*, begins with its first slot after it; or goes on as it was,
        if it is there by the same schedule. Raises Invalid for a schedule that never comes.
        """

    def enqueue_all(self, items: Sequence[QueueItem], now: datetime) -> list[tuple[QueueItem, bool]]:
        """The same for several: all or none."""

    def import_once(self, items: Sequence[QueueItem], now: datetime) -> int:
        """Add those that were never imported, by their keys, whatever became of them; how many."""

    def cancel_item(self, id_or_key: str, now: datetime) -> QueueItem:
        """Cancel an item, and all that would come of it. Refused when nothing is left to cancel."""

    def snooze_item(self, id_or_key: str, until: datetime, now: datetime) -> QueueItem:
        """Let an item come at *until*, again if it was told; of one that comes again the occurrence at hand.

        Refused when it is cancelled, comes again before then by itself, or is not worth telling any more then.
        """

    def withdraw_overtaken(self, now: datetime) -> int:
        """Take back occurrences that wait though a later one of their item was reported; how many."""

    def queue(self, now: datetime, *, waiting_only: bool = False) -> list[QueueItem]:
        """Items by due instant, as they stand at *now*; with *waiting_only*, those of which something is to come."""

    # Reading

    def runs(self, job: str | None = None, limit: int = 50) -> list[Run]:
        """The latest runs, newest first."""

    def last_runs(self) -> Mapping[str, Run]:
        """The latest run of each job."""

    def run(self, run_id: str) -> Run: ...

    def slots(
        self, job: str | None = None, state: str | None = None, limit: int = 50, at: datetime | None = None
    ) -> list[Slot]:
        """The latest due instants with their fates, newest first; with *at*, the one, or the stretch, that holds it."""

    def clock_events(self, limit: int = 50) -> list[ClockEvent]:
        """Newest first."""

    def decisions(self, run_id: str, finding_id: str | None = None) -> list[tuple[str | None, Decision]]:
        """The decisions of a run, in order (`known` is None), each with the id of its finding; or those about one."""

    def finding(self, finding_id: str) -> LedgerFinding:
        """One finding, with its events."""

    def findings(
        self, job: str | None = None, state: str | None = None, key: str | None = None, limit: int = 100
    ) -> list[LedgerFinding]:
        """Findings, newest first; without their events."""

    def wake(self, wake_id: str) -> Wake:
        """One wake with findings and history."""

    def wakes(self, state: str | None = None, limit: int = 50) -> list[Wake]: ...

    def incidents(self, *, open_only: bool = False, limit: int = 100) -> list[Incident]: ...

    # Upkeep

    def prune(self, now: datetime, history: timedelta, outputs: int) -> dict[str, int]:
        """Remove what is older than *history* and settled; keep the output of the latest *outputs* runs of a job."""

    def close(self) -> None: ...
