"""The ledger as people and programs look at it, its queue, and its upkeep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from heartbeat.model import ClockEvent, Decision, Depths, Incident, LedgerFinding, QueueItem, Run, Slot, Wake


class QueueLedger(Protocol):
    """Time-sensitive items."""

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


class ReadLedger(Protocol):
    """Looking at what is recorded; lookups of one thing by id raise NotFound."""

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
        """The decisions of a run, in order, each with the id of its finding; or those about one.

        Without `known`, `until` and `target`, which are not kept.
        """

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

    def depths(self, now: datetime) -> Depths:
        """How much waits."""

    def decided_since(self, since: datetime) -> Iterator[tuple[Run, list[tuple[str | None, Decision]]]]:
        """Every ended run from then on, oldest first, with what was decided of its findings, but for duplicates."""

    def hurry(self, seconds: float) -> None:
        """heartbeat is stopping: what another process locks is waited for only so long from now on, all together."""

    def prune(
        self, now: datetime, history: timedelta, outputs: int, go_on: Callable[[], bool] = lambda: True
    ) -> dict[str, int]:
        """Remove what is older than *history* and settled; keep the output of the latest *outputs* runs of a job.

        Batch by batch, as long as *go_on* says so.
        """

    def close(self) -> None: ...
