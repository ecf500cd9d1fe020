"""Whatever happens in whatever order: each finding is in one place, told as often as it should be, and never lost."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from heartbeat.clock import new_id
from heartbeat.errors import Refused
from heartbeat.model import (
    OWNER,
    Action,
    Change,
    Decision,
    Execution,
    Finding,
    Gate,
    Hold,
    Judgement,
    Known,
    LedgerFinding,
    Past,
    Plan,
    Reply,
    Run,
    State,
    Target,
    Verdict,
    View,
)
from heartbeat.stores.sqlite import open_ledger

T0 = datetime(2026, 6, 10, 8, 0, tzinfo=UTC)
WAITING = (State.WAKE, State.HELD, State.BRIEF)
STATE_OF = {Action.WAKE: State.WAKE, Action.HOLD: State.HELD, Action.BRIEF: State.BRIEF, Action.DROP: State.DROPPED}
JOBS = {"a": "job", "b": "job", "c": "other"}
"""Of each key."""
AGENTS = ("claude", "codex", OWNER)
KEYS = st.sampled_from("abc")
VERSIONS = st.sampled_from("12")
Choose = Callable[[View], Plan]
ACTIONS = st.sampled_from((Action.WAKE, Action.WAKE, Action.BRIEF, Action.HOLD, Action.DROP))
TARGETS = st.builds(Target, st.sampled_from(AGENTS), st.sampled_from(("", "fast")))
MINUTES = st.sampled_from((-5, 1, 20, 90))


@dataclass(frozen=True)
class Report:
    """One thing that a script reports, and what is decided of it."""

    key: str
    version: str
    action: Action
    target: Target
    minutes: int
    """Of a hold: until so long from now."""


REPORTS = st.builds(Report, KEYS, VERSIONS, ACTIONS, TARGETS, MINUTES)


@dataclass
class Row:
    """A finding as the model has it; `number` is its place in the ledger's order."""

    number: int
    key: str
    state: State
    wake: str | Target | None = None
    """While a run is followed, whom the wake that it goes into is for."""
    until: datetime | None = None
    change: Change = Change.NEW
    version: str = ""
    times_due: int = 0
    """How often it was to be told."""
    was_told: bool = False

    def put(self, state: State, wake: str | Target | None = None, until: datetime | None = None) -> None:
        self.state = state
        self.wake = wake if state is State.WAKE else None
        self.until = until if state is State.HELD else None


@dataclass
class Carried:
    """A wake as the model has it."""

    target: Target
    state: str = "pending"
    was_tried: bool = False
    is_brief: bool = False


@dataclass
class Model:
    rows: list[Row] = field(default_factory=list)
    current: dict[str, Row] = field(default_factory=dict)
    wakes: dict[str, Carried] = field(default_factory=dict)
    holds: dict[str, Hold] = field(default_factory=dict)

    def add(self, key: str, report: Report, until: datetime, change: Change) -> None:
        row = Row(len(self.rows), key, State.DROPPED, change=change, version=report.version, times_due=1)
        row.put(STATE_OF[report.action], report.target, until)
        if change is not Change.NEW and report.action is not Action.DROP:
            for earlier in self.versions(row):
                self.take_back(earlier)
        self.rows.append(row)
        if change is not Change.RETRACTION:
            self.current[key] = row

    def versions(self, row: Row) -> list[Row]:
        """Those of its key before it, since it was new."""
        before = [other for other in self.rows if other.key == row.key and other.number < row.number]
        new = max((other.number for other in before if other.change is Change.NEW), default=0)
        return [other for other in before if other.number >= new]

    def come_back(self, key: str) -> Row | None:
        """What its key stands for: if nobody was told of its retraction, what that took back."""
        waiting = [row for row in self.rows if row.key == key and row.change is Change.RETRACTION]
        waiting = [row for row in waiting if row.state in WAITING and not self.is_sending(row)]
        if key in self.current or not waiting:
            return self.current.get(key)
        waiting[-1].put(State.WITHDRAWN)
        versions = [row for row in self.versions(waiting[-1]) if row.change is not Change.RETRACTION]
        told = [row for row in versions if row.was_told or self.is_sending(row)]
        self.current[key] = (told or versions)[-1]
        return self.current[key]

    def is_sending(self, row: Row) -> bool:
        return isinstance(row.wake, str) and self.wakes[row.wake].state == "sending"

    def take_back(self, row: Row) -> None:
        """Withdraw it, unless it is told or with the agent."""
        if row.state in WAITING and not self.is_sending(row):
            row.put(State.WITHDRAWN)

    def owner_knows(self, row: Row) -> bool:
        return row.was_told or row.change is Change.UPDATE or self.is_sending(row)

    def is_told(self, row: Row) -> bool:
        return row.state in (State.TOLD, State.BRIEFED) or self.is_sending(row)

    def in_wake(self, wake: str) -> list[Row]:
        return [row for row in self.rows if row.wake == wake]

    def in_state(self, state: str) -> list[str]:
        return [wake for wake, carried in self.wakes.items() if carried.state == state]

    def is_replaced(self, row: Row) -> bool:
        return any(self.is_newer(other, row) for other in self.rows)

    def waiting_for(self, target: Target) -> str | None:
        """The wake that what is told the target now shares."""
        shared = [
            wake
            for wake in self.in_state("pending")
            if self.wakes[wake].target == target and not (self.wakes[wake].was_tried or self.wakes[wake].is_brief)
        ]
        return shared[-1] if shared else None

    def shed(self, wake: str) -> None:
        """Withdraw what was replaced meanwhile; what came in place of a retraction changes what the owner believes."""
        replaced = [row for row in self.in_wake(wake) if self.is_replaced(row)]
        for row in replaced:
            row.put(State.WITHDRAWN)
        for row in replaced:
            newer = next((other for other in self.rows if self.is_newer(other, row)), None)
            if row.change is Change.RETRACTION and newer is not None and newer.change is Change.NEW:
                newer.change = Change.UPDATE

    def is_newer(self, other: Row, row: Row) -> bool:
        is_gone = other.state in (State.DROPPED, State.WITHDRAWN)
        return other.key == row.key and other.number > row.number and not is_gone

    def postpone(self, wake: str) -> None:
        """It waits again, without what was replaced meanwhile; what then carries nothing is cancelled."""
        self.wakes[wake].state = "pending"
        self.shed(wake)
        if not self.wakes[wake].is_brief and not self.in_wake(wake):
            self.wakes[wake].state = "cancelled"

    def tell(self, rows: Iterable[Row], state: State) -> None:
        for row in rows:
            row.put(state)
            row.was_told = True


class LedgerMachine(RuleBasedStateMachine):
    """The ledger on disk beside a model of it, step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.now = T0
        self.day = date(2026, 6, 10)
        self.model = Model()
        self.told: Counter[str] = Counter()

    @initialize()
    def begin(self) -> None:
        self.ledger = open_ledger(self.folder / "ledger.db")

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.ledger.close()
        shutil.rmtree(self.folder)

    # A run

    @rule(reports=st.lists(REPORTS, max_size=4))
    def report(self, reports: list[Report]) -> None:
        """Scripts report; new, updated, the same again, promoted from the brief, held, and told again as a reminder."""
        for job in sorted({JOBS[report.key] for report in reports}):
            self.report_of(job, [report for report in reports if JOBS[report.key] == job])

    def report_of(self, job: str, reports: list[Report]) -> None:
        now = self.now

        def choose(view: View) -> Plan:
            known = dict(view.known)
            return Plan(tuple(meet(known, report, now) for report in reports))

        with self.followed(lambda: self.run(choose, job)):
            for report in reports:
                self.follow_report(report)

    def follow_report(self, report: Report) -> None:
        returns = report.key not in self.model.current
        row, until = self.model.come_back(report.key), self.now + timedelta(minutes=report.minutes)
        if row is None or row.version != report.version or (returns and not self.model.is_told(row)):
            change = Change.UPDATE if row is not None and (returns or self.model.owner_knows(row)) else Change.NEW
            if row is not None:
                self.model.take_back(row)
            self.model.add(report.key, report, until, change)
        elif returns:
            return
        elif (row.state, report.action) in AGAIN and not self.model.is_sending(row):
            row.times_due += row.state.was_told
            row.put(STATE_OF[report.action], report.target, until)

    @rule(key=KEYS, action=st.sampled_from((Action.WAKE, Action.BRIEF)), whom=TARGETS)
    def retract(self, key: str, action: Action, whom: Target) -> None:
        """A script takes back what it reported."""

        def choose(view: View) -> Plan:
            known = view.known.get(key)
            finding = Finding(key, key, retract=True)
            if known is not None and known.retracting:
                return Plan((Decision(finding, Action.DUPLICATE, Change.SAME, "duplicate", "", known),))
            if known is None:
                return Plan((Decision(finding, Action.DROP, Change.RETRACTION, "retract", ""),))
            if known.state.was_told or known.sending or known.change is Change.UPDATE:
                return Plan((Decision(finding, action, Change.RETRACTION, "r", "", known, target=whom),))
            return Plan((Decision(finding, Action.DROP, Change.WITHDRAWAL, "retract", "", known),))

        with self.followed(lambda: self.run(choose, JOBS[key])):
            row = self.model.current.pop(key, None)
            if row is not None and self.model.owner_knows(row):
                self.model.add(key, Report(key, "", action, whom, 0), self.now, Change.RETRACTION)
            if row is not None:
                self.model.take_back(row)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        """A condition is over."""

        def choose(view: View) -> Plan:
            known = view.known.get(key)
            if known is None or known.retracting:
                return Plan()
            return Plan((Decision(known.finding, Action.DROP, Change.FORGOTTEN, "absent", "", known),))

        self.run(choose, JOBS[key])
        self.model.current.pop(key, None)

    @rule()
    def fail_to_decide(self) -> None:
        """A run whose rules break changes nothing, and is interrupted later."""
        run = self.claimed()
        try:
            self.record(run, lambda _view: Plan((None,)))  # type: ignore[arg-type]  # it is to break
        except AttributeError:
            self.ledger.interrupt(lambda _owner: False, self.now)

    # What is held

    @rule(
        actions=st.lists(st.tuples(ACTIONS, TARGETS, MINUTES), min_size=3, max_size=3),
        everything=st.booleans(),
    )
    def decide_held(self, actions: list[tuple[Action, Target, int]], *, everything: bool) -> None:
        due = [row for row in self.model.rows if row.until is not None and (everything or row.until <= self.now)]
        due.sort(key=lambda row: (row.until, row.number))
        decided = [Report(row.key, "", *actions["abc".index(row.key)]) for row in due]

        def choose(rows: Sequence[LedgerFinding], _past: Past) -> list[Decision]:
            assert [(row.finding.key, row.held_until) for row in rows] == [(row.key, row.until) for row in due]
            return [
                Decision(
                    *(row.finding, report.action, Change.SAME, "again", ""),
                    until=self.now + timedelta(minutes=report.minutes),
                    target=report.target,
                )
                for row, report in zip(rows, decided, strict=True)
            ]

        with self.followed(lambda: self.ledger.decide_held(choose, self.now, everything=everything)):
            for row, report in zip(due, decided, strict=True):
                row.put(STATE_OF[report.action], report.target, self.now + timedelta(minutes=report.minutes))

    # The wakes

    @rule(owner=st.sampled_from(("lives", "dies")))
    def send(self, owner: str) -> None:
        for wake in self.ledger.due_wakes(self.now):
            begun = self.ledger.begin_wake(wake, owner, self.now)
            carried = self.model.wakes[wake]
            assert begun is not None
            assert [row.finding.key for row in begun.findings] == [row.key for row in self.model.in_wake(wake)]
            assert bool(begun.findings) != carried.is_brief
            assert Target(begun.agent, begun.profile) == carried.target
            assert self.ledger.begin_wake(wake, "another", self.now) is None
            carried.state, carried.was_tried = "sending", True

    @precondition(lambda self: self.model.in_state("sending"))
    @rule(data=st.data(), end=st.sampled_from(("settle", "postpone", "held", "give_up")))
    def end(self, data: st.DataObject, end: str) -> None:
        wake = data.draw(st.sampled_from(self.model.in_state("sending")))
        carried = self.model.wakes[wake]
        if end == "settle":
            carried.state = "settled"
            self.told.update(row.id for row in self.ledger.wake(wake).findings if row.state is State.WAKE)
            self.ledger.settle_wake(wake, Reply(), (), self.now)
            self.model.tell(self.model.in_wake(wake), State.TOLD)
        elif end == "give_up":
            carried.state = "failed"
            self.ledger.give_up_wake(wake, "gone", self.now)
            self.model.shed(wake)
            for row in self.model.in_wake(wake):
                row.put(State.BRIEF)
        else:
            outcome = "held" if end == "held" else "failed"
            self.ledger.postpone_wake(wake, "503", self.now + timedelta(minutes=3), self.now, outcome=outcome)
            self.model.postpone(wake)

    @rule()
    def release(self) -> None:
        for wake in self.ledger.release_wakes(lambda owner: owner == "lives", self.now):
            assert self.model.wakes[wake].state == "sending"
            self.model.postpone(wake)

    @precondition(lambda self: self.model.in_state("pending"))
    @rule(data=st.data(), whom=TARGETS, minutes=MINUTES)
    def defer_or_divert(self, data: st.DataObject, whom: Target, minutes: int) -> None:
        wake = data.draw(st.sampled_from(self.model.in_state("pending")))
        if minutes > 0:
            self.ledger.defer_wake(wake, "on hold", self.now + timedelta(minutes=minutes))
        else:
            self.ledger.divert_wake(wake, whom, "gone", self.now)
            self.model.wakes[wake].target = whom

    @precondition(lambda self: self.model.wakes)
    @rule(data=st.data())
    def cancel_or_retry(self, data: st.DataObject) -> None:
        wake = data.draw(st.sampled_from(list(self.model.wakes)))
        if self.model.wakes[wake].state == "pending" and data.draw(st.booleans()):
            self.ledger.cancel_wake(wake, "no", self.now)
            self.model.wakes[wake].state = "cancelled"
            for row in self.model.in_wake(wake):
                row.put(State.DROPPED)
        elif self.model.wakes[wake].state in ("pending", "failed", "cancelled"):
            self.retry(wake)

    def retry(self, wake: str) -> None:
        carried = self.model.wakes[wake]
        numbers = self.numbers()
        rows = [
            self.model.rows[numbers[row.id]]
            for row in self.ledger.wake(wake).findings
            if (row.state, row.rule) in ((State.BRIEF, "agent_failed"), (State.DROPPED, "cancelled"))
        ]
        rows = [row for row in rows if not self.model.is_replaced(row)]
        if carried.state == "pending":
            rows = []
        has_any = bool(rows) or carried.is_brief or carried.state == "pending"
        try:
            self.ledger.retry_wake(wake, self.now)
        except Refused:
            assert not has_any
            return
        assert has_any
        self.model.holds.clear()
        carried.state = "pending"
        for row in rows:
            row.put(State.WAKE, wake)

    # The rest

    @rule(agent=st.sampled_from(AGENTS), minutes=MINUTES)
    def hold_or_release(self, agent: str, minutes: int) -> None:
        before = self.model.holds.get(agent)
        until = self.now + timedelta(minutes=minutes)
        if minutes < 0:
            lasted = before is not None and before.until > self.now
            assert self.ledger.release_agent(agent, self.now) == lasted
            self.model.holds.pop(agent, None)
        else:
            self.ledger.hold_agent(agent, until, "429", self.now)
            if before is None or before.until < until or before.since > self.now:
                goes_on = before is not None and before.since <= self.now <= before.until + timedelta(hours=1)
                since = before.since if before is not None and goes_on else self.now
                self.model.holds[agent] = Hold(agent, until, "429", since)

    @rule(whom=st.none() | TARGETS)
    def brief(self, whom: Target | None) -> None:
        """Read on demand, or made for the day and written up by an agent."""
        waiting = self.ledger.brief(self.now).items
        if whom is None:
            brief = self.ledger.consume_brief(self.now)
        else:
            self.day += timedelta(days=1)
            made = self.ledger.issue_brief(self.day, self.now, lambda _brief: ("", ()), target=whom)
            assert made is not None
            assert made[1] is not None
            brief = made[0]
            self.model.wakes[made[1]] = Carried(whom, is_brief=True)
        assert brief.items == waiting
        self.told.update(item.id for item in brief.items)
        self.model.tell([row for row in self.model.rows if row.state is State.BRIEF], State.BRIEFED)

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = open_ledger(self.folder / "ledger.db", check=True)

    @rule(minutes=st.sampled_from((-30, 1, 5, 60)))
    def time_passes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    # What always holds

    @invariant()
    def every_finding_is_where_the_model_has_it(self) -> None:
        if not hasattr(self, "ledger"):
            return
        rows = self.ledger.findings(limit=1000)[::-1]
        assert [(row.finding.key, row.state, row.held_until) for row in rows] == [
            (row.key, row.state, row.until) for row in self.model.rows
        ]
        in_wakes = [row.wake_id for row in rows if row.state is State.WAKE]
        assert in_wakes == [row.wake for row in self.model.rows if row.state is State.WAKE]
        assert {row.finding.key for row in rows if row.current} == set(self.model.current)
        assert [self.told[row.id] <= self.model.rows[number].times_due for number, row in enumerate(rows)].count(
            False
        ) == 0

    @invariant()
    def every_wake_is_as_the_model_has_it_and_carries_something_while_it_is_open(self) -> None:
        if not hasattr(self, "ledger"):
            return
        wakes = {wake.id: wake for wake in self.ledger.wakes(limit=1000)}
        assert {
            wake.id: Carried(Target(wake.agent, wake.profile), wake.state, wake.attempts > 0, wake.brief_id is not None)
            for wake in wakes.values()
            if wake.id in self.model.wakes or wake.state != "cancelled"
        } == self.model.wakes
        is_open = {each for each in wakes if wakes[each].state in ("pending", "sending")}
        in_rows = {row.wake for row in self.model.rows if row.wake}
        assert is_open == in_rows | {each for each in is_open if wakes[each].brief_id}
        accepted = {each for each in wakes if wakes[each].history and wakes[each].history[-1].outcome == "accepted"}
        assert accepted == {each for each in wakes if wakes[each].state == "settled"}

    @invariant()
    def what_is_due_next_is_the_earliest_that_waits(self) -> None:
        if hasattr(self, "ledger"):
            held = [row.until for row in self.model.rows if row.until]
            pending = [wake.next_attempt_at for wake in self.ledger.wakes("pending") if wake.next_attempt_at]
            assert self.ledger.next_due(self.now) == min(held + pending, default=None)

    @invariant()
    def holds_and_what_can_be_joined_are_as_the_model_has_them(self) -> None:
        if hasattr(self, "ledger"):
            past = self.ledger.past(self.now)
            assert past.holds == self.model.holds
            targets = {carried.target for carried in self.model.wakes.values()}
            assert past.joinable == {target for target in targets if self.model.waiting_for(target)}

    # Helpers

    def numbers(self) -> dict[str, int]:
        return {row.id: number for number, row in enumerate(self.ledger.findings(limit=1000)[::-1])}

    @contextmanager
    def followed(self, act: Callable[[], tuple[str, ...]]) -> Iterator[None]:
        """Let the ledger act and the model follow; then the wakes are those of the targets."""
        wakes = act()
        yield
        found = {Target(wake.agent, wake.profile): wake.id for wake in map(self.ledger.wake, wakes)}
        assert len(found) == len(wakes)
        joined: set[str] = set()
        for row in self.model.rows:
            if isinstance(row.wake, Target):
                shared = self.model.waiting_for(row.wake) or found[row.wake]
                self.model.wakes.setdefault(shared, Carried(row.wake))
                row.wake = shared
                joined.add(shared)
        assert joined <= set(wakes)
        for wake in self.model.in_state("pending"):
            if not self.model.wakes[wake].is_brief and not self.model.in_wake(wake):
                self.model.wakes[wake].state = "cancelled"
        assert all(self.model.wakes[wake].state == "pending" for wake in wakes)

    def claimed(self, job: str = "job") -> Run:
        run = Run(new_id("run", self.now), job, "manual", None, self.now)
        self.ledger.claim(run, "1:1")
        return run

    def run(self, choose: Choose, job: str) -> tuple[str, ...]:
        return self.record(self.claimed(job), choose)

    def record(self, run: Run, choose: Choose) -> tuple[str, ...]:
        judgement = Judgement(
            Verdict.WAKE, "wake", "", gate=Gate(True, findings=tuple(Finding(key, key) for key in "abc"))
        )
        return self.ledger.record(run, Execution(self.now, self.now), judgement, choose)[1]


AGAIN = {
    (State.BRIEF, Action.WAKE),
    (State.WAKE, Action.HOLD),
    (State.HELD, Action.HOLD),
    *((state, action) for state in (State.TOLD, State.BRIEFED) for action in (Action.WAKE, Action.HOLD)),
}
"""What of the same thing again is more than a duplicate: promoted, held, held longer, told again."""


def meet(known: dict[str, Known], report: Report, now: datetime) -> Decision:
    """A decision such as the rules make, which sees what the one before it did."""
    met = known.get(report.key)
    finding = Finding(report.key, report.key, report.version)
    action, until = report.action, now + timedelta(minutes=report.minutes)
    if met is not None and met.retracting and (not is_told(met) or met.finding.version != report.version):
        known[report.key] = Known("", finding, STATE_OF[action], action.value, change=Change.UPDATE)
        return Decision(finding, action, Change.UPDATE, action.value, "", met, until=until, target=report.target)
    if met is not None and met.retracting:
        known[report.key] = replace(met, retracting="")
        return Decision(finding, Action.DUPLICATE, Change.SAME, "returned", "", met)
    if met is not None and met.finding.version == report.version:
        if (met.state, action) in AGAIN and not met.sending:
            known[report.key] = replace(met, state=STATE_OF[action], change=owner_knows(met))
            return Decision(finding, action, Change.SAME, action.value, "", met, until=until, target=report.target)
        return Decision(finding, Action.DUPLICATE, Change.SAME, "duplicate", "", met)
    change = owner_knows(met) if met is not None else Change.NEW
    known[report.key] = Known("", finding, STATE_OF[action], action.value, change=change)
    return Decision(finding, action, change, action.value, "", met, until=until, target=report.target)


def is_told(known: Known) -> bool:
    return known.state.was_told or known.sending


def owner_knows(known: Known) -> Change:
    return Change.UPDATE if known.state.was_told or known.sending or known.change is Change.UPDATE else Change.NEW


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(
    max_examples=50,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
