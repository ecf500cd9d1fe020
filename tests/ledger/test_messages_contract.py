"""The contract of messages to the owner: their order, their states, and what becomes of what they told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from heartbeat.errors import HeartbeatError, Invalid, NotFound, Refused
from heartbeat.model import Change, Message, MessageKind, MessageState, State, Urgency
from heartbeat.stores.memory import open_memory
from heartbeat.stores.sqlite import SqliteLedger
from tests.ledger.telling import OWNER, at, draft, found, report, stands, told

DAY = timedelta(days=1)
BRIEFED, TOLD = (State.BRIEFED, "brief"), (State.TOLD, "settled")
GIVEN_BACK = (State.BRIEF, "undelivered")


@pytest.fixture
def ledger() -> Iterator[SqliteLedger]:
    with open_memory() as made:
        yield made


def post(ledger: SqliteLedger, minute: float = 0, channel: str = "phone", **more: Any) -> str:
    (message_id,) = ledger.post([draft(channel, **more)], at(minute))
    return message_id


def test_a_message_is_kept_as_it_was_drafted(ledger: SqliteLedger) -> None:
    message_id = post(
        ledger, 1, urgency=Urgency.HIGH, not_before=at(5), useful_until=at(9), wake_id="w", brief_id="b",
        incident_id="i",
    )  # fmt: skip
    assert message_id.startswith("msg_")
    assert ledger.message(message_id) == Message(
        message_id, MessageKind.NOTICE, "phone", MessageState.PENDING, "Title", "Body", Urgency.HIGH, at(1),
        next_attempt_at=at(5), useful_until=at(9), wake_id="w", brief_id="b", incident_id="i",
    )  # fmt: skip


def test_text_that_is_no_utf_8_is_kept_readable(ledger: SqliteLedger) -> None:
    assert ledger.message(post(ledger, body="a\udcffb")).body == "a\\udcffb"


def test_a_message_is_due_at_once_or_when_it_may_be_sent(ledger: SqliteLedger) -> None:
    now, later = post(ledger, channel="a"), post(ledger, channel="b", not_before=at(5))
    assert ledger.due_messages(at(0)) == [now]
    assert ledger.due_messages(at(4.99)) == [now]
    assert ledger.due_messages(at(5)) == [now, later]
    assert ledger.next_due(at(0)) == at(0)


def test_messages_of_one_channel_keep_their_order_and_channels_do_not_wait_for_each_other(ledger: SqliteLedger) -> None:
    first, _second, other = post(ledger), post(ledger), post(ledger, channel="mail")
    assert ledger.due_messages(at(0)) == [first, other]
    ledger.defer_message(first, at(60))
    assert ledger.due_messages(at(0)) == [other]
    assert ledger.next_due(at(0)) == at(0)
    ledger.cancel_message(other, "", at(0))
    assert ledger.next_due(at(0)) == at(60)  # not the instant of the second, which would never come true


def test_while_one_is_sent_nothing_of_its_channel_is_due_not_even_something_critical(ledger: SqliteLedger) -> None:
    first, critical = post(ledger), post(ledger, urgency=Urgency.CRITICAL)
    assert ledger.due_messages(at(0)) == [critical]
    ledger.begin_message(first, OWNER, at(0))
    assert ledger.due_messages(at(0)) == []
    assert ledger.next_due(at(0)) is None
    ledger.settle_message(first, at(0), proof=True)
    assert ledger.due_messages(at(0)) == [critical]


def test_a_critical_message_waits_for_older_critical_ones_only(ledger: SqliteLedger) -> None:
    normal, older, younger = post(ledger), *(post(ledger, urgency=Urgency.CRITICAL) for _ in "ab")
    ledger.begin_message(normal, OWNER, at(0))
    ledger.postpone_message(normal, "503", at(60), at(0))
    assert ledger.due_messages(at(0)) == [older]
    ledger.defer_message(older, at(30))
    assert ledger.due_messages(at(0)) == []
    assert ledger.due_messages(at(30)) == [older]
    ledger.give_up_message(older, "no", at(30))
    assert ledger.due_messages(at(30)) == [younger]


def test_a_normal_message_waits_for_an_older_critical_one(ledger: SqliteLedger) -> None:
    critical, normal = post(ledger, urgency=Urgency.CRITICAL), post(ledger)
    ledger.defer_message(critical, at(30))
    assert ledger.due_messages(at(0)) == []
    ledger.cancel_message(critical, "", at(0))
    assert ledger.due_messages(at(0)) == [normal]


def test_critical_messages_are_the_first_to_be_sent(ledger: SqliteLedger) -> None:
    normal, critical = post(ledger, channel="mail"), post(ledger, urgency=Urgency.CRITICAL)
    assert ledger.due_messages(at(0)) == [critical, normal]


def test_a_message_is_begun_once(ledger: SqliteLedger) -> None:
    message_id = post(ledger)
    begun = ledger.begin_message(message_id, OWNER, at(1))
    assert begun is not None
    assert (begun.state, begun.attempts, begun.failures) == (MessageState.SENDING, 1, 0)
    assert ledger.begin_message(message_id, "1:1", at(1)) is None
    assert ledger.message(message_id) == begun


@pytest.mark.parametrize(("proof", "state"), [(True, "delivered"), (False, "unverified")])
def test_a_message_that_was_sent_is_delivered_only_with_proof(ledger: SqliteLedger, proof: bool, state: str) -> None:
    message_id = post(ledger)
    ledger.begin_message(message_id, OWNER, at(0))
    ledger.postpone_message(message_id, "503", at(1), at(0))
    ledger.begin_message(message_id, OWNER, at(1))
    ledger.settle_message(message_id, at(2), proof=proof)
    message = ledger.message(message_id)
    assert (message.state, message.settled_at, message.next_attempt_at) == (state, at(2), None)
    assert (message.attempts, message.failures, message.error) == (2, 1, "")


def test_a_deferred_message_keeps_its_failures_and_its_error(ledger: SqliteLedger) -> None:
    message_id = post(ledger)
    ledger.begin_message(message_id, OWNER, at(0))
    ledger.postpone_message(message_id, "503", at(1), at(0))
    ledger.defer_message(message_id, at(7))
    message = ledger.message(message_id)
    assert (message.attempts, message.failures, message.error) == (1, 1, "503")
    assert (message.state, message.next_attempt_at) == (MessageState.PENDING, at(7))


STEPS: dict[str, Callable[[SqliteLedger, str], object]] = {
    "begin": lambda ledger, message: ledger.begin_message(message, OWNER, at(1)),
    "settle": lambda ledger, message: ledger.settle_message(message, at(1), proof=True),
    "postpone": lambda ledger, message: ledger.postpone_message(message, "", at(2), at(1)),
    "defer": lambda ledger, message: ledger.defer_message(message, at(2)),
    "give up": lambda ledger, message: ledger.give_up_message(message, "", at(1)),
    "retry": lambda ledger, message: ledger.retry_message(message, at(1)),
    "cancel": lambda ledger, message: ledger.cancel_message(message, "", at(1)),
}
PATHS: dict[str, tuple[Callable[[SqliteLedger, str], object], ...]] = {
    "pending": (),
    "sending": (STEPS["begin"],),
    "delivered": (STEPS["begin"], STEPS["settle"]),
    "unverified": (STEPS["begin"], lambda ledger, message: ledger.settle_message(message, at(1), proof=False)),
    "failed": (STEPS["give up"],),
    "expired": (lambda ledger, message: ledger.give_up_message(message, "", at(1), expired=True),),
    "cancelled": (STEPS["cancel"],),
}
LEGAL = {
    "settle": {"sending": "delivered"},
    "postpone": {"sending": "pending"},
    "defer": {"pending": "pending"},
    "give up": {"sending": "failed", "pending": "failed"},
    "retry": dict.fromkeys(("pending", "failed", "expired", "cancelled"), "pending"),
    "cancel": {"pending": "cancelled"},
}


@pytest.mark.parametrize("step", LEGAL)
def test_only_legal_steps_change_a_state(step: str) -> None:
    for state, path in PATHS.items():
        with open_memory() as ledger:
            message_id = post(ledger)
            for move in path:
                move(ledger, message_id)
            before = ledger.message(message_id)
            assert before.state == state
            if state in LEGAL[step]:
                STEPS[step](ledger, message_id)
                assert ledger.message(message_id).state == LEGAL[step][state]
                continue
            with pytest.raises(Refused) as refused:
                STEPS[step](ledger, message_id)
            known = " or ".join(LEGAL[step])
            assert str(refused.value) == (
                f"cannot {step} the message {message_id}: it is {state}, not {known}; nothing was done"
            )
            assert ledger.message(message_id) == before


@pytest.mark.parametrize("step", ["get", *STEPS])
def test_an_unknown_message_is_not_found(ledger: SqliteLedger, step: str) -> None:
    ask = ({"get": SqliteLedger.message} | STEPS)[step]
    with pytest.raises(NotFound, match="cannot find the message 'msg_x'"):
        ask(ledger, "msg_x")


def test_messages_are_listed_newest_first_and_by_state(ledger: SqliteLedger) -> None:
    first, second, third = (post(ledger, -minute) for minute in range(3))  # the clock goes backwards
    ledger.cancel_message(second, "", at(0))
    assert [message.id for message in ledger.messages()] == [third, second, first]
    assert [message.id for message in ledger.messages("pending", limit=1)] == [third]
    with pytest.raises(Invalid, match="cannot list messages in state 'sent'; the states are pending, sending,"):
        ledger.messages("sent")


def test_a_retry_forgets_what_kept_the_message_from_being_sent(ledger: SqliteLedger) -> None:
    message_id = post(ledger, not_before=at(60), useful_until=at(61))
    for failure in range(2):
        ledger.begin_message(message_id, OWNER, at(60))
        ledger.postpone_message(message_id, f"error {failure}", at(60), at(60))
    ledger.give_up_message(message_id, "too late", at(62), expired=True)
    ledger.retry_message(message_id, at(63))
    message = ledger.message(message_id)
    assert (message.next_attempt_at, message.useful_until, message.settled_at) == (at(63), None, None)
    assert (message.attempts, message.failures, message.error) == (2, 0, "")
    ledger.release_wakes(lambda _owner: True, at(30))
    assert ledger.due_messages(at(30)) == [message_id]


def test_a_retry_in_time_keeps_how_long_the_message_is_of_use(ledger: SqliteLedger) -> None:
    message_id = post(ledger, useful_until=at(9))
    ledger.retry_message(message_id, at(8))
    assert ledger.message(message_id).useful_until == at(9)


def test_a_release_frees_what_nobody_sends_and_brings_forward_what_waits(ledger: SqliteLedger) -> None:
    living, gone, deferred = (post(ledger, channel=name) for name in "abc")
    later, early = post(ledger, channel="d", not_before=at(90)), post(ledger, channel="e", not_before=at(5))
    ledger.begin_message(living, "1:1", at(0))
    ledger.begin_message(gone, "2:2", at(0))
    ledger.defer_message(deferred, at(1_000_000))  # under a clock that was wrong
    ledger.defer_message(early, at(1_000_000))
    ledger.defer_message(later, at(1_000_000))
    ledger.release_wakes(lambda owner: owner == "1:1", at(10))
    assert ledger.message(living).state is MessageState.SENDING
    freed = ledger.message(gone)
    assert (freed.state, freed.attempts, freed.failures) == (MessageState.PENDING, 1, 0)
    assert freed.error == "its process is gone; whether it was sent is not known"
    assert ledger.due_messages(at(10)) == [gone, deferred, early]
    assert ledger.due_messages(at(90)) == [gone, deferred, later, early]


# What becomes of what a message told


def test_what_no_channel_could_deliver_waits_for_the_brief(ledger: SqliteLedger) -> None:
    (message_id,) = told(ledger, 0, "k", "l")
    ledger.give_up_message(message_id, "503", at(9))
    assert [stands(ledger, key) for key in "kl"] == [GIVEN_BACK] * 2
    event = found(ledger).events[-1]
    assert event.reason == "no channel could deliver the message: 503"
    assert (event.at, event.wake_id) == (at(9), ledger.message(message_id).wake_id)
    brief = ledger.consume_brief(at(10))
    assert [item.finding.key for item in brief.items] == ["k", "l"]
    assert brief.undelivered == (message_id,)


@pytest.mark.parametrize("state", PATHS)
def test_one_message_that_waits_or_arrived_is_enough(state: str) -> None:
    with open_memory() as ledger:
        fails, other = told(ledger, 0, "k", channels=("phone", "mail"))
        for move in PATHS[state]:
            move(ledger, other)
        ledger.give_up_message(fails, "503", at(9))
        reaches = state in {"pending", "sending", "delivered", "unverified"}
        assert stands(ledger) == (TOLD if reaches else GIVEN_BACK)


def test_the_last_channel_to_fail_gives_it_to_the_brief(ledger: SqliteLedger) -> None:
    first, second = told(ledger, 0, "k", channels=("phone", "mail"))
    ledger.give_up_message(first, "503", at(9))
    assert stands(ledger) == TOLD
    ledger.give_up_message(second, "too late", at(9), expired=True)
    assert stands(ledger) == GIVEN_BACK


def test_what_was_replaced_since_is_not_told_by_the_brief(ledger: SqliteLedger) -> None:
    (message_id,) = told(ledger, 0, "k")
    report(ledger, 1, "k", version="2", change=Change.UPDATE)
    ledger.give_up_message(message_id, "503", at(9))
    assert stands(ledger) == TOLD


def test_a_failed_message_gives_back_nothing_of_another_wake(ledger: SqliteLedger) -> None:
    (fails,), _other = told(ledger, 0, "k"), told(ledger, 1, "l")
    ledger.give_up_message(fails, "503", at(9))
    assert stands(ledger, "l") == TOLD


def test_who_cancels_a_message_knows_what_it_tells(ledger: SqliteLedger) -> None:
    (message_id,) = told(ledger, 0, "k")
    ledger.cancel_message(message_id, "I know", at(9))
    assert stands(ledger) == TOLD
    message = ledger.message(message_id)
    assert (message.error, message.settled_at) == ("I know", at(9))
    assert ledger.brief(at(10)).undelivered == ()


@pytest.mark.parametrize("expired", [False, True])
def test_who_cancels_the_last_message_after_another_channel_failed_gives_it_to_the_brief(
    ledger: SqliteLedger, expired: bool
) -> None:
    fails, cancelled, third = told(ledger, 0, "k", channels=("phone", "mail", "diary"))
    ledger.give_up_message(fails, "503", at(9), expired=expired)
    ledger.cancel_message(cancelled, "no", at(9))
    assert stands(ledger) == TOLD
    ledger.cancel_message(third, "no", at(9))
    assert stands(ledger) == GIVEN_BACK
    ledger.retry_message(third, at(10))
    assert stands(ledger) == TOLD


def test_a_retried_message_tells_what_waits_for_the_brief_itself(ledger: SqliteLedger) -> None:
    (message_id,) = told(ledger, 0, "k")
    ledger.give_up_message(message_id, "503", at(9))
    ledger.retry_message(message_id, at(10))
    assert stands(ledger) == TOLD
    assert found(ledger).events[-1].reason == "the message is tried again"
    assert ledger.brief(at(10)).is_empty
    ledger.give_up_message(message_id, "503", at(11))
    assert stands(ledger) == GIVEN_BACK


def test_what_a_brief_told_meanwhile_stays_told_by_it(ledger: SqliteLedger) -> None:
    (message_id,) = told(ledger, 0, "k")
    ledger.give_up_message(message_id, "503", at(9))
    ledger.consume_brief(at(10))
    ledger.retry_message(message_id, at(11))
    assert stands(ledger) == BRIEFED
    ledger.give_up_message(message_id, "503", at(12))
    assert stands(ledger) == BRIEFED
    assert ledger.brief(at(13)).undelivered == (message_id,)  # it failed once more, and no brief has said so


def test_a_retried_message_takes_nothing_that_another_one_failed_to_tell(ledger: SqliteLedger) -> None:
    """Its wake failed, it was briefed, and the brief did not arrive: no message of that wake ever told it."""
    (wake_id,) = report(ledger, 0, "k")
    ledger.give_up_wake(wake_id, "gone", at(1))
    (of_wake,) = ledger.post([draft(wake_id=wake_id)], at(1))
    compose = lambda _brief: ("", [draft("mail")])  # noqa: E731 - one line
    ledger.issue_brief(at(2).date(), at(2), compose)
    of_brief = ledger.messages(limit=1)[0].id
    ledger.give_up_message(of_brief, "503", at(3))
    assert stands(ledger) == GIVEN_BACK
    ledger.retry_message(of_wake, at(4))
    assert stands(ledger) == GIVEN_BACK
    ledger.retry_message(of_brief, at(4))
    assert stands(ledger) == BRIEFED


# Upkeep


def test_pruning_removes_messages_that_are_settled_and_old(ledger: SqliteLedger) -> None:
    kept = {}
    for state, path in PATHS.items():
        kept[state] = post(ledger, 0, channel=state)
        for move in path:
            move(ledger, kept[state])
    assert ledger.prune(at(1) + DAY, DAY, 10)["messages"] == 0
    assert ledger.prune(at(1.01) + DAY, DAY, 10)["messages"] == 3
    left = {message.state for message in ledger.messages()}
    assert left == {MessageState.PENDING, MessageState.SENDING, MessageState.FAILED, MessageState.EXPIRED}
    ledger.consume_brief(at(2))
    assert ledger.prune(at(1.01) + DAY, DAY, 10)["messages"] == 2
    assert len(ledger.messages()) == 2


def test_a_message_that_waited_long_is_kept_from_when_it_was_settled(ledger: SqliteLedger) -> None:
    message_id = post(ledger)
    ledger.begin_message(message_id, OWNER, at(0))
    ledger.settle_message(message_id, at(0) + 3 * DAY, proof=True)
    assert ledger.prune(at(0) + 4 * DAY, DAY, 10)["messages"] == 0
    assert ledger.prune(at(1) + 4 * DAY, DAY, 10)["messages"] == 1


def test_messages_are_entered_all_or_none(ledger: SqliteLedger) -> None:
    broken = replace(draft(), channel=None)  # type: ignore[arg-type]  # it is to break
    with pytest.raises((HeartbeatError, AttributeError)):
        ledger.post([draft(), broken], at(0))
    assert ledger.messages() == []
