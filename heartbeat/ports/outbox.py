"""The ledger as the outbox needs it: wakes for agents, messages to the owner."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from heartbeat.model import Draft, Message, Reply, Target, Usage, Wake
from heartbeat.ports.beat import Alive


class WakeLedger(Protocol):
    """Wakes: pending -> sending -> settled, failed or pending again."""

    def due_wakes(self, now: datetime, *, to_owner: bool | None = None) -> list[str]:
        """Ids of the pending wakes (not) for the owner whose next attempt is due: critical ones first, then oldest.

        While one that failed waits for its next attempt, those made after it for the same agent wait too, so that
        what comes meanwhile shares one wake; but for critical ones.
        """

    def begin_wake(self, wake_id: str, owner: str, now: datetime, *, useful_at: datetime | None = None) -> Wake | None:
        """Move a wake from `pending` to `sending`; None when it is not pending (any more).

        Of several findings those that are of no use any more at *useful_at* are left to the brief, as missed.
        """

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
        self,
        wake_id: str,
        error: str,
        now: datetime,
        *,
        drafts: Sequence[Draft] = (),
        usage: Usage | None = None,
        fault: tuple[str, str] | None = None,
    ) -> None:
        """No attempt is left: `failed`; its current findings wait for the brief, replaced ones are withdrawn.

        Of a brief: the messages that tell it in the agent's place are entered in the same transaction; without any,
        what it told waits for the next brief. With a *fault* (subject and code) its incident is opened, too.
        """

    def undefer_wakes(self, now: datetime) -> None:
        """What was deferred is due now: the reason for it may be over."""

    def divert_wake(self, wake_id: str, target: Target, reason: str, now: datetime) -> None:
        """A pending wake goes to another target instead, due now and without failures."""

    def release_wakes(self, alive: Alive, now: datetime) -> list[str]:
        """Make wakes and messages that are `sending` by owners that are gone pending again, and all pending ones due.

        What waits for an agent on hold, or was deferred, is due too: whoever sends it looks again. A message is not
        due before its `not_before`. Incidents of which nobody was told are due. Returns the ids of the wakes that
        nobody was sending any more.
        """

    def retry_wake(self, wake_id: str, now: datetime) -> None:
        """Make a pending, failed or cancelled wake pending and due now, and end every hold.

        Those that wait behind it or before it are due too. Refused when sending or settled.
        """

    def cancel_wake(self, wake_id: str, reason: str, now: datetime) -> None:
        """End a pending wake as `cancelled`; its findings are dropped. Refused in any other state."""

    def hold_agent(self, agent: str, until: datetime, reason: str, now: datetime) -> None:
        """The agent is not to be called before *until*; a hold that lasts longer stays."""

    def release_agent(self, agent: str, now: datetime) -> bool:
        """End its hold, and what was held for that is due; whether there was one that still lasted."""

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

    def give_up_message(
        self,
        message_id: str,
        error: str,
        now: datetime,
        *,
        expired: bool = False,
        fault: tuple[str, str] | None = None,
    ) -> None:
        """No attempt is left of a pending or sending message: `failed`, or `expired`. Refused in any other state.

        *fault*, a subject and a code, opens an incident with the error, in the same transaction.

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
        """End a pending message as `cancelled`. Refused in any other state.

        What it told goes to the brief as in `give_up_message` when another message of it failed or expired; when the
        owner cancelled them all, they know.
        """

    def message(self, message_id: str) -> Message: ...

    def messages(self, state: str | None = None, limit: int = 50) -> list[Message]:
        """Newest first."""

    def messages_of(self, wake_id: str) -> list[Message]:
        """What became of a wake at the channels, oldest first."""
