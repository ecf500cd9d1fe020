"""`ports.QueueLedger` and `ports.ReadLedger` in SQLite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from heartbeat.model import ClockEvent, Decision, Depths, Incident, LedgerFinding, QueueItem, Run, Slot, Wake
from heartbeat.stores.sqlite import (
    clock_events,
    depths,
    findings,
    incidents,
    queue_changes,
    records,
    runs,
    slots,
    wake_rows,
)
from heartbeat.stores.sqlite.database import Database
from heartbeat.stores.sqlite.prune import prune


class ReadingPart:
    """The queue, what people and programs look at, and upkeep."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
            return wake_rows.get(db, wake_id)

    def wakes(self, state: str | None = None, limit: int = 50) -> list[Wake]:
        with self._database.reading() as db:
            return wake_rows.latest(db, state, limit)

    def incidents(self, *, open_only: bool = False, limit: int = 100) -> list[Incident]:
        with self._database.reading() as db:
            return incidents.latest(db, limit, open_only=open_only)

    def depths(self, now: datetime) -> Depths:
        with self._database.reading() as db:
            return depths.measure(db, now)

    def decided_since(self, since: datetime) -> Iterator[tuple[Run, list[tuple[str | None, Decision]]]]:
        with self._database.reading() as db:
            run_ids = runs.ended_since(db, since)
        for run_id in run_ids:
            with self._database.reading() as db:
                decided = records.news(db, run_id)
            if decided is not None:
                yield decided

    def hurry(self, seconds: float) -> None:
        self._database.hurry(seconds)

    def prune(
        self, now: datetime, history: timedelta, outputs: int, go_on: Callable[[], bool] = lambda: True
    ) -> dict[str, int]:
        return prune(self._database, now, history, outputs, go_on)
