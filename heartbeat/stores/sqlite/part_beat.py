"""`ports.BeatLedger` in SQLite."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

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
from heartbeat.ports import Alive
from heartbeat.stores.sqlite import clock_events, held, incidents, jobs, messages, passing, past, records, runs, wakes
from heartbeat.stores.sqlite.database import Database


class BeatPart:
    """From a due instant to what is recorded of its run."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
        self, run: Run, execution: Execution, judgement: Judgement, choose: Callable[[View], Plan]
    ) -> tuple[Plan, tuple[str, ...]]:
        with self._database.writing() as db:
            return records.record(db, run, execution, judgement, choose)

    def decide_held(
        self,
        choose: Callable[[Sequence[LedgerFinding], Past], Sequence[Decision]],
        now: datetime,
        *,
        everything: bool = False,
        job: str | None = None,
    ) -> tuple[str, ...]:
        with self._database.reading() as db:
            batches = held.due(db, now, everything=everything, job=job)
        wake_ids: list[str] = []
        for some in batches:
            with self._database.writing() as db:
                wake_ids += held.decide(db, some, choose, now)
        return tuple(dict.fromkeys(wake_ids))

    def past(self, now: datetime) -> Past:
        with self._database.reading() as db:
            return past.read(db, now)

    def abandon(self, run_id: str, reason: str, now: datetime) -> None:
        with self._database.writing() as db:
            runs.abandon(db, run_id, reason, now)

    def interrupt(self, alive: Alive, now: datetime) -> list[Run]:
        with self._database.writing() as db:
            return runs.interrupt(db, alive, now)

    def orphaned(self, alive: Alive) -> list[str]:
        with self._database.reading() as db:
            return [*runs.orphaned(db, alive), *wakes.orphaned(db, alive), *messages.orphaned(db, alive)]

    def note_clock(self, event: ClockEvent) -> None:
        with self._database.writing() as db:
            clock_events.enter(db, event)

    def fault(self, subject: str, code: str, message: str, now: datetime) -> Incident | None:
        with self._database.writing() as db:
            return incidents.open_(db, subject, code, message, now)

    def recover(self, subject: str, now: datetime, *, closed: str = "") -> Incident | None:
        with self._database.writing() as db:
            return incidents.resolve(db, subject, now, closed=closed)
