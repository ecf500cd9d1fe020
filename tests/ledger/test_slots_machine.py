"""Whatever happens in whatever order: each due instant has one fate, which only a run of its own can change."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from heartbeat.clock import new_id
from heartbeat.errors import Refused, SlotTaken
from heartbeat.model import Execution, Fate, Judgement, Plan, Run, SlotState, Verdict
from heartbeat.stores.sqlite import open_ledger

T0 = datetime(2026, 6, 10, 8, 0, tzinfo=UTC)
LAST_MINUTE = 24
MINUTES = st.integers(0, LAST_MINUTE)
FAR_AHEAD = 10_000
"""Minutes that a clock which is wrong runs ahead; the right one never gets there."""


def at(minute: int) -> datetime:
    return T0 + timedelta(minutes=minute)


@dataclass(frozen=True)
class Fated:
    """What became of one minute, as the model has it."""

    state: SlotState
    reason: str
    at: int
    run_id: str | None = None
    attempts: int = 0


class SlotsMachine(RuleBasedStateMachine):
    """A job that may be due each minute, beside a model of it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.now = LAST_MINUTE // 2
        self.fates: dict[int, Fated] = {}
        self.running: Run | None = None
        self.schedule = "every 60s"
        self.last: datetime | None = None

    @initialize()
    def begin(self) -> None:
        self.ledger = open_ledger(self.folder / "ledger.db")
        self.ledger.enlist([("job", self.schedule)], at(self.now))

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.ledger.close()
        shutil.rmtree(self.folder)

    # Runs

    @rule(minute=MINUTES, again=st.booleans())
    def claim(self, minute: int, again: bool) -> None:
        run = Run(new_id("run", at(self.now)), "job", "schedule", at(minute), at(self.now))
        before = self.fates.get(minute)
        if self.running or minute > self.now:
            with pytest.raises(Refused) as caught:
                self.ledger.claim(run, "1:1", again=again)
            assert not isinstance(caught.value, SlotTaken)
        elif before and not (again and before.state is SlotState.INTERRUPTED):
            with pytest.raises(SlotTaken):
                self.ledger.claim(run, "1:1", again=again)
            self.go_on_after(at(minute))
        else:
            self.ledger.claim(run, "1:1", again=again)
            self.running = run
            attempts = before.attempts + 1 if before else 1
            self.fates[minute] = Fated(SlotState.CLAIMED, "", self.now, run.id, attempts)
            self.go_on_after(at(minute))

    @precondition(lambda self: self.running)
    @rule(how=st.sampled_from(("record", "abandon", "interrupt")))
    def end(self, how: str) -> None:
        run, now = self.running, at(self.now)
        assert run is not None
        assert run.slot_at is not None
        if how == "record":
            execution, judgement = Execution(run.started_at, now), Judgement(Verdict.QUIET, "", "")
            self.ledger.record(run, execution, judgement, lambda _view: Plan())
            ended, reason = SlotState.RAN, ""
        elif how == "abandon":
            self.ledger.abandon(run.id, "stops", now)
            ended, reason = SlotState.INTERRUPTED, "stops"
        else:
            assert [gone.id for gone in self.ledger.interrupt(lambda _owner: False, now)] == [run.id]
            ended, reason = SlotState.INTERRUPTED, "heartbeat's process ended before the run did"
        minute = (run.slot_at - T0) // timedelta(minutes=1)
        self.fates[minute] = replace(self.fates[minute], state=ended, reason=reason, at=self.now)
        self.running = None

    # Slots that do not run

    @rule(first=MINUTES, more=st.sampled_from((0, 0, 1, 3, 8)), state=st.sampled_from(("skipped", "missed")))
    def pass_over(self, first: int, more: int, state: str) -> None:
        fate = Fate(SlotState(state), at(first), at(first + more), f"{state} at {self.now}", more + 1)
        self.ledger.pass_over([("job", fate)], at(self.now))
        for minute in range(first, first + more + 1):
            self.fates.setdefault(minute, Fated(fate.state, fate.reason, self.now))
        self.go_on_after(fate.last)

    @rule(first=MINUTES, more=st.sampled_from((0, 1, 3, 8)))
    def pass_over_under_a_wrong_clock(self, first: int, more: int) -> None:
        """What is entered counts for nothing, but takes nothing away."""
        fate = Fate(SlotState.MISSED, at(first), at(first + more), "wrong", more + 1)
        self.ledger.pass_over([("job", fate)], at(self.now + FAR_AHEAD))
        self.go_on_after(fate.last)

    # The schedule and the clock

    @rule(minute=MINUTES)
    def move_on(self, minute: int) -> None:
        self.ledger.move_on("job", at(minute))
        self.last = at(minute)

    @rule(schedule=st.sampled_from(("every 60s", "cron * * * * *")))
    def enlist(self, schedule: str) -> None:
        again = schedule != self.schedule
        assert list(self.ledger.enlist([("job", schedule)], at(self.now))) == ["job"] * again
        if again:
            self.schedule, self.last = schedule, None

    @rule(minute=MINUTES)
    def set_the_clock(self, minute: int) -> None:
        """Never back: what was entered before must count."""
        self.now = max(self.now, minute)

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = open_ledger(self.folder / "ledger.db", check=True)

    # What always holds

    @invariant()
    def each_minute_has_the_fate_that_the_model_has(self) -> None:
        for minute in range(LAST_MINUTE + 9) if hasattr(self, "ledger") else ():
            rows = self.ledger.slots("job", at=at(minute))
            fated = self.fates.get(minute)
            if fated is None:
                assert [row.reason for row in rows] in ([], ["wrong"])
                continue
            (row,) = rows
            assert row.slot_at <= at(minute) <= row.last_at
            assert Fated(row.state, row.reason, self.minute_of(row.at), row.run_id, row.attempts) == fated

    @invariant()
    def the_job_has_come_as_far_as_the_model_has_it(self) -> None:
        if not hasattr(self, "ledger"):
            return
        state = self.ledger.state("job")
        assert state is not None
        assert (state.last_slot_at, state.schedule) == (self.last, self.schedule)
        fated = self.fates.get(self.minute_of(self.last)) if self.last else None
        interrupted = fated is not None and fated.state is SlotState.INTERRUPTED
        assert state.interrupted_at == (self.last if interrupted else None)
        assert state.attempts == (fated.attempts if fated else 0)

    # Helpers

    def go_on_after(self, slot: datetime) -> None:
        self.last = max(self.last or slot, slot)

    def minute_of(self, instant: datetime) -> int:
        return (instant - T0) // timedelta(minutes=1)


TestSlotsMachine = SlotsMachine.TestCase
TestSlotsMachine.settings = settings(
    max_examples=80,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
