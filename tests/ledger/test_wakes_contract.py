"""The contract of wakes: whom they are for, what they carry, how often they are tried, and what that cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta

import pytest

from heartbeat.errors import NotFound, Refused
from heartbeat.model import (
    OWNER as THE_OWNER,
)
from heartbeat.model import (
    Action,
    Change,
    Hold,
    Interruption,
    Overrides,
    Past,
    Reply,
    Run,
    Spending,
    State,
    Target,
    Urgency,
    Usage,
)
from heartbeat.stores.memory import open_memory
from heartbeat.stores.sqlite import SqliteLedger
from tests.ledger.deciding import again, begun, decided, enter, keys_of, row_of, run, settled
from tests.ledger.telling import CLAUDE, OWNER, at, draft

CODEX = Target("codex", "fast")
OTHERS = (Target("codex"), Target("claude", "fast"), Target(THE_OWNER))
CRITICAL = Urgency.CRITICAL
HOURS_25 = 25 * 60


@pytest.fixture
def ledger() -> Iterator[SqliteLedger]:
    with open_memory() as made:
        yield made


def wake(ledger: SqliteLedger, minute: float = 0, key: str = "k", target: Target = CLAUDE) -> str:
    (wake_id,) = enter(ledger, minute, decided(key, target=target))
    return wake_id


def brief_wake(ledger: SqliteLedger, minute: float = 0, target: Target = CLAUDE) -> str:
    made = ledger.issue_brief(date(2026, 6, 10), at(minute), lambda _brief: ("text", ()), target=target)
    assert made is not None
    assert made[1] is not None
    return made[1]


# Whom a wake is for


def test_what_one_run_tells_is_one_wake_for_each_target(ledger: SqliteLedger) -> None:
    wakes = enter(
        ledger, 3, decided("a"), decided("b", target=CODEX), decided("c"), decided("d", Action.BRIEF), job="mail"
    )
    made = [ledger.wake(wake_id) for wake_id in wakes]
    assert [(each.agent, each.profile, keys_of(each)) for each in made] == [
        ("claude", "", ["a", "c"]), ("codex", "fast", ["b"]),
    ]  # fmt: skip
    assert {(each.job, each.run_id, each.created_at) for each in made} == {("mail", ledger.runs()[0].id, at(3))}


def test_what_comes_for_a_target_whose_wake_was_not_tried_yet_joins_it(ledger: SqliteLedger) -> None:
    first = wake(ledger, 0, "a")
    assert enter(ledger, 5, decided("b"), job="other") == (first,)
    joined = ledger.wake(first)
    assert (joined.job, joined.created_at, keys_of(joined)) == ("job", at(0), ["a", "b"])
    assert row_of(ledger, "b").wake_id == row_of(ledger, "b").events[-1].wake_id == first


@pytest.mark.parametrize("other", OTHERS)
def test_a_wake_for_another_agent_or_another_profile_is_not_joined(ledger: SqliteLedger, other: Target) -> None:
    assert wake(ledger, 0, "a") != wake(ledger, 1, "b", other)


def test_a_wake_that_was_tried_is_joined_by_nothing(ledger: SqliteLedger) -> None:
    tried = wake(ledger, 0, "a")
    begun(ledger, tried, 1)
    sending = wake(ledger, 1, "b")
    ledger.postpone_wake(tried, "503", at(9), at(2))
    assert sending != tried
    assert wake(ledger, 3, "c") == sending
    begun(ledger, sending, 4)
    ledger.release_wakes(lambda _owner: False, at(5))
    assert wake(ledger, 6, "d") not in (tried, sending)


@pytest.mark.parametrize("end", ["cancel", "give_up", "settle"])
def test_a_wake_that_ended_is_joined_by_nothing(ledger: SqliteLedger, end: str) -> None:
    first = wake(ledger, 0, "a")
    if end == "cancel":
        ledger.cancel_wake(first, "no", at(1))
    elif end == "give_up":
        ledger.give_up_wake(first, "no", at(1))
    else:
        begun(ledger, first, 1)
        ledger.settle_wake(first, Reply(), (), at(1))
    assert wake(ledger, 2, "b") != first


def test_of_two_wakes_that_wait_the_newest_is_joined(ledger: SqliteLedger) -> None:
    wake(ledger, 0, "a")
    newest = wake(ledger, 1, "b", CODEX)
    ledger.divert_wake(newest, CLAUDE, "codex is gone", at(2))
    assert wake(ledger, 3, "c") == newest


def test_the_wake_that_is_to_write_up_a_brief_is_joined_by_nothing(ledger: SqliteLedger) -> None:
    brief = brief_wake(ledger)
    assert wake(ledger, 1) != brief
    assert ledger.wake(brief).findings == ()


def test_what_is_taken_back_in_the_run_that_reports_it_leaves_no_wake_waiting(ledger: SqliteLedger) -> None:
    first = wake(ledger, 0, "a")
    taken_back = run(ledger, 1, lambda view: [decided("a", Action.DROP, Change.WITHDRAWAL, view)])
    assert taken_back == ()
    assert ledger.wake(first).state == "cancelled"


def test_a_wake_of_findings_of_several_jobs_lives_as_long_as_one_of_them(ledger: SqliteLedger) -> None:
    wake_id = wake(ledger, 0, "a")
    enter(ledger, 0, decided("b", useful_until=at(60)), job="other")
    assert ledger.wake(wake_id).useful_until is None
    run(ledger, 1, lambda view: [decided("a", Action.DROP, Change.WITHDRAWAL, view)])
    assert (ledger.wake(wake_id).state, ledger.wake(wake_id).useful_until) == ("pending", at(60))
    run(ledger, 2, lambda view: [decided("b", Action.DROP, Change.WITHDRAWAL, view)], job="other")
    assert ledger.wake(wake_id).state == "cancelled"


@pytest.mark.parametrize(("action", "state"), [(Action.HOLD, State.HELD), (Action.BRIEF, State.BRIEF)])
def test_what_leaves_a_wake_by_another_decision_is_not_told_by_it(
    ledger: SqliteLedger, action: Action, state: State
) -> None:
    wake_id, brief = wake(ledger, 0, "a"), brief_wake(ledger)
    enter(ledger, 0, decided("b"))
    assert again(ledger, 1, "a", action, until=at(90)) == ()
    assert row_of(ledger, "a").state is state
    assert ledger.wake(wake_id).state == "pending"
    again(ledger, 2, "b", action, until=at(90))
    assert ledger.wake(wake_id).state == "cancelled"
    assert ledger.wake(brief).state == "pending", "a wake for a brief carries no findings at any time"


@pytest.mark.parametrize("action", [Action.HOLD, Action.BRIEF, Action.DROP])
def test_what_is_with_the_agent_right_now_stays_with_it_whatever_is_decided(
    ledger: SqliteLedger, action: Action
) -> None:
    wake_id = wake(ledger)
    begun(ledger, wake_id, 1)
    again(ledger, 2, "k", action)
    ledger.settle_wake(wake_id, Reply(), (), at(3))
    assert row_of(ledger, "k").state is State.TOLD


# Reminders


def test_what_was_told_can_be_told_again_as_a_reminder(ledger: SqliteLedger) -> None:
    first = settled(ledger, 0, "k")
    (second,) = again(ledger, 60, "k", Action.WAKE, rule="remind")
    row = row_of(ledger, "k")
    assert (row.state, row.rule, row.wake_id, row.current) == (State.WAKE, "remind", second, True)
    assert first != second
    assert keys_of(begun(ledger, second, 61)) == ["k"]
    ledger.settle_wake(second, Reply(), (), at(62))
    row = row_of(ledger, "k")
    assert [event.state for event in row.events] == [State.WAKE, State.TOLD] * 2
    assert len(ledger.findings()) == 1


def test_what_a_brief_told_can_be_told_again_as_a_reminder(ledger: SqliteLedger) -> None:
    enter(ledger, 0, decided("k", Action.BRIEF))
    ledger.consume_brief(at(1))
    (wake_id,) = again(ledger, 60, "k", Action.WAKE)
    assert keys_of(ledger.wake(wake_id)) == ["k"]


@pytest.mark.parametrize("action", [Action.WAKE, Action.HOLD, Action.BRIEF, Action.DROP])
def test_the_owner_still_knows_what_waits_as_a_reminder(ledger: SqliteLedger, action: Action) -> None:
    settled(ledger, 0, "k")
    again(ledger, 60, "k", action, until=at(99))
    known = ledger.view("job", ["k"], at(61)).known["k"]
    assert known.change is Change.UPDATE, "else it would be taken back in silence"
    enter(ledger, 0, decided("new", action))
    assert ledger.view("job", ["new"], at(61)).known["new"].change is Change.NEW


def test_a_view_knows_since_when_something_is_as_it_is(ledger: SqliteLedger) -> None:
    settled(ledger, 5, "k")
    again(ledger, 7, "k", Action.DUPLICATE)
    assert ledger.view("job", ["k"], at(9)).known["k"].since == at(5)
    again(ledger, 30, "k", Action.HOLD, until=at(60))
    assert ledger.view("job", ["k"], at(31)).known["k"].since == at(30)


# Attempts


def test_failures_are_counted_and_interruptions_and_holds_are_not(ledger: SqliteLedger) -> None:
    wake_id = wake(ledger)

    def counts() -> tuple[int, int]:
        found = ledger.wake(wake_id)
        return found.attempts, found.failures

    begun(ledger, wake_id, 1)
    assert counts() == (1, 0)
    ledger.postpone_wake(wake_id, "503", at(2), at(1))
    assert counts() == (1, 1)
    begun(ledger, wake_id, 2)
    ledger.postpone_wake(wake_id, "429", at(60), at(2), outcome="held")
    assert counts() == (2, 1)
    begun(ledger, wake_id, 60)
    ledger.release_wakes(lambda _owner: False, at(61))
    assert counts() == (3, 1)
    ledger.defer_wake(wake_id, "the agent is on hold", at(70))
    assert counts() == (3, 1)
    begun(ledger, wake_id, 70)
    ledger.give_up_wake(wake_id, "gone", at(71))
    assert counts() == (4, 2)
    assert [attempt.outcome for attempt in ledger.wake(wake_id).history] == ["failed", "held", "interrupted", "failed"]
    ledger.retry_wake(wake_id, at(72))
    assert counts() == (4, 0)
    ledger.give_up_wake(wake_id, "it was of no use any more", at(73))
    assert counts() == (4, 0), "it was not tried"


def test_what_an_attempt_cost_and_where_it_went_on_is_kept(ledger: SqliteLedger) -> None:
    wake_id = wake(ledger)
    usages = (Usage(1, 2, 0.25), Usage(usd=0.5), Usage(10, 20))
    begun(ledger, wake_id, 1)
    ledger.postpone_wake(wake_id, "503", at(2), at(1), usage=usages[0])
    begun(ledger, wake_id, 2)
    ledger.postpone_wake(wake_id, "429", at(3), at(2), outcome="held", usage=usages[1])
    begun(ledger, wake_id, 3)
    ledger.settle_wake(wake_id, Reply("done", "session-1", usages[2]), [draft(wake_id=wake_id)], at(4))
    found = ledger.wake(wake_id)
    assert tuple(attempt.usage for attempt in found.history) == usages
    assert [attempt.session for attempt in found.history] == ["", "", "session-1"]
    assert (found.reply, [message.wake_id for message in ledger.messages()]) == ("done", [wake_id])
    failed = wake(ledger, 5, "b")
    begun(ledger, failed, 5)
    ledger.give_up_wake(failed, "gone", at(6), usage=usages[0])
    assert [attempt.usage for attempt in ledger.wake(failed).history] == [usages[0]]


def test_a_wake_that_goes_to_the_owner_says_so(ledger: SqliteLedger) -> None:
    for target, reason in ((CLAUDE, "the agent accepted it"), (Target(THE_OWNER), "it went to the owner")):
        wake_id = wake(ledger, 0, target.agent, target)
        begun(ledger, wake_id, 1)
        ledger.settle_wake(wake_id, Reply(), (), at(1))
        assert row_of(ledger, target.agent).reason == reason


def test_a_deferred_wake_is_due_later_without_an_attempt(ledger: SqliteLedger) -> None:
    wake_id = wake(ledger)
    ledger.defer_wake(wake_id, "claude is on hold", at(30))
    assert ledger.due_wakes(at(29.99)) == []
    assert ledger.due_wakes(at(30)) == [wake_id]
    found = ledger.wake(wake_id)
    assert (found.state, found.error, found.attempts, found.history) == ("pending", "claude is on hold", 0, ())
    ledger.release_wakes(lambda _owner: True, at(1))
    assert ledger.due_wakes(at(1)) == [wake_id]


def test_a_diverted_wake_goes_to_another_target_at_once_and_from_the_beginning(ledger: SqliteLedger) -> None:
    wake_id = wake(ledger)
    begun(ledger, wake_id, 1)
    ledger.postpone_wake(wake_id, "503", at(90), at(1))
    ledger.divert_wake(wake_id, CODEX, "claude is gone", at(2))
    assert ledger.due_wakes(at(2)) == [wake_id]
    found = begun(ledger, wake_id, 2)
    assert (found.agent, found.profile, found.failures, found.attempts) == ("codex", "fast", 0, 2)
    assert (found.error, keys_of(found)) == ("claude is gone", ["k"])


@pytest.mark.parametrize("verb", ["defer", "divert"])
@pytest.mark.parametrize("state", ["sending", "settled", "failed", "cancelled"])
def test_only_a_wake_that_waits_is_deferred_or_diverted(ledger: SqliteLedger, state: str, verb: str) -> None:
    def settle(each: str) -> None:
        begun(ledger, each, 1)
        ledger.settle_wake(each, Reply(), (), at(1))

    wake_id = wake(ledger)
    calls: dict[str, Callable[[str], object]] = {
        "sending": lambda each: begun(ledger, each, 1),
        "settled": settle,
        "failed": lambda each: ledger.give_up_wake(each, "x", at(1)),
        "cancelled": lambda each: ledger.cancel_wake(each, "x", at(1)),
        "defer": lambda each: ledger.defer_wake(each, "later", at(9)),
        "divert": lambda each: ledger.divert_wake(each, CODEX, "other", at(9)),
    }
    calls[state](wake_id)
    before = ledger.wake(wake_id)
    with pytest.raises(Refused, match=f"^cannot {verb} the wake {wake_id}: it is {state}, not pending; nothing"):
        calls[verb](wake_id)
    assert ledger.wake(wake_id) == before
    with pytest.raises(NotFound, match="cannot find the wake 'x'"):
        calls[verb]("x")


# Wakes for a brief


def test_a_wake_for_a_brief_is_begun_settled_and_given_up_without_findings(ledger: SqliteLedger) -> None:
    brief_id = ledger.wake(brief_wake(ledger)).brief_id
    wake_id = ledger.due_wakes(at(0))[0]
    wake(ledger, 0, "a")
    ledger.cancel_wake(wake(ledger, 1, "b"), "no", at(1))
    assert ledger.due_wakes(at(1)) == [wake_id]
    found = begun(ledger, wake_id, 1)
    assert (found.job, found.findings, found.brief_id, found.agent) == ("", (), brief_id, "claude")
    ledger.give_up_wake(wake_id, "gone", at(2))
    assert ledger.wake(wake_id).state == "failed"
    assert ledger.brief(at(3)).items == ()
    ledger.retry_wake(wake_id, at(3))
    begun(ledger, wake_id, 3)
    ledger.settle_wake(wake_id, Reply("good morning"), (), at(4))
    assert ledger.wake(wake_id).reply == "good morning"


# Holds of agents


def test_of_two_holds_of_an_agent_the_one_that_lasts_longer_stays(ledger: SqliteLedger) -> None:
    ledger.hold_agent("claude", at(60), "429", at(0))
    ledger.hold_agent("claude", at(30), "503", at(1))
    ledger.hold_agent("codex", at(5), "x", at(1))
    claude, codex = Hold("claude", at(60), "429", at(0)), Hold("codex", at(5), "x", at(1))
    assert ledger.past(at(9)).holds == {"claude": claude, "codex": codex}
    ledger.hold_agent("claude", at(61), "limit", at(2))
    # It goes on from the one before: the agent was not well in between.
    assert ledger.past(at(9)).holds["claude"] == Hold("claude", at(61), "limit", at(0))
    ledger.hold_agent("claude", at(300), "limit", at(121))
    assert ledger.past(at(130)).holds["claude"].since == at(0)
    ledger.hold_agent("claude", at(900), "limit", at(361))
    assert ledger.past(at(400)).holds["claude"].since == at(361)


def test_a_hold_entered_by_a_clock_since_set_back_gives_way(ledger: SqliteLedger) -> None:
    ledger.hold_agent("claude", at(9000), "429", at(8000))
    ledger.hold_agent("claude", at(60), "503", at(8000))
    assert ledger.past(at(0)).holds["claude"].until == at(9000)
    ledger.hold_agent("claude", at(60), "503", at(7999))
    assert ledger.past(at(0)).holds["claude"] == Hold("claude", at(60), "503", at(7999))


@pytest.mark.parametrize(("minute", "lasted"), [(59, True), (60, False)])
def test_ending_a_hold_says_whether_it_still_lasted(ledger: SqliteLedger, minute: int, *, lasted: bool) -> None:
    ledger.hold_agent("claude", at(60), "429", at(0))
    ledger.hold_agent("codex", at(60), "429", at(0))
    assert ledger.release_agent("claude", at(minute)) is lasted
    assert not ledger.release_agent("claude", at(minute))
    assert list(ledger.past(at(0)).holds) == ["codex"]


def test_retrying_a_wake_ends_every_hold(ledger: SqliteLedger) -> None:
    for agent in ("claude", "codex"):
        ledger.hold_agent(agent, at(60), "429", at(0))
    wake_id = wake(ledger)
    ledger.defer_wake(wake_id, "on hold", at(60))
    ledger.retry_wake(wake_id, at(1))
    assert ledger.due_wakes(at(1)) == [wake_id]
    assert list(ledger.past(at(1)).holds) == []


def test_a_retry_that_is_refused_leaves_the_hold(ledger: SqliteLedger) -> None:
    wake_id = settled(ledger, 0, "k")
    ledger.hold_agent("claude", at(60), "429", at(0))
    with pytest.raises(Refused):
        ledger.retry_wake(wake_id, at(1))
    assert ledger.release_agent("claude", at(1))


# What the rules look back on


def test_an_empty_ledger_has_no_past(ledger: SqliteLedger) -> None:
    assert ledger.past(at(0)) == Past()


def test_wakes_that_were_not_taken_back_are_interruptions(ledger: SqliteLedger) -> None:
    settled(ledger, 0, "told")
    failed, cancelled = wake(ledger, 1, "failed"), wake(ledger, 2, "cancelled", CODEX)
    ledger.give_up_wake(failed, "gone", at(2))
    ledger.cancel_wake(cancelled, "no", at(2))
    begun(ledger, wake(ledger, 3, "sending"), 3)
    wake(ledger, 4, "pending")
    enter(ledger, 5, decided("more"))
    brief_wake(ledger, 6)
    expected = tuple(Interruption(at(minute)) for minute in (0, 3, 4))
    assert ledger.past(at(9)).interruptions == expected
    assert ledger.past(at(9)) == ledger.view("job", [], at(9)).past


@pytest.mark.parametrize(
    ("found", "critical"),
    [
        ([("a", CRITICAL), ("b", Urgency.NORMAL)], True),
        ([("a", Urgency.NORMAL), ("b", CRITICAL)], False),
    ],
)
def test_a_wake_that_was_made_for_something_critical_is_a_critical_interruption(
    ledger: SqliteLedger, found: list[tuple[str, Urgency]], critical: bool
) -> None:
    enter(ledger, 0, *(decided(key, urgency=urgency) for key, urgency in found))
    enter(ledger, 1, decided("joins", urgency=CRITICAL))
    wake(ledger, 2, "d", CODEX)
    assert ledger.past(at(3)).interruptions == (Interruption(at(0), critical=critical), Interruption(at(2)))


def test_the_past_is_one_day_of_the_longest(ledger: SqliteLedger) -> None:
    for minute in (0, 1):
        wake_id = wake(ledger, minute, f"k{minute}")
        begun(ledger, wake_id, minute)
        ledger.settle_wake(wake_id, Reply(usage=Usage(minute, minute)), (), at(minute))
    for later, count in ((-9999, 2), (1, 2), (HOURS_25, 2), (HOURS_25 + 0.5, 1), (HOURS_25 + 1, 1), (9999, 0)):
        past = ledger.past(at(later))
        assert (len(past.interruptions), len(past.spending)) == (count, count), later


def test_the_past_is_ordered_by_its_instants_though_the_clock_was_set_back(ledger: SqliteLedger) -> None:
    for minute in (50, 10, 30):
        wake_id = wake(ledger, minute, f"k{minute}")
        begun(ledger, wake_id, minute)
        ledger.settle_wake(wake_id, Reply(usage=Usage(1)), (), at(minute))
    past = ledger.past(at(60))
    assert [each.at for each in past.interruptions] == [each.at for each in past.spending] == [at(10), at(30), at(50)]


def test_spending_is_what_any_attempt_cost(ledger: SqliteLedger) -> None:
    wake_id = wake(ledger)
    for minute, usage in enumerate((Usage(1, 2), None, Usage(), Usage(usd=0.5), Usage(0, None, 0.0)), start=1):
        begun(ledger, wake_id, minute)
        ledger.postpone_wake(wake_id, "503", at(minute), at(minute), usage=usage)
    begun(ledger, wake_id, 9)
    ledger.give_up_wake(wake_id, "gone", at(9), usage=Usage(tokens_out=7))
    assert ledger.past(at(9)).spending == (
        Spending(at(1), 3), Spending(at(4), 0, 0.5), Spending(at(5)), Spending(at(9), 7),
    )  # fmt: skip


def test_wakes_that_wait_untried_are_joinable(ledger: SqliteLedger) -> None:
    tried = wake(ledger, 0, "a")
    wake(ledger, 0, "b", CODEX)
    brief_wake(ledger, 0, Target("brief-writer"))
    assert ledger.past(at(1)).joinable == {CLAUDE, CODEX}
    begun(ledger, tried, 1)
    assert ledger.past(at(1)).joinable == {CODEX}
    ledger.postpone_wake(tried, "503", at(2), at(1))
    assert ledger.past(at(1)).joinable == {CODEX}


def test_what_the_owner_said_for_the_time_being_is_in_the_past(ledger: SqliteLedger) -> None:
    ledger.override("quiet", "", at(60), at(0))
    assert ledger.past(at(59)).overrides == Overrides(quiet_until=at(60))
    assert ledger.past(at(60)).overrides == Overrides()


# When something is due, and what waits


def test_the_next_instant_is_the_earliest_of_all_that_is_to_come(ledger: SqliteLedger) -> None:
    assert ledger.next_due(at(0)) is None
    ledger.post([draft(not_before=at(50))], at(0))
    assert ledger.next_due(at(0)) == at(50)
    enter(ledger, 0, decided("held", Action.HOLD, until=at(40)))
    assert ledger.next_due(at(0)) == at(40)
    wake_id = wake(ledger)
    assert ledger.next_due(at(0)) == at(0)
    ledger.defer_wake(wake_id, "on hold", at(30))
    assert ledger.next_due(at(0)) == at(30)
    begun(ledger, wake_id, 1)
    assert ledger.next_due(at(0)) == at(40)
    ledger.fault("agent:claude", "unreachable", "no answer", at(20))
    assert ledger.next_due(at(0)) == at(20)


def test_what_waits_is_what_is_held_or_in_a_wake_oldest_first(ledger: SqliteLedger) -> None:
    settled(ledger, 0, "told")
    begun(ledger, wake(ledger, 3, "sending"), 3)
    enter(ledger, 2, decided("held", Action.HOLD), decided("brief", Action.BRIEF))
    wake(ledger, 1, "pending")
    assert [row.finding.key for row in ledger.waiting()] == ["pending", "held", "sending"]
    assert [row.finding.key for row in ledger.waiting(2)] == ["pending", "held"]


# What was decided


def test_every_run_since_an_instant_is_given_with_its_decisions_but_for_duplicates(ledger: SqliteLedger) -> None:
    enter(ledger, 0, decided("old"))
    enter(ledger, 5, decided("a", Action.BRIEF), decided("b"), job="mail")
    again(ledger, 6, "old", Action.DUPLICATE)
    enter(ledger, 4.9, decided("before"))
    decisions = list(ledger.decided_since(at(5)))
    assert [(each.job, each.ended_at) for each, _decided in decisions] == [("mail", at(5)), ("job", at(6))]
    assert [[made.finding.key for _id, made in decided] for _run, decided in decisions] == [["a", "b"], []]
    assert decisions[0][1][0][0] == row_of(ledger, "a").id


def test_a_run_that_is_pruned_while_they_are_given_is_left_out(ledger: SqliteLedger) -> None:
    enter(ledger, 0, decided("a", Action.BRIEF))
    enter(ledger, 9999, decided("b", Action.BRIEF))
    given = ledger.decided_since(at(0))
    assert next(given)[0].ended_at == at(0)
    enter(ledger, 9998, decided("c", Action.BRIEF))
    given = ledger.decided_since(at(-1))
    next(given)
    ledger.prune(at(99999), timedelta(days=1), 0)
    assert list(given) == []


def test_a_run_that_was_interrupted_has_decided_nothing(ledger: SqliteLedger) -> None:
    ledger.claim(Run("run_1", "job", "manual", None, at(0)), OWNER)
    ledger.interrupt(lambda _owner: False, at(1))
    assert ledger.run("run_1").ended_at == at(1)
    assert list(ledger.decided_since(at(0))) == []


def test_many_wakes_that_wait_do_not_make_a_run_write_them_again(ledger: SqliteLedger) -> None:
    for number in range(50):
        wake(ledger, 0, f"k{number}", Target(f"agent-{number}"))
    with ledger._database.outside() as db:
        before = db.total_changes
        again(ledger, 1, "k7", Action.HOLD, until=at(9))
        changes = db.total_changes - before
    assert ledger.past(at(1)).joinable == {Target(f"agent-{number}") for number in range(50) if number != 7}
    assert changes < 15


# Replaced while it was with the agent


@pytest.mark.parametrize("end", ["postponed", "held", "released", "given up"])
def test_what_was_replaced_while_it_was_with_the_agent_leaves_its_wake_when_that_fails(
    ledger: SqliteLedger, end: str
) -> None:
    (wake_id,) = enter(ledger, 0, decided("k", version="1"), decided("other"))
    begun(ledger, wake_id, 1)
    (newer,) = run(ledger, 2, lambda view: [decided("k", Action.WAKE, Change.UPDATE, view, version="2")])
    if end == "released":
        assert ledger.release_wakes(lambda _owner: False, at(3)) == [wake_id]
    elif end == "given up":
        ledger.give_up_wake(wake_id, "503", at(3))
    else:
        ledger.postpone_wake(wake_id, "503", at(9), at(3), outcome="held" if end == "held" else "failed")
    rows = ledger.findings(key="k")
    assert [(row.state, row.rule, row.wake_id) for row in rows] == [
        (State.WAKE, "wake", newer),
        (State.WITHDRAWN, "replaced", wake_id),
    ]
    assert row_of(ledger, "other").state is (State.BRIEF if end == "given up" else State.WAKE)
    assert ledger.wake(wake_id).state == ("failed" if end == "given up" else "pending")


@pytest.mark.parametrize("action", [Action.HOLD, Action.BRIEF, Action.DROP])
def test_a_wake_that_fails_keeps_what_has_nothing_newer_to_tell(ledger: SqliteLedger, action: Action) -> None:
    wake_id = wake(ledger)
    begun(ledger, wake_id, 1)
    run(ledger, 2, lambda view: [decided("k", action, Change.UPDATE, view, version="2", until=at(60))])
    ledger.postpone_wake(wake_id, "503", at(9), at(3))
    assert ledger.wake(wake_id).state == ("pending" if action is Action.DROP else "cancelled")


def test_many_keys_are_known_with_what_is_being_retracted(ledger: SqliteLedger) -> None:
    keys = [f"k{number}" for number in range(1001)]
    settled(ledger, 0, *keys)
    run(ledger, 1, lambda view: [decided(key, Action.BRIEF, Change.RETRACTION, view, retract=True) for key in keys])
    known = ledger.view("job", [*keys, "never seen"], at(2)).known
    assert {key: (each.state, bool(each.retracting)) for key, each in known.items()} == dict.fromkeys(
        keys, (State.TOLD, True)
    )
    assert ledger.view("job", [], at(2)).known == {}
    assert ledger.view("another job", keys, at(2)).known == {}
    ledger.consume_brief(at(3))
    assert ledger.view("job", keys, at(4)).known == {}
