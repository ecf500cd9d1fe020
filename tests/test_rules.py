"""The owner's rules on whatever is left to tell: who is woken, what is held and until when, what goes to the brief."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from heartbeat.decide import Budget, OwnerRule, Rules, decide, decide_again
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
    Spending,
    State,
    Target,
    Urgency,
    Verdict,
    View,
    WhenAbsent,
)

NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
TICK = timedelta.resolution
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
AGENT = Target("agent")
RULES = Rules(target=AGENT, job="job")
PHONE = frozenset({Urgency.HIGH, Urgency.CRITICAL})
CRITICAL = {"urgency": Urgency.CRITICAL}
QUIET = Past(overrides=Overrides(quiet_until=NOW + HOUR))
HELD_AGENT = Past(holds={"agent": Hold("agent", NOW + HOUR, "429", NOW - HOUR)})


def finding(key: str = "k", **fields: Any) -> Finding:
    return replace(Finding(key, f"title of {key}"), **fields)


def decided(*items: Finding, rules: Rules = RULES, past: Past = Past(), known: Known | None = None) -> list[Decision]:  # noqa: B008 - frozen
    gate = Gate(wake=True, findings=items)
    rows = {known.finding.key: known} if known else {}
    view = View(JobState("job", NOW), rows, past=past)
    return list(decide(Judgement(Verdict.WAKE, "wake", "because", gate=gate), view, rules, NOW))


CASES: list[tuple[str, dict[str, Any], Rules, Past, str, datetime | None]] = [
    ("quiet holds to its end", {}, RULES, QUIET, "hold quiet_hours", NOW + HOUR),
    ("critical breaks through the quiet", CRITICAL, RULES, QUIET, "wake wake", None),
    (
        "what is of no use after the quiet is told at its last call",
        {"useful_until": NOW + HOUR - TICK},
        RULES,
        QUIET,
        "hold quiet_hours",
        NOW + HOUR / 2 - TICK,
    ),
    ("the last call is now", {"useful_until": NOW + HOUR / 2}, RULES, QUIET, "wake wake", None),
    ("an agent on hold is not called", {}, RULES, HELD_AGENT, "hold agent_hold", NOW + HOUR),
    (
        "what is of no use when the hold ends goes to the brief",
        {"useful_until": NOW + HOUR - TICK},
        RULES,
        HELD_AGENT,
        "brief agent_hold",
        None,
    ),
    ("what is of use to the end waits", {"useful_until": NOW + HOUR}, RULES, HELD_AGENT, "hold agent_hold", NOW + HOUR),
    (
        "a hold that ends now is over",
        {},
        RULES,
        Past(holds={"agent": Hold("agent", NOW, "429", NOW - HOUR)}),
        "wake wake",
        None,
    ),
    (
        "a hold made under a clock that was ahead does not count",
        {},
        RULES,
        Past(holds={"agent": Hold("agent", NOW + DAY, "429", NOW + TICK)}),
        "wake wake",
        None,
    ),
    (
        "the hold of another agent does not count",
        {},
        RULES,
        Past(holds={"other": Hold("other", NOW + HOUR, "429", NOW - HOUR)}),
        "wake wake",
        None,
    ),
    (
        "the money of the day is spent",
        {},
        replace(RULES, budget=Budget(usd_per_day=1.0)),
        Past(spending=(Spending(NOW - HOUR, 10, 1.0),)),
        "hold spending",
        datetime(2026, 6, 11, tzinfo=UTC),
    ),
    (
        "a little less than the money of the day is spent",
        {},
        replace(RULES, budget=Budget(usd_per_day=1.0)),
        Past(spending=(Spending(NOW - HOUR, 10, 0.99),)),
        "wake wake",
        None,
    ),
    (
        "the day is that of the zone where the owner is now",
        {},
        replace(RULES, budget=Budget(tokens_per_day=10)),
        Past(spending=(Spending(NOW - HOUR, 10),), overrides=Overrides(zone="Pacific/Kiritimati")),
        "hold spending",
        datetime(2026, 6, 10, 10, tzinfo=UTC),
    ),
    (
        "too soon after the last",
        {},
        RULES,
        Past(interruptions=(Interruption(NOW - timedelta(seconds=30)),)),
        "hold budget",
        NOW + timedelta(seconds=90),
    ),
    (
        "what is of no use when the budget allows it goes to the brief",
        {"useful_until": NOW + timedelta(seconds=89)},
        RULES,
        Past(interruptions=(Interruption(NOW - timedelta(seconds=30)),)),
        "brief budget",
        None,
    ),
    (
        "what comes due together shares the wake that waits",
        {},
        RULES,
        Past(interruptions=(Interruption(NOW),), joinable=frozenset({AGENT})),
        "wake wake",
        None,
    ),
    (
        "a wake for another target is not shared",
        {},
        RULES,
        Past(interruptions=(Interruption(NOW),), joinable=frozenset({Target("agent", "fast")})),
        "hold budget",
        NOW + timedelta(minutes=2),
    ),
    ("nobody to wake", {}, Rules(), QUIET, "brief no_agent", None),
    ("nobody takes notices", {}, Rules(target=Target(OWNER)), Past(), "brief no_agent", None),
    ("no channel takes this urgency", {}, Rules(target=Target(OWNER), told=PHONE), Past(), "brief no_agent", None),
    (
        "a notice needs no agent and no money",
        {"urgency": Urgency.HIGH},
        Rules(target=Target(OWNER), told=PHONE, budget=Budget(usd_per_day=0.0)),
        HELD_AGENT,
        "wake wake",
        None,
    ),
    (
        "a notice keeps the quiet",
        {"urgency": Urgency.HIGH},
        Rules(target=Target(OWNER), told=PHONE),
        QUIET,
        "hold quiet_hours",
        NOW + HOUR,
    ),
    ("muted", {}, replace(RULES, owner=(OwnerRule("mute", job="job"),)), Past(), "drop muted", None),
    (
        "muted though critical",
        CRITICAL,
        replace(RULES, owner=(OwnerRule("mute", job="job"),)),
        Past(),
        "drop muted",
        None,
    ),
    ("lowered", {}, replace(RULES, owner=(OwnerRule("lower", job="job"),)), Past(), "brief low", None),
    (
        "raised through the quiet",
        {},
        replace(RULES, owner=(OwnerRule("raise", job="job", to=Urgency.CRITICAL),)),
        QUIET,
        "wake wake",
        None,
    ),
]


NAMES, ROWS = [case[0] for case in CASES], [case[1:] for case in CASES]


@pytest.mark.parametrize(("fields", "rules", "past", "expected", "until"), ROWS, ids=NAMES)
def test_the_first_rule_that_stands_against_it_decides(
    fields: dict[str, Any], rules: Rules, past: Past, expected: str, until: datetime | None
) -> None:
    (decision,) = decided(finding(**fields), rules=rules, past=past)
    assert (f"{decision.action} {decision.rule}", decision.until) == (expected, until)
    assert decision.target == (rules.target if decision.action is Action.WAKE else Target())


def kept(item: Finding, **fields: Any) -> LedgerFinding:
    row = LedgerFinding("fnd_1", "job", item, Change.NEW, State.HELD, "quiet_hours", "", True, NOW, NOW, "run_1")
    return replace(row, **fields)


def test_what_was_held_is_not_weighed_twice() -> None:
    rules = replace(RULES, owner=(OwnerRule("lower", job="job"),))
    (decision,) = decide_again([kept(finding(urgency=Urgency.NORMAL))], Past(), lambda _: rules, NOW)
    assert decision.action is Action.WAKE


HELD_CASES = [case[1:] for case in CASES if case[2].owner == () or case[2].owner[0].do == "mute"]


@pytest.mark.parametrize(("fields", "rules", "past", "expected", "until"), HELD_CASES)
def test_what_was_held_meets_the_same_rules_again(
    fields: dict[str, Any], rules: Rules, past: Past, expected: str, until: datetime | None
) -> None:
    (decision,) = decide_again([kept(finding(**fields))], past, lambda _: rules, NOW)
    assert (f"{decision.action} {decision.rule}", decision.until) == (expected, until)


@pytest.mark.parametrize("past", [HELD_AGENT, Past(spending=(Spending(NOW, 1, 5.0),))], ids=["on hold", "spent"])
def test_what_is_critical_goes_to_the_owner_when_the_agent_cannot_be_called(past: Past) -> None:
    rules = replace(RULES, told=PHONE, budget=Budget(usd_per_day=1.0))
    (told,) = decided(finding(**CRITICAL), rules=rules, past=past)
    assert (told.action, told.target) == (Action.WAKE, Target(OWNER))
    assert "told directly" in told.reason
    (waits,) = decided(finding(**CRITICAL), rules=replace(rules, told=frozenset({Urgency.HIGH})), past=past)
    assert waits.action is Action.HOLD


def test_all_that_one_run_finds_is_one_interruption() -> None:
    rules = replace(RULES, budget=Budget(per_hour=1))
    decisions = decided(finding("a"), finding("b"), finding("c"), rules=rules)
    assert [decision.action for decision in decisions] == [Action.WAKE] * 3
    assert "shares a wake" in " ".join(step.reason for step in decisions[2].trace)


def test_what_is_released_together_is_one_interruption_for_each_target() -> None:
    other = replace(RULES, target=Target("agent", "fast"))
    rules = {"a": RULES, "b": RULES, "c": other}
    items = [kept(finding(name), job=name) for name in "abc"]
    decisions = decide_again(items, Past(), lambda job: rules[job], NOW)
    assert [(each.action, each.until) for each in decisions] == [
        (Action.WAKE, None),
        (Action.WAKE, None),
        (Action.HOLD, NOW + timedelta(minutes=2)),
    ]


def test_a_finding_is_kept_with_the_urgency_that_the_owner_gives_it() -> None:
    rules = replace(RULES, owner=(OwnerRule("raise", job="job", number=3),))
    (decision,) = decided(finding(), rules=rules)
    assert decision.finding.urgency is Urgency.HIGH
    assert decision.trace[0].rule == "raise"
    assert "rule 3" in decision.trace[0].reason


TOLD = Known("fnd_1", finding(), State.TOLD, "settled", since=NOW - HOUR)
REMIND = replace(RULES, owner=(OwnerRule("remind", job="job", after=HOUR),))


@pytest.mark.parametrize(
    ("known", "rules", "past", "expected"),
    [
        (TOLD, REMIND, Past(), "wake remind"),
        (replace(TOLD, state=State.BRIEFED, rule="brief"), REMIND, Past(), "wake remind"),
        (replace(TOLD, since=NOW - HOUR + TICK), REMIND, Past(), "duplicate duplicate"),
        (TOLD, RULES, Past(), "duplicate duplicate"),
        (TOLD, REMIND, QUIET, "duplicate duplicate"),
        (replace(TOLD, state=State.HELD), REMIND, Past(), "duplicate duplicate"),
        (replace(TOLD, state=State.WAKE, sending=True), REMIND, Past(), "duplicate duplicate"),
        (replace(TOLD, finding=finding(urgency=Urgency.LOW)), REMIND, Past(), "wake remind"),
    ],
)
def test_what_was_told_and_still_holds_is_told_again_when_the_owner_wants_that(
    known: Known, rules: Rules, past: Past, expected: str
) -> None:
    (decision,) = decided(finding(), rules=rules, past=past, known=known)
    assert (f"{decision.action} {decision.rule}", decision.change) == (expected, Change.SAME)


def test_a_reminder_that_waits_is_taken_back_aloud() -> None:
    waiting = replace(TOLD, state=State.WAKE, rule="remind")
    (decision,) = decided(finding(retract=True), rules=REMIND, known=waiting)
    assert (decision.action, decision.change) == (Action.WAKE, Change.RETRACTION)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (RULES, "wake wake"),
        (replace(RULES, owner=(OwnerRule("mute", job="job"),)), "duplicate duplicate"),
        (replace(RULES, owner=(OwnerRule("mute", job="job", until=NOW),)), "wake wake"),
        (replace(RULES, owner=(OwnerRule("mute", job="job", until=NOW + TICK),)), "duplicate duplicate"),
        (replace(RULES, owner=(OwnerRule("lower", job="job"),)), "brief low"),
    ],
)
def test_what_was_muted_and_still_holds_is_decided_when_it_is_muted_no_more(rules: Rules, expected: str) -> None:
    muted = Known("fnd_1", finding(), State.DROPPED, "muted")
    (decision,) = decided(finding(), rules=rules, known=muted)
    assert f"{decision.action} {decision.rule}" == expected


def test_a_condition_that_ended_while_it_was_held_wakes_nobody_and_is_not_lost() -> None:
    held = Known("fnd_1", finding(when_absent=WhenAbsent.FORGET), State.HELD, "quiet_hours")
    (decision,) = decided(rules=RULES, known=held)
    assert (decision.action, decision.change, decision.rule) == (Action.BRIEF, Change.FORGOTTEN, "absent")
