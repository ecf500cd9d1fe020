"""Replay: what other rules would have made of the same findings, and that the same rules make the same of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.decide import Budget, OwnerRule, QuietHours, QuietWindow, Rules, decide, decide_again
from heartbeat.decide.line import after
from heartbeat.decide.owner import weighed
from heartbeat.model import (
    OWNER,
    Action,
    Change,
    Decision,
    Finding,
    FindingEvent,
    Gate,
    JobState,
    Judgement,
    Known,
    LedgerFinding,
    Past,
    Run,
    State,
    Step,
    Target,
    Urgency,
    Verdict,
    View,
    WhenAbsent,
)
from heartbeat.replay import Difference, End, Recorded, Replay, replay
from heartbeat.replay.reported import as_reported
from heartbeat.schedule import Window

START = datetime(2026, 6, 10, tzinfo=UTC)
AGENT = Target("agent")
NO_LIMITS = Budget(min_gap=timedelta(), per_hour=None, per_day=None, critical_per_hour=None)
LOUD = Rules(AGENT, job="check", budget=NO_LIMITS)
NIGHT = QuietHours((QuietWindow(Window(22 * 60, 7 * 60)),))
_STATES = {Action.WAKE: State.WAKE, Action.HOLD: State.HELD, Action.BRIEF: State.BRIEF, Action.DROP: State.DROPPED}


def clock(text: str) -> datetime:
    """`2 07:30` is the second day, half past seven."""
    day, time = text.split()
    hour, minute = map(int, time.split(":"))
    return START + timedelta(days=int(day) - 1, hours=hour, minutes=minute)


@dataclass
class Row:
    finding: Finding
    change: Change
    state: State
    rule: str
    since: datetime
    until: datetime | None = None
    events: list[FindingEvent] = field(default_factory=list)


class Life(dict[str, Row]):
    """A ledger in memory: what a daemon would have done under some rules, its agent taking each wake at once."""

    def __init__(self, rules: Rules, late: timedelta = timedelta()) -> None:
        super().__init__()
        self.rules, self.late = rules, late
        self.current: dict[str, str] = {}
        self.retracting: dict[str, str] = {}
        self.past = Past()
        self.wakes: dict[tuple[datetime, Target], str] = {}
        self.history: list[tuple[Run, list[tuple[str | None, Decision]]]] = []
        self._numbers = count(1)
        self._now = START

    def run(
        self, at: datetime, *findings: Finding, verdict: Verdict = Verdict.WAKE, rules: Rules | None = None
    ) -> None:
        """One run of the job `check`."""
        self.pass_time(at)
        self._move_to(at)
        run = Run(f"run_{next(self._numbers)}", "check", "schedule", at, at, "ended", at, verdict)
        for key, current in list(self.current.items()):
            retraction = self.retracting.get(current)
            if retraction and self[retraction].state not in (State.HELD, State.BRIEF):
                del self.current[key]
        known = {key: self._known(finding_id) for key, finding_id in self.current.items()}
        view = View(JobState("check", START), known, past=self.past)
        judgement = Judgement(verdict, "", "", gate=Gate(verdict is Verdict.WAKE, findings=findings))
        decided: list[tuple[str | None, Decision]] = []
        for decision in decide(judgement, view, rules or self.rules, at):
            finding_id = self._settle(run, decision, at)
            stored = self[finding_id].finding if finding_id else decision.finding
            if decision.action is not Action.DUPLICATE or decision.rule == "returned":
                decided.append((finding_id, replace(decision, finding=stored, known=None, target=Target())))
        self.history.append((run, decided))

    def pass_time(self, until: datetime) -> None:
        """Decide again what is held, a little after it is due."""
        while due := [row.until + self.late for row in self.values() if row.until and row.until + self.late <= until]:
            now = min(due)
            self._move_to(now)
            ids = [each for each, row in self.items() if row.until is not None and row.until <= now]
            rows = [self.ledger_finding(each) for each in ids]
            decisions = decide_again(rows, self.past, lambda _: self.rules, now)
            for finding_id, decision in zip(ids, decisions, strict=True):
                self._move(finding_id, decision, None, now)

    def ledger_finding(self, finding_id: str) -> LedgerFinding:
        row = self[finding_id]
        return LedgerFinding(
            finding_id,
            "check",
            row.finding,
            row.change,
            row.state,
            row.rule,
            "",
            current=True,
            first_seen_at=START,
            last_seen_at=START,
            run_id="",
            held_until=row.until,
            events=tuple(row.events),
        )

    def recorded(self) -> Recorded:
        agents = {wake_id: target.agent for (_, target), wake_id in self.wakes.items()}
        return Recorded(lambda each: self.ledger_finding(each) if each in self else None, agents.__getitem__)

    def _known(self, finding_id: str) -> Known:
        row = self[finding_id]
        return Known(
            finding_id,
            row.finding,
            row.state,
            row.rule,
            change=row.change,
            since=row.since,
            retracting=self.retracting.get(finding_id, ""),
        )

    def _move_to(self, now: datetime) -> None:
        if now > self._now:
            self.past = replace(self.past, joinable=frozenset())
        self._now = now

    def _settle(self, run: Run, decision: Decision, at: datetime) -> str | None:
        key, change = decision.finding.key, decision.change
        met = self.current.get(key)
        if met in self.retracting:
            if decision.finding.retract:
                return self.retracting[met]
            self._enter(self.retracting.pop(met), State.WITHDRAWN, "returned", at, run=run)
        if change in (Change.SAME, Change.FORGOTTEN) or (
            change is Change.RETRACTION and decision.action is Action.DROP
        ):
            return self._keep(run, decision, at)
        self.current.pop(key, None)
        if met is not None and self[met].state in (State.WAKE, State.HELD, State.BRIEF):
            self._enter(met, State.WITHDRAWN, "replaced", at, run=run)
        if change is Change.WITHDRAWAL:
            return met
        finding_id = f"fnd_{next(self._numbers)}"
        self[finding_id] = Row(decision.finding, change, State.KNOWN, "", at)
        if change is not Change.RETRACTION:
            self.current[key] = finding_id
        elif met is not None:
            self.current[key], self.retracting[met] = met, finding_id
        self._move(finding_id, decision, run, at)
        return finding_id

    def _keep(self, run: Run, decision: Decision, at: datetime) -> str | None:
        met, change = self.current.get(decision.finding.key), decision.change
        if met is not None and change is not Change.RETRACTION and decision.action in _STATES:
            is_kept = change is Change.FORGOTTEN and decision.action is not Action.BRIEF
            if not is_kept:
                self._move(met, decision, run, at)
        if change is Change.FORGOTTEN:
            del self.current[decision.finding.key]
        return met

    def _move(self, finding_id: str, decision: Decision, run: Run | None, at: datetime) -> None:
        self.past = after(self.past, decision, at)
        state = State.KNOWN if decision.rule == "baseline" else _STATES[decision.action]
        if state is State.WAKE:
            wake_id = self.wakes.setdefault((at, decision.target), f"wake_{next(self._numbers)}")
            self._enter(finding_id, State.WAKE, decision.rule, at, run=run, wake_id=wake_id)
            self._enter(finding_id, State.TOLD, "settled", at, run=None, wake_id=wake_id)
        elif self[finding_id].state is not state or run:
            self._enter(finding_id, state, decision.rule, at, run=run)
        self[finding_id].until = decision.until

    def _enter(
        self, finding_id: str, state: State, rule: str, at: datetime, *, run: Run | None, wake_id: str | None = None
    ) -> None:
        row = self[finding_id]
        row.state, row.rule, row.since, row.until = state, rule, at, None
        row.events.append(FindingEvent(at, state, rule, "", run.id if run else None, wake_id))


def told(key: str, **more: Any) -> Finding:
    return Finding(key, key.title(), **more)


def again(past: Life, rules: Rules | None, start: str = "1 00:00", end: str = "3 00:00") -> Replay:
    past.pass_time(clock(end))
    return replay(past.history, lambda _: rules, clock(start), clock(end), past.recorded())


def shown(each: Difference) -> tuple[str, str, str]:
    """`held, wake 1 07:00`: the key, what it was and what it would have been."""

    def fate(side: Any) -> str:
        at = f" {(side.at - START).days + 1} {side.at:%H:%M}" if side.was_held and side.end is not End.HELD else ""
        return f"held, {side.end}{at}" if at else str(side.end)

    return each.finding.key, fate(each.was), fate(each.would)


def changes(past: Life, rules: Rules | None, **more: Any) -> list[tuple[str, str, str]]:
    return [shown(each) for each in again(past, rules, **more).differences]


# One rule at a time


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({}, []),
        ({"quiet": NIGHT}, [("night", "wake", "held, wake 2 07:00"), ("late", "wake", "held, wake 2 07:00")]),
        (
            {"quiet": NIGHT, "owner": (OwnerRule("raise", job="check", to=Urgency.CRITICAL),)},
            [("low", "brief", "wake")],
        ),
        ({"owner": (OwnerRule("raise"),)}, [("low", "brief", "wake")]),
        ({"owner": (OwnerRule("lower"),)}, [(key, "wake", "brief") for key in ("noon", "night", "late")]),
        ({"owner": (OwnerRule("mute", kind="mail"),)}, [("noon", "wake", "dropped")]),
        ({"target": Target()}, [(key, "wake", "brief") for key in ("noon", "night", "late")]),
        (
            {"target": Target(OWNER), "told": frozenset({Urgency.NORMAL})},
            [(key, "wake", "notice") for key in ("noon", "night", "late")],
        ),
        ({"budget": Budget(timedelta(hours=1))}, [("late", "wake", "held, wake 1 23:30")]),
        ({"budget": replace(NO_LIMITS, per_day=1)}, [(k, "wake", "held, wake 2 12:00") for k in ("night", "late")]),
    ],
    ids=str,
)
def test_one_rule_changes_what_it_is_about(rules: Mapping[str, Any], expected: list[tuple[str, str, str]]) -> None:
    past = Life(LOUD)
    past.run(clock("1 12:00"), told("noon", kind="mail"), told("low", urgency=Urgency.LOW))
    past.run(clock("1 22:30"), told("night"))
    past.run(clock("1 23:00"), told("late"))
    assert changes(past, replace(LOUD, **rules)) == expected


def test_what_was_held_is_told_at_once_without_the_rule_that_held_it() -> None:
    past = Life(replace(LOUD, quiet=NIGHT))
    past.run(clock("1 23:00"), told("night"))
    assert changes(past, LOUD) == [("night", "held, wake 2 07:00", "wake")]


def test_a_hold_that_ends_between_two_runs_is_decided_at_its_own_instant() -> None:
    past = Life(LOUD)
    past.run(clock("1 23:00"), told("night"))
    past.run(clock("2 06:50"), told("early"))
    past.run(clock("2 07:01"), told("morning"))
    rules = replace(LOUD, quiet=NIGHT, budget=Budget(min_gap=timedelta(minutes=10)))
    made = again(past, rules)
    assert [shown(each) for each in made.differences] == [
        ("night", "wake", "held, wake 2 07:00"),
        ("early", "wake", "held, wake 2 07:00"),
        ("morning", "wake", "held, wake 2 07:10"),
    ]
    assert (made.was.wakes, made.would.wakes) == (3, 2)


def test_what_is_held_is_looked_at_as_often_as_its_rules_want() -> None:
    past = Life(LOUD)
    for hour in range(4):
        past.run(clock(f"1 0{hour}:30"), told(f"at {hour}"))
    made = again(past, replace(LOUD, quiet=NIGHT, budget=replace(NO_LIMITS, per_hour=1)))
    # At 07:00 all four come due together and are one wake.
    assert (made.would.wakes, made.would.held, {each.would.at for each in made.differences}) == (
        1,
        4,
        {clock("1 07:00")},
    )


def test_what_is_of_no_use_when_the_budget_allows_it_goes_to_the_brief() -> None:
    past = Life(LOUD)
    past.run(clock("1 12:00"), told("first"))
    past.run(clock("1 12:10"), told("second", useful_until=clock("1 12:30")))
    assert changes(past, replace(LOUD, budget=Budget(timedelta(hours=1)))) == [("second", "wake", "brief")]


# What follows from what was told otherwise


def test_an_update_replaces_what_is_held_and_the_replaced_is_never_told() -> None:
    past = Life(LOUD)
    past.run(clock("1 23:00"), told("show", version="1"))
    past.run(clock("1 23:30"), told("show", version="2"))
    assert changes(past, replace(LOUD, quiet=NIGHT)) == [
        ("show", "wake", "held, withdrawn 1 23:30"),
        ("show", "wake", "held, wake 2 07:00"),
    ]


def test_a_retraction_of_what_is_still_held_takes_it_back_in_silence() -> None:
    past = Life(LOUD)
    past.run(clock("1 23:00"), told("meeting"))
    past.run(clock("1 23:30"), told("meeting", retract=True))
    made = again(past, replace(LOUD, quiet=NIGHT))
    assert [shown(each) for each in made.differences] == [
        ("meeting", "wake", "held, withdrawn 1 23:30"),
        ("meeting", "wake", "nothing"),
    ]
    assert (made.was.wakes, made.would.wakes, made.would.dropped) == (2, 0, 1)


def test_a_withdrawal_of_what_was_told_here_is_a_retraction() -> None:
    past = Life(replace(LOUD, quiet=NIGHT))
    past.run(clock("1 23:00"), told("meeting"))
    past.run(clock("1 23:30"), told("meeting", retract=True))
    assert changes(past, LOUD) == [("meeting", "held, withdrawn 1 23:30", "wake"), ("meeting", "nothing", "wake")]


def test_what_ended_while_it_was_held_is_left_to_the_brief_and_its_return_is_new() -> None:
    past = Life(LOUD)
    disk = told("disk", when_absent=WhenAbsent.FORGET)
    past.run(clock("1 23:00"), disk)
    past.run(clock("1 23:10"))
    past.run(clock("1 23:20"), disk)
    made = again(past, replace(LOUD, quiet=NIGHT))
    assert [shown(each) for each in made.differences] == [
        ("disk", "wake", "held, brief 1 23:10"),
        ("disk", "wake", "held, wake 2 07:00"),
    ]


def test_a_condition_that_ended_while_it_was_held_is_left_to_the_brief_on_both_sides() -> None:
    past = Life(replace(LOUD, quiet=NIGHT))
    past.run(clock("1 23:00"), told("disk", when_absent=WhenAbsent.FORGET))
    past.run(clock("1 23:10"))
    assert changes(past, past.rules) == []
    assert changes(past, LOUD) == [("disk", "held, brief 1 23:10", "wake")]


def test_what_is_taken_back_while_its_update_is_held_is_a_retraction_of_what_was_told() -> None:
    past = Life(replace(LOUD, quiet=NIGHT))
    past.run(clock("1 21:00"), told("meeting", version="1"))
    past.run(clock("1 23:00"), told("meeting", version="2"))
    past.run(clock("1 23:30"), told("meeting", retract=True))
    made = again(past, past.rules)
    assert (made.differences, made.was, made.would.wakes) == ((), made.would, 2)
    # Where the first version is held too, nobody needs to hear of any.
    muted_before = replace(LOUD, quiet=QuietHours((QuietWindow(Window(20 * 60, 7 * 60)),)))
    assert changes(past, muted_before) == [
        ("meeting", "wake", "held, withdrawn 1 23:00"),
        ("meeting", "held, wake 2 07:00", "nothing"),
    ]


def test_what_is_back_before_anybody_was_told_that_it_was_called_off() -> None:
    past = Life(replace(LOUD, quiet=NIGHT))
    meeting = told("meeting", when_absent=WhenAbsent.RETRACT)
    past.run(clock("1 21:00"), meeting)
    past.run(clock("1 23:00"))
    past.run(clock("1 23:30"), meeting)
    assert changes(past, past.rules) == []
    assert changes(past, LOUD) == [("meeting", "held, withdrawn 1 23:30", "wake"), ("meeting", "nothing", "wake")]
    loud = Life(LOUD)
    for at, reported in (("1 21:00", [meeting]), ("1 23:00", []), ("1 23:30", [meeting])):
        loud.run(clock(at), *reported)
    assert changes(loud, replace(LOUD, quiet=NIGHT)) == [
        ("meeting", "wake", "held, withdrawn 1 23:30"),
        ("meeting", "wake", "nothing"),
    ]


def test_a_reminder_of_what_is_held_here_leaves_it_held() -> None:
    past = Life(replace(LOUD, owner=(OwnerRule("remind", after=timedelta(hours=2)),)))
    for hour in (10, 12):
        past.run(clock(f"1 {hour}:00"), told("mail"))
    held = replace(past.rules, budget=replace(NO_LIMITS, per_day=0))
    assert changes(past, held) == [("mail", "wake", "held"), ("mail", "wake", "nothing")]


def test_what_the_run_decided_stays_as_it_was() -> None:
    past = Life(LOUD)
    past.run(clock("1 10:00"), told("known"), rules=replace(LOUD, baseline=True))
    past.run(clock("1 11:00"), told("quiet"), verdict=Verdict.QUIET)
    past.run(clock("1 12:00"), told("fault"), verdict=Verdict.FAILED)
    made = again(past, replace(LOUD, owner=(OwnerRule("raise", to=Urgency.CRITICAL),)))
    assert made.differences == ()
    assert (made.would.brief, made.would.dropped, made.would.wakes) == (2, 1, 0)


def test_what_was_muted_and_let_go_later_is_told_when_it_came_and_not_again() -> None:
    past = Life(replace(LOUD, owner=(OwnerRule("mute", until=clock("1 12:00")),)))
    for hour in (10, 11, 12, 13):
        past.run(clock(f"1 {hour}:00"), told("mail"))
    assert changes(past, LOUD) == [("mail", "dropped", "wake"), ("mail", "wake", "nothing")]
    assert changes(past, past.rules) == []


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ((OwnerRule("remind", after=timedelta(hours=2)),), []),
        ((OwnerRule("remind", after=timedelta(hours=1)),), []),
        ((), [("mail", "wake", "nothing")]),
        ((OwnerRule("remind", after=timedelta(hours=3)),), [("mail", "wake", "nothing")]),
        ((OwnerRule("remind", kind="other", after=timedelta(hours=1)),), [("mail", "wake", "nothing")]),
    ],
)
def test_a_reminder_comes_only_with_a_rule_that_reminds_by_then(
    rules: tuple[OwnerRule, ...], expected: list[tuple[str, str, str]]
) -> None:
    past = Life(replace(LOUD, owner=(OwnerRule("remind", after=timedelta(hours=2)),)))
    for hour in (10, 11, 12, 13):
        past.run(clock(f"1 {hour}:00"), told("mail"))
    assert changes(past, replace(LOUD, owner=rules)) == expected


def test_there_is_no_reminder_while_a_rule_stands_against_it() -> None:
    past = Life(replace(LOUD, owner=(OwnerRule("remind", after=timedelta(hours=2)),)))
    past.run(clock("1 21:00"), told("mail"))
    past.run(clock("1 23:00"), told("mail"))
    assert changes(past, replace(past.rules, quiet=NIGHT)) == [("mail", "wake", "nothing")]


# The stretch that is looked at


def test_what_is_held_at_the_end_is_listed_and_what_came_later_is_not_looked_at() -> None:
    past = Life(replace(LOUD, quiet=NIGHT))
    past.run(clock("1 23:00"), told("night"))
    past.run(clock("2 12:00"), told("noon"))
    made = again(past, past.rules, end="2 06:59")
    assert (made.runs, made.findings, made.differences) == (1, 1, ())
    (waiting,) = made.waiting
    assert (waiting.finding.key, waiting.was.end, waiting.would.end) == ("night", End.HELD, End.HELD)
    assert again(past, past.rules, end="2 07:00").waiting == ()


def test_what_came_before_the_start_uses_up_the_budget_and_is_not_counted() -> None:
    past = Life(LOUD)
    past.run(clock("1 11:50"), told("before"))
    past.run(clock("1 12:10"), told("after"))
    made = again(past, replace(LOUD, budget=Budget(timedelta(hours=1))), start="1 12:00")
    assert [shown(each) for each in made.differences] == [("after", "wake", "held, wake 1 12:50")]
    assert (made.runs, made.findings, made.was.wakes, made.would.wakes) == (1, 1, 1, 1)
    assert made.first_run_at == clock("1 12:10")


def test_nothing_recorded_is_said_so() -> None:
    made = again(Life(LOUD), LOUD)
    assert (made.first_run_at, made.runs, made.findings, made.was.busiest) == (None, 0, 0, None)


def test_the_figures_count_wakes_and_not_findings() -> None:
    past = Life(LOUD)
    past.run(clock("1 10:00"), told("a"), told("b"))
    past.run(clock("1 10:30"), told("c"), told("low", urgency=Urgency.LOW))
    past.run(clock("1 10:59"), told("d"))
    past.run(clock("1 11:00"), told("e"))
    made = again(past, LOUD)
    assert (made.was, made.was.wakes, made.was.brief, made.was.per_day) == (made.would, 4, 1, 2.0)
    assert made.was.busiest is not None
    assert (made.was.busiest.since, made.was.busiest.interruptions) == (clock("1 10:00"), 3)


def test_a_job_without_rules_tells_nothing_and_is_named() -> None:
    past = Life(LOUD)
    past.run(clock("1 10:00"), told("a"))
    past.run(clock("1 11:00"), told("b"), verdict=Verdict.QUIET)
    made = again(past, None)
    assert [shown(each) for each in made.differences] == [("a", "wake", "dropped")]
    assert made.strange_jobs == ("check",)


def test_what_is_not_on_record_any_more_is_unknown_and_no_difference() -> None:
    past = Life(replace(LOUD, quiet=NIGHT))
    past.run(clock("1 12:00"), told("noon"))
    past.run(clock("1 23:00"), told("night"))
    run, decided = past.history[0]
    past.history[0] = (run, [(None, decision) for _, decision in decided])
    past.clear()  # the row that was held is pruned too
    made = again(past, LOUD)
    assert (made.differences, made.unknown, made.was.wakes) == ((), 2, 1)


# The urgency that a script gave


@given(
    st.sampled_from(Urgency),
    st.lists(st.tuples(st.sampled_from(["raise", "lower"]), st.sampled_from([None, *Urgency])), max_size=4),
)
def test_the_weight_that_the_owner_gave_can_be_taken_off(urgency: Urgency, said: list[tuple[Any, Any]]) -> None:
    reported = told("mail", urgency=urgency)
    rules = tuple(OwnerRule(do, number, to=to) for number, (do, to) in enumerate(said, 1))
    stored, steps = weighed(rules, "check", reported, START)
    assert as_reported(stored, (*steps, Step("wake", "wake", "raised from the dead"))) == reported


# The same rules make the same of it

URGENCIES = st.sampled_from(Urgency)
HOURS = st.integers(0, 47)


@st.composite
def rule_sets(draw: st.DrawFn) -> Rules:
    start, length = draw(st.integers(0, 23)), draw(st.integers(1, 12))
    quiet = QuietHours((QuietWindow(Window(start * 60, (start + length) % 24 * 60)),))
    owner = st.builds(
        OwnerRule,
        st.sampled_from(["mute", "raise", "lower", "remind"]),
        kind=st.sampled_from(["", "a", "b"]),
        to=st.sampled_from([*Urgency]),
        after=st.sampled_from([timedelta(minutes=50), timedelta(hours=5)]),
    )
    budget = st.builds(
        Budget,
        min_gap=st.sampled_from([timedelta(), timedelta(minutes=7), timedelta(hours=3)]),
        per_hour=st.sampled_from([None, 1, 3]),
        per_day=st.sampled_from([None, 2, 9]),
        critical_per_hour=st.sampled_from([None, 1]),
    )
    target = draw(st.sampled_from([AGENT, Target(OWNER), Target()]))
    return Rules(
        target,
        told=frozenset(draw(st.sets(URGENCIES))),
        job="check",
        owner=tuple(draw(st.lists(owner, max_size=2))),
        quiet=draw(st.sampled_from([QuietHours(), quiet])),
        budget=draw(budget),
    )


Days = list[tuple[int, list[Finding], Verdict]]


@st.composite
def days(draw: st.DrawFn) -> Days:
    """Runs of two days. One version of a key always says the same: the ledger keeps it as it was first reported.

    And all of them are of one kind: a retraction that is muted is kept as what it would have taken back.
    """
    kinds = {key: draw(st.sampled_from("ab")) for key in "xy"}
    known = {
        (key, version): Finding(
            key,
            "Thing",
            version=version,
            kind=kinds[key],
            urgency=draw(URGENCIES),
            useful_until=draw(st.none() | st.builds(lambda hour: START + timedelta(hours=hour), HOURS)),
            when_absent=draw(st.sampled_from(WhenAbsent)),
        )
        for key in "xy"
        for version in "12"
    }
    reported = st.builds(
        lambda name, retract: replace(known[name], retract=retract),
        st.sampled_from(sorted(known)),
        st.sampled_from([False, False, False, True]),
    )
    run = st.tuples(
        st.integers(0, 47 * 6),
        st.lists(reported, max_size=2, unique_by=lambda each: each.key),
        st.sampled_from([Verdict.WAKE, Verdict.WAKE, Verdict.QUIET, Verdict.FAILED]),
    )
    return draw(st.lists(run, max_size=12))


def lived(rules: Rules, runs: Days, late: timedelta = timedelta()) -> Life:
    past = Life(rules, late)
    for ten_minutes, reported, verdict in sorted(runs, key=lambda each: each[0]):
        past.run(START + timedelta(minutes=10 * ten_minutes), *reported, verdict=verdict)
    return past


@given(rule_sets(), days())
def test_the_rules_that_were_in_force_change_nothing(rules: Rules, runs: Days) -> None:
    made = again(lived(rules, runs), rules)
    assert [shown(each) for each in made.differences] == []
    assert made.was == made.would
    assert made.unknown == 0


@given(rule_sets(), rule_sets(), days())
def test_under_any_rules_each_finding_has_one_fate_and_nobody_is_told_against_them(
    then: Rules, now: Rules, runs: Days
) -> None:
    past = lived(then, runs)
    made = again(past, now)
    would = made.would
    gap = now.budget.min_gap
    normal = sorted(
        {each.would.at for each in made.differences if each.would.end.interrupts and not _is_critical(each, now)}
    )
    assert all(later - earlier >= gap for earlier, later in pairwise(normal))
    assert would.held >= len(made.waiting)
    assert not made.differences or made.findings >= len(made.differences)


def _is_critical(each: Difference, rules: Rules) -> bool:
    return any(
        weighed(rules.owner, each.job, finding, each.would.at)[0].urgency is Urgency.CRITICAL
        for finding in [weighed(rules.owner, each.job, each.finding, each.at)[0]]
    )


def test_a_daemon_that_is_a_little_late_is_no_difference() -> None:
    past = Life(replace(LOUD, quiet=NIGHT), late=timedelta(seconds=14))
    past.run(clock("1 23:00"), told("night"))
    assert changes(past, past.rules) == []
    late = Life(replace(LOUD, quiet=NIGHT), late=timedelta(minutes=20))
    late.run(clock("1 23:00"), told("night"))
    assert changes(late, late.rules) == [("night", "held, wake 2 07:20", "held, wake 2 07:00")]


def test_a_difference_says_which_rule_makes_it() -> None:
    past = Life(LOUD)
    past.run(clock("1 23:00"), told("night"))
    (changed,) = again(past, replace(LOUD, quiet=NIGHT)).differences
    assert (changed.would.rule, changed.would.reason) == ("quiet_hours", "quiet hours until 2026-06-11 07:00")
    assert (changed.at, changed.job, changed.finding_id) == (clock("1 23:00"), "check", "fnd_2")
