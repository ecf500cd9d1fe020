"""Messages under random posts, sends, crashes, clock steps, retries and cancels: none lost, none twice, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from heartbeat.model import LedgerFinding, Message, MessageState, State, Urgency
from heartbeat.stores.memory import open_memory
from tests.ledger.telling import T0, draft, told

MOMENT = timedelta(microseconds=1)
FAR = datetime(2999, 1, 1, tzinfo=UTC)
CHANNELS = st.sampled_from(("phone", "mail"))
MINUTES = st.integers(0, 90)
WAITS = ("pending", "sending")
ARRIVED = ("delivered", "unverified")


@dataclass
class Sent:
    """What the model knows of a message."""

    channel: str
    critical: bool
    state: str = "pending"
    not_before: datetime | None = None
    owner: str = ""
    disturbed: bool = False
    """It was given up or cancelled once: when it is retried, younger ones may be ahead of it."""


@dataclass
class Model:
    messages: dict[str, Sent] = field(default_factory=dict)
    """By id, in the order of posting."""
    deliveries: list[str] = field(default_factory=list)

    def having(self, *states: str) -> list[str]:
        return [message for message, sent in self.messages.items() if sent.state in states]


class MessagesMachine(RuleBasedStateMachine):
    """What the ledger does with messages, next to a model of what it may do."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = open_memory()
        self.model = Model()
        self.now = T0
        self.day = T0.date()
        self.keys = 0

    def teardown(self) -> None:
        self.ledger.close()

    # What comes in

    @rule(channel=CHANNELS, critical=st.booleans(), later=st.none() | MINUTES)
    def post(self, channel: str, critical: bool, later: int | None) -> None:
        not_before = None if later is None else self.now + timedelta(minutes=later)
        urgency = Urgency.CRITICAL if critical else Urgency.NORMAL
        (message,) = self.ledger.post([draft(channel, urgency=urgency, not_before=not_before)], self.now)
        self.model.messages[message] = Sent(channel, critical, not_before=not_before)

    @rule(channels=st.sampled_from((("phone",), ("mail",), ("phone", "mail"))))
    def tell(self, channels: tuple[str, ...]) -> None:
        self.keys += 1
        minute = (self.now - T0) / timedelta(minutes=1)
        for message, channel in zip(
            told(self.ledger, minute, f"k{self.keys}", channels=channels), channels, strict=True
        ):
            self.model.messages[message] = Sent(channel, critical=False)

    @rule(channels=st.sampled_from((("phone",), ("phone", "mail"))))
    def brief(self, channels: tuple[str, ...]) -> None:
        drafts = [draft(channel) for channel in channels]
        issued = self.ledger.issue_brief(self.day, self.now, lambda _brief: ("", drafts))
        assert issued is not None
        self.day += timedelta(days=1)
        for message in reversed(self.ledger.messages(limit=len(channels))):
            self.model.messages[message.id] = Sent(message.channel, critical=False)

    @rule()
    def consume(self) -> None:
        brief = self.ledger.consume_brief(self.now)
        assert self.ledger.brief(self.now).is_empty
        assert set(brief.undelivered) <= set(self.model.having("failed", "expired"))

    # What is sent

    @rule(owner=st.sampled_from(("lives", "dies")))
    def send(self, owner: str) -> None:
        due = self.ledger.due_messages(self.now)
        assert len({self.model.messages[message].channel for message in due}) == len(due)
        for message in due:
            begun = self.ledger.begin_message(message, owner, self.now)
            assert begun is not None
            assert self.ledger.begin_message(message, "other", self.now) is None
            sent = self.model.messages[message]
            sent.state, sent.owner = "sending", owner

    @precondition(lambda self: self.model.having("sending"))
    @rule(data=st.data(), end=st.sampled_from(("proof", "no proof", "postpone", "give up", "expire")), minutes=MINUTES)
    def end(self, data: st.DataObject, end: str, minutes: int) -> None:
        message = data.draw(st.sampled_from(self.model.having("sending")))
        sent = self.model.messages[message]
        if end in ("proof", "no proof"):
            self.ledger.settle_message(message, self.now, proof=end == "proof")
            self.model.deliveries.append(message)
            sent.state = "delivered" if end == "proof" else "unverified"
        elif end == "postpone":
            self.ledger.postpone_message(message, "503", self.now + timedelta(minutes=minutes), self.now)
            sent.state = "pending"
        else:
            self.ledger.give_up_message(message, "503", self.now, expired=end == "expire")
            sent.state, sent.disturbed = "expired" if end == "expire" else "failed", True

    @rule()
    def release(self) -> None:
        self.ledger.release_wakes(lambda owner: owner == "lives", self.now)
        for message in self.model.having("sending"):
            if self.model.messages[message].owner == "dies":
                self.model.messages[message].state = "pending"
        for message in self.model.having("pending"):
            at = self.ledger.message(message).next_attempt_at
            assert at == max(self.now, self.model.messages[message].not_before or self.now)

    # What the owner does

    @precondition(lambda self: self.model.having("pending"))
    @rule(data=st.data(), minutes=MINUTES, step=st.sampled_from(("defer", "cancel", "give up")))
    def change_what_waits(self, data: st.DataObject, minutes: int, step: str) -> None:
        message = data.draw(st.sampled_from(self.model.having("pending")))
        sent = self.model.messages[message]
        if step == "defer":
            self.ledger.defer_message(message, self.now + timedelta(minutes=minutes))
        elif step == "cancel":
            self.ledger.cancel_message(message, "no", self.now)
            sent.state, sent.disturbed = "cancelled", True
        else:
            self.ledger.give_up_message(message, "no channel of that name", self.now)
            sent.state, sent.disturbed = "failed", True

    @precondition(lambda self: self.model.having("pending", "failed", "expired", "cancelled"))
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        message = data.draw(st.sampled_from(self.model.having("pending", "failed", "expired", "cancelled")))
        self.ledger.retry_message(message, self.now)
        sent = self.model.messages[message]
        sent.state, sent.not_before = "pending", None

    @rule(minutes=st.sampled_from((-1000, -30, 1, 5, 60, 1000)))
    def clock_goes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    # What always holds

    @invariant()
    def every_message_is_where_the_model_has_it(self) -> None:
        rows = self.ledger.messages(limit=1000)[::-1]
        assert [(row.id, row.state) for row in rows] == [(name, each.state) for name, each in self.items()]

    @invariant()
    def nothing_is_delivered_twice_and_each_channel_keeps_its_order(self) -> None:
        assert sorted(self.model.deliveries) == sorted(self.model.having(*ARRIVED))
        posted = list(self.model.messages)
        for channel in ("phone", "mail"):
            for critical in (False, True):
                numbers = [
                    posted.index(name)
                    for name in self.model.deliveries
                    if (each := self.model.messages[name]).channel == channel
                    and each.critical == critical
                    and not each.disturbed
                ]
                assert numbers == sorted(numbers)

    @invariant()
    def what_waits_comes_to_its_turn(self) -> None:
        """In time one of each channel is due, unless one is being sent; `next_due` is the first such instant."""
        busy = {self.model.messages[name].channel for name in self.model.having("sending")}
        waiting = {self.model.messages[name].channel for name in self.model.having("pending")} - busy
        assert {self.model.messages[name].channel for name in self.ledger.due_messages(FAR)} == waiting
        instant = self.ledger.next_due(self.now)
        assert (instant is not None) == bool(waiting)
        if instant is not None:
            assert self.ledger.due_messages(instant)
            assert not self.ledger.due_messages(instant - MOMENT)

    @invariant()
    def what_counts_as_told_was_sent_waits_to_be_or_was_cancelled_by_the_owner(self) -> None:
        messages = self.ledger.messages(limit=1000)
        for row in self.ledger.findings(limit=1000):
            carrying = [message for message in messages if carries(message, row)]
            if row.state is State.TOLD or (row.state is State.BRIEFED and carrying):
                states = {message.state for message in carrying}
                assert states & {*WAITS, *ARRIVED} or states == {MessageState.CANCELLED}
            else:
                # To be told by the next brief, or read in one on demand.
                assert row.state in (State.BRIEF, State.BRIEFED)

    def items(self) -> list[tuple[str, Sent]]:
        return list(self.model.messages.items())


def carries(message: Message, row: LedgerFinding) -> bool:
    """Whether it is by this message that the finding counts as told."""
    if row.state is State.BRIEFED:
        return message.brief_id == row.brief_id
    return message.wake_id == row.wake_id


TestMessagesMachine = MessagesMachine.TestCase
TestMessagesMachine.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
