"""`ports.WakeLedger`, `ports.MessageLedger` and `ports.BriefLedger` in SQLite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime

from heartbeat.model import Brief, Draft, Incident, LedgerFinding, Message, Overrides, Reply, Target, Usage, Wake
from heartbeat.ports import Alive
from heartbeat.stores.sqlite import briefs, findings, holds, issued, messages, notices, overrides, wakes
from heartbeat.stores.sqlite.database import Database
from heartbeat.stores.sqlite.due import next_due


class OutboxPart:
    """Wakes for agents, messages to the owner, briefs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def due_wakes(self, now: datetime) -> list[str]:
        with self._database.reading() as db:
            return wakes.due(db, now)

    def begin_wake(self, wake_id: str, owner: str, now: datetime) -> Wake | None:
        with self._database.writing() as db:
            return wakes.begin(db, wake_id, owner, now)

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
        self, wake_id: str, error: str, now: datetime, *, drafts: Sequence[Draft] = (), usage: Usage | None = None
    ) -> None:
        with self._database.writing() as db:
            wakes.give_up(db, wake_id, error, now, usage=usage)
            messages.post(db, drafts, now)
            if not drafts:
                issued.take_back(db, wake_id, error, now)

    def divert_wake(self, wake_id: str, target: Target, reason: str, now: datetime) -> None:
        with self._database.writing() as db:
            wakes.divert(db, wake_id, target, reason, now)

    def release_wakes(self, alive: Alive, now: datetime) -> list[str]:
        with self._database.writing() as db:
            messages.release(db, alive, now)
            notices.release(db, now)
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

    def give_up_message(self, message_id: str, error: str, now: datetime, *, expired: bool = False) -> None:
        with self._database.writing() as db:
            messages.give_up(db, message_id, error, now, expired=expired)

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

    def brief(self, now: datetime, since: datetime | None = None) -> Brief:
        with self._database.reading() as db:
            return briefs.read(db, now, since)

    def consume_brief(self, now: datetime, since: datetime | None = None) -> Brief:
        with self._database.writing() as db:
            return briefs.consume(db, now, since)

    def issue_brief(
        self,
        day: date,
        now: datetime,
        compose: Callable[[Brief], tuple[str, Sequence[Draft]]],
        *,
        target: Target | None = None,
        empty: bool = True,
    ) -> tuple[Brief, str | None] | None:
        with self._database.writing() as db:
            return issued.issue(db, day, now, compose, target=target, empty=empty)

    def has_brief(self, day: date) -> bool:
        with self._database.reading() as db:
            return issued.is_made(db, day)

    def brief_text(self, brief_id: str) -> str:
        with self._database.reading() as db:
            return issued.text_of(db, brief_id)

    def due_notices(self, now: datetime) -> list[Incident]:
        with self._database.reading() as db:
            return notices.due(db, now)

    def enter_notice(
        self, incident: Incident, drafts: Sequence[Draft], tell_at: datetime | None, now: datetime
    ) -> bool:
        with self._database.writing() as db:
            return notices.enter(db, incident, drafts, tell_at, now)

    def overrides(self, now: datetime) -> Overrides:
        with self._database.reading() as db:
            return overrides.read(db, now)

    def override(self, name: str, value: str, until: datetime | None, now: datetime) -> None:
        with self._database.writing() as db:
            overrides.enter(db, name, value, until, now)

    def take_back(self, name: str) -> bool:
        with self._database.writing() as db:
            return overrides.take_back(db, name)

    def waiting(self, limit: int = 100) -> list[LedgerFinding]:
        with self._database.reading() as db:
            return findings.waiting(db, limit)
