"""The ledger in SQLite: what a caller asks for, each in one transaction, done by the module that knows how."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

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
from heartbeat.ports import Alive
from heartbeat.stores.sqlite import (
    briefs,
    clock_events,
    findings,
    incidents,
    jobs,
    passing,
    queue_changes,
    records,
    runs,
    slots,
    wakes,
)
from heartbeat.stores.sqlite.database import Database, open_file, open_memory
from heartbeat.stores.sqlite.prune import prune


class SqliteLedger:
    """`ports.Ledger` over one connection, which all threads of a process may share; without a path, in memory."""

    def __init__(self, path: Path | None, *, check: bool = False) -> None:
        self._database: Database = open_memory() if path is None else open_file(path, check=check)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The beat

    def enlist(self, schedules: Iterable[tuple[str, str]], now: datetime) -> list[str]:
        given = list(schedules)  # before the transaction: nobody else waits while they are reckoned
        with self._database.writing() as db:
            return jobs.enlist(db, given, now)

    def states(self) -> dict[str, JobState]:
        with self._database.reading() as db:
            return jobs.states(db)

    def state(self, job: str) -> JobState | None:
        with self._database.reading() as db:
            return jobs.find(db, job)

    def view(self, job: str, keys: Collection[str], now: datetime) -> View:
        with self._database.reading() as db:
            return records.view(db, job, keys, now)

    def claim(self, run: Run, owner: str, *, note: str = "", again: bool = False) -> None:
        with self._database.writing() as db:
            taken = runs.claim(db, run, owner, note, again=again)
        if taken is not None:
            raise taken

    def pass_over(self, fates: Sequence[tuple[str, Fate]], now: datetime, *, advance: bool = True) -> None:
        with self._database.writing() as db:
            passing.pass_over(db, fates, now, advance=advance)

    def move_on(self, job: str, now: datetime) -> None:
        with self._database.writing() as db:
            jobs.move_on(db, job, now)

    def record(
        self, run: Run, execution: Execution, judgement: Judgement, choose: Callable[[View], Plan], *, agent: str
    ) -> tuple[Plan, str | None]:
        with self._database.writing() as db:
            return records.record(db, run, execution, judgement, choose, agent=agent)

    def abandon(self, run_id: str, reason: str, now: datetime) -> None:
        with self._database.writing() as db:
            runs.abandon(db, run_id, reason, now)

    def interrupt(self, alive: Alive, now: datetime) -> list[Run]:
        with self._database.writing() as db:
            return runs.interrupt(db, alive, now)

    def orphaned(self, alive: Alive) -> list[str]:
        with self._database.reading() as db:
            return [*runs.orphaned(db, alive), *wakes.orphaned(db, alive)]

    def note_clock(self, event: ClockEvent) -> None:
        with self._database.writing() as db:
            clock_events.enter(db, event)

    # Wakes

    def due_wakes(self, now: datetime) -> list[str]:
        with self._database.reading() as db:
            return wakes.due(db, now)

    def begin_wake(self, wake_id: str, owner: str, now: datetime) -> Wake | None:
        with self._database.writing() as db:
            return wakes.begin(db, wake_id, owner, now)

    def settle_wake(self, wake_id: str, reply: str, now: datetime) -> None:
        with self._database.writing() as db:
            wakes.settle(db, wake_id, reply, now)

    def postpone_wake(self, wake_id: str, error: str, next_attempt_at: datetime, now: datetime) -> None:
        with self._database.writing() as db:
            wakes.postpone(db, wake_id, error, next_attempt_at, now)

    def give_up_wake(self, wake_id: str, error: str, now: datetime) -> None:
        with self._database.writing() as db:
            wakes.give_up(db, wake_id, error, now)

    def release_wakes(self, alive: Alive, now: datetime) -> list[str]:
        with self._database.writing() as db:
            return wakes.release(db, alive, now)

    def retry_wake(self, wake_id: str, now: datetime) -> None:
        with self._database.writing() as db:
            wakes.retry(db, wake_id, now)

    def cancel_wake(self, wake_id: str, reason: str, now: datetime) -> None:
        with self._database.writing() as db:
            wakes.cancel(db, wake_id, reason, now)

    def fault(self, subject: str, code: str, message: str, now: datetime) -> Incident | None:
        with self._database.writing() as db:
            return incidents.open_(db, subject, code, message, now)

    def recover(self, subject: str, now: datetime) -> Incident | None:
        with self._database.writing() as db:
            return incidents.resolve(db, subject, now)

    # The brief

    def brief(self, now: datetime, since: datetime | None = None) -> Brief:
        with self._database.reading() as db:
            return briefs.read(db, now, since)

    def consume_brief(self, now: datetime, since: datetime | None = None) -> Brief:
        with self._database.writing() as db:
            return briefs.consume(db, now, since)

    # The queue

    def enqueue(self, item: QueueItem, now: datetime) -> tuple[QueueItem, bool]:
        return self.enqueue_all([item], now)[0]

    def enqueue_all(self, items: Sequence[QueueItem], now: datetime) -> list[tuple[QueueItem, bool]]:
        with self._database.writing() as db:
            return [queue_changes.enqueue(db, item, now) for item in items]

    def import_once(self, items: Sequence[QueueItem], now: datetime) -> int:
        with self._database.writing() as db:
            return queue_changes.import_once(db, items, now)

    def cancel_item(self, id_or_key: str, now: datetime) -> QueueItem:
        with self._database.writing() as db:
            return queue_changes.cancel(db, id_or_key, now)

    def snooze_item(self, id_or_key: str, until: datetime, now: datetime) -> QueueItem:
        with self._database.writing() as db:
            return queue_changes.snooze(db, id_or_key, until, now)

    def withdraw_overtaken(self, now: datetime) -> int:
        return queue_changes.withdraw_overtaken(self._database, now)

    def queue(self, now: datetime, *, waiting_only: bool = False) -> list[QueueItem]:
        with self._database.reading() as db:
            return queue_changes.listed(db, now, waiting_only=waiting_only)

    # Reading

    def runs(self, job: str | None = None, limit: int = 50) -> list[Run]:
        with self._database.reading() as db:
            return runs.latest(db, job, limit)

    def last_runs(self) -> dict[str, Run]:
        with self._database.reading() as db:
            return runs.latest_of_each(db)

    def run(self, run_id: str) -> Run:
        with self._database.reading() as db:
            return runs.get(db, run_id)

    def slots(
        self, job: str | None = None, state: str | None = None, limit: int = 50, at: datetime | None = None
    ) -> list[Slot]:
        with self._database.reading() as db:
            return slots.latest(db, job, state, limit, at)

    def clock_events(self, limit: int = 50) -> list[ClockEvent]:
        with self._database.reading() as db:
            return clock_events.latest(db, limit)

    def decisions(self, run_id: str, finding_id: str | None = None) -> list[tuple[str | None, Decision]]:
        with self._database.reading() as db:
            return records.decisions(db, run_id, finding_id)

    def finding(self, finding_id: str) -> LedgerFinding:
        with self._database.reading() as db:
            return findings.get(db, finding_id)

    def findings(
        self, job: str | None = None, state: str | None = None, key: str | None = None, limit: int = 100
    ) -> list[LedgerFinding]:
        with self._database.reading() as db:
            return findings.latest(db, job, state, key, limit)

    def wake(self, wake_id: str) -> Wake:
        with self._database.reading() as db:
            return wakes.get(db, wake_id)

    def wakes(self, state: str | None = None, limit: int = 50) -> list[Wake]:
        with self._database.reading() as db:
            return wakes.latest(db, state, limit)

    def incidents(self, *, open_only: bool = False, limit: int = 100) -> list[Incident]:
        with self._database.reading() as db:
            return incidents.latest(db, limit, open_only=open_only)

    # Upkeep

    def prune(self, now: datetime, history: timedelta, outputs: int) -> dict[str, int]:
        return prune(self._database, now, history, outputs)

    def close(self) -> None:
        self._database.close()
