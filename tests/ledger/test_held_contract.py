"""The contract of what is held: it is decided again when its time has come, each once, and never lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from heartbeat.model import (
    Action,
    Change,
    Decision,
    Interruption,
    LedgerFinding,
    Past,
    State,
    Target,
    Urgency,
)
from heartbeat.stores.memory import open_memory
from heartbeat.stores.sqlite import SqliteLedger, held
from tests.ledger.deciding import TRACE, again, begun, decided, enter, keys_of, row_of, run, settled
from tests.ledger.telling import CLAUDE, at

HOLD, WAKE, BRIEF, DROP = Action.HOLD, Action.WAKE, Action.BRIEF, Action.DROP
CODEX = Target("codex")


@dataclass
class Rules:
    """Gives each finding the same decision, and keeps what it was asked."""

    action: Action
    rule: str = "again"
    until: datetime | None = None
    target: Target = CLAUDE
    asked: list[list[str]] = field(default_factory=list)
    pasts: list[Past] = field(default_factory=list)

    def __call__(self, rows: Sequence[LedgerFinding], past: Past) -> list[Decision]:
        self.asked.append([row.finding.key for row in rows])
        self.pasts.append(past)
        return [
            Decision(
                *(row.finding, self.action, Change.SAME, self.rule, f"{self.rule} it"),
                trace=TRACE,
                until=self.until,
                target=self.target,
            )
            for row in rows
        ]


@pytest.fixture
def ledger() -> Iterator[SqliteLedger]:
    with open_memory() as made:
        yield made


def hold(ledger: SqliteLedger, minute: float, key: str, until: float, job: str = "job") -> None:
    enter(ledger, minute, decided(key, HOLD, rule="quiet_hours", until=at(until)), job=job)


def moves(ledger: SqliteLedger, key: str = "k") -> list[tuple[State, str]]:
    return [(event.state, event.rule) for event in row_of(ledger, key).events]


# What is asked for


def test_what_is_held_is_so_until_the_instant_of_its_decision(ledger: SqliteLedger) -> None:
    hold(ledger, 0, "k", 60)
    row = row_of(ledger, "k")
    assert (row.state, row.rule, row.held_until) == (State.HELD, "quiet_hours", at(60))
    assert ledger.findings()[0].held_until == at(60)
    assert ledger.brief(at(1)).items == ()


@pytest.mark.parametrize(("minute", "due"), [(59.99, False), (60, True), (999, True)])
def test_a_held_finding_is_decided_again_when_its_time_has_come(
    ledger: SqliteLedger, minute: float, *, due: bool
) -> None:
    hold(ledger, 0, "k", 60)
    rules = Rules(BRIEF)
    assert ledger.decide_held(rules, at(minute)) == ()
    assert rules.asked == [["k"]] * due
    assert row_of(ledger, "k").state is (State.BRIEF if due else State.HELD)


def test_everything_that_is_held_can_be_decided_before_its_time(ledger: SqliteLedger) -> None:
    hold(ledger, 0, "late", 999)
    hold(ledger, 0, "early", 60)
    rules = Rules(WAKE)
    ledger.decide_held(rules, at(1), everything=True)
    assert rules.asked == [["early", "late"]]


def test_what_is_due_first_is_decided_first(ledger: SqliteLedger) -> None:
    for key, until in (("c", 30), ("a", 10), ("b", 20), ("d", 30)):
        hold(ledger, 0, key, until)
    rules = Rules(HOLD, until=at(99))
    ledger.decide_held(rules, at(40))
    assert rules.asked == [["a", "b", "c", "d"]]


def test_only_what_is_held_is_asked_for(ledger: SqliteLedger) -> None:
    enter(ledger, 0, decided("brief", BRIEF), decided("wake"), decided("drop", DROP))
    settled(ledger, 0, "told")
    for key in ("updated", "withdrawn", "promoted"):
        hold(ledger, 0, key, 5)
    run(ledger, 1, lambda view: [decided("updated", BRIEF, Change.NEW, view, version="2")])
    run(ledger, 1, lambda view: [decided("withdrawn", DROP, Change.WITHDRAWAL, view)])
    again(ledger, 1, "promoted", WAKE)
    rules = Rules(BRIEF)
    ledger.decide_held(rules, at(99), everything=True)
    assert rules.asked == []
    assert {row.held_until for row in ledger.findings()} == {None}


def test_a_condition_that_ended_while_it_was_held_is_still_decided(ledger: SqliteLedger) -> None:
    hold(ledger, 0, "k", 5)
    run(ledger, 1, lambda view: [decided("k", DROP, Change.FORGOTTEN, view)])
    (wake_id,) = ledger.decide_held(Rules(WAKE), at(5))
    assert keys_of(begun(ledger, wake_id, 5)) == ["k"]


def test_a_hold_without_an_end_is_decided_the_next_time(ledger: SqliteLedger) -> None:
    enter(ledger, 3, decided("k", HOLD))
    assert (row_of(ledger, "k").held_until, ledger.next_due(at(3))) == (at(3), at(3))
    ledger.decide_held(Rules(BRIEF), at(3))
    assert row_of(ledger, "k").state is State.BRIEF


def test_the_rules_see_the_past_as_it_is_then(ledger: SqliteLedger) -> None:
    settled(ledger, 0, "told")
    ledger.hold_agent("codex", at(99), "429", at(1))
    hold(ledger, 1, "k", 5)
    rules = Rules(BRIEF)
    ledger.decide_held(rules, at(6))
    assert rules.pasts[0].interruptions == (Interruption(at(0)),)
    assert list(rules.pasts[0].holds) == ["codex"]


# What becomes of it


@pytest.mark.parametrize(("action", "state"), [(BRIEF, State.BRIEF), (DROP, State.DROPPED), (WAKE, State.WAKE)])
def test_what_time_decides_is_kept_with_every_rule_that_was_looked_at(
    ledger: SqliteLedger, action: Action, state: State
) -> None:
    hold(ledger, 0, "k", 5)
    wakes = ledger.decide_held(Rules(action), at(6))
    row = row_of(ledger, "k")
    assert (row.state, row.rule, row.reason, row.held_until) == (state, "again", "again it", None)
    event = row.events[-1]
    assert (event.at, event.state, event.rule, event.run_id, event.trace) == (at(6), state, "again", None, TRACE)
    assert event.wake_id == row.wake_id == (wakes[0] if wakes else None)
    assert row.events[0].trace == (), "that of a run is with its decisions"
    assert ledger.view("job", ["k"], at(9)).known["k"].since == at(6)


def test_a_hold_that_goes_on_is_moved_without_an_event(ledger: SqliteLedger) -> None:
    hold(ledger, 0, "k", 5)
    assert ledger.decide_held(Rules(HOLD, "quiet_hours", at(30)), at(6)) == ()
    row = row_of(ledger, "k")
    assert (row.state, row.held_until, row.reason) == (State.HELD, at(30), "quiet_hours it")
    assert moves(ledger) == [(State.HELD, "quiet_hours")]
    assert ledger.next_due(at(6)) == at(30)


def test_a_hold_by_another_rule_is_an_event(ledger: SqliteLedger) -> None:
    hold(ledger, 0, "k", 5)
    ledger.decide_held(Rules(HOLD, "budget", at(30)), at(6))
    assert moves(ledger) == [(State.HELD, "quiet_hours"), (State.HELD, "budget")]
    assert row_of(ledger, "k").events[-1].trace == TRACE
    again(ledger, 7, "k", HOLD, rule="budget", until=at(40))
    assert len(moves(ledger)) == 2
    again(ledger, 8, "k", HOLD, rule="agent_hold", until=at(50))
    row = row_of(ledger, "k")
    assert (row.rule, row.held_until, len(row.events)) == ("agent_hold", at(50), 3)
    again(ledger, 9, "k", Action.DUPLICATE)
    assert row_of(ledger, "k").held_until == at(50)


def test_what_is_released_together_is_one_wake_for_each_target(ledger: SqliteLedger) -> None:
    hold(ledger, 0, "a", 5, job="mail")
    hold(ledger, 1, "b", 5, job="calendar")
    mail = row_of(ledger, "a").run_id
    (wake_id,) = ledger.decide_held(Rules(WAKE), at(6))
    wake = ledger.wake(wake_id)
    assert (wake.agent, wake.job, wake.run_id, wake.created_at) == ("claude", "mail", mail, at(6))
    assert keys_of(wake) == ["a", "b"]
    hold(ledger, 7, "c", 8)
    hold(ledger, 7, "d", 9)
    assert ledger.decide_held(Rules(WAKE, target=CODEX), at(8)) != (wake_id,)
    assert ledger.decide_held(Rules(WAKE), at(9)) == (wake_id,)
    assert keys_of(ledger.wake(wake_id)) == ["a", "b", "d"]


def test_a_wake_of_what_was_held_is_dated_and_weighed_by_what_it_carries(ledger: SqliteLedger) -> None:
    enter(ledger, 0, decided("k", HOLD, until=at(5), urgency=Urgency.CRITICAL, useful_until=at(60)))
    (wake_id,) = ledger.decide_held(Rules(WAKE), at(5))
    assert ledger.wake(wake_id).useful_until == at(60)
    assert ledger.past(at(6)).interruptions == (Interruption(at(5), critical=True),)


def test_a_reminder_can_be_held_and_told_later(ledger: SqliteLedger) -> None:
    settled(ledger, 0, "k")
    again(ledger, 60, "k", HOLD, rule="quiet_hours", until=at(90))
    (wake_id,) = ledger.decide_held(Rules(WAKE), at(90))
    assert keys_of(ledger.wake(wake_id)) == ["k"]
    assert [state for state, _rule in moves(ledger)] == [State.WAKE, State.TOLD, State.HELD, State.WAKE]


# However many, whatever breaks


def test_however_much_is_held_it_is_decided_once_in_bounded_transactions(ledger: SqliteLedger) -> None:
    count = held.BATCH + 1
    enter(ledger, 0, *(decided(f"k{number}", HOLD, until=at(5)) for number in range(count)))
    going_on = Rules(HOLD, "quiet_hours", at(1))
    assert ledger.decide_held(going_on, at(6)) == ()
    assert [len(some) for some in going_on.asked] == [held.BATCH, 1], "also when it is due again at once"
    waking = Rules(WAKE)
    (wake_id,) = ledger.decide_held(waking, at(6), everything=True)
    assert sorted(key for some in waking.asked for key in some) == sorted(f"k{number}" for number in range(count))
    assert [len(past.joinable) for past in waking.pasts] == [0, 1], "the second part sees what the first did"
    assert len(ledger.wake(wake_id).findings) == count


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_decision_for_each_or_nothing_is_changed(ledger: SqliteLedger, count: int) -> None:
    hold(ledger, 0, "a", 5)
    hold(ledger, 0, "b", 5)
    before = ledger.findings()
    rules = Rules(WAKE)
    with pytest.raises(ValueError, match="argument 2"):
        ledger.decide_held(lambda rows, past: (rules(rows, past) * 2)[:count], at(6))
    assert ledger.findings() == before
    assert ledger.wakes() == []


def test_a_rule_that_breaks_changes_nothing(ledger: SqliteLedger) -> None:
    def breaks(_rows: Sequence[LedgerFinding], _past: Past) -> list[Decision]:
        raise ZeroDivisionError

    hold(ledger, 0, "k", 5)
    before = row_of(ledger, "k")
    with pytest.raises(ZeroDivisionError):
        ledger.decide_held(breaks, at(6))
    assert row_of(ledger, "k") == before


def test_what_was_taken_back_between_two_parts_is_not_decided(ledger: SqliteLedger) -> None:
    hold(ledger, 0, "a", 5)
    with ledger._database.reading() as db:
        (batch,) = held.due(db, at(6), everything=False)
    run(ledger, 6, lambda view: [decided("a", DROP, Change.WITHDRAWAL, view)])
    rules = Rules(WAKE)
    with ledger._database.writing() as db:
        assert held.decide(db, batch, rules, at(6)) == ()
    assert rules.asked == []
    assert row_of(ledger, "a").state is State.WITHDRAWN
