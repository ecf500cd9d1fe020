"""What becomes of each finding: every state of the ledger against every report, and the order of the rules."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from heartbeat.absence import missed_once_more
from heartbeat.decide import Rules, decide, decide_again
from heartbeat.model import (
    OWNER,
    Action,
    Change,
    Decision,
    Finding,
    Gate,
    Hold,
    Interruption,
    JobState,
    Judgement,
    Known,
    LedgerFinding,
    Overrides,
    Past,
    Source,
    State,
    Target,
    Urgency,
    Verdict,
    View,
    WhenAbsent,
)

NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
INSTANT = timedelta.resolution
FAULTS = (Verdict.FAILED, Verdict.TIMEOUT)
PAST = NOW - INSTANT
STATES = {Action.WAKE: State.WAKE, Action.HOLD: State.HELD, Action.BRIEF: State.BRIEF, Action.DROP: State.DROPPED}
WOKEN = Rules(target=Target("agent"))
NOBODY = Rules()


def finding(key: str = "k", version: str = "1", **fields: Any) -> Finding:
    return replace(Finding(key, f"title of {key}", version), **fields)


def judged(verdict: Verdict, *findings: Finding, sources: tuple[Source, ...] = ()) -> Judgement:
    gate = Gate(verdict is Verdict.WAKE, findings=findings, sources=sources)
    return Judgement(verdict, str(verdict), "because", gate=gate)


def view(*known: Known) -> View:
    return View(JobState("job", NOW), {item.finding.key: item for item in known})


def held(state: State, rule: str = "wake", item: Finding | None = None, **fields: Any) -> Known:
    return replace(Known("fnd_1", item or finding(), state, rule), **fields)


def short(decision: Decision) -> str:
    return f"{decision.action} {decision.change}"


def decide_one(judgement: Judgement, known: View, rules: Rules = WOKEN, now: datetime = NOW) -> Decision:
    (decision,) = decide(judgement, known, rules, now)
    return decision


HOLDS = {
    "nothing": None,
    "waiting for the agent": held(State.WAKE),
    "being sent": held(State.WAKE, sending=True),
    "held": held(State.HELD, "quiet_hours"),
    "in the brief: quiet": held(State.BRIEF, "quiet"),
    "in the brief: fault": held(State.BRIEF, "fault"),
    "in the brief: low": held(State.BRIEF, "low"),
    "in the brief: expired": held(State.BRIEF, "expired"),
    "in the brief: no agent": held(State.BRIEF, "no_agent"),
    "in the brief: given up": held(State.BRIEF, "agent_failed"),
    "told": held(State.TOLD, "settled"),
    "briefed": held(State.BRIEFED, "brief"),
    "known": held(State.KNOWN, "baseline"),
    "dropped": held(State.DROPPED, "cancelled"),
    "update waiting": held(State.WAKE, change=Change.UPDATE),
    "update in the brief": held(State.BRIEF, "quiet", change=Change.UPDATE),
    "update dropped": held(State.DROPPED, "cancelled", change=Change.UPDATE),
}

# What the ledger holds; what is reported; the decision after a verdict wake, quiet, failed or timeout.
REPORTED = """
nothing                 same    wake new          brief new         brief new
nothing                 retract drop retraction   drop retraction   drop retraction
waiting for the agent   same    duplicate same    duplicate same    duplicate same
waiting for the agent   newer   wake new          brief new         brief new
waiting for the agent   retract drop withdrawal   drop withdrawal   drop withdrawal
being sent              same    duplicate same    duplicate same    duplicate same
being sent              newer   wake update       brief update      brief update
being sent              retract wake retraction   brief retraction  brief retraction
held                    same    duplicate same    duplicate same    duplicate same
held                    newer   wake new          brief new         brief new
held                    retract drop withdrawal   drop withdrawal   drop withdrawal
in the brief: quiet     same    wake same         duplicate same    duplicate same
in the brief: quiet     newer   wake new          brief new         brief new
in the brief: quiet     retract drop withdrawal   drop withdrawal   drop withdrawal
in the brief: fault     same    wake same         duplicate same    duplicate same
in the brief: fault     newer   wake new          brief new         brief new
in the brief: fault     retract drop withdrawal   drop withdrawal   drop withdrawal
in the brief: low       same    duplicate same    duplicate same    duplicate same
in the brief: low       newer   wake new          brief new         brief new
in the brief: low       retract drop withdrawal   drop withdrawal   drop withdrawal
in the brief: expired   same    duplicate same    duplicate same    duplicate same
in the brief: expired   newer   wake new          brief new         brief new
in the brief: expired   retract drop withdrawal   drop withdrawal   drop withdrawal
in the brief: no agent  same    duplicate same    duplicate same    duplicate same
in the brief: no agent  newer   wake new          brief new         brief new
in the brief: no agent  retract drop withdrawal   drop withdrawal   drop withdrawal
in the brief: given up  same    duplicate same    duplicate same    duplicate same
in the brief: given up  newer   wake new          brief new         brief new
in the brief: given up  retract drop withdrawal   drop withdrawal   drop withdrawal
told                    same    duplicate same    duplicate same    duplicate same
told                    newer   wake update       brief update      brief update
told                    retract wake retraction   brief retraction  brief retraction
briefed                 same    duplicate same    duplicate same    duplicate same
briefed                 newer   wake update       brief update      brief update
briefed                 retract wake retraction   brief retraction  brief retraction
known                   same    duplicate same    duplicate same    duplicate same
known                   newer   wake update       brief update      brief update
known                   retract wake retraction   brief retraction  brief retraction
dropped                 same    duplicate same    duplicate same    duplicate same
dropped                 newer   wake new          brief new         brief new
dropped                 retract drop withdrawal   drop withdrawal   drop withdrawal
update waiting          same    duplicate same    duplicate same    duplicate same
update waiting          newer   wake update       brief update      brief update
update waiting          retract wake retraction   brief retraction  brief retraction
update in the brief     same    wake same         duplicate same    duplicate same
update in the brief     newer   wake update       brief update      brief update
update in the brief     retract wake retraction   brief retraction  brief retraction
update dropped          same    duplicate same    duplicate same    duplicate same
update dropped          newer   wake update       brief update      brief update
update dropped          retract wake retraction   brief retraction  brief retraction
"""

# What the ledger holds and no complete run reports any more; by `when_absent`, the last after `useful_until`.
ABSENT = """
waiting for the agent   -   drop forgotten    drop withdrawal   drop forgotten
being sent              -   drop forgotten    wake retraction   drop forgotten
held                    -   brief forgotten   drop withdrawal   brief forgotten
in the brief: quiet     -   drop forgotten    drop withdrawal   drop forgotten
in the brief: fault     -   drop forgotten    drop withdrawal   drop forgotten
in the brief: low       -   drop forgotten    drop withdrawal   drop forgotten
in the brief: expired   -   drop forgotten    drop withdrawal   drop forgotten
in the brief: no agent  -   drop forgotten    drop withdrawal   drop forgotten
in the brief: given up  -   drop forgotten    drop withdrawal   drop forgotten
told                    -   drop forgotten    wake retraction   drop forgotten
briefed                 -   drop forgotten    brief retraction  drop forgotten
known                   -   drop forgotten    brief retraction  drop forgotten
dropped                 -   drop forgotten    drop forgotten    drop forgotten
update waiting          -   drop forgotten    wake retraction   drop forgotten
update in the brief     -   drop forgotten    wake retraction   drop forgotten
update dropped          -   drop forgotten    wake retraction   drop forgotten
"""


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in table.strip().splitlines()]


def reports() -> list[tuple[str, str, Verdict, str]]:
    cases = []
    for line in REPORTED.strip().splitlines():
        name, how, cells = line[:24].strip(), line[24:32].strip(), line[32:]
        wake, quiet, fault = cells[:18].strip(), cells[18:36].strip(), cells[36:].strip()
        outcomes = {Verdict.WAKE: wake, Verdict.QUIET: quiet, **dict.fromkeys(FAULTS, fault)}
        cases += [(name, how, verdict, outcome) for verdict, outcome in outcomes.items()]
    return cases


def test_the_tables_hold_every_state_of_the_ledger() -> None:
    assert {(name, how) for name, how, _, _ in reports()} == set(product(HOLDS, ("same", "newer", "retract"))) - {
        ("nothing", "newer")
    }
    assert {row[0] for row in rows(ABSENT)} == set(HOLDS) - {"nothing"}
    assert {known.state for known in HOLDS.values() if known} == set(State) - {State.WITHDRAWN}


@pytest.mark.parametrize(("name", "how", "verdict", "expected"), reports())
def test_a_report_meets_what_the_ledger_holds(name: str, how: str, verdict: Verdict, expected: str) -> None:
    known = HOLDS[name]
    item = {"same": finding(), "newer": finding(version="2"), "retract": finding(retract=True)}[how]
    decision = decide_one(judged(verdict, item), view(*([known] if known else [])))
    assert short(decision) == expected
    assert decision.finding == item
    assert decision.known == known


@pytest.mark.parametrize("verdict", [Verdict.WAKE, Verdict.QUIET])
@pytest.mark.parametrize("row", rows(ABSENT), ids=lambda row: row[0])
def test_what_is_no_longer_reported_is_decided_by_when_absent(row: list[str], verdict: Verdict) -> None:
    name, keep, forget, retract, late = row
    known = HOLDS[name]
    assert known is not None
    outcomes = [
        (WhenAbsent.KEEP, None, keep),
        (WhenAbsent.KEEP, NOW - INSTANT, keep),
        (WhenAbsent.FORGET, None, forget),
        (WhenAbsent.FORGET, NOW + INSTANT, forget),
        (WhenAbsent.FORGET, NOW - INSTANT, forget),
        (WhenAbsent.RETRACT, None, retract),
        (WhenAbsent.RETRACT, NOW + INSTANT, retract),
        (WhenAbsent.RETRACT, NOW, retract),
        (WhenAbsent.RETRACT, NOW - INSTANT, late),
    ]
    for when_absent, until, expected in outcomes:
        gone = replace(known, finding=finding(when_absent=when_absent, useful_until=until))
        decisions = decide(judged(verdict, sources=(Source("a", ok=True),)), view(gone), WOKEN, NOW)
        assert [short(decision) for decision in decisions] == ([] if expected == "-" else [expected])
        for decision in decisions:
            assert decision.known == gone
            assert decision.finding == replace(gone.finding, retract=decision.change is Change.RETRACTION)


@pytest.mark.parametrize("when_absent", list(WhenAbsent))
@pytest.mark.parametrize("name", sorted(HOLDS.keys() - {"nothing"}))
def test_after_a_fault_or_a_failed_source_nothing_counts_as_absent(name: str, when_absent: WhenAbsent) -> None:
    known = HOLDS[name]
    assert known is not None
    gone = view(replace(known, finding=finding(when_absent=when_absent)))
    for verdict in FAULTS:
        assert decide(judged(verdict), gone, WOKEN, NOW) == ()
    sources = (Source("a", ok=True), Source("b", ok=False), Source("c", ok=True))
    for verdict in (Verdict.WAKE, Verdict.QUIET):
        assert decide(judged(verdict, sources=sources), gone, WOKEN, NOW) == ()


def test_a_retraction_for_absence_does_not_say_that_the_script_asked_to_wake() -> None:
    for state in (State.TOLD, State.BRIEFED):
        told = held(state, item=finding(when_absent=WhenAbsent.RETRACT))
        for verdict in (Verdict.WAKE, Verdict.QUIET):
            decision = decide_one(judged(verdict), view(told))
            assert "script" not in decision.reason


def test_a_retraction_for_absence_obeys_the_other_rules() -> None:
    low = held(State.TOLD, item=finding(when_absent=WhenAbsent.RETRACT, urgency=Urgency.LOW))
    assert decide_one(judged(Verdict.WAKE), view(low)).rule == "low"
    told = held(State.TOLD, item=finding(when_absent=WhenAbsent.RETRACT))
    assert decide_one(judged(Verdict.WAKE), view(told), NOBODY).rule == "no_agent"


def test_a_run_without_a_gate_decides_nothing() -> None:
    known = view(held(State.TOLD, item=finding(when_absent=WhenAbsent.RETRACT)))
    for verdict in (Verdict.MALFORMED, *FAULTS):
        assert decide(Judgement(verdict, "x", "because"), known, WOKEN, NOW) == ()


# Absence, as far as a run looked


@pytest.mark.parametrize("verdict", [Verdict.WAKE, Verdict.QUIET])
@pytest.mark.parametrize(
    ("item", "sources", "scopes", "is_absent"),
    [
        pytest.param(finding(source="a"), "a", (), True, id="its source answered"),
        pytest.param(finding(source="a"), "a !b", (), True, id="another source failed"),
        pytest.param(finding(source="a"), "!a b", (), False, id="its source failed"),
        pytest.param(finding(source="a"), "a !a", (), False, id="one of two of its name failed"),
        pytest.param(finding(source="c"), "a b", (), True, id="a source nobody named, and all answered"),
        pytest.param(finding(source="c"), "a !b", (), False, id="a source nobody named, and one failed"),
        pytest.param(finding(source="a"), "", (), True, id="no sources are named"),
        pytest.param(finding(source="a", scope="x"), "!a", ("y", "x"), True, id="its scope was looked at whole"),
        pytest.param(finding(source="a", scope="x"), "a", ("y",), False, id="another scope was looked at whole"),
        pytest.param(finding(source="a", scope="x"), "a", (), False, id="no scope was looked at whole"),
    ],
)
def test_what_is_missing_counts_only_where_the_run_looked(
    item: Finding, sources: str, scopes: tuple[str, ...], is_absent: bool, verdict: Verdict
) -> None:
    told = view(held(State.TOLD, item=replace(item, when_absent=WhenAbsent.RETRACT)))
    named = tuple(Source(word.removeprefix("!"), ok=not word.startswith("!")) for word in sources.split())
    judgement = Judgement(verdict, "x", "because", gate=Gate(wake=True, sources=named, scopes=scopes))
    decisions = decide(judgement, told, WOKEN, NOW)
    assert [short(decision) for decision in decisions] == (["wake retraction"] if is_absent else [])


@pytest.mark.parametrize("when_absent", [WhenAbsent.FORGET, WhenAbsent.RETRACT])
@pytest.mark.parametrize("absences", [1, 2, 3, 10])
def test_an_absence_that_must_repeat_is_counted_until_it_means_something(
    absences: int, when_absent: WhenAbsent
) -> None:
    for missed in range(absences):
        known = held(State.TOLD, item=finding(when_absent=when_absent, absences=absences), missed=missed)
        judgement, is_last = judged(Verdict.QUIET), missed == absences - 1
        assert missed_once_more(judgement, view(known)) == (() if is_last else ("fnd_1",))
        assert len(decide(judgement, view(known), WOKEN, NOW)) == is_last


def test_an_absence_is_not_counted_where_it_means_nothing_or_nobody_looked() -> None:
    keep = view(held(State.TOLD, item=finding(absences=3)))
    assert missed_once_more(judged(Verdict.QUIET), keep) == ()
    item = finding(when_absent=WhenAbsent.RETRACT, absences=3)
    waits = view(held(State.TOLD, item=item))
    assert missed_once_more(judged(Verdict.QUIET, item), waits) == ()
    assert missed_once_more(judged(Verdict.QUIET, sources=(Source("a", ok=False),)), waits) == ()
    assert missed_once_more(judged(Verdict.FAILED), waits) == ()


# The first look at a scope


def looked_at(*names: str, known: tuple[Known, ...] = ()) -> View:
    return replace(view(*known), scopes=frozenset(names))


def test_what_is_found_at_the_first_look_at_a_scope_is_known_and_what_comes_later_is_news() -> None:
    first = decide_one(judged(Verdict.WAKE, finding(scope="x")), looked_at("y"))
    assert (first.action, first.change, first.rule) == (Action.DROP, Change.NEW, "baseline")
    assert first.reason == "it was there when x was first looked at"
    assert short(decide_one(judged(Verdict.WAKE, finding(scope="x")), looked_at("x", "y"))) == "wake new"
    assert short(decide_one(judged(Verdict.WAKE, finding()), looked_at())) == "wake new"


@pytest.mark.parametrize("name", sorted(HOLDS.keys() - {"nothing"}))
def test_the_first_look_at_a_scope_takes_nothing_from_what_its_key_held_before(name: str) -> None:
    known = HOLDS[name]
    assert known is not None
    newer = judged(Verdict.WAKE, finding(version="2", scope="new"))
    without = judged(Verdict.WAKE, finding(version="2"))
    assert short(decide_one(newer, view(known))) == short(decide_one(without, view(known)))


@pytest.mark.parametrize("when_absent", [WhenAbsent.FORGET, WhenAbsent.RETRACT])
@pytest.mark.parametrize("name", sorted(HOLDS.keys() - {"nothing"}))
def test_what_may_be_missing_because_the_options_changed_is_forgotten(name: str, when_absent: WhenAbsent) -> None:
    known = HOLDS[name]
    assert known is not None
    unsure = replace(known, finding=finding(when_absent=when_absent), unsure=True)
    decision = decide_one(judged(Verdict.WAKE), view(unsure))
    assert (short(decision), decision.reason) == (
        "drop forgotten",
        "the job's options changed: it need not be gone",
    )
    patient = replace(unsure, finding=finding(when_absent=when_absent, absences=2))
    assert decide(judged(Verdict.WAKE), view(patient), WOKEN, NOW) == ()


def test_a_change_of_what_was_known_at_the_first_look_is_told_as_an_update() -> None:
    known = held(State.KNOWN, "baseline", item=finding(scope="x"))
    seen = looked_at("x", known=(known,))
    assert short(decide_one(judged(Verdict.WAKE, finding(version="2", scope="x")), seen)) == "wake update"
    assert short(decide_one(judged(Verdict.WAKE, finding(retract=True, scope="x")), seen)) == "wake retraction"


# Rules in order

LOW = Urgency.LOW
PAST = NOW - INSTANT


@pytest.mark.parametrize(
    ("verdict", "item", "rules", "action", "name"),
    [
        (
            Verdict.FAILED,
            finding(urgency=LOW, useful_until=PAST),
            replace(NOBODY, baseline=True),
            "drop",
            "baseline",
        ),
        (Verdict.QUIET, finding(), replace(WOKEN, baseline=True), "drop", "baseline"),
        (Verdict.FAILED, finding(urgency=LOW, useful_until=PAST), NOBODY, "brief", "fault"),
        (Verdict.TIMEOUT, finding(urgency=Urgency.CRITICAL), WOKEN, "brief", "fault"),
        (Verdict.QUIET, finding(urgency=LOW, useful_until=PAST), NOBODY, "brief", "quiet"),
        (Verdict.QUIET, finding(urgency=Urgency.CRITICAL), WOKEN, "brief", "quiet"),
        (Verdict.WAKE, finding(urgency=LOW, useful_until=PAST), NOBODY, "brief", "low"),
        (Verdict.WAKE, finding(useful_until=PAST), NOBODY, "brief", "expired"),
        (Verdict.WAKE, finding(), NOBODY, "brief", "no_agent"),
        (Verdict.WAKE, finding(), WOKEN, "wake", "wake"),
        (Verdict.WAKE, finding(urgency=Urgency.HIGH), WOKEN, "wake", "wake"),
        (Verdict.WAKE, finding(urgency=Urgency.CRITICAL), WOKEN, "wake", "wake"),
    ],
)
def test_the_first_rule_that_applies_decides_and_the_trace_names_each_looked_at(
    verdict: Verdict, item: Finding, rules: Rules, action: str, name: str
) -> None:
    decision = decide_one(judged(verdict, item), view(), rules)
    assert (decision.action, decision.rule) == (action, name)
    order = (
        *("baseline", "fault", "quiet", "muted", "low", "expired", "no_agent"),
        *("quiet_hours", "agent_hold", "spending", "budget", "wake"),
    )
    looked_at = order[: order.index(name) + 1]
    assert tuple(step.rule for step in decision.trace) == looked_at
    assert [step.outcome for step in decision.trace] == ["passed"] * (len(looked_at) - 1) + [action]
    assert decision.trace[-1].reason == decision.reason


@pytest.mark.parametrize(
    ("until", "name"),
    [
        (None, "wake"),
        (NOW + INSTANT, "wake"),
        (NOW, "wake"),
        (NOW - INSTANT, "expired"),
        (NOW - timedelta(days=9), "expired"),
    ],
)
def test_a_finding_is_expired_only_past_its_last_useful_instant(until: datetime | None, name: str) -> None:
    assert decide_one(judged(Verdict.WAKE, finding(useful_until=until)), view()).rule == name


def test_the_reason_for_expiry_names_the_instant_in_the_zone_it_was_written_in() -> None:
    until = datetime(2026, 6, 10, 9, 30, tzinfo=timezone(timedelta(hours=2)))
    decision = decide_one(judged(Verdict.WAKE, finding(useful_until=until)), view())
    assert "2026-06-10 09:30 UTC+02:00" in decision.reason
    decision = decide_one(judged(Verdict.WAKE, finding(useful_until=until.astimezone(UTC))), view())
    assert "2026-06-10 07:30 UTC:" in decision.reason


def test_a_baseline_run_takes_what_exists_as_known_but_still_hears_a_retraction() -> None:
    rules = replace(WOKEN, baseline=True)
    assert short(decide_one(judged(Verdict.WAKE, finding()), view(), rules)) == "drop new"
    told = view(held(State.TOLD))
    assert short(decide_one(judged(Verdict.WAKE, finding(retract=True)), told, rules)) == "wake retraction"


@pytest.mark.parametrize(
    ("item", "rules", "expected"),
    [
        (finding(), WOKEN, "wake same"),
        (finding(urgency=Urgency.LOW), WOKEN, "duplicate same"),
        (finding(useful_until=PAST), WOKEN, "duplicate same"),
        (finding(), NOBODY, "duplicate same"),
        (finding(), replace(WOKEN, baseline=True), "duplicate same"),
    ],
)
def test_what_a_quiet_run_reported_wakes_later_only_if_no_rule_stands_against_it(
    item: Finding, rules: Rules, expected: str
) -> None:
    assert short(decide_one(judged(Verdict.WAKE, item), view(held(State.BRIEF, "quiet")), rules)) == expected


# Back before anybody was told that it was called off


@pytest.mark.parametrize("verdict", [Verdict.WAKE, Verdict.QUIET, *FAULTS])
@pytest.mark.parametrize(
    "known",
    [held(State.TOLD), held(State.BRIEFED), held(State.KNOWN), held(State.WAKE, sending=True)],
    ids=["told", "briefed", "known", "being sent"],
)
def test_what_is_back_before_its_retraction_was_told_is_as_it_was(known: Known, verdict: Verdict) -> None:
    called_off = replace(known, retracting="fnd_2")
    back = decide_one(judged(verdict, finding()), view(called_off))
    assert (short(back), back.rule, back.known) == ("duplicate same", "returned", called_off)
    assert back.reason == "it is back before anybody was told that it was called off"
    again = decide_one(judged(verdict, finding(retract=True)), view(called_off))
    assert (short(again), again.reason) == ("duplicate same", "it is being taken back already")
    newer = decide_one(judged(verdict, finding(version="2")), view(called_off))
    assert short(newer) == ("wake update" if verdict is Verdict.WAKE else "brief update")


def test_what_was_withdrawn_for_its_retraction_is_told_when_it_is_back() -> None:
    called_off = held(State.WITHDRAWN, "replaced", retracting="fnd_2")
    assert short(decide_one(judged(Verdict.WAKE, finding()), view(called_off))) == "wake update"


def test_what_is_called_off_and_back_in_one_run_is_as_it_was_and_can_be_called_off_again() -> None:
    items = (finding(retract=True), finding(), finding(), finding(retract=True))
    decisions = decide(judged(Verdict.WAKE, *items), view(held(State.TOLD)), WOKEN, NOW)
    assert [short(decision) for decision in decisions] == [
        *("wake retraction", "duplicate same", "duplicate same", "wake retraction"),
    ]
    assert [decision.rule for decision in decisions[1:3]] == ["returned", "duplicate"]


def test_what_is_called_off_already_is_not_absent() -> None:
    item = finding(when_absent=WhenAbsent.RETRACT, absences=2)
    called_off = view(held(State.TOLD, item=item, retracting="fnd_2"))
    assert decide(judged(Verdict.QUIET), called_off, WOKEN, NOW) == ()
    assert missed_once_more(judged(Verdict.QUIET), called_off) == ()


# One key twice in one run


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ((finding(), finding()), ["wake new", "duplicate same"]),
        ((finding(), finding(version="2")), ["wake new", "wake new"]),
        ((finding(), finding(retract=True)), ["wake new", "drop withdrawal"]),
        ((finding(), finding(retract=True), finding()), ["wake new", "drop withdrawal", "wake new"]),
        ((finding(retract=True), finding()), ["drop retraction", "wake new"]),
        ((finding(urgency=LOW), finding(urgency=LOW)), ["brief new", "duplicate same"]),
    ],
)
def test_the_second_report_of_a_key_in_one_run_meets_the_first(items: tuple[Finding, ...], expected: list[str]) -> None:
    first, second, *_ = decisions = decide(judged(Verdict.WAKE, *items), view(), WOKEN, NOW)
    assert [short(decision) for decision in decisions] == expected
    assert first.known is None
    if first.change is Change.NEW:
        assert second.known is not None
        assert second.known.finding_id == ""
        assert second.known.finding == items[0]


def test_a_told_thing_updated_and_retracted_in_one_run_is_retracted() -> None:
    items = (finding(version="2"), finding(version="2", retract=True), finding(version="2", retract=True))
    decisions = decide(judged(Verdict.WAKE, *items), view(held(State.TOLD)), WOKEN, NOW)
    assert [short(decision) for decision in decisions] == ["wake update", "wake retraction", "duplicate same"]


def test_a_promoted_finding_is_promoted_once_in_one_run() -> None:
    decisions = decide(judged(Verdict.WAKE, finding(), finding()), view(held(State.BRIEF, "quiet")), WOKEN, NOW)
    assert [short(decision) for decision in decisions] == ["wake same", "duplicate same"]
    assert decisions[1].known is not None
    assert decisions[1].known.finding_id == "fnd_1"


def test_decisions_follow_the_order_of_the_findings_and_then_come_the_absent() -> None:
    known = view(*(held(State.TOLD, item=finding(key, when_absent=WhenAbsent.FORGET)) for key in "xyz"))
    decisions = decide(judged(Verdict.QUIET, finding("b"), finding("y"), finding("a")), known, WOKEN, NOW)
    assert [decision.finding.key for decision in decisions] == ["b", "y", "a", "x", "z"]


# Properties

texts = st.text(max_size=6)
findings = st.builds(
    Finding,
    key=st.sampled_from("abc"),
    title=texts,
    version=st.sampled_from(("", "1", "2")),
    urgency=st.sampled_from(Urgency),
    useful_until=st.none() | st.datetimes(timezones=st.sampled_from((UTC, timezone(timedelta(hours=-14))))),
    retract=st.booleans(),
    when_absent=st.sampled_from(WhenAbsent),
    body=texts,
)
sources_said = st.lists(st.builds(Source, texts, st.booleans()), max_size=2).map(tuple)
gates = st.none() | st.builds(
    Gate, st.booleans(), findings=st.lists(findings, max_size=5).map(tuple), sources=sources_said
)
judgements = st.builds(Judgement, st.sampled_from(Verdict), texts, texts, gate=gates)
knowns = st.builds(
    Known,
    finding_id=st.just("fnd_1"),
    finding=findings,
    state=st.sampled_from(State),
    rule=st.sampled_from(("quiet", "fault", "low", "wake", "agent_failed")),
    sending=st.booleans(),
    change=st.sampled_from((Change.NEW, Change.UPDATE)),
)
views = st.lists(knowns, max_size=3).map(lambda items: view(*items))
rules_of_owner = st.builds(
    Rules,
    target=st.sampled_from((Target(), Target("agent"), Target(OWNER))),
    told=st.sampled_from((frozenset(), frozenset(Urgency))),
    baseline=st.booleans(),
)
overridden = st.builds(
    Past,
    interruptions=st.lists(st.builds(Interruption, st.sampled_from((PAST, NOW)), st.booleans()), max_size=8).map(tuple),
    holds=st.sampled_from(({}, {"agent": Hold("agent", NOW + timedelta(hours=1), "it asked for time", PAST)})),
    overrides=st.builds(Overrides, quiet_until=st.none() | st.just(NOW + timedelta(hours=2))),
)


@given(judgement=judgements, known=views, rules=rules_of_owner, past=overridden)
@settings(deadline=None)
def test_each_finding_is_decided_once_with_a_reason_in_words_and_always_alike(
    judgement: Judgement, known: View, rules: Rules, past: Past
) -> None:
    known = replace(known, past=past)
    before = dict(known.known)
    decisions = decide(judgement, known, rules, NOW)
    assert decisions == decide(judgement, known, rules, NOW)
    assert known.known == before
    reported = judgement.gate.findings if judgement.gate else ()
    assert tuple(decision.finding for decision in decisions[: len(reported)]) == reported
    assert len({decision.finding.key for decision in decisions[len(reported) :]}) == len(decisions) - len(reported)
    for decision in decisions:
        assert " " in decision.reason
        assert decision.trace[-1].rule == decision.rule
        assert decision.trace[-1].outcome == decision.action
        assert decision.trace[-1].reason == decision.reason
        if decision.action is Action.WAKE:
            assert decision.target.agent
            assert not judgement.verdict.is_fault
            assert decision.finding.urgency is not Urgency.LOW
        if decision.action is Action.HOLD:
            assert decision.until is not None
            assert decision.until > NOW


@dataclass
class Row:
    """A finding as a ledger keeps it; `life` counts the episodes of its key."""

    finding: Finding
    change: Change
    state: State
    rule: str
    life: int
    sending: bool = False
    until: datetime | None = None


@dataclass
class Book:
    """The smallest ledger: what each key stands for, and every row there ever was."""

    now: datetime = NOW
    rows: list[Row] = field(default_factory=list)
    current: dict[str, Row] = field(default_factory=dict)
    woken_at: list[datetime] = field(default_factory=list)
    quiet_until: datetime | None = None

    def view(self) -> View:
        known = [self.known(row) for row in self.current.values()]
        for row in self.rows:
            key = row.finding.key
            waits = row.state in (State.WAKE, State.HELD, State.BRIEF) and not row.sending
            if row.change is Change.RETRACTION and waits and key not in self.current:
                known.append(replace(self.known(self.taken_back(row)), retracting=self.number(row)))
        return replace(view(*known), past=self.past)

    def known(self, row: Row) -> Known:
        return Known(self.number(row), row.finding, row.state, row.rule, row.sending, row.change)

    def number(self, row: Row) -> str:
        (number,) = (number for number, other in enumerate(self.rows) if other is row)
        return str(number)

    def taken_back(self, retraction: Row) -> Row:
        """Of the versions since it was new the latest that was told, or the latest."""
        versions: list[Row] = []
        for row in self.rows[: int(self.number(retraction))]:
            if row.finding.key == retraction.finding.key and row.change is not Change.RETRACTION:
                versions = [row] if row.change is Change.NEW else [*versions, row]
        return ([row for row in versions if row.state.was_told or row.sending] or versions)[-1]

    def follower(self, row: Row) -> Row | None:
        """The next under its key that was told, or is to be."""
        later = self.rows[int(self.number(row)) + 1 :]
        gone = (State.DROPPED, State.WITHDRAWN)
        return next((each for each in later if each.finding.key == row.finding.key and each.state not in gone), None)

    def postpone(self) -> None:
        """The agent did not accept what it was called for: what was replaced meanwhile is not told any more."""
        failed = [row for row in self.rows if row.sending]
        for row in failed:
            row.sending = False
        followers = [(row, self.follower(row)) for row in failed]
        for row, follower in followers:
            if follower is not None:
                row.state = State.WITHDRAWN
        for row, _ in followers:
            follower = self.follower(row)
            if row.change is Change.RETRACTION and follower is not None and follower.change is Change.NEW:
                follower.change = Change.UPDATE

    @property
    def past(self) -> Past:
        waits = any(row.state is State.WAKE and not row.sending for row in self.rows)
        return Past(
            tuple(map(Interruption, self.woken_at)),
            joinable=frozenset({WOKEN.target} if waits else ()),
            overrides=Overrides(quiet_until=self.quiet_until),
        )

    def wake(self) -> None:
        """A wake is made, unless one waits that takes it."""
        if not self.past.joinable:
            self.woken_at.append(self.now)

    def settle(self, decision: Decision, life: int) -> None:
        key = decision.finding.key
        row = self.current.get(key)
        state = STATES.get(decision.action, State.DROPPED)
        if decision.action is Action.WAKE:
            self.wake()
        known = decision.known
        if known is not None and known.retracting:
            if decision.finding.retract:
                return
            row = self.come_back(key, life, decision)
        assert known is None or not known.finding_id or row is self.rows[int(known.finding_id)]
        if decision.change is Change.SAME:
            assert row is not None
            if decision.action in (Action.WAKE, Action.HOLD):
                row.state, row.rule, row.until = state, decision.rule, decision.until
            return
        if row is not None:
            self.current.pop(key)
            if decision.change is Change.FORGOTTEN and decision.action is Action.BRIEF:
                row.state, row.rule = State.BRIEF, decision.rule
            if decision.change is not Change.FORGOTTEN and not row.state.was_told and not row.sending:
                row.state = State.WITHDRAWN
        self.enter(decision, state, life)

    def enter(self, decision: Decision, state: State, life: int) -> None:
        if decision.change is not Change.FORGOTTEN and decision.action is not Action.DROP:
            self.rows.append(Row(decision.finding, decision.change, state, decision.rule, life, until=decision.until))
            if decision.change is not Change.RETRACTION:
                self.current[decision.finding.key] = self.rows[-1]

    def come_back(self, key: str, life: int, decision: Decision) -> Row:
        """It is not called off any more: what was told of it still holds, if it is the same."""
        mine = [row for row in self.rows if row.finding.key == key]
        retraction = [row for row in mine if row.change is Change.RETRACTION][-1]
        retraction.state = State.WITHDRAWN
        assert decision.known is not None
        number = decision.known.finding_id
        versions = [row for row in mine if row.change is not Change.RETRACTION]
        row = self.current[key] = self.rows[int(number)] if number else versions[-1]
        row.life = life if decision.change is Change.SAME else row.life
        return row

    def waiting(self, *states: State) -> list[Row]:
        return [row for row in self.rows if row.state in states]


def kept(row: Row) -> LedgerFinding:
    return LedgerFinding("fnd_1", "job", row.finding, row.change, row.state, row.rule, "", True, NOW, NOW, "run_1")


class Weeks(RuleBasedStateMachine):
    """Any order of runs, tellings and briefs. What the script said is followed here without asking `decide`."""

    @initialize()
    def begin(self) -> None:
        self.book = Book()
        self.version: dict[str, str] = {}  # what the script last reported under a key that still stands
        self.when_absent: dict[str, WhenAbsent] = {}
        self.had: dict[str, WhenAbsent] = {}  # the same of a key that stands no more
        self.life: Counter[str] = Counter()
        self.told: list[Row] = []
        self.owner_believes: set[str] = set()
        self.over: Counter[str] = Counter()  # the last life that ended as a condition: nothing to take back

    def tell(self, row: Row, state: State) -> None:
        key = row.finding.key
        self.hand_over(row)
        row.state, row.sending = state, False
        self.told.append(row)
        if row.change is Change.RETRACTION:
            self.owner_believes.discard(key)
        elif row.life <= self.over[key]:
            pass  # it waited for so long that its condition is over, and says nothing of one that came after
        elif key in self.version:
            self.owner_believes.add(key)
        else:
            later = self.book.rows[int(self.book.number(row)) :]
            assert any(other.finding.key == key and other.change is Change.RETRACTION for other in later)

    def hand_over(self, row: Row) -> None:
        key = row.finding.key
        if row.sending or row.life <= self.over[key]:
            return
        later = self.book.rows[int(self.book.number(row)) + 1 :]
        told = [other for other in later if other.finding.key == key and any(other is each for each in self.told)]
        assert not told, "after something newer, it would be believed again"

    @rule(
        verdict=st.sampled_from([Verdict.WAKE, Verdict.WAKE, Verdict.QUIET, Verdict.FAILED]),
        ok=st.sampled_from([True, True, False]),
        items=st.lists(
            st.builds(
                finding,
                key=st.sampled_from("aab"),
                version=st.sampled_from("12"),
                retract=st.sampled_from([False, False, True]),
                when_absent=st.sampled_from(WhenAbsent),
            ),
            max_size=2,
        ),
    )
    def run(self, verdict: Verdict, ok: bool, items: list[Finding]) -> None:
        judgement = judged(verdict, *items, sources=(Source("s", ok=ok),))
        decisions = decide(judgement, self.book.view(), WOKEN, self.book.now)
        complete = ok and verdict is not Verdict.FAILED
        ended = set()
        if complete:
            ended = {key for key, when in self.when_absent.items() if when is not WhenAbsent.KEEP}
            ended -= {item.key for item in items}
        for item, decision in zip(items, decisions, strict=False):
            if self.version.get(item.key) != item.version or item.retract:
                self.life[item.key] += 1
            self.book.settle(decision, self.life[item.key])
            if item.retract:
                self._end(item.key)
            else:
                self.version[item.key] = item.version
                if decision.change in (Change.NEW, Change.UPDATE):
                    self.when_absent[item.key] = item.when_absent
                elif decision.rule == "returned":
                    self.when_absent[item.key] = self.had[item.key]  # what was told of it stands as it was
        for decision in decisions[len(items) :]:
            assert decision.finding.key in ended
            self.book.settle(decision, self.life[decision.finding.key])
        for key in ended:
            if self.when_absent[key] is WhenAbsent.FORGET:
                self.owner_believes.discard(key)
                self.over[key] = self.life[key]
            self.life[key] += 1
            self._end(key)

    def _end(self, key: str) -> None:
        if key in self.owner_believes:
            waiting = self.book.waiting(State.WAKE, State.HELD, State.BRIEF)
            assert any(row.finding.key == key and row.change is Change.RETRACTION for row in waiting)
        self.version.pop(key, None)
        self.had[key] = self.when_absent.pop(key, WhenAbsent.KEEP)

    @rule(minutes=st.sampled_from((1, 10, 60, 600)))
    def time_passes(self, minutes: int) -> None:
        self.book.now += timedelta(minutes=minutes)

    @rule(hours=st.sampled_from((0, 1, 8)))
    def the_owner_wants_quiet(self, hours: int) -> None:
        self.book.quiet_until = self.book.now + timedelta(hours=hours)

    @rule()
    def what_is_held_is_decided_again(self) -> None:
        held = [row for row in self.book.waiting(State.HELD) if row.until is not None and row.until <= self.book.now]
        items = [kept(row) for row in held]
        for row, decision in zip(
            held, decide_again(items, self.book.past, lambda _: WOKEN, self.book.now), strict=True
        ):
            assert decision.action in (Action.WAKE, Action.HOLD)
            if decision.action is Action.WAKE:
                self.book.wake()
            row.state, row.rule, row.until = STATES[decision.action], decision.rule, decision.until

    @rule()
    def the_agent_is_called(self) -> None:
        for row in self.book.waiting(State.WAKE):
            self.hand_over(row)
            row.sending = True

    @rule()
    def the_agent_accepts(self) -> None:
        for row in self.book.waiting(State.WAKE):
            self.tell(row, State.TOLD)

    @rule()
    def the_agent_is_away(self) -> None:
        self.book.postpone()

    @rule()
    def the_brief_is_read(self) -> None:
        for row in self.book.waiting(State.BRIEF):
            self.tell(row, State.BRIEFED)

    @invariant()
    def nothing_is_told_twice(self) -> None:
        told = Counter((row.finding.key, row.life, row.change is Change.RETRACTION) for row in self.told)
        assert not told or max(told.values()) == 1

    @invariant()
    def nothing_that_stands_is_undecided(self) -> None:
        for key, version in self.version.items():
            row = self.book.current[key]
            assert row.finding.version == version
            assert row.life == self.life[key]
            assert row.state in (State.WAKE, State.HELD, State.BRIEF, State.TOLD, State.BRIEFED)

    def teardown(self) -> None:
        if not hasattr(self, "book"):
            return
        self.the_agent_accepts()
        self.book.now += timedelta(days=2)
        self.what_is_held_is_decided_again()
        assert not self.book.waiting(State.HELD)
        self.the_agent_accepts()
        self.the_brief_is_read()
        self.nothing_is_told_twice()
        told = {(row.finding.key, row.life) for row in self.told}
        assert {(key, self.life[key]) for key in self.version} <= told
        # What was told and then taken back is not believed any more.
        assert self.owner_believes <= set(self.version)


TestWeeks = Weeks.TestCase
TestWeeks.settings = settings(deadline=None, max_examples=400, stateful_step_count=20)
