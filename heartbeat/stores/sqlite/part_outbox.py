"""`ports.WakeLedger` and `ports.MessageLedger` in SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from heartbeat.model import Draft, Message, Reply, Target, Usage, Wake
from heartbeat.ports import Alive
from heartbeat.stores.sqlite import (
    holds,
    incidents,
    issued,
    messages,
    notices,
    turns,
    wakes,
)
from heartbeat.stores.sqlite.database import Database
from heartbeat.stores.sqlite.due import next_due


class OutboxPart:
    """Wakes for agents, messages to the owner."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def due_wakes(self, now: datetime, *, to_owner: bool | None = None) -> list[str]:
        with self._database.reading() as db:
            return turns.due(db, now, to_owner=to_owner)

    def begin_wake(self, wake_id: str, owner: str, now: datetime, *, useful_at: datetime | None = None) -> Wake | None:
        with self._database.writing() as db:
            return wakes.begin(db, wake_id, owner, now, useful_at=useful_at)

    def settle_wake(self, wake_id: str, reply: Reply, drafts: Sequence[Draft], now: datetime) -> None:
        with self._database.writing() as db:
            wakes.settle(db, wake_id, reply, now)
            messages.post(db, drafts, now)

    def postpone_wake(
        self,
        wake_id: str,
        error: str,
        next_attempt_at: datetime,
        now: datetime,
        *,
        outcome: str = "failed",
        usage: Usage | None = None,
    ) -> None:
        with self._database.writing() as db:
            wakes.postpone(db, wake_id, error, next_attempt_at, now, outcome=outcome, usage=usage)

    def defer_wake(self, wake_id: str, reason: str, until: datetime) -> None:
        with self._database.writing() as db:
            wakes.defer(db, wake_id, reason, until)

    def give_up_wake(
        self,
        wake_id: str,
        error: str,
        now: datetime,
        *,
        drafts: Sequence[Draft] = (),
        usage: Usage | None = None,
        fault: tuple[str, str] | None = None,
    ) -> None:
        with self._database.writing() as db:
            wakes.give_up(db, wake_id, error, now, usage=usage)
            messages.post(db, drafts, now)
            if not drafts:
                issued.take_back(db, wake_id, error, now)
            if fault is not None:
                incidents.open_(db, *fault, error, now)

    def undefer_wakes(self, now: datetime) -> None:
        with self._database.writing() as db:
            turns.undefer(db, now)

    def divert_wake(self, wake_id: str, target: Target, reason: str, now: datetime) -> None:
        with self._database.writing() as db:
            wakes.divert(db, wake_id, target, reason, now)

    def release_wakes(self, alive: Alive, now: datetime) -> list[str]:
        with self._database.writing() as db:
            messages.release(db, alive, now)
            notices.release(db, now)
            issued.release(db, now)
            return wakes.release(db, alive, now)

    def retry_wake(self, wake_id: str, now: datetime) -> None:
        with self._database.writing() as db:
            wakes.retry(db, wake_id, now)
            issued.tell_again(db, wake_id, now)

    def cancel_wake(self, wake_id: str, reason: str, now: datetime) -> None:
        with self._database.writing() as db:
            wakes.cancel(db, wake_id, reason, now)

    def hold_agent(self, agent: str, until: datetime, reason: str, now: datetime) -> None:
        with self._database.writing() as db:
            holds.enter(db, agent, until, reason, now)

    def release_agent(self, agent: str, now: datetime) -> bool:
        with self._database.writing() as db:
            return holds.end(db, agent, now)

    def next_due(self, now: datetime) -> datetime | None:
        with self._database.reading() as db:
            return next_due(db, now)

    def post(self, drafts: Sequence[Draft], now: datetime) -> list[str]:
        with self._database.writing() as db:
            return messages.post(db, drafts, now)

    def due_messages(self, now: datetime) -> list[str]:
        with self._database.reading() as db:
            return messages.due(db, now)

    def begin_message(self, message_id: str, owner: str, now: datetime) -> Message | None:
        with self._database.writing() as db:
            return messages.begin(db, message_id, owner, now)

    def settle_message(self, message_id: str, now: datetime, *, proof: bool) -> None:
        with self._database.writing() as db:
            messages.settle(db, message_id, now, proof=proof)

    def postpone_message(
        self, message_id: str, error: str, next_attempt_at: datetime, now: datetime, *, failed: bool = True
    ) -> None:
        with self._database.writing() as db:
            messages.postpone(db, message_id, error, next_attempt_at, now, failed=failed)

    def defer_message(self, message_id: str, until: datetime) -> None:
        with self._database.writing() as db:
            messages.defer(db, message_id, until)

    def give_up_message(
        self,
        message_id: str,
        error: str,
        now: datetime,
        *,
        expired: bool = False,
        fault: tuple[str, str] | None = None,
    ) -> None:
        with self._database.writing() as db:
            messages.give_up(db, message_id, error, now, expired=expired)
            if fault is not None:
                incidents.open_(db, *fault, error, now)

    def retry_message(self, message_id: str, now: datetime) -> None:
        with self._database.writing() as db:
            messages.retry(db, message_id, now)

    def cancel_message(self, message_id: str, reason: str, now: datetime) -> None:
        with self._database.writing() as db:
            messages.cancel(db, message_id, reason, now)

    def message(self, message_id: str) -> Message:
        with self._database.reading() as db:
            return messages.get(db, message_id)

    def messages(self, state: str | None = None, limit: int = 50) -> list[Message]:
        with self._database.reading() as db:
            return messages.latest(db, state, limit)

    def messages_of(self, wake_id: str) -> list[Message]:
        with self._database.reading() as db:
            return messages.of_wake(db, wake_id)
