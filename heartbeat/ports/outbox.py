"""The ledger as the outbox needs it: wakes for agents, messages to the owner, briefs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Protocol

from heartbeat.model import Brief, Draft, Incident, LedgerFinding, Message, Overrides, Reply, Target, Usage, Wake
from heartbeat.ports.beat import Alive


class WakeLedger(Protocol):
    """Wakes: pending -> sending -> settled, failed or pending again."""

    def due_wakes(self, now: datetime) -> list[str]:
        """Ids of the pending wakes whose next attempt is due, oldest first."""

    def begin_wake(self, wake_id: str, owner: str, now: datetime) -> Wake | None:
        """Move a wake from `pending` to `sending`; None when it is not pending (any more)."""

    def settle_wake(self, wake_id: str, reply: Reply, drafts: Sequence[Draft], now: datetime) -> None:
        """The agent accepted it: the wake is `settled`, its findings are told. Refused if not sending.

        The messages with what it answered are entered in the same transaction.
        """

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
        """It is `pending` again: the attempt failed, or (outcome `held`, no failure) the agent asked for time."""

    def defer_wake(self, wake_id: str, reason: str, until: datetime) -> None:
        """Move the next attempt of a pending wake; without an attempt, and so without one more failure."""

    def give_up_wake(
        self, wake_id: str, error: str, now: datetime, *, drafts: Sequence[Draft] = (), usage: Usage | None = None
    ) -> None:
        """No attempt is left: `failed`; its current findings wait for the brief, replaced ones are withdrawn.

        Of a brief: the messages that tell it in the agent's place are entered in the same transaction; without any,
        what it told waits for the next brief.
        """

    def divert_wake(self, wake_id: str, target: Target, reason: str, now: datetime) -> None:
        """A pending wake goes to another target instead, due now and without failures."""

    def release_wakes(self, alive: Alive, now: datetime) -> list[str]:
        """Make wakes and messages that are `sending` by owners that are gone pending again, and all pending ones due.

        What waits for an agent on hold, or was deferred, is due too: whoever sends it looks again. A message is not
        due before its `not_before`. Incidents of which nobody was told are due. Returns the ids of the wakes that
        nobody was sending any more.
        """

    def retry_wake(self, wake_id: str, now: datetime) -> None:
        """Make a pending, failed or cancelled wake pending and due now, and end its agent's hold.

        Refused when sending or settled.
        """

    def cancel_wake(self, wake_id: str, reason: str, now: datetime) -> None:
        """End a pending wake as `cancelled`; its findings are dropped. Refused in any other state."""

    def hold_agent(self, agent: str, until: datetime, reason: str, now: datetime) -> None:
        """The agent is not to be called before *until*; a hold that lasts longer stays."""

    def release_agent(self, agent: str, now: datetime) -> bool:
        """End its hold; whether there was one that still lasted."""

    def next_due(self, now: datetime) -> datetime | None:
        """The earliest instant at which a held finding, a pending wake, a pending message or a notice is due."""


class MessageLedger(Protocol):
    """Messages: pending -> sending -> delivered, unverified, failed, expired or pending again."""

    def post(self, drafts: Sequence[Draft], now: datetime) -> list[str]:
        """Enter messages, due now or at their `not_before`; their ids."""

    def due_messages(self, now: datetime) -> list[str]:
        """Ids of the pending messages that are due: one of a channel, critical ones first, then oldest first.

        A channel's messages keep their order: each waits until the older ones have left `pending` and `sending`. A
        critical one waits for older critical ones only: one that is deferred, or that failed, must not hold it up.
        While one of a channel is `sending`, none of it is due.
        """

    def begin_message(self, message_id: str, owner: str, now: datetime) -> Message | None:
        """Move a message from `pending` to `sending`; None when it is not pending (any more)."""

    def settle_message(self, message_id: str, now: datetime, *, proof: bool) -> None:
        """It is `delivered`, or without *proof* `unverified`. Refused if not sending."""

    def postpone_message(
        self, message_id: str, error: str, next_attempt_at: datetime, now: datetime, *, failed: bool = True
    ) -> None:
        """It is `pending` again, with one more failure unless *failed* is false. Refused if not sending."""

    def defer_message(self, message_id: str, until: datetime) -> None:
        """Move the next attempt of a pending message, without an attempt. Refused in any other state."""

    def give_up_message(self, message_id: str, error: str, now: datetime, *, expired: bool = False) -> None:
        """No attempt is left of a pending or sending message: `failed`, or `expired`. Refused in any other state.

        When no other message of its wake waits or arrived, the findings of the wake that count as told go to the
        brief (rule `undelivered`), but for those that were replaced since. The same holds for a message of a brief,
        also for one with what an agent made of it.
        """

    def retry_message(self, message_id: str, now: datetime) -> None:
        """Make a pending, failed, expired or cancelled message pending and due now. Refused otherwise.

        Its failures, its `not_before` and a `useful_until` that is past count no more. What went to the brief because
        of it, and still waits there, is as it was before.
        """

    def cancel_message(self, message_id: str, reason: str, now: datetime) -> None:
        """End a pending message as `cancelled`; nothing goes to the brief. Refused in any other state."""

    def message(self, message_id: str) -> Message: ...

    def messages(self, state: str | None = None, limit: int = 50) -> list[Message]:
        """Newest first."""

    def messages_of(self, wake_id: str) -> list[Message]:
        """What became of a wake at the channels, oldest first."""


class BriefLedger(Protocol):
    """The brief, incidents and what the owner said for the time being."""

    def brief(self, now: datetime, since: datetime | None = None) -> Brief:
        """What waits to be told, oldest first; with *since*, only what was first seen from then on.

        The tally and `Brief.since` are always reckoned from the brief before, or the last day if there is none; one
        that is dated after *now* was made under a clock that was wrong, and does not count.
        """

    def consume_brief(self, now: datetime, since: datetime | None = None) -> Brief:
        """The same, and mark it told, atomically; one with nothing in it leaves no trace."""

    def issue_brief(
        self,
        day: date,
        now: datetime,
        compose: Callable[[Brief], tuple[str, Sequence[Draft]]],
        *,
        target: Target | None = None,
        empty: bool = True,
    ) -> tuple[Brief, str | None] | None:
        """The brief of the owner's *day*, consumed, with its messages, in one transaction; None when it was made.

        *compose* is pure: it gives the text that is kept, and the messages. With a *target*, a wake of that agent
        is to write it up instead; then the drafts are not entered, and its id is returned too. One that is empty is
        entered as made without messages and wake, unless *empty*.
        """

    def has_brief(self, day: date) -> bool:
        """Whether the brief of the owner's day was made."""

    def brief_text(self, brief_id: str) -> str:
        """What an issued brief said; raises NotFound."""

    def due_notices(self, now: datetime) -> list[Incident]:
        """Incidents of which the owner is to be sent a message now: begun, going on, or over, oldest first."""

    def enter_notice(
        self, incident: Incident, drafts: Sequence[Draft], tell_at: datetime | None, now: datetime
    ) -> bool:
        """Enter the messages about an incident, and when the next is due; False when it was told, or ended, meanwhile.

        Without drafts, because no channel takes them, nobody was told: only the instant moves.
        """

    def overrides(self, now: datetime) -> Overrides:
        """What still holds; `quiet` and `loud` not when they were entered more than TRUSTED after *now*."""

    def override(self, name: str, value: str, until: datetime | None, now: datetime) -> None:
        """Enter what the owner said: `quiet` or `loud` (one ends the other) or `zone`, until then or taken back.

        Raises Invalid for another name, for `quiet` or `loud` without an end, and for an empty zone.
        """

    def take_back(self, name: str) -> bool:
        """Forget it; whether there was one."""

    def waiting(self, limit: int = 100) -> list[LedgerFinding]:
        """What is held or in a wake that is not settled, oldest first."""
