"""The post: from a message in the ledger to a channel, and what becomes of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from heartbeat import beat
from heartbeat.beat import House
from heartbeat.errors import ChannelError, LedgerCorrupt, LedgerError, Refused
from heartbeat.model import Draft, Message, MessageKind, Urgency
from heartbeat.post import Post as DaemonPost
from heartbeat.post import send_due
from heartbeat.recovery import clear_up, close_removed
from heartbeat.troubles import Troubles
from tests.conftest import CONFIG, NOW, Bench, at
from tests.servers import until

WAYS = """
[channels.phone]
kind = "desktop"
attempts = 3
[channels.mail]
kind = "desktop"
"""
# In Berlin NOW is ten o'clock.
NIGHT = """
[[quiet.windows]]
start = "10:05"
end = "12:00"
"""


@dataclass
class Way:
    """A channel that does what the test says, message by message."""

    name: str = "phone"
    answers: list[bool | BaseException] = field(default_factory=list)
    got: list[Message] = field(default_factory=list)
    before: Callable[[], None] = lambda: None

    def send(self, message: Message) -> bool:
        self.got.append(message)
        self.before()
        answer = self.answers.pop(0) if self.answers else True
        if isinstance(answer, BaseException):
            raise answer
        return answer

    @property
    def titles(self) -> list[str]:
        return [message.title for message in self.got]


class Post:
    """A bench with two ways to the owner."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.ledger = bench, bench.ledger
        self.phone, self.mail = Way(), Way("mail")
        self.configure(WAYS)

    def configure(self, more: str) -> None:
        self.bench.place.configure(CONFIG + more)

    @property
    def house(self) -> House:
        return self.bench.house(channels={"phone": self.phone, "mail": self.mail})

    def enter(self, title: str = "T", channel: str = "phone", **more: Any) -> str:
        (message_id,) = self.ledger.post([Draft(MessageKind.NOTICE, channel, title, "B", **more)], self.bench.now)
        return message_id

    def send(self, minutes: float = 0) -> int:
        self.bench.now = at(minutes)
        return send_due(self.house)

    def message(self, message_id: str) -> Message:
        return self.ledger.message(message_id)

    @property
    def incidents(self) -> list[tuple[str, str]]:
        return [(each.subject, each.message) for each in self.ledger.incidents(open_only=True)]


@pytest.fixture
def post(bench: Bench) -> Post:
    return Post(bench)


@pytest.fixture(autouse=True)
def _no_hooks() -> Iterator[None]:
    yield
    beat.step_hooks.clear()


def fails(text: str = "cannot", *, retryable: bool = True, retry_after: float | None = None) -> ChannelError:
    return ChannelError(text, retryable=retryable, retry_after=retry_after)


@pytest.mark.parametrize(("proof", "state"), [(True, "delivered"), (False, "unverified")])
def test_what_was_sent_is_settled_as_the_channel_proves_it(post: Post, proof: bool, state: str) -> None:
    post.phone.answers = [proof]
    message_id = post.enter()
    assert post.send() == 1
    found = post.message(message_id)
    assert (found.state, found.attempts, found.settled_at) == (state, 1, NOW)
    assert post.send(1) == 0


def test_all_that_is_due_is_sent_at_once_each_channel_in_order(post: Post) -> None:
    for number in range(3):
        post.enter(f"P{number}")
        post.enter(f"M{number}", "mail")
    assert post.send() == 6
    assert (post.phone.titles, post.mail.titles) == (["P0", "P1", "P2"], ["M0", "M1", "M2"])


def test_a_channel_that_fails_holds_up_its_own_messages_and_no_others(post: Post) -> None:
    post.phone.answers = [fails()]
    ids = [post.enter(f"P{number}") for number in range(2)]
    post.enter("M", "mail")
    assert post.send() == 2
    assert (post.phone.titles, post.mail.titles) == (["P0"], ["M"])
    first = post.message(ids[0])
    assert (first.state, first.failures, first.error) == ("pending", 1, "cannot")
    assert first.next_attempt_at is not None
    assert timedelta(seconds=15) <= first.next_attempt_at - NOW <= timedelta(seconds=30)
    assert post.send(0.2) == 0
    assert post.send(1) == 2
    assert post.phone.titles == ["P0", "P0", "P1"]


def test_what_the_service_asks_for_is_waited_for(post: Post) -> None:
    post.phone.answers = [fails(retry_after=600)]
    message_id = post.enter()
    post.send()
    assert post.message(message_id).next_attempt_at == at(10)


def test_the_last_attempt_that_fails_gives_up_and_is_an_incident_until_something_arrives(post: Post) -> None:
    post.phone.answers = [fails(f"cannot {number}") for number in range(3)]
    message_id = post.enter()
    for minutes in (0, 5, 10):
        assert post.message(message_id).state == "pending"
        post.send(minutes)
    found = post.message(message_id)
    assert (found.state, found.attempts, found.error) == ("failed", 3, "cannot 2")
    assert post.incidents == [("channel:phone", "cannot 2")]
    assert post.send(60) == 0
    post.enter("next")
    post.send(61)
    assert post.incidents == []


def test_what_cannot_help_is_not_tried_again(post: Post) -> None:
    post.phone.answers = [fails(retryable=False)]
    message_id = post.enter()
    post.send()
    assert post.message(message_id).state == "failed"
    assert post.incidents == [("channel:phone", "cannot")]


@pytest.mark.parametrize(("minutes", "state"), [(10, "delivered"), (10.01, "expired")])
def test_what_is_of_no_use_any_more_is_not_sent(post: Post, minutes: float, state: str) -> None:
    message_id = post.enter(useful_until=at(10))
    post.send(minutes)
    assert post.message(message_id).state == state
    assert len(post.phone.got) == (state == "delivered")
    assert post.incidents == []


def test_what_would_come_too_late_after_a_failure_is_given_up_at_once(post: Post) -> None:
    post.phone.answers = [fails()]
    message_id = post.enter(useful_until=NOW + timedelta(seconds=10))
    post.send()
    assert post.message(message_id).state == "expired"
    assert post.incidents == [("channel:phone", "cannot")]


def test_a_channel_that_is_configured_no_more_ends_its_messages_and_its_incident(post: Post) -> None:
    post.phone.answers = [fails(retryable=False)]
    post.enter()
    post.send()
    message_id = post.enter(channel="phone")
    del post.phone
    post.configure('[channels.mail]\nkind = "desktop"\n')
    house = post.bench.house(channels={"mail": post.mail})
    send_due(house)
    found = post.message(message_id)
    assert (found.state, "configured" in found.error) == ("failed", True)
    assert [subject for subject, _ in post.incidents] == ["channel:phone"]
    close_removed(house, NOW)
    assert post.incidents == []


def test_whatever_breaks_in_a_channel_no_message_stays_with_us(post: Post) -> None:
    post.phone.answers = [ValueError("a mistake")]
    first, other = post.enter(), post.enter("M", "mail")
    assert post.send() == 2
    assert (post.message(first).state, post.message(first).error) == ("pending", "ValueError: a mistake")
    assert post.message(other).state == "delivered"


def test_ctrl_c_puts_the_message_back(post: Post) -> None:
    post.phone.answers = [KeyboardInterrupt()]
    message_id = post.enter()
    with pytest.raises(KeyboardInterrupt):
        post.send()
    assert post.message(message_id).state == "pending"


def test_a_stop_puts_the_message_back_without_a_failure_even_at_the_last_attempt(post: Post) -> None:
    post.configure(WAYS.replace("attempts = 3", "attempts = 1"))
    post.phone.answers = [fails("cannot wait: heartbeat was stopping")]
    post.phone.before = post.bench.stop.set
    ids = [post.enter(), post.enter("M", "mail")]
    assert post.send() == 1
    first, second = map(post.message, ids)
    assert (first.state, first.failures, first.next_attempt_at) == ("pending", 0, NOW)
    assert (second.state, second.attempts) == ("pending", 0)
    assert post.incidents == []


QUIET = [
    # what it is, whether it failed before, when it is sent at last
    ({}, False, at(0)),
    ({}, True, at(120)),
    ({"urgency": Urgency.CRITICAL}, True, at(20)),
    ({"useful_until": at(100)}, True, at(20)),
    ({"useful_until": at(120)}, True, at(120)),
]


@pytest.mark.parametrize(("more", "failed", "sent"), QUIET)
def test_what_failed_before_the_quiet_does_not_disturb_in_it(
    post: Post, more: dict[str, Any], failed: bool, sent: datetime
) -> None:
    post.configure(WAYS + NIGHT)
    post.phone.answers = [fails()] if failed else []
    message_id = post.enter(**more)
    for minutes in (0, 20, 119, 120):
        post.send(minutes)
    found = post.message(message_id)
    assert (found.state, found.settled_at) == ("delivered", sent)


def test_a_message_that_the_owner_wants_now_is_sent_in_the_quiet(post: Post) -> None:
    post.configure(WAYS + NIGHT)
    post.phone.answers = [fails(retryable=False)]
    message_id = post.enter()
    post.send()
    post.ledger.retry_message(message_id, at(30))
    post.send(30)
    assert post.message(message_id).state == "delivered"


def test_one_message_is_sent_by_one_process_alone(post: Post) -> None:
    message_id = post.enter()
    meanwhile: list[int] = []
    post.phone.before = lambda: meanwhile.append(send_due(post.house))
    assert (post.send(), meanwhile) == (1, [0])
    assert post.message(message_id).attempts == 1


def test_the_steps_are_told_in_order(post: Post) -> None:
    seen: list[str] = []
    beat.step_hooks.append(seen.append)
    post.enter()
    post.send()
    assert seen == ["post_begin", "post_act", "post_settle"]


def test_what_a_dead_process_was_sending_is_taken_up_by_the_next(post: Post) -> None:
    message_id = post.enter()
    post.ledger.begin_message(message_id, "999999:1", NOW)
    assert post.send(1) == 0
    assert clear_up(post.ledger, at(2))
    assert post.send(2) == 1
    found = post.message(message_id)
    assert (found.state, found.attempts, found.failures) == ("delivered", 2, 0)


# The daemon's


@dataclass
class Rounds:
    """The daemon's post, and what it says."""

    post: Post
    rung: list[None] = field(default_factory=list)
    fatal: list[BaseException] = field(default_factory=list)
    troubles: Troubles = field(default_factory=Troubles)

    def __post_init__(self) -> None:
        self.daemon = DaemonPost(lambda: self.rung.append(None), self.troubles, self.fatal.append)

    def round(self) -> None:
        self.daemon.round(self.post.house)


@pytest.fixture
def rounds(post: Post) -> Iterator[Rounds]:
    made = Rounds(post)
    yield made
    post.bench.stop.set()
    made.daemon.join()


def wait(event: threading.Event) -> None:
    event.wait(10)


def test_a_channel_that_hangs_holds_up_no_other_and_gets_one_at_a_time(post: Post, rounds: Rounds) -> None:
    hangs = threading.Event()
    post.phone.before = partial(wait, hangs)
    first, second = post.enter("P0"), post.enter("P1")
    post.enter("M0", "mail")
    rounds.round()
    until(lambda: rounds.rung)
    post.enter("M1", "mail", urgency=Urgency.CRITICAL)
    rounds.round()
    until(lambda: len(rounds.rung) == 2)
    assert post.mail.titles == ["M0", "M1"]
    assert (post.message(first).state, post.message(second).state) == ("sending", "pending")
    hangs.set()
    until(lambda: len(rounds.rung) == 3)
    rounds.round()
    until(lambda: len(rounds.rung) == 4)
    assert post.phone.titles == ["P0", "P1"]


def test_the_end_waits_for_what_is_being_sent_and_begins_nothing(post: Post, rounds: Rounds) -> None:
    post.phone.before = partial(wait, post.bench.stop)
    post.phone.answers = [fails()]
    message_id = post.enter()
    rounds.round()
    until(lambda: post.phone.got)
    post.bench.stop.set()
    rounds.daemon.join()
    assert (post.message(message_id).state, post.message(message_id).failures) == ("pending", 0)
    rounds.round()
    assert len(post.phone.got) == 1


@pytest.mark.parametrize(("error", "is_fatal"), [(LedgerError("cannot write"), False), (LedgerCorrupt("torn"), True)])
def test_what_breaks_in_a_thread_is_told_and_is_not_tried_again_at_once(
    post: Post, rounds: Rounds, monkeypatch: pytest.MonkeyPatch, error: Exception, is_fatal: bool
) -> None:
    def fail(*_: object) -> str:
        raise error

    post.enter()
    with monkeypatch.context() as patch:
        patch.setattr("heartbeat.post.send", fail)
        rounds.round()
        until(lambda: rounds.fatal or rounds.troubles.all())
    assert rounds.fatal == ([error] if is_fatal else [])
    assert rounds.troubles.all() == (() if is_fatal else (("post_trouble", "cannot write"),))
    assert not rounds.rung
    until(lambda: not rounds.daemon._busy)
    rounds.round()
    until(lambda: rounds.rung)
    assert rounds.troubles.all() == ()


def test_giving_up_and_the_incident_are_one_step(post: Post) -> None:
    message_id, fault = post.enter(), ("channel:phone", "channel_failed")
    post.ledger.give_up_message(message_id, "no", NOW, fault=fault)
    assert post.incidents == [("channel:phone", "no")]
    # Refused as a whole.
    with pytest.raises(Refused):
        post.ledger.give_up_message(message_id, "no", NOW, fault=("channel:mail", "channel_failed"))
    assert post.incidents == [("channel:phone", "no")]
