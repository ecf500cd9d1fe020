"""Whatever happens in whatever order: each finding is in one place, told once at most, and never lost."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from heartbeat.clock import new_id
from heartbeat.errors import Refused
from heartbeat.model import (
    Action,
    Change,
    Decision,
    Execution,
    Finding,
    Gate,
    Judgement,
    Known,
    Plan,
    Run,
    State,
    Verdict,
    View,
)
from heartbeat.stores.sqlite import open_ledger

T0 = datetime(2026, 6, 10, 8, 0, tzinfo=UTC)
WAITING = (State.WAKE, State.HELD, State.BRIEF)
STATE_OF = {Action.WAKE: State.WAKE, Action.HOLD: State.HELD, Action.BRIEF: State.BRIEF, Action.DROP: State.DROPPED}
KEYS = st.sampled_from("abc")
VERSIONS = st.sampled_from("12")
Choose = Callable[[View], Plan]
ACTIONS = st.sampled_from((Action.WAKE, Action.WAKE, Action.BRIEF, Action.HOLD, Action.DROP))


@dataclass
class Row:
    """A finding as the model has it; `number` is its place in the ledger's order."""

    number: int
    key: str
    state: State
    wake: str | None = None


@dataclass
class Model:
    rows: list[Row] = field(default_factory=list)
    current: dict[str, Row] = field(default_factory=dict)
    sending: set[str] = field(default_factory=set)

    def add(self, key: str, state: State, wake: str | None, *, current: bool = True) -> None:
        row = Row(len(self.rows), key, state, wake if state is State.WAKE else None)
        self.rows.append(row)
        if current:
            self.current[key] = row

    def take_back(self, row: Row) -> None:
        """Withdraw it, unless it is told or with the agent."""
        if row.state in WAITING and row.wake not in self.sending:
            row.state, row.wake = State.WITHDRAWN, None

    def in_wake(self, wake: str) -> list[Row]:
        return [row for row in self.rows if row.wake == wake]

    def is_replaced(self, row: Row) -> bool:
        return any(other.key == row.key and other.number > row.number for other in self.rows)


class LedgerMachine(RuleBasedStateMachine):
    """The ledger on disk beside a model of it, step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.now = T0
        self.model = Model()
        self.versions: dict[str, str] = {}
        self.told: list[str] = []

    @initialize()
    def begin(self) -> None:
        self.ledger = open_ledger(self.folder / "ledger.db")

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.ledger.close()
        shutil.rmtree(self.folder)

    # A run

    @rule(reports=st.lists(st.tuples(KEYS, VERSIONS, ACTIONS), max_size=4))
    def report(self, reports: list[tuple[str, str, Action]]) -> None:
        """A script reports; new, updated, the same again, and now promoted from the brief."""

        def choose(view: View) -> Plan:
            known = dict(view.known)
            return Plan(tuple(meet(known, *report) for report in reports))

        wake = self.run(choose)
        for key, version, action in reports:
            self.follow_report(key, version, action, wake)

    def follow_report(self, key: str, version: str, action: Action, wake: str | None) -> None:
        row = self.model.current.get(key)
        if row is None or self.versions[key] != version:
            if row is not None:
                self.model.take_back(row)
            self.versions[key] = version
            self.model.add(key, STATE_OF[action], wake)
        elif row.state is State.BRIEF and action is Action.WAKE:
            row.state, row.wake = State.WAKE, wake

    @rule(key=KEYS, action=st.sampled_from((Action.WAKE, Action.BRIEF)))
    def retract(self, key: str, action: Action) -> None:
        """A script takes back what it reported."""

        def choose(view: View) -> Plan:
            known = view.known.get(key)
            finding = Finding(key, key, retract=True)
            if known is None:
                return Plan((Decision(finding, Action.DROP, Change.RETRACTION, "retract", ""),))
            if known.state.was_told or known.sending:
                return Plan((Decision(finding, action, Change.RETRACTION, "r", "", known),))
            return Plan((Decision(finding, Action.DROP, Change.WITHDRAWAL, "retract", "", known),))

        wake = self.run(choose)
        row = self.model.current.pop(key, None)
        if row is not None and (row.state.was_told or row.wake in self.model.sending):
            self.model.add(key, STATE_OF[action], wake, current=False)
        elif row is not None:
            self.model.take_back(row)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        """A condition is over."""

        def choose(view: View) -> Plan:
            known = view.known.get(key)
            gone = known and Decision(known.finding, Action.DROP, Change.FORGOTTEN, "absent", "", known)
            return Plan((gone,) if gone else ())

        self.run(choose)
        self.model.current.pop(key, None)

    @rule()
    def fail_to_decide(self) -> None:
        """A run whose rules break changes nothing, and is interrupted later."""
        run = self.claimed()
        try:
            self.record(run, lambda _view: Plan((None,)))  # type: ignore[arg-type]  # it is to break
        except AttributeError:
            self.ledger.interrupt(lambda _owner: False, self.now)

    # The wakes

    @rule(owner=st.sampled_from(("lives", "dies")))
    def send(self, owner: str) -> None:
        for wake in self.ledger.due_wakes(self.now):
            begun = self.ledger.begin_wake(wake, owner, self.now)
            assert begun is not None
            assert [row.finding.key for row in begun.findings] == [row.key for row in self.model.in_wake(wake)]
            assert begun.findings
            self.model.sending.add(wake)

    @precondition(lambda self: self.model.sending)
    @rule(data=st.data(), end=st.sampled_from(("settle", "postpone", "give_up")))
    def end(self, data: st.DataObject, end: str) -> None:
        wake = data.draw(st.sampled_from(sorted(self.model.sending)))
        self.model.sending.discard(wake)
        if end == "settle":
            self.told += [row.id for row in self.ledger.wake(wake).findings if row.state is State.WAKE]
            self.ledger.settle_wake(wake, "", self.now)
            for row in self.model.in_wake(wake):
                row.state, row.wake = State.TOLD, None
        elif end == "postpone":
            self.ledger.postpone_wake(wake, "503", self.now + timedelta(minutes=3), self.now)
        else:
            self.ledger.give_up_wake(wake, "gone", self.now)
            for row in self.model.in_wake(wake):
                row.state = State.WITHDRAWN if self.model.is_replaced(row) else State.BRIEF
                row.wake = None

    @rule()
    def release(self) -> None:
        released = self.ledger.release_wakes(lambda owner: owner == "lives", self.now)
        self.model.sending -= set(released)

    @rule(data=st.data())
    def cancel_or_retry(self, data: st.DataObject) -> None:
        wakes = self.ledger.wakes()
        if not wakes:
            return
        wake = data.draw(st.sampled_from(wakes))
        if wake.state == "pending":
            self.ledger.cancel_wake(wake.id, "no", self.now)
            for row in self.model.in_wake(wake.id):
                row.state, row.wake = State.DROPPED, None
        elif wake.state in ("failed", "cancelled"):
            self.retry(wake.id)

    def retry(self, wake: str) -> None:
        back = [row for row in self.ledger.wake(wake).findings if row.rule in ("agent_failed", "cancelled")]
        numbers = self.numbers()
        rows = [self.model.rows[numbers[row.id]] for row in back if row.state in (State.BRIEF, State.DROPPED)]
        rows = [row for row in rows if not self.model.is_replaced(row)]
        try:
            self.ledger.retry_wake(wake, self.now)
        except Refused:
            assert not rows
        else:
            assert rows
        for row in rows:
            row.state, row.wake = State.WAKE, wake

    # The rest

    @rule()
    def consume(self) -> None:
        waiting = self.ledger.brief(self.now).items
        brief = self.ledger.consume_brief(self.now)
        assert brief.items == waiting
        self.told += [item.id for item in brief.items]
        for row in self.model.rows:
            if row.state is State.BRIEF:
                row.state = State.BRIEFED

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
        assert [(row.finding.key, row.state) for row in rows] == [(row.key, row.state) for row in self.model.rows]
        in_wakes = [row.wake_id for row in rows if row.state is State.WAKE]
        assert in_wakes == [row.wake for row in self.model.rows if row.state is State.WAKE]
        assert {row.finding.key for row in rows if row.current} == set(self.model.current)

    @invariant()
    def nothing_is_told_twice(self) -> None:
        assert len(self.told) == len(set(self.told))

    @invariant()
    def a_pending_wake_has_something_to_tell(self) -> None:
        if hasattr(self, "ledger"):
            pending = {wake.id for wake in self.ledger.wakes("pending")}
            assert pending | self.model.sending == {row.wake for row in self.model.rows if row.wake}

    # Helpers

    def numbers(self) -> dict[str, int]:
        return {row.id: number for number, row in enumerate(self.ledger.findings(limit=1000)[::-1])}

    def claimed(self) -> Run:
        run = Run(new_id("run", self.now), "job", "manual", None, self.now)
        self.ledger.claim(run, "1:1")
        return run

    def run(self, choose: Choose) -> str | None:
        return self.record(self.claimed(), choose)

    def record(self, run: Run, choose: Choose) -> str | None:
        judgement = Judgement(
            Verdict.WAKE, "wake", "", gate=Gate(True, findings=tuple(Finding(key, key) for key in "abc"))
        )
        return self.ledger.record(run, Execution(self.now, self.now), judgement, choose, agent="claude")[1]


def meet(known: dict[str, Known], key: str, version: str, action: Action) -> Decision:
    """A decision such as the rules make, which sees what the one before it did."""
    met = known.get(key)
    finding = Finding(key, key, version)
    if met is not None and met.finding.version == version:
        if met.state is State.BRIEF and action is Action.WAKE:
            known[key] = Known(met.finding_id, finding, State.WAKE, "wake")
            return Decision(finding, action, Change.SAME, "wake", "", met)
        return Decision(finding, Action.DUPLICATE, Change.SAME, "duplicate", "", met)
    change = Change.UPDATE if met is not None and met.state.was_told else Change.NEW
    known[key] = Known("", finding, STATE_OF[action], action.value)
    return Decision(finding, action, change, action.value, "", met)


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
