"""The contract of briefs: what is in one, what it counts, and that the owner's day has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta

import pytest

from heartbeat.clock import new_id
from heartbeat.errors import NotFound
from heartbeat.model import (
    OWNER,
    Action,
    Brief,
    Change,
    Draft,
    Fate,
    MessageKind,
    Reply,
    Run,
    SlotState,
    State,
    Tally,
    Target,
    Usage,
    Verdict,
)
from heartbeat.stores.memory import open_memory
from heartbeat.stores.sqlite import SqliteLedger
from tests.ledger.telling import OWNER as PROCESS
from tests.ledger.telling import at, draft, found, report, stands, told

DAY, TODAY = timedelta(days=1), date(2026, 6, 10)
GIVEN_BACK, BRIEFED = (State.BRIEF, "undelivered"), (State.BRIEFED, "brief")
CLAUDE = Target("claude", "haiku")


@pytest.fixture
def ledger() -> Iterator[SqliteLedger]:
    with open_memory() as made:
        yield made


def waits(ledger: SqliteLedger, minute: float, *keys: str) -> None:
    report(ledger, minute, *keys, action=Action.BRIEF)


def to_phone(brief: Brief) -> tuple[str, Sequence[Draft]]:
    keys = " ".join(item.finding.key for item in brief.items)
    return f"{brief.day}: {keys}", [draft(kind=MessageKind.BRIEF, body=keys)]


def issue(ledger: SqliteLedger, minute: float = 0, day: date = TODAY) -> Brief:
    issued = ledger.issue_brief(day, at(minute), to_phone)
    assert issued is not None
    assert issued[1] is None
    return issued[0]


def undelivered(ledger: SqliteLedger, minute: float) -> str:
    (message_id,) = ledger.post([draft(channel=f"c{minute}")], at(minute))
    ledger.give_up_message(message_id, "503", at(minute))
    return message_id


# What is in a brief


def test_what_is_held_or_in_a_wake_is_named_as_still_to_be_told(ledger: SqliteLedger) -> None:
    report(ledger, 0, "wake")
    report(ledger, 1, "held", action=Action.HOLD)
    report(ledger, 2, "item", action=Action.BRIEF)
    brief = ledger.consume_brief(at(3))
    assert [row.finding.key for row in brief.waiting] == ["wake", "held"]
    assert [row.finding.key for row in brief.items] == ["item"]
    assert [stands(ledger, key)[0] for key in ("wake", "held")] == [State.WAKE, State.HELD]


def test_the_oldest_two_hundred_that_wait_are_named(ledger: SqliteLedger) -> None:
    report(ledger, 0, "oldest", action=Action.HOLD)
    report(ledger, 1, *(f"{number}" for number in range(200)), action=Action.HOLD)
    waiting = ledger.brief(at(2)).waiting
    assert len(waiting) == 200
    assert waiting[0].finding.key == "oldest"


def test_messages_that_could_not_be_delivered_are_named_once(ledger: SqliteLedger) -> None:
    first, second = undelivered(ledger, 0), undelivered(ledger, 1)
    ledger.post([draft()], at(2))
    assert ledger.brief(at(3)).undelivered == (first, second)
    brief = ledger.consume_brief(at(3))
    assert not brief.is_empty
    assert ledger.brief(at(4)).undelivered == ()
    assert ledger.brief(at(4)).since == at(3)


def test_since_leaves_out_older_things_and_they_stay_untold(ledger: SqliteLedger) -> None:
    waits(ledger, 0, "old")
    old = undelivered(ledger, 0)
    waits(ledger, 5, "new")
    new = undelivered(ledger, 5)
    brief = ledger.consume_brief(at(6), since=at(5))
    assert [item.finding.key for item in brief.items] == ["new"]
    assert brief.undelivered == (new,)
    brief = ledger.consume_brief(at(7))
    assert [item.finding.key for item in brief.items] == ["old"]
    assert brief.undelivered == (old,)


def test_a_brief_dated_ahead_by_a_wrong_clock_is_not_the_one_before(ledger: SqliteLedger) -> None:
    assert ledger.brief(at(0)).since is None
    waits(ledger, 0, "a")
    ledger.consume_brief(at(1))
    waits(ledger, 1, "b")
    ledger.consume_brief(at(1_000_000))
    assert ledger.brief(at(2)).since == at(1)
    assert ledger.brief(at(1)).since == at(1)
    assert ledger.brief(at(0.5)).since is None
    assert ledger.brief(at(1_000_000)).since == at(1_000_000)


# What a brief counts


def test_a_brief_counts_what_happened_since_the_one_before(ledger: SqliteLedger) -> None:
    everything(ledger, 0)
    waits(ledger, 9, "brief")
    ledger.consume_brief(at(10))
    assert ledger.brief(at(10)).tally == Tally()
    everything(ledger, 11)
    tally = ledger.brief(at(30)).tally
    assert tally == Tally(
        runs=7, faults=4, missed=(("job", 1, "heartbeat stops"),), wakes=1, notices=1, avoided=6, tokens=15, usd=0.25
    )


def everything(ledger: SqliteLedger, minute: float) -> None:
    """Seven runs: two that wake, one of them without an agent; a quiet one, three faults, one that is cut off."""
    for target in (Target("claude"), Target(OWNER)):
        (wake_id,) = report(ledger, minute, f"{target.agent}{minute}", target=target)
        ledger.begin_wake(wake_id, PROCESS, at(minute))
        usage = Usage(10, 5, 0.25) if target.agent != OWNER else Usage()
        ledger.settle_wake(wake_id, Reply("", usage=usage), [], at(minute))
    for verdict in (Verdict.QUIET, Verdict.MALFORMED, Verdict.FAILED, Verdict.TIMEOUT):
        report(ledger, minute, action=Action.BRIEF, verdict=verdict)
    run = Run(new_id("run", at(minute)), "job", "schedule", at(minute), at(minute))
    ledger.claim(run, PROCESS)
    ledger.abandon(run.id, "heartbeat stops", at(minute))


def test_the_first_brief_counts_the_last_day(ledger: SqliteLedger) -> None:
    report(ledger, 0, verdict=Verdict.QUIET)
    assert ledger.brief(at(0) + DAY - timedelta(seconds=1)).tally.runs == 1
    assert ledger.brief(at(0) + DAY).tally.runs == 0


def test_runs_after_which_no_agent_was_called_are_never_less_than_none(ledger: SqliteLedger) -> None:
    (wake_id,) = report(ledger, 0, "k")
    waits(ledger, 1, "brief")
    ledger.consume_brief(at(2))
    ledger.begin_wake(wake_id, PROCESS, at(3))
    ledger.settle_wake(wake_id, Reply(), [], at(3))
    tally = ledger.brief(at(4)).tally
    assert (tally.runs, tally.wakes, tally.avoided) == (0, 1, 0)


def fate(minute: float, count: int | None, state: SlotState, reason: str) -> Fate:
    last = minute if count == 1 else minute + (count or 5) / 10
    return Fate(state, at(minute), at(last), reason, count)


def test_due_instants_that_were_not_run_are_counted_by_job_with_the_commonest_reason(ledger: SqliteLedger) -> None:
    entered = [
        ("often", fate(0, 3, SlotState.MISSED, "asleep")),
        ("often", fate(10, 2, SlotState.SKIPPED, "backing off")),
        ("often", fate(20, 2, SlotState.SKIPPED, "backing off")),
        ("once", fate(0, 1, SlotState.MISSED, "down")),
        ("endless", fate(0, None, SlotState.MISSED, "down")),
    ]
    ledger.enlist([(job, "every") for job in ("often", "once", "endless")], at(0))
    ledger.pass_over(entered, at(30))
    missed = (("often", 7, "backing off"), ("endless", 1, "down"), ("once", 1, "down"))
    assert ledger.brief(at(30)).tally.missed == missed


def test_what_was_found_missed_after_a_brief_is_counted_by_the_next(ledger: SqliteLedger) -> None:
    """Nobody was there from minute 0 on; the brief was read at minute 5, before the daemon came back."""
    waits(ledger, 0, "k")
    ledger.consume_brief(at(5))
    ledger.pass_over([("job", fate(0, 3, SlotState.MISSED, "down"))], at(9))
    assert ledger.brief(at(10)).tally.missed == (("job", 3, "down"),)


def test_the_fifty_jobs_that_missed_most_are_named(ledger: SqliteLedger) -> None:
    fates = [(f"job{number:02}", fate(0, number + 2, SlotState.MISSED, "down")) for number in range(51)]
    ledger.pass_over(fates, at(9))
    missed = ledger.brief(at(9)).tally.missed
    assert len(missed) == 50
    assert missed[0][0] == "job50"
    assert "job00" not in {job for job, _count, _reason in missed}


# The brief of the day


def test_the_brief_of_a_day_is_made_once_with_its_messages_and_its_text(ledger: SqliteLedger) -> None:
    waits(ledger, 0, "k")
    assert not ledger.has_brief(TODAY, at(9))
    brief = issue(ledger, 1)
    assert ledger.has_brief(TODAY, at(9))
    assert not ledger.has_brief(TODAY + DAY, at(9))
    assert brief.day == TODAY
    assert [item.finding.key for item in brief.items] == ["k"]
    assert ledger.brief_text(brief.id) == "2026-06-10: k"
    (message,) = ledger.messages()
    assert (message.kind, message.brief_id, message.body) == (MessageKind.BRIEF, brief.id, "k")
    assert stands(ledger) == BRIEFED
    waits(ledger, 2, "l")
    assert ledger.issue_brief(TODAY, at(3), to_phone) is None
    assert stands(ledger, "l")[0] is State.BRIEF
    assert issue(ledger, 4, TODAY + DAY).since == at(1)


def test_an_empty_brief_is_made_and_sent(ledger: SqliteLedger) -> None:
    brief = issue(ledger)
    assert brief.is_empty
    assert len(ledger.messages()) == 1
    assert ledger.issue_brief(TODAY, at(1), to_phone) is None


def test_an_empty_brief_may_be_made_and_not_sent(ledger: SqliteLedger) -> None:
    for target in (None, CLAUDE):
        day = TODAY + DAY * (target is not None)
        issued = ledger.issue_brief(day, at(0), to_phone, target=target, empty=False)
        assert issued is not None
        assert issued[1] is None
        assert ledger.has_brief(day, at(9))
        assert ledger.brief_text(issued[0].id) == f"{day}: "
    assert ledger.messages() == []
    assert ledger.wakes() == []


@pytest.mark.parametrize("something", ["item", "incident", "undelivered"])
def test_a_brief_that_says_something_is_sent_in_any_case(ledger: SqliteLedger, something: str) -> None:
    make: dict[str, Callable[[], object]] = {
        "item": lambda: waits(ledger, 0, "k"),
        "incident": lambda: ledger.fault("agent:claude", "x", "y", at(0)),
        "undelivered": lambda: undelivered(ledger, 0),
    }
    make[something]()
    assert ledger.issue_brief(TODAY, at(1), to_phone, empty=False)
    assert ledger.messages()[0].kind is MessageKind.BRIEF


def test_an_agent_may_write_the_brief_up(ledger: SqliteLedger) -> None:
    waits(ledger, 0, "k")
    issued = ledger.issue_brief(TODAY, at(1), to_phone, target=CLAUDE)
    assert issued is not None
    brief, wake_id = issued
    assert wake_id is not None
    assert ledger.messages() == []
    assert ledger.due_wakes(at(1)) == [wake_id]
    wake = ledger.wake(wake_id)
    assert (wake.job, wake.run_id, wake.agent, wake.profile, wake.brief_id) == ("", "", "claude", "haiku", brief.id)
    assert ledger.brief_text(brief.id) == "2026-06-10: k"
    report(ledger, 2, "other")  # wakes that carry nothing are cancelled then, but for this one
    assert wake_id in ledger.due_wakes(at(2))


def test_a_brief_that_breaks_is_not_made(ledger: SqliteLedger) -> None:
    def broken(_brief: Brief) -> tuple[str, Sequence[Draft]]:
        raise ZeroDivisionError

    waits(ledger, 0, "k")
    with pytest.raises(ZeroDivisionError):
        ledger.issue_brief(TODAY, at(1), broken)
    assert not ledger.has_brief(TODAY, at(9))
    assert stands(ledger)[0] is State.BRIEF


def test_the_text_of_an_unknown_brief_is_not_found(ledger: SqliteLedger) -> None:
    waits(ledger, 0, "k")
    assert ledger.brief_text(ledger.consume_brief(at(1)).id) == ""
    with pytest.raises(NotFound, match="cannot find the brief 'brief_x'"):
        ledger.brief_text("brief_x")


def test_a_brief_of_a_clock_far_ahead_gives_up_its_day(ledger: SqliteLedger) -> None:
    issue(ledger, 180, TODAY)
    assert ledger.has_brief(TODAY, at(0))
    issue(ledger, 24 * 60, TODAY + DAY)
    assert not ledger.has_brief(TODAY + DAY, at(0))
    ledger.release_wakes(lambda _owner: True, at(0))
    assert not ledger.has_brief(TODAY + DAY, at(24 * 60))
    assert issue(ledger, 24 * 60, TODAY + DAY)


def test_a_brief_is_to_be_filed_until_it_stands_in_the_file(ledger: SqliteLedger) -> None:
    for number, empty in enumerate((True, False)):
        ledger.issue_brief(TODAY + DAY * number, at(number), to_phone, empty=empty, file=True)
    ((brief_id, day, said),) = ledger.unfiled_briefs()
    assert (day, said) == (TODAY, f"{TODAY}: ")
    assert ledger.prune(at(0) + 9 * DAY, DAY, 10)["briefs"] == 0
    ledger.enter_filed([brief_id])
    assert ledger.unfiled_briefs() == []


# A brief that does not arrive


def test_incidents_and_lost_messages_of_a_brief_that_did_not_arrive_are_in_the_next(ledger: SqliteLedger) -> None:
    ledger.fault("job:open", "x", "y", at(0))
    ledger.fault("job:over", "x", "y", at(0))
    lost = undelivered(ledger, 0)
    ledger.recover("job:over", at(0.5))
    issue(ledger, 1)
    message = ledger.messages()[0]
    ledger.give_up_message(message.id, "503", at(2))
    brief = ledger.brief(at(3))
    assert [incident.subject for incident in brief.incidents] == ["job:open", "job:over"]
    assert brief.undelivered == (lost, message.id)
    ledger.retry_message(message.id, at(4))
    assert ledger.brief(at(5)).is_empty
    ledger.recover("job:open", at(6))
    issue(ledger, 7, TODAY + DAY)  # it tells that it is over
    ledger.give_up_message(message.id, "503", at(8))
    assert [incident.subject for incident in ledger.brief(at(9)).incidents] == ["job:over"]


def test_a_brief_that_could_not_be_shown_is_told_by_the_next(ledger: SqliteLedger) -> None:
    waits(ledger, 0, "k")
    ledger.fault("job:open", "x", "y", at(0))
    ledger.give_back_brief(ledger.consume_brief(at(1)).id, "no room", at(2))
    brief = ledger.brief(at(3))
    assert ([item.finding.key for item in brief.items], len(brief.incidents)) == (["k"], 1)


def test_a_brief_that_waits_for_its_agent_is_named(ledger: SqliteLedger) -> None:
    wake_id = written_up(ledger)
    assert ledger.brief(at(2)).with_agent == ((TODAY, "claude"),)
    ledger.settle_wake(wake_id, Reply("Good morning"), [], at(3))
    assert ledger.brief(at(4)).with_agent == ()


def test_what_a_brief_told_that_did_not_arrive_is_in_the_next(ledger: SqliteLedger) -> None:
    waits(ledger, 0, "k")
    issue(ledger, 1)
    (message,) = ledger.messages()
    ledger.give_up_message(message.id, "503", at(2))
    assert stands(ledger) == GIVEN_BACK
    again = issue(ledger, 3, TODAY + DAY)
    assert [item.finding.key for item in again.items] == ["k"]
    assert again.undelivered == (message.id,)
    ledger.retry_message(message.id, at(4))  # too late: the next brief tells it
    ledger.give_up_message(message.id, "503", at(5))
    assert stands(ledger) == BRIEFED
    assert found(ledger).brief_id == again.id


def test_a_brief_that_is_sent_again_tells_what_it_told(ledger: SqliteLedger) -> None:
    waits(ledger, 0, "k")
    issue(ledger, 1)
    (message,) = ledger.messages()
    ledger.give_up_message(message.id, "503", at(2))
    ledger.retry_message(message.id, at(3))
    assert stands(ledger) == BRIEFED
    assert ledger.brief(at(4)).is_empty


def test_what_is_told_otherwise_meanwhile_is_not_given_back_by_the_brief(ledger: SqliteLedger) -> None:
    waits(ledger, 0, "k")
    issue(ledger, 1)
    (message,) = ledger.messages()
    ledger.give_up_message(message.id, "503", at(2))
    report(ledger, 3, "k", change=Change.SAME)  # it wakes the agent now
    ledger.retry_message(message.id, at(4))
    ledger.give_up_message(message.id, "503", at(5))
    assert stands(ledger)[0] is State.WAKE


def test_a_brief_that_arrived_by_one_channel_arrived(ledger: SqliteLedger) -> None:
    waits(ledger, 0, "k")
    ledger.issue_brief(TODAY, at(1), lambda _brief: ("", [draft("phone"), draft("mail")]))
    mail, phone = ledger.messages()
    ledger.begin_message(mail.id, PROCESS, at(2))
    ledger.settle_message(mail.id, at(2), proof=False)
    ledger.give_up_message(phone.id, "503", at(3))
    assert stands(ledger) == BRIEFED


def written_up(ledger: SqliteLedger) -> str:
    """The wake that is to write up the brief with the finding `k`, begun."""
    waits(ledger, 0, "k")
    issued = ledger.issue_brief(TODAY, at(1), to_phone, target=CLAUDE)
    assert issued is not None
    assert issued[1] is not None
    ledger.begin_wake(issued[1], PROCESS, at(1))
    return issued[1]


def test_what_an_agent_made_of_a_brief_and_did_not_arrive_is_in_the_next(ledger: SqliteLedger) -> None:
    wake_id = written_up(ledger)
    ledger.settle_wake(wake_id, Reply("Good morning"), [draft(wake_id=wake_id)], at(2))
    (message,) = ledger.messages()
    ledger.give_up_message(message.id, "503", at(3))
    assert stands(ledger) == GIVEN_BACK
    ledger.retry_message(message.id, at(4))
    assert stands(ledger) == BRIEFED


def test_a_brief_that_no_agent_writes_up_is_sent_as_it_is_or_told_by_the_next(ledger: SqliteLedger) -> None:
    wake_id = written_up(ledger)
    ledger.give_up_wake(wake_id, "gone", at(2))
    assert stands(ledger) == GIVEN_BACK
    assert found(ledger).events[-1].reason == "the agent did not accept the brief: gone"
    ledger.retry_wake(wake_id, at(3))
    assert stands(ledger) == BRIEFED
    ledger.give_up_wake(wake_id, "gone", at(4), drafts=[draft(wake_id=wake_id)])
    assert stands(ledger) == BRIEFED
    (message,) = ledger.messages()
    ledger.give_up_message(message.id, "503", at(5))
    assert stands(ledger) == GIVEN_BACK


# Upkeep


def test_pruning_keeps_the_latest_brief_and_that_of_the_latest_day(ledger: SqliteLedger) -> None:
    for number in range(3):
        issue(ledger, number, TODAY + DAY * number)
    for minute in (3, 4):
        waits(ledger, minute, f"k{minute}")
        ledger.consume_brief(at(minute))
    assert ledger.prune(at(0) + 9 * DAY, DAY, 10)["briefs"] == 3
    assert ledger.has_brief(TODAY + DAY * 2, at(9))
    assert not ledger.has_brief(TODAY + DAY, at(9))
    assert ledger.brief(at(5)).since == at(4)


def test_pruning_keeps_one_brief_when_none_was_of_a_day(ledger: SqliteLedger) -> None:
    for minute in (1, 2):
        waits(ledger, minute, f"k{minute}")
        ledger.consume_brief(at(minute))
    assert ledger.prune(at(0) + 9 * DAY, DAY, 10)["briefs"] == 1
    assert ledger.brief(at(5)).since == at(2)


def test_told_by_a_wake_and_given_back_is_told_by_the_brief_of_the_day(ledger: SqliteLedger) -> None:
    (message_id,) = told(ledger, 0, "k")
    ledger.give_up_message(message_id, "503", at(1))
    brief = issue(ledger, 2)
    assert [item.finding.key for item in brief.items] == ["k"]
    assert brief.undelivered == (message_id,)


# How long it takes


def test_a_brief_looks_at_nothing_that_grows_with_the_ledger(ledger: SqliteLedger) -> None:
    everything(ledger, 0)
    issue(ledger, 1)
    (message,) = ledger.messages()
    plans = plan_of(ledger, lambda: ledger.brief(at(2)))
    plans += plan_of(ledger, lambda: ledger.give_up_message(message.id, "503", at(2)))
    plans += plan_of(ledger, lambda: ledger.retry_message(message.id, at(3)))
    plans += plan_of(ledger, lambda: ledger.issue_brief(TODAY + DAY, at(4), to_phone))
    plans += plan_of(ledger, lambda: ledger.due_messages(at(4)))
    plans += plan_of(ledger, lambda: ledger.due_notices(at(4)))
    scans = {plan for plan in plans if plan.startswith("SCAN") and "VIRTUAL" not in plan}
    # There is one brief a day, and the constant row has no table.
    assert scans <= {"SCAN briefs", "SCAN CONSTANT ROW", "SCAN incidents USING INDEX incidents_untold"}
    assert any("USING COVERING INDEX runs_by_end" in plan for plan in plans)
    assert any("USING COVERING INDEX wakes_settled" in plan for plan in plans)


def plan_of(ledger: SqliteLedger, ask: Callable[[], object]) -> list[str]:
    """How SQLite goes about what is asked."""
    statements: list[str] = []
    with ledger._database.outside() as db:
        db.set_trace_callback(statements.append)
        ask()
        db.set_trace_callback(None)
        words = ("SELECT", "DELETE", "UPDATE", "INSERT")
        asked = [each for each in statements if each.lstrip().startswith(words)]
        return [row["detail"] for each in asked for row in db.execute(f"EXPLAIN QUERY PLAN {each}")]
