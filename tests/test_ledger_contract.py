"""What every ledger must do, whichever store keeps it: each module of heartbeat/stores is tried."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import heartbeat.stores
from heartbeat.clock import new_id
from heartbeat.decide import Rules, decide
from heartbeat.errors import HeartbeatError, Invalid, NotFound, Refused, SlotTaken
from heartbeat.model import (
    Action,
    Captured,
    Change,
    ClockEvent,
    Decision,
    Execution,
    Fate,
    FaultChange,
    Finding,
    Gate,
    JobState,
    Judgement,
    Known,
    LedgerFinding,
    Plan,
    QueueItem,
    Reply,
    Run,
    Slot,
    SlotState,
    Source,
    State,
    Step,
    Streak,
    Target,
    Urgency,
    Verdict,
    View,
    Wake,
    WhenAbsent,
)
from heartbeat.ports import OFF, TRUSTED, Ledger
from heartbeat.queue.telling import telling
from heartbeat.stores.memory import open_memory
from heartbeat.stores.sqlite import SqliteLedger

STORES = [module.name for module in pkgutil.iter_modules(heartbeat.stores.__path__)]
JOB = "vip-mail"
T0 = datetime(2026, 6, 10, 8, 0, tzinfo=UTC)
OWNER = "4711:1234567"
NOTHING_ELSE = Plan()
CLAUDE = Target("claude")
REPORTED = ("k", "a", "b", "old", "disk")
"""Keys that every script of these tests reports, so that the rules see what is known of them."""
Decide = Callable[[View], tuple[Decision, ...]]


@pytest.fixture(params=STORES)
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    store = importlib.import_module(f"heartbeat.stores.{request.param}")
    opened = store.open_ledger(tmp_path / "ledger.db") if hasattr(store, "open_ledger") else store.open_memory()
    yield opened
    opened.close()


def test_the_store_in_sqlite_is_a_ledger() -> None:
    ledger: Ledger = SqliteLedger(None)  # what mypy checks here is every method's signature
    assert ledger.runs() == []
    ledger.close()


def at(minute: float) -> datetime:
    return T0 + timedelta(minutes=minute)


def a_run(minute: float, job: str = JOB, *, slot: bool = True) -> Run:
    return Run(
        new_id("run", at(minute)), job, "schedule" if slot else "manual", at(minute) if slot else None, at(minute)
    )


def record(
    ledger: Ledger,
    minute: float,
    decide: Decide = lambda _view: (),
    *,
    job: str = JOB,
    verdict: Verdict = Verdict.WAKE,
    plan: Plan = NOTHING_ELSE,
    run: Run | None = None,
    judgement: Judgement | None = None,
) -> tuple[str, str | None]:
    """One whole run; the ids of the run and of the wake for it."""
    if run is None:
        run = a_run(minute, job)
        ledger.claim(run, OWNER)
    reported = tuple(Finding(key, key) for key in REPORTED)
    gate = Gate(verdict is Verdict.WAKE, findings=reported)
    judgement = judgement or Judgement(verdict, verdict.value, "because", gate=gate)
    execution = Execution(at(minute), at(minute), exit_code=0)
    _plan, wakes = ledger.record(run, execution, judgement, lambda view: replace(plan, decisions=decide(view)))
    (wake_id,) = wakes or (None,)
    return run.id, wake_id


def decision(
    key: str,
    action: Action,
    change: Change = Change.NEW,
    view: View | None = None,
    *,
    rule: str = "",
    target: Target | None = None,
    **more: Any,
) -> Decision:
    """With a *view*, about what it knows under the key."""
    known = view.known.get(key) if view else None
    finding = Finding(key, f"Title of {key}", **more)
    target = target or (CLAUDE if action is Action.WAKE else Target())
    reason, trace = f"{action} it", (Step("a", "b", "c"),)
    return Decision(finding, action, change, rule or action.value, reason, known, trace, target=target)


def told(ledger: Ledger, minute: float, key: str = "k", **more: Any) -> LedgerFinding:
    """A finding that the agent has accepted."""
    _run, wake_id = record(ledger, minute, lambda _view: (decision(key, Action.WAKE, **more),))
    assert wake_id is not None
    ledger.begin_wake(wake_id, OWNER, at(minute))
    ledger.settle_wake(wake_id, Reply(), (), at(minute))
    return only(ledger, key)


def waking(ledger: Ledger, minute: float, *keys: str, **more: Any) -> str:
    """The id of a pending wake for *keys*."""
    _run, wake_id = record(ledger, minute, lambda _view: tuple(decision(key, Action.WAKE, **more) for key in keys))
    assert wake_id is not None
    return wake_id


def view_of(ledger: Ledger, minute: float) -> View:
    """What the rules see at a run that changes nothing."""
    seen = []

    def look(view: View) -> tuple[Decision, ...]:
        seen.append(view)
        return ()

    record(ledger, minute, look)
    return seen[0]


def only(ledger: Ledger, key: str = "k") -> LedgerFinding:
    (found,) = ledger.findings(key=key)
    return ledger.finding(found.id)


def states(ledger: Ledger, key: str = "k") -> list[State]:
    """Of the rows of *key*, oldest first."""
    return [row.state for row in reversed(ledger.findings(key=key))]


# Jobs


def state_of(ledger: Ledger, job: str = JOB) -> JobState:
    state = ledger.state(job)
    assert state is not None
    assert ledger.states()[job] == state
    return replace(state, entered_at=None)


def test_a_job_begins_when_it_is_first_enlisted(ledger: Ledger) -> None:
    assert ledger.state(JOB) is None
    assert list(ledger.enlist([(JOB, "every 600s"), ("b", "off")], at(0))) == [JOB, "b"]
    assert state_of(ledger) == JobState(JOB, at(0), schedule="every 600s")
    assert list(ledger.enlist([(JOB, "every 600s"), ("c", "off")], at(5))) == ["c"]
    assert {name: state.anchor_at for name, state in ledger.states().items()} == {JOB: at(0), "b": at(0), "c": at(5)}


def test_schedules_are_asked_for_once_however_they_come(ledger: Ledger) -> None:
    assert len(ledger.enlist(((f"job-{number}", "off") for number in range(3)), at(0))) == 3
    assert len(ledger.enlist(iter([]), at(1))) == 0
    assert len(ledger.states()) == 3


def test_a_job_whose_schedule_is_another_now_begins_anew(ledger: Ledger) -> None:
    ledger.enlist([(JOB, "every 600s"), ("b", "off")], at(0))
    record(ledger, 5, plan=Plan(backoff_until=at(60), fingerprint="f"))
    before = state_of(ledger)
    assert list(ledger.enlist([(JOB, "every 300s"), ("b", "off")], at(9))) == [JOB]
    assert state_of(ledger) == replace(before, anchor_at=at(9), last_slot_at=None, attempts=0, schedule="every 300s")
    assert (before.backoff_until, before.fingerprint, before.attempts) == (at(60), "f", 1)


def test_a_schedule_that_was_not_known_is_learnt_and_the_job_goes_on(ledger: Ledger) -> None:
    record(ledger, 5)
    assert list(ledger.enlist([(JOB, "every 300s")], at(9))) == []
    state = state_of(ledger)
    assert (state.anchor_at, state.last_slot_at, state.schedule) == (at(5), at(5), "every 300s")
    assert list(ledger.enlist([(JOB, "every 900s")], at(9))) == [JOB]


@pytest.mark.parametrize("minute", [2, 9])
def test_the_schedule_can_be_moved_on_without_a_slot_and_back(ledger: Ledger, minute: int) -> None:
    pass_over(ledger, 6, fate(5))
    ledger.move_on(JOB, at(minute))
    state = state_of(ledger)
    assert (state.anchor_at, state.last_slot_at) == (at(minute), at(minute))
    assert [slot.slot_at for slot in ledger.slots()] == [at(5)]


def test_moving_on_a_job_never_seen_enters_it(ledger: Ledger) -> None:
    ledger.move_on(JOB, at(3))
    assert state_of(ledger).last_slot_at == at(3)


# Slots

SKIPPED, MISSED = SlotState.SKIPPED, SlotState.MISSED
TRUSTED_MINUTES = TRUSTED / timedelta(minutes=1)


def fate(first: float, last: float | None = None, state: SlotState = SKIPPED, reason: str = "late") -> Fate:
    """Of one slot, or of a stretch with a slot each minute."""
    if last is None:
        return Fate(state, at(first), at(first), reason)
    return Fate(state, at(first), at(last), reason, int(last - first) + 1)


def pass_over(ledger: Ledger, minute: float, *fates: Fate, job: str = JOB) -> None:
    ledger.pass_over([(job, each) for each in fates], at(minute))


def slot_at(ledger: Ledger, minute: float, job: str = JOB) -> Slot:
    (found,) = ledger.slots(job, at=at(minute))
    return found


def claim(ledger: Ledger, slot: float, now: float | None = None, *, again: bool = False) -> Run:
    run = replace(a_run(slot if now is None else now), slot_at=at(slot))
    ledger.claim(run, OWNER, again=again)
    return run


def interrupt(ledger: Ledger, slot: float, *, again: bool = False) -> Run:
    run = claim(ledger, slot, again=again)
    ledger.abandon(run.id, "heartbeat stops", at(slot))
    return run


def test_a_claim_moves_the_schedule_on_in_the_same_step(ledger: Ledger) -> None:
    run = claim(ledger, 5)
    assert state_of(ledger) == JobState(JOB, at(5), at(5), attempts=1)
    assert slot_at(ledger, 5) == Slot(JOB, at(5), at(5), 1, SlotState.CLAIMED, "", run.id, at(5), 1)


def test_a_claimed_run_is_on_record_as_running(ledger: Ledger) -> None:
    run = a_run(5)
    ledger.claim(run, OWNER, note="stands for two")
    assert ledger.run(run.id) == run
    record(ledger, 6, run=run)
    slot = slot_at(ledger, 5)
    assert (slot.state, slot.at, slot.reason) == (SlotState.RAN, at(6), "stands for two")


def test_a_slot_is_claimed_once_and_the_schedule_goes_on_after_it(ledger: Ledger) -> None:
    record(ledger, 5)
    ledger.move_on(JOB, at(2))
    again = replace(a_run(6), slot_at=at(5))
    with pytest.raises(
        SlotTaken, match=r"cannot run 'vip-mail' for 2026-06-10T08:05.*slot is ran by run run_.*by hand"
    ):
        ledger.claim(again, OWNER)
    with pytest.raises(NotFound):
        ledger.run(again.id)
    assert state_of(ledger).last_slot_at == at(5)
    assert [slot.state for slot in ledger.slots()] == [SlotState.RAN]


def test_a_job_has_one_run_at_a_time(ledger: Ledger) -> None:
    first = a_run(0)
    ledger.claim(first, OWNER)
    for other in (a_run(1), a_run(1, slot=False)):
        with pytest.raises(Refused, match=f"cannot run 'vip-mail': its run {first.id}") as caught:
            ledger.claim(other, OWNER)
        assert not isinstance(caught.value, SlotTaken)
    ledger.claim(a_run(1, "another-job"), OWNER)
    assert state_of(ledger).last_slot_at == at(0)


def test_a_slot_never_runs_before_its_instant(ledger: Ledger) -> None:
    with pytest.raises(Refused, match=r"it is only 2026-06-10T08:04:.*wait until then") as caught:
        claim(ledger, 5, now=4.99)
    assert not isinstance(caught.value, SlotTaken)
    assert ledger.slots() == []
    assert ledger.state(JOB) is None


def test_a_skipped_slot_moves_the_schedule_on_and_is_never_run(ledger: Ledger) -> None:
    pass_over(ledger, 6, fate(5, reason="the job backs off"))
    assert state_of(ledger) == JobState(JOB, at(6), at(5))
    assert slot_at(ledger, 5) == Slot(JOB, at(5), at(5), 1, SKIPPED, "the job backs off", None, at(6), 0)
    with pytest.raises(SlotTaken, match="that slot is skipped; run it by hand"):
        claim(ledger, 5, now=6)


def test_any_number_of_slots_of_any_jobs_is_passed_over_at_once(ledger: Ledger) -> None:
    record(ledger, 0)
    fates = [(JOB, fate(1)), ("b", fate(2, 8, MISSED)), (JOB, fate(3)), ("b", Fate(SKIPPED, at(9), at(20), "", None))]
    ledger.pass_over(fates, at(30))
    ledger.pass_over([], at(30))
    assert {name: (state.anchor_at, state.last_slot_at) for name, state in ledger.states().items()} == {
        JOB: (at(0), at(3)), "b": (at(30), at(20)),
    }  # fmt: skip
    assert [(slot.slot_at, slot.state) for slot in ledger.slots(JOB)] == [
        (at(3), SKIPPED), (at(1), SKIPPED), (at(0), SlotState.RAN),
    ]  # fmt: skip
    assert [(slot.slot_at, slot.last_at, slot.count) for slot in ledger.slots("b")] == [
        (at(9), at(20), None), (at(2), at(8), 7),
    ]  # fmt: skip


def test_an_older_slot_does_not_move_the_schedule_back(ledger: Ledger) -> None:
    pass_over(ledger, 6, fate(5))
    pass_over(ledger, 6, fate(2))
    assert state_of(ledger).last_slot_at == at(5)


@pytest.mark.parametrize("passed", [fate(5), fate(5, 9), fate(2, 9), fate(2, 5)])
@pytest.mark.parametrize("how", ["claimed", "ran", "skipped", "interrupted"])
def test_a_fate_is_kept_and_the_rest_of_a_stretch_gets_its_own(ledger: Ledger, passed: Fate, how: str) -> None:
    if how == "skipped":
        pass_over(ledger, 5, fate(5, reason="backs off"))
    elif how == "interrupted":
        interrupt(ledger, 5)
    else:
        run = claim(ledger, 5)
        if how == "ran":
            record(ledger, 5, run=run)
    before = slot_at(ledger, 5)
    assert before.state == how
    for _ in range(2):
        pass_over(ledger, 30, passed)
        assert slot_at(ledger, 5) == before
        for minute in range(2, 10):
            if minute != 5:
                held = passed.first <= at(minute) <= passed.last
                assert [slot.reason for slot in ledger.slots(at=at(minute))] == ["late"] * held
        assert len(ledger.slots()) == (1 if passed.first == passed.last else 2)
    assert state_of(ledger).last_slot_at == passed.last


@pytest.mark.parametrize("later", [fate(6), fate(5), fate(10), fate(5, 10), fate(6, 9), fate(2, 7), fate(7, 14)])
def test_what_lies_in_a_stretch_keeps_the_fate_of_the_stretch(ledger: Ledger, later: Fate) -> None:
    pass_over(ledger, 20, fate(5, 10, MISSED, "nobody was there"))
    stretch = slot_at(ledger, 7)
    pass_over(ledger, 30, later)
    assert {slot_at(ledger, minute) for minute in range(5, 11)} == {stretch}
    for minute in (2, 4, 11, 14):
        assert len(ledger.slots(at=at(minute))) == (later.first <= at(minute) <= later.last)
    assert ledger.slots(at=at(4.5), job="other") == []


@pytest.mark.parametrize("minute", [5, 7, 10])
def test_no_slot_in_a_stretch_is_run_and_the_schedule_goes_on_after_it(ledger: Ledger, minute: int) -> None:
    pass_over(ledger, 20, fate(5, 10, MISSED))
    ledger.move_on(JOB, at(3))
    with pytest.raises(SlotTaken, match="that slot is missed"):
        claim(ledger, minute, now=20)
    assert state_of(ledger).last_slot_at == at(minute), "the end of a stretch may lie ahead of a clock set back"
    for free in (4, 11):
        record(ledger, 20, run=claim(ledger, free, now=20))


def test_a_stretch_of_an_interval_holds_only_what_lies_on_its_grid(ledger: Ledger) -> None:
    pass_over(ledger, 60, Fate(MISSED, at(10), at(50), "late", count=5))
    assert [len(ledger.slots(at=at(minute))) for minute in (10, 15, 20, 50)] == [1, 0, 1, 1]
    with pytest.raises(SlotTaken):
        claim(ledger, 20, now=60)
    record(ledger, 60, run=claim(ledger, 25, now=60))
    assert slot_at(ledger, 25).state is SlotState.RAN


def test_a_job_that_is_not_listed_any_more_begins_anew_when_it_comes_back(ledger: Ledger) -> None:
    ledger.enlist([(JOB, "every 600s"), ("b", "every 60s")], at(0))
    record(ledger, 0)
    assert list(ledger.enlist([("b", "every 60s")], at(5))) == []
    assert (state_of(ledger).schedule, state_of(ledger).last_slot_at) == (OFF, at(0))
    assert list(ledger.enlist([(JOB, "every 600s"), ("b", "every 60s")], at(99))) == [JOB]
    assert (state_of(ledger).anchor_at, state_of(ledger).last_slot_at) == (at(99), None)


def test_an_interrupted_slot_can_be_run_again_on_purpose_only_and_its_runs_are_counted(ledger: Ledger) -> None:
    interrupt(ledger, 0)
    for attempt in (1, 2):
        assert state_of(ledger) == JobState(JOB, at(0), at(0), interrupted_at=at(0), attempts=attempt)
        with pytest.raises(SlotTaken, match="that slot is interrupted"):
            claim(ledger, 0)
        interrupt(ledger, 0, again=True)
    run = claim(ledger, 0, now=5, again=True)
    state = state_of(ledger)
    assert (state.interrupted_at, state.attempts) == (None, 4)
    record(ledger, 6, run=run)
    slot = slot_at(ledger, 0)
    assert (slot.state, slot.run_id, slot.attempts, slot.at) == (SlotState.RAN, run.id, 4, at(6))
    with pytest.raises(SlotTaken, match=f"slot is ran by run {run.id}"):
        claim(ledger, 0, now=7)


def test_only_the_latest_slot_counts_as_interrupted(ledger: Ledger) -> None:
    interrupt(ledger, 0)
    pass_over(ledger, 9, fate(3))
    state = state_of(ledger)
    assert (state.last_slot_at, state.interrupted_at, state.attempts) == (at(3), None, 0)
    assert slot_at(ledger, 0).state is SlotState.INTERRUPTED


@pytest.mark.parametrize("ahead", [0, 1, TRUSTED_MINUTES + 1])
@pytest.mark.parametrize("wrong", [fate(5), fate(5, 10), fate(2, 10)])
def test_a_fate_without_a_run_entered_by_a_clock_since_set_back_gives_way(
    ledger: Ledger, ahead: float, wrong: Fate
) -> None:
    pass_over(ledger, 20 + ahead, wrong)
    pass_over(ledger, 20, fate(5, reason="right"))
    assert slot_at(ledger, 5).reason == ("right" if ahead else "late")
    pass_over(ledger, 20, fate(5, 8, reason="right too"))
    reasons = [[slot.reason for slot in ledger.slots(at=at(minute))] for minute in (6, 8)]
    if ahead:
        assert reasons == [["right too"]] * 2
    elif wrong.first != wrong.last:
        assert reasons == [["late"]] * 2


def test_a_slot_that_was_passed_over_by_a_clock_since_set_back_can_run(ledger: Ledger) -> None:
    pass_over(ledger, 60, fate(5), fate(20, 50))
    for minute in (5, 50, 30, 20):
        with pytest.raises(SlotTaken):
            claim(ledger, minute, now=60)
        record(ledger, 59.9, run=claim(ledger, minute, now=59.9))
        slot = slot_at(ledger, minute)
        assert (slot.state, slot.slot_at, slot.last_at, slot.count) == (SlotState.RAN, at(minute), at(minute), 1)


@pytest.mark.parametrize(("ahead", "again"), [(0, False), (TRUSTED_MINUTES, False), (TRUSTED_MINUTES + 1, True)])
def test_a_slot_that_ran_runs_again_only_if_that_was_under_a_clock_far_ahead(
    ledger: Ledger, ahead: float, again: bool
) -> None:
    record(ledger, 20 + ahead, run=claim(ledger, 5, now=20 + ahead))
    if again:
        record(ledger, 20, run=claim(ledger, 5, now=20))
    else:
        with pytest.raises(SlotTaken):
            claim(ledger, 5, now=20)


def test_rows_of_a_wrong_clock_inside_a_new_stretch_are_gone_but_a_claimed_one_stays(ledger: Ledger) -> None:
    run = claim(ledger, 6, now=9000)
    pass_over(ledger, 9000, fate(5), fate(7, 50), fate(4, 8))
    pass_over(ledger, 20, fate(3, 10, reason="right"))
    assert {slot_at(ledger, minute).reason for minute in (3, 4, 5, 7, 8, 10)} == {"right"}
    assert slot_at(ledger, 6).run_id == run.id
    pass_over(ledger, 20, fate(6))
    assert slot_at(ledger, 6).state is SlotState.CLAIMED


def test_runs_by_hand_have_no_slot(ledger: Ledger) -> None:
    run = a_run(5, slot=False)
    ledger.claim(run, OWNER)
    record(ledger, 5, run=run)
    assert state_of(ledger).last_slot_at is None
    assert ledger.slots() == []
    ledger.claim(a_run(5), OWNER)


def test_slots_are_listed_by_their_instant_newest_first(ledger: Ledger) -> None:
    pass_over(ledger, 20, fate(9), fate(2, 5, MISSED))
    record(ledger, 21, run=claim(ledger, 7, now=20))
    pass_over(ledger, 20, fate(7), fate(3), job="a")
    assert [(slot.job, slot.slot_at) for slot in ledger.slots()] == [
        (JOB, at(9)), ("a", at(7)), (JOB, at(7)), ("a", at(3)), (JOB, at(2)),
    ]  # fmt: skip
    assert [slot.slot_at for slot in ledger.slots(JOB, limit=2)] == [at(9), at(7)]
    assert [slot.slot_at for slot in ledger.slots(state="missed")] == [at(2)]
    assert [slot.slot_at for slot in ledger.slots("a", "skipped", limit=1)] == [at(7)]
    assert ledger.slots("a", "missed") == []
    assert [(slot.job, slot.slot_at) for slot in ledger.slots(at=at(3))] == [("a", at(3)), (JOB, at(2))]
    assert [slot.job for slot in ledger.slots(at=at(3), limit=1)] == ["a"]
    assert [slot.job for slot in ledger.slots(at=at(3), state="missed")] == [JOB]
    assert ledger.slots(JOB, at=at(6)) == []


# The clock


def test_what_happened_to_the_clock_is_listed_in_the_order_it_was_noticed(ledger: Ledger) -> None:
    events = [
        ClockEvent(at(0), "forward", 86400.5, "set to the next day"),
        ClockEvent(at(-9), "back", -90000.0, "\u00fc"),
        ClockEvent(at(1), "zone", 0.0, "Europe/Berlin to Asia/Kathmandu"),
    ]
    for event in events:
        ledger.note_clock(event)
    assert ledger.clock_events() == events[::-1]
    assert ledger.clock_events(limit=1) == events[2:]


# Runs


def test_a_recorded_run_is_read_back_whole(ledger: Ledger) -> None:
    run = a_run(0)
    ledger.claim(run, OWNER)
    sources = (Source("imap", True, 3), Source("feed", False, None, "401 Unauthorized"))
    judgement = Judgement(
        Verdict.WAKE, "wake", "a reason", "a hint", Gate(True, sources=sources, data={"a": [1, None, "ü"]}), "above"
    )
    execution = Execution(at(0), at(1), 0, None, stdout=Captured(b"out", b"\xff\x00"), stderr=Captured(b"err"))
    ledger.record(run, execution, judgement, lambda _view: Plan())
    assert ledger.run(run.id) == replace(
        run,
        state="ended",
        ended_at=at(1),
        verdict=Verdict.WAKE,
        code="wake",
        reason="a reason",
        hint="a hint",
        exit_code=0,
        stdout=Captured(b"out\xff\x00"),
        stderr=Captured(b"err"),
        sources=sources,
        data={"a": [1, None, "ü"]},
        context="above",
    )


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict is not Verdict.WAKE])
def test_the_text_above_the_gate_is_kept_only_for_a_wake(ledger: Ledger, verdict: Verdict) -> None:
    run = a_run(0)
    ledger.claim(run, OWNER)
    judgement = Judgement(verdict, "x", "y", context="above")
    ledger.record(run, Execution(at(0), at(1), signal=9), judgement, lambda _view: Plan())
    stored = ledger.run(run.id)
    assert (stored.context, stored.verdict, stored.signal, stored.exit_code) == ("", verdict, 9, None)


@pytest.mark.parametrize(("stream", "head", "tail"), [("stdout", 8 * 1024, 8 * 1024), ("stderr", 2 * 1024, 4 * 1024)])
@pytest.mark.parametrize("over", [-1, 0, 1, 5000])
def test_output_is_kept_up_to_its_limit_and_the_rest_counted(
    ledger: Ledger, stream: str, head: int, tail: int, over: int
) -> None:
    whole = bytes(i % 251 for i in range(head + tail + over))
    streams = {stream: Captured(whole[:9000], whole[9000:])}
    execution = Execution(at(0), at(0), **streams)  # type: ignore[arg-type]  # the stream's name is a parameter
    run = a_run(0)
    ledger.claim(run, OWNER)
    ledger.record(run, execution, Judgement(Verdict.QUIET, "", ""), lambda _view: Plan())
    kept = getattr(ledger.run(run.id), stream)
    assert kept.dropped == max(over, 0)
    assert kept.head == whole[:head]
    assert kept.tail == (whole[head:] if over <= 0 else whole[-tail:])


def test_output_that_was_cut_before_keeps_an_honest_count(ledger: Ledger) -> None:
    run = a_run(0)
    ledger.claim(run, OWNER)
    execution = Execution(at(0), at(0), stdout=Captured(b"h" * 9000, b"t" * 100, 7))
    ledger.record(run, execution, Judgement(Verdict.QUIET, "", ""), lambda _view: Plan())
    kept = ledger.run(run.id).stdout
    assert kept == Captured(b"h" * 8192, b"t" * 100, 7 + 9000 - 8192)


def test_a_run_is_recorded_once(ledger: Ledger) -> None:
    run = a_run(0)
    ledger.claim(run, OWNER)
    record(ledger, 0, run=run)
    with pytest.raises(Refused, match="is ended already"):
        record(ledger, 1, lambda _view: (decision("k", Action.BRIEF),), run=run)
    assert ledger.findings() == []


def test_a_run_that_was_never_claimed_is_not_recorded(ledger: Ledger) -> None:
    with pytest.raises(NotFound, match="cannot find the run 'run_"):
        record(ledger, 0, run=a_run(0))


def test_a_rule_that_fails_leaves_the_run_as_it_was(ledger: Ledger) -> None:
    def fails(_view: View) -> tuple[Decision, ...]:
        raise ZeroDivisionError

    run = a_run(0)
    ledger.claim(run, OWNER)
    with pytest.raises(ZeroDivisionError):
        record(ledger, 0, fails, run=run)
    assert ledger.run(run.id).state == "running"
    record(ledger, 0, run=run)


def test_an_abandoned_run_and_its_slot_are_interrupted(ledger: Ledger) -> None:
    run = a_run(0)
    ledger.claim(run, OWNER)
    ledger.abandon(run.id, "heartbeat stops", at(1))
    stored = ledger.run(run.id)
    assert (stored.state, stored.reason, stored.ended_at) == ("interrupted", "heartbeat stops", at(1))
    with pytest.raises(Refused, match="is interrupted already"):
        record(ledger, 2, run=run)
    with pytest.raises(Refused, match="is interrupted already"):
        ledger.abandon(run.id, "again", at(2))
    slot = slot_at(ledger, 0)
    assert (slot.state, slot.reason, slot.at) == (SlotState.INTERRUPTED, "heartbeat stops", at(1))
    ledger.claim(a_run(3), OWNER)


def test_what_a_process_that_is_gone_was_doing_is_found_and_not_changed(ledger: Ledger) -> None:
    gone, lives = a_run(0, "a"), a_run(0, "b")
    sent, waits = waking(ledger, 0, "c"), waking(ledger, 1, "d", target=Target("codex"))
    ledger.claim(gone, "1:1")
    ledger.claim(lives, "2:2")
    ledger.begin_wake(sent, "1:1", at(2))
    ledger.begin_wake(waits, "2:2", at(2))
    for _ in range(2):
        assert ledger.orphaned(lambda owner: owner == "2:2") == [gone.id, sent]
    assert ledger.orphaned(lambda _owner: True) == []


def test_runs_whose_process_is_gone_are_interrupted_and_others_are_not(ledger: Ledger) -> None:
    gone, lives = a_run(0, "a"), a_run(0, "b")
    ledger.claim(gone, "1:1")
    ledger.claim(lives, "2:2")
    record(ledger, 0, job="c")
    interrupted = ledger.interrupt(lambda owner: owner == "2:2", at(1))
    assert [(run.id, run.state) for run in interrupted] == [(gone.id, "interrupted")]
    assert ledger.run(lives.id).state == "running"
    assert ledger.interrupt(lambda _owner: True, at(2)) == []


def test_runs_are_listed_newest_first_even_when_the_clock_was_set_back(ledger: Ledger) -> None:
    ids = [record(ledger, minute)[0] for minute in (100, 110, 5)]
    other = record(ledger, 50, job="other")[0]
    assert [run.id for run in ledger.runs(JOB)] == ids[::-1]
    assert [run.id for run in ledger.runs(limit=2)] == [other, ids[-1]]
    assert {job: run.id for job, run in ledger.last_runs().items()} == {JOB: ids[-1], "other": other}


def test_the_choice_sees_what_the_ledger_knows_of_the_job(ledger: Ledger) -> None:
    streak = Streak(f"source:{JOB}/imap", 2, "401", at(-5))
    faults = (FaultChange(streak), FaultChange(Streak(f"source:{JOB}x/imap", 9)), FaultChange(Streak("job:other", 9)))
    finding = Finding(
        "k", "t", "v1", "mail", "body", Urgency.HIGH, at(60), at(30), at(-1), "imap", "https://x", "owner", False,
        WhenAbsent.FORGET, {"n": [1, 2.5, None, True]}, 3, "a part",
    )  # fmt: skip
    record(
        ledger,
        0,
        lambda _view: (Decision(finding, Action.BRIEF, Change.NEW, "quiet", "why"),),
        plan=Plan(faults=faults, backoff_until=at(7)),
        verdict=Verdict.FAILED,
    )
    record(ledger, 1, lambda _view: (decision("x", Action.BRIEF),), job="other")
    view = view_of(ledger, 8)
    (known,) = view.known.values()
    assert (known.finding, known.state, known.rule, known.sending) == (finding, State.BRIEF, "quiet", False)
    assert view.streaks == {streak.subject: streak}
    assert view.state.backoff_until == at(7)
    assert view.state.last_slot_at == at(8)
    assert not view.state.baseline_done


def test_a_view_holds_what_is_reported_and_what_must_not_go_absent_unseen(ledger: Ledger) -> None:
    keep, forget, retract = WhenAbsent.KEEP, WhenAbsent.FORGET, WhenAbsent.RETRACT
    kinds = {"reported": keep, "silent": keep, "disk": forget, "meeting": retract}
    record(ledger, 0, lambda _view: tuple(decision(key, Action.DROP, when_absent=kind) for key, kind in kinds.items()))
    record(ledger, 1, lambda _view: (decision("reported", Action.DROP),), job="other")
    view = ledger.view(JOB, ["reported", "unknown"], at(2))
    assert sorted(view.known) == ["disk", "meeting", "reported"]
    assert view.state == ledger.state(JOB)


def test_scopes_that_a_run_looked_at_whole_are_remembered_by_job(ledger: Ledger) -> None:
    def looked(*names: str, minute: float, job: str = JOB, verdict: Verdict = Verdict.QUIET) -> None:
        gate = Gate(wake=False, scopes=names)
        record(ledger, minute, job=job, judgement=Judgement(verdict, "x", "because", gate=gate))

    looked("a", "b", minute=0)
    looked("b", "c\udcff", minute=1)
    looked("other", minute=2, job="other")
    looked("from a failed run", minute=3, verdict=Verdict.FAILED)
    looked("b", minute=4)
    assert ledger.view(JOB, [], at(9)).scopes == {"a", "b", "c\\udcff"}
    assert ledger.view("other", [], at(9)).scopes == {"other"}
    assert ledger.prune(at(days(400)), timedelta(minutes=1), 10)["scopes"] == 0
    # A job that did not run since has forgotten nothing.
    assert ledger.prune(at(days(400) + 5), timedelta(minutes=1), 10)["scopes"] == 0


def test_a_scope_is_forgotten_when_no_run_has_looked_at_it_whole_for_long(ledger: Ledger) -> None:
    def looked(*names: str, minute: float) -> None:
        record(ledger, minute, judgement=Judgement(Verdict.QUIET, "x", "", gate=Gate(wake=False, scopes=names)))

    looked("a", "b", minute=0)
    looked("b", minute=days(399.5))
    assert ledger.prune(at(days(400)), DAY, 10)["scopes"] == 0
    assert ledger.prune(at(days(400) + 1), DAY, 10)["scopes"] == 1
    assert ledger.view(JOB, [], at(days(401))).scopes == {"b"}
    assert ledger.prune(at(days(402)), DAY * 500, 10)["scopes"] == 0


def test_a_duplicate_brings_what_its_absence_means_up_to_date_and_leaves_what_was_told(ledger: Ledger) -> None:
    record(ledger, 0, lambda _view: (decision("k", Action.BRIEF, when_absent=WhenAbsent.RETRACT, scope="old"),))
    new = Finding("k", "Another title", when_absent=WhenAbsent.FORGET, scope="new", absences=4, source="s",
                  useful_until=at(60))  # fmt: skip

    def again(view: View) -> tuple[Decision, ...]:
        return (replace(decision("k", Action.DUPLICATE, Change.SAME, view), finding=new),)

    record(ledger, 1, again)
    assert ledger.view(JOB, ["k"], at(2)).known["k"].finding == replace(new, title="Title of k")


def test_what_a_run_with_other_options_did_not_report_is_unsure_until_it_is_reported(ledger: Ledger) -> None:
    def unsure() -> dict[str, bool]:
        return {key: known.unsure for key, known in ledger.view(JOB, ["k", "l"], at(99)).known.items()}

    def record_with(minute: float, options: str, *keys: str, verdict: Verdict = Verdict.QUIET, ok: bool = True) -> None:
        def choose(view: View) -> tuple[Decision, ...]:
            more: dict[str, Any] = {"when_absent": WhenAbsent.RETRACT}
            return tuple(decision(key, Action.DUPLICATE, Change.SAME, view, **more) for key in keys)

        gate = Gate(wake=False, sources=(Source("s", ok=ok),))
        judgement = Judgement(verdict, "x", "because", gate=gate)
        record(ledger, minute, choose, plan=Plan(fingerprint=options), judgement=judgement)

    record(ledger, 0, lambda _v: tuple(decision(key, Action.BRIEF, when_absent=WhenAbsent.RETRACT) for key in "kl"))
    record_with(1, "one", "k", "l")
    record_with(2, "one", "k")
    assert unsure() == {"k": False, "l": False}
    record_with(3, "two", "k", verdict=Verdict.FAILED)
    assert unsure() == {"k": False, "l": False}
    record_with(4, "two", "k", ok=False)
    assert unsure() == {"k": False, "l": True}
    assert state_of(ledger).fingerprint == "two"
    record_with(5, "two", "k", ok=False)
    assert unsure() == {"k": False, "l": True}
    record_with(6, "two", "k", "l")
    assert unsure() == {"k": False, "l": False}


def test_absences_in_a_row_are_counted_and_a_report_ends_the_row(ledger: Ledger) -> None:
    def missed() -> int:
        return ledger.view(JOB, ["k"], at(9)).known["k"].missed

    record(ledger, 0, lambda _view: (decision("k", Action.BRIEF, when_absent=WhenAbsent.RETRACT),))
    finding_id = only(ledger).id
    for count in (1, 2):
        record(ledger, count, plan=Plan(missed=(finding_id,)))
        assert missed() == count
    record(ledger, 3, lambda view: (decision("k", Action.DUPLICATE, Change.SAME, view),))
    assert missed() == 0


def test_a_view_of_a_job_never_seen_changes_nothing(ledger: Ledger) -> None:
    view = ledger.view("new-job", ["k"], at(2))
    assert (view.state.anchor_at, view.known, view.streaks) == (at(2), {}, {})
    assert ledger.state("new-job") is None


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_complete_run_ends_the_baseline_and_the_plan_sets_the_backoff(ledger: Ledger, verdict: Verdict) -> None:
    record(ledger, 0, verdict=verdict, plan=Plan(backoff_until=at(9)))
    state = state_of(ledger)
    assert (state.baseline_done, state.backoff_until) == (not verdict.is_fault, at(9))
    record(ledger, 1, verdict=Verdict.FAILED)
    state = state_of(ledger)
    assert (state.baseline_done, state.backoff_until) == (not verdict.is_fault, None)


def test_decisions_are_read_back_in_order_with_their_traces(ledger: Ledger) -> None:
    def decide(_view: View) -> tuple[Decision, ...]:
        gone = decision("gone", Action.DROP, Change.RETRACTION)
        return (decision("b", Action.WAKE, kind="mail"), decision("a", Action.BRIEF), gone)

    run_id, _wake = record(ledger, 0, decide)
    read = ledger.decisions(run_id)
    assert [made for _id, made in read] == [replace(each, target=Target()) for each in decide(View(state_of(ledger)))]
    assert [finding_id for finding_id, _made in read] == [only(ledger, "b").id, only(ledger, "a").id, None]
    with pytest.raises(NotFound):
        ledger.decisions("run_x")


def test_the_decisions_about_one_finding_can_be_asked_for(ledger: Ledger) -> None:
    def choose(view: View) -> tuple[Decision, ...]:
        again = decision("a", Action.DUPLICATE, Change.SAME, view)
        return (again, decision("b", Action.WAKE), replace(again, reason="again"))

    record(ledger, 0, lambda _view: (decision("a", Action.BRIEF),))
    run_id, _wake = record(ledger, 1, choose)
    every = ledger.decisions(run_id)
    assert ledger.decisions(run_id, only(ledger, "a").id) == [every[0], every[2]]
    assert ledger.decisions(run_id, only(ledger, "b").id) == [every[1]]
    assert ledger.decisions(run_id, "fnd_x") == ledger.decisions(run_id, "\udcff") == []


# Findings: the effects of decisions


@pytest.mark.parametrize(
    ("action", "rule", "state"),
    [
        (Action.WAKE, "wake", State.WAKE),
        (Action.HOLD, "quiet_hours", State.HELD),
        (Action.BRIEF, "quiet", State.BRIEF),
        (Action.DROP, "muted", State.DROPPED),
        (Action.DROP, "baseline", State.KNOWN),
    ],
)
def test_a_new_finding_stands_where_its_decision_puts_it(
    ledger: Ledger, action: Action, rule: str, state: State
) -> None:
    run_id, wake_id = record(ledger, 3, lambda _view: (decision("k", action, rule=rule),))
    row = only(ledger)
    assert (row.state, row.change, row.rule, row.reason) == (state, Change.NEW, rule, f"{action} it")
    assert (row.current, row.first_seen_at, row.last_seen_at, row.run_id) == (True, at(3), at(3), run_id)
    assert (wake_id is not None, row.wake_id) == (action is Action.WAKE, wake_id)
    assert [(event.state, event.rule, event.at, event.run_id, event.wake_id) for event in row.events] == [
        (state, rule, at(3), run_id, wake_id)
    ]


def test_a_wake_is_a_row_before_the_agent_is_called(ledger: Ledger) -> None:
    run_id, wake_id = record(
        ledger, 3, lambda _view: (decision("a", Action.WAKE), decision("b", Action.BRIEF), decision("c", Action.WAKE))
    )
    assert wake_id is not None
    wake = ledger.wake(wake_id)
    assert wake == Wake(wake_id, JOB, run_id, "claude", "pending", at(3), at(3), findings=wake.findings)
    assert [row.finding.key for row in wake.findings] == ["a", "c"]


@pytest.mark.parametrize(
    ("untils", "expected"), [((at(5), at(9)), at(9)), ((at(5), None), None), ((None,), None), ((at(5),), at(5))]
)
def test_a_wake_is_useful_as_long_as_any_of_its_findings(
    ledger: Ledger, untils: tuple[datetime | None, ...], expected: datetime | None
) -> None:
    _run, wake_id = record(
        ledger,
        0,
        lambda _view: tuple(decision(f"k{n}", Action.WAKE, useful_until=until) for n, until in enumerate(untils)),
    )
    assert wake_id is not None
    assert ledger.wake(wake_id).useful_until == expected


def test_a_duplicate_is_seen_again_and_nothing_else_changes(ledger: Ledger) -> None:
    record(ledger, 0, lambda _view: (decision("k", Action.BRIEF),))
    before = only(ledger)
    run_id, wake_id = record(ledger, 2, lambda view: (decision("k", Action.DUPLICATE, Change.SAME, view),))
    assert only(ledger) == replace(before, last_seen_at=at(2))
    assert wake_id is None
    assert ledger.decisions(run_id)[0][0] == before.id


@pytest.mark.parametrize("action", [Action.HOLD, Action.BRIEF, Action.WAKE])
def test_an_update_withdraws_what_it_replaces_while_that_is_untold(ledger: Ledger, action: Action) -> None:
    _run, first_wake = record(ledger, 0, lambda _view: (decision("k", action),))
    record(ledger, 1, lambda view: (decision("k", Action.WAKE, Change.NEW, view, version="2"),))
    assert states(ledger) == [State.WITHDRAWN, State.WAKE]
    new, old = ledger.findings(key="k")
    assert (old.current, old.reason, new.current) == (False, f"replaced by {new.id}", True)
    if first_wake:
        begun = ledger.begin_wake(first_wake, OWNER, at(2))
        assert begun is not None, "what replaces it is for the same target, so that it shares the wake"
        assert [row.id for row in begun.findings] == [new.id]


def test_a_wake_whose_only_finding_is_replaced_by_one_for_another_target_is_cancelled(ledger: Ledger) -> None:
    first_wake = waking(ledger, 0, "k")
    other = Target("codex")
    record(ledger, 1, lambda view: (decision("k", Action.WAKE, Change.NEW, view, target=other, version="2"),))
    assert states(ledger) == [State.WITHDRAWN, State.WAKE]
    assert ledger.wake(first_wake).state == "cancelled"
    assert ledger.begin_wake(first_wake, OWNER, at(2)) is None


def test_a_wake_that_loses_one_finding_carries_the_rest(ledger: Ledger) -> None:
    wake_id = waking(ledger, 0, "a", "b", useful_until=at(9))
    record(ledger, 1, lambda view: (decision("a", Action.BRIEF, Change.NEW, view, version="2"),))
    begun = ledger.begin_wake(wake_id, OWNER, at(2))
    assert begun is not None
    assert [row.finding.key for row in begun.findings] == ["b"]


def test_an_update_of_something_told_is_one_more_row(ledger: Ledger) -> None:
    told(ledger, 0)
    record(ledger, 1, lambda view: (decision("k", Action.WAKE, Change.UPDATE, view, version="2"),))
    assert states(ledger) == [State.TOLD, State.WAKE]
    assert [row.change for row in ledger.findings(key="k")] == [Change.UPDATE, Change.NEW]


def test_what_is_with_the_agent_right_now_is_not_withdrawn(ledger: Ledger) -> None:
    wake_id = waking(ledger, 0, "k")
    ledger.begin_wake(wake_id, OWNER, at(0))
    sending: list[bool] = []

    def decide(view: View) -> tuple[Decision, ...]:
        sending.append(view.known["k"].sending)
        return (decision("k", Action.WAKE, Change.UPDATE, view, version="2"),)

    record(ledger, 1, decide)
    assert sending == [True]
    ledger.settle_wake(wake_id, Reply(), (), at(2))
    assert states(ledger) == [State.TOLD, State.WAKE]


def test_what_waited_for_the_brief_can_be_promoted_to_a_wake(ledger: Ledger) -> None:
    record(ledger, 0, lambda _view: (decision("k", Action.BRIEF),))
    _run, wake_id = record(ledger, 1, lambda view: (decision("k", Action.WAKE, Change.SAME, view),))
    assert wake_id is not None
    row = only(ledger)
    assert (row.state, row.wake_id, row.first_seen_at, row.last_seen_at) == (State.WAKE, wake_id, at(0), at(1))
    assert [event.state for event in row.events] == [State.BRIEF, State.WAKE]
    assert [row.id for row in ledger.wake(wake_id).findings] == [row.id]


@pytest.mark.parametrize(("action", "events"), [(Action.BRIEF, 1), (Action.DROP, 2), (Action.HOLD, 2)])
def test_the_same_again_moves_only_to_another_state(ledger: Ledger, action: Action, events: int) -> None:
    record(ledger, 0, lambda _view: (decision("k", Action.BRIEF),))
    record(ledger, 1, lambda view: (decision("k", action, Change.SAME, view),))
    row = only(ledger)
    assert (len(row.events), row.last_seen_at, row.current) == (events, at(1), True)
    assert row.state == {Action.BRIEF: State.BRIEF, Action.DROP: State.DROPPED, Action.HOLD: State.HELD}[action]


@pytest.mark.parametrize(("action", "state"), [(Action.WAKE, State.WAKE), (Action.BRIEF, State.BRIEF)])
def test_a_retraction_is_told_as_a_row_of_its_own(ledger: Ledger, action: Action, state: State) -> None:
    first = told(ledger, 0)
    record(ledger, 1, lambda view: (decision("k", action, Change.RETRACTION, view, retract=True),))
    retraction, before = ledger.findings(key="k")
    assert (before.id, before.state, before.current) == (first.id, State.TOLD, False)
    assert (retraction.change, retraction.state, retraction.current) == (Change.RETRACTION, state, False)
    known = view_of(ledger, 2).known["k"]
    assert (known.finding_id, known.retracting) == (first.id, retraction.id)


@pytest.mark.parametrize("action", [Action.HOLD, Action.BRIEF, Action.WAKE])
def test_a_retraction_takes_an_update_that_still_waits_with_it(ledger: Ledger, action: Action) -> None:
    told(ledger, 0)
    record(ledger, 1, lambda view: (decision("k", action, Change.UPDATE, view, version="2"),))
    known = view_of(ledger, 2).known["k"]
    assert (known.change, known.state.was_told) == (Change.UPDATE, False)
    record(ledger, 3, lambda view: (decision("k", Action.BRIEF, Change.RETRACTION, view),))
    assert states(ledger) == [State.TOLD, State.WITHDRAWN, State.BRIEF]


def test_a_retraction_of_nothing_leaves_only_its_decision(ledger: Ledger) -> None:
    run_id, wake_id = record(ledger, 0, lambda view: (decision("k", Action.DROP, Change.RETRACTION, view),))
    assert ledger.findings() == []
    assert wake_id is None
    assert [made.change for _id, made in ledger.decisions(run_id)] == [Change.RETRACTION]


@pytest.mark.parametrize("action", [Action.HOLD, Action.BRIEF, Action.WAKE])
def test_a_withdrawal_takes_back_what_waits_silently(ledger: Ledger, action: Action) -> None:
    _run, wake_id = record(ledger, 0, lambda _view: (decision("k", action),))
    record(ledger, 1, lambda view: (decision("k", Action.DROP, Change.WITHDRAWAL, view, rule="absent"),))
    row = only(ledger)
    assert (row.state, row.rule, row.current) == (State.WITHDRAWN, "absent", False)
    assert ledger.due_wakes(at(9)) == []
    assert ledger.brief(at(9)).items == ()
    if wake_id:
        assert ledger.wake(wake_id).state == "cancelled"


@pytest.mark.parametrize("action", [Action.HOLD, Action.BRIEF, Action.WAKE])
def test_a_condition_that_ended_is_still_told_and_its_return_is_new(ledger: Ledger, action: Action) -> None:
    record(ledger, 0, lambda _view: (decision("k", action),))
    before = only(ledger)
    record(ledger, 1, lambda view: (decision("k", Action.DROP, Change.FORGOTTEN, view),))
    assert only(ledger) == replace(before, current=False)
    record(ledger, 2, lambda view: (decision("k", Action.BRIEF, Change.NEW, view),))
    assert states(ledger) == [before.state, State.BRIEF]


# Findings: a key twice in one run


def made_here(key: str, action: Action, change: Change, state: State, **more: Any) -> Decision:
    """About the row that an earlier decision of the same run has made."""
    base = decision(key, action, change, **more)
    return replace(base, known=Known("", Finding(key, "before"), state, "rule"))


def test_a_key_twice_in_one_run_is_one_thing_to_tell(ledger: Ledger) -> None:
    _run, wake_id = record(
        ledger,
        0,
        lambda _view: (
            decision("k", Action.WAKE),
            made_here("k", Action.DUPLICATE, Change.SAME, State.WAKE),
            made_here("k", Action.WAKE, Change.NEW, State.WAKE, version="2"),
            made_here("k", Action.BRIEF, Change.NEW, State.WAKE, version="3"),
            decision("other", Action.WAKE),
        ),
    )
    assert states(ledger) == [State.WITHDRAWN, State.WITHDRAWN, State.BRIEF]
    assert wake_id is not None
    begun = ledger.begin_wake(wake_id, OWNER, at(1))
    assert begun is not None
    assert [row.finding.key for row in begun.findings] == ["other"]


def test_a_wake_whose_only_finding_is_taken_back_in_the_same_run_is_not_made(ledger: Ledger) -> None:
    run_id, wake_id = record(
        ledger,
        0,
        lambda _view: (
            decision("k", Action.WAKE),
            made_here("k", Action.DROP, Change.WITHDRAWAL, State.WAKE),
        ),
    )
    assert wake_id is None
    assert only(ledger).state is State.WITHDRAWN
    assert ledger.due_wakes(at(9)) == []
    assert [finding_id for finding_id, _made in ledger.decisions(run_id)] == [only(ledger).id] * 2


def test_a_finding_made_and_promoted_in_one_run_is_told_once(ledger: Ledger) -> None:
    wake_id = record(
        ledger,
        0,
        lambda _view: (
            decision("k", Action.BRIEF),
            made_here("k", Action.WAKE, Change.SAME, State.BRIEF),
            made_here("k", Action.DROP, Change.FORGOTTEN, State.WAKE),
        ),
    )[1]
    row = only(ledger)
    assert (row.state, row.wake_id, row.current) == (State.WAKE, wake_id, False)


# Wakes


def test_a_wake_is_handed_over_by_one_process_at_a_time(ledger: Ledger) -> None:
    wake_id = waking(ledger, 0, "k")
    begun = ledger.begin_wake(wake_id, OWNER, at(1))
    assert begun is not None
    assert (begun.state, begun.attempts) == ("sending", 1)
    assert [(attempt.number, attempt.started_at, attempt.outcome) for attempt in begun.history] == [
        (1, at(1), "running")
    ]
    assert ledger.begin_wake(wake_id, "5:5", at(1)) is None
    assert ledger.due_wakes(at(9)) == []


def test_a_settled_wake_has_told_its_findings(ledger: Ledger) -> None:
    wake_id = waking(ledger, 0, "a", "b")
    ledger.begin_wake(wake_id, OWNER, at(1))
    ledger.settle_wake(wake_id, Reply("done"), (), at(2))
    wake = ledger.wake(wake_id)
    assert (wake.state, wake.reply, wake.settled_at, wake.error) == ("settled", "done", at(2), "")
    assert [(attempt.outcome, attempt.ended_at) for attempt in wake.history] == [("accepted", at(2))]
    assert {row.state for row in wake.findings} == {State.TOLD}
    assert [event.state for event in only(ledger, "a").events] == [State.WAKE, State.TOLD]


def test_a_postponed_wake_is_due_at_its_next_instant(ledger: Ledger) -> None:
    wake_id = waking(ledger, 0, "k")
    ledger.begin_wake(wake_id, OWNER, at(0))
    ledger.postpone_wake(wake_id, "503", at(5), at(1))
    assert ledger.due_wakes(at(4.99)) == []
    assert ledger.due_wakes(at(5)) == [wake_id]
    wake = ledger.wake(wake_id)
    assert (wake.state, wake.error, wake.attempts) == ("pending", "503", 1)
    assert [(attempt.outcome, attempt.message) for attempt in wake.history] == [("failed", "503")]
    again = ledger.begin_wake(wake_id, OWNER, at(5))
    assert again is not None
    assert again.attempts == 2


def test_due_wakes_come_oldest_first(ledger: Ledger) -> None:
    first, second = waking(ledger, 0, "a"), waking(ledger, 1, "b", target=Target("codex"))
    ledger.begin_wake(first, OWNER, at(1))
    ledger.postpone_wake(first, "503", at(5), at(1))
    assert ledger.due_wakes(at(9)) == [first, second]


@pytest.mark.parametrize("begun", [True, False])
def test_findings_of_a_wake_given_up_wait_for_the_brief(ledger: Ledger, *, begun: bool) -> None:
    wake_id = waking(ledger, 0, "k")
    if begun:
        ledger.begin_wake(wake_id, OWNER, at(1))
    ledger.give_up_wake(wake_id, "no answer", at(2))
    wake = ledger.wake(wake_id)
    assert (wake.state, wake.error, wake.next_attempt_at) == ("failed", "no answer", None)
    row = only(ledger)
    assert (row.state, row.rule, row.reason) == (State.BRIEF, "agent_failed", "no answer")
    assert [item.id for item in ledger.brief(at(3)).items] == [row.id]


def test_what_was_replaced_while_its_wake_failed_is_withdrawn(ledger: Ledger) -> None:
    wake_id = waking(ledger, 0, "k", "other")
    ledger.begin_wake(wake_id, OWNER, at(1))
    record(ledger, 2, lambda view: (decision("k", Action.BRIEF, Change.UPDATE, view, version="2"),))
    ledger.give_up_wake(wake_id, "no answer", at(3))
    assert states(ledger) == [State.WITHDRAWN, State.BRIEF]
    assert states(ledger, "other") == [State.BRIEF]


def test_neither_a_retraction_nor_an_ended_condition_is_lost_with_its_wake(ledger: Ledger) -> None:
    told(ledger, 0)
    _run, wake_id = record(
        ledger,
        1,
        lambda view: (decision("k", Action.WAKE, Change.RETRACTION, view), decision("disk", Action.WAKE)),
    )
    record(ledger, 2, lambda view: (decision("disk", Action.DROP, Change.FORGOTTEN, view),))
    assert wake_id is not None
    ledger.begin_wake(wake_id, OWNER, at(3))
    ledger.give_up_wake(wake_id, "no answer", at(3))
    assert [(item.finding.key, item.change) for item in ledger.brief(at(4)).items] == [
        ("k", Change.RETRACTION), ("disk", Change.NEW),
    ]  # fmt: skip


def test_wakes_of_a_process_that_is_gone_are_due_again(ledger: Ledger) -> None:
    gone, lives, waits = (waking(ledger, n, key, target=Target(key)) for n, key in enumerate("abc"))
    ledger.begin_wake(gone, "1:1", at(3))
    ledger.begin_wake(lives, "2:2", at(3))
    ledger.begin_wake(waits, "2:2", at(3))
    ledger.postpone_wake(waits, "503", at(500), at(3))
    assert ledger.release_wakes(lambda owner: owner == "2:2", at(4)) == [gone]
    assert ledger.due_wakes(at(4)) == [gone, waits]
    assert [attempt.outcome for attempt in ledger.wake(gone).history] == ["interrupted"]
    assert ledger.wake(lives).state == "sending"
    again = ledger.begin_wake(gone, "2:2", at(4))
    assert again is not None
    assert [row.finding.key for row in again.findings] == ["a"]


def test_a_cancelled_wake_drops_its_findings(ledger: Ledger) -> None:
    wake_id = waking(ledger, 0, "k")
    ledger.cancel_wake(wake_id, "not today", at(1))
    row = only(ledger)
    assert (row.state, row.rule, row.reason) == (State.DROPPED, "cancelled", "not today")
    assert ledger.wake(wake_id).state == "cancelled"
    assert ledger.brief(at(2)).items == ()


@pytest.mark.parametrize("end", ["failed", "cancelled"])
def test_a_wake_that_ended_badly_can_be_retried_with_its_findings(ledger: Ledger, end: str) -> None:
    wake_id = waking(ledger, 0, "k", useful_until=at(60))
    if end == "failed":
        ledger.give_up_wake(wake_id, "no answer", at(1))
    else:
        ledger.cancel_wake(wake_id, "not today", at(1))
    ledger.retry_wake(wake_id, at(2))
    assert ledger.due_wakes(at(2)) == [wake_id]
    assert ledger.brief(at(2)).items == ()
    begun = ledger.begin_wake(wake_id, OWNER, at(2))
    assert begun is not None
    assert [row.state for row in begun.findings] == [State.WAKE]
    assert (begun.useful_until, begun.error) == (at(60), "")


def test_a_pending_wake_that_is_retried_is_due_now(ledger: Ledger) -> None:
    wake_id = waking(ledger, 0, "k")
    ledger.begin_wake(wake_id, OWNER, at(0))
    ledger.postpone_wake(wake_id, "503", at(500), at(0))
    ledger.retry_wake(wake_id, at(1))
    assert ledger.due_wakes(at(1)) == [wake_id]


def test_a_wake_is_not_retried_for_what_the_brief_told_meanwhile(ledger: Ledger) -> None:
    wake_id = waking(ledger, 0, "k")
    ledger.give_up_wake(wake_id, "no answer", at(1))
    ledger.consume_brief(at(2))
    with pytest.raises(Refused, match="nothing in it is left to tell"):
        ledger.retry_wake(wake_id, at(3))
    assert ledger.wake(wake_id).state == "failed"
    assert only(ledger).state is State.BRIEFED


def _to_state(ledger: Ledger, wake_id: str, state: str) -> None:
    if state in ("sending", "settled"):
        ledger.begin_wake(wake_id, OWNER, at(1))
    if state == "settled":
        ledger.settle_wake(wake_id, Reply(), (), at(1))
    elif state == "failed":
        ledger.give_up_wake(wake_id, "x", at(1))
    elif state == "cancelled":
        ledger.cancel_wake(wake_id, "x", at(1))


@pytest.mark.parametrize(
    ("state", "verb"),
    [
        *[(state, "settle") for state in ("pending", "settled", "failed", "cancelled")],
        *[(state, "postpone") for state in ("pending", "settled", "failed", "cancelled")],
        *[(state, "give_up") for state in ("settled", "failed", "cancelled")],
        *[(state, "retry") for state in ("sending", "settled")],
        *[(state, "cancel") for state in ("sending", "settled", "failed", "cancelled")],
    ],
)
def test_a_wake_in_the_wrong_state_is_left_alone(ledger: Ledger, state: str, verb: str) -> None:
    wake_id = waking(ledger, 0, "k")
    _to_state(ledger, wake_id, state)
    before = (ledger.wake(wake_id), only(ledger))
    calls: dict[str, Callable[[], None]] = {
        "settle": lambda: ledger.settle_wake(wake_id, Reply(), (), at(2)),
        "postpone": lambda: ledger.postpone_wake(wake_id, "", at(3), at(2)),
        "give_up": lambda: ledger.give_up_wake(wake_id, "", at(2)),
        "retry": lambda: ledger.retry_wake(wake_id, at(2)),
        "cancel": lambda: ledger.cancel_wake(wake_id, "", at(2)),
    }
    with pytest.raises(Refused, match=f"^cannot .*: it is {state}, not "):
        calls[verb]()
    assert (ledger.wake(wake_id), only(ledger)) == before


@pytest.mark.parametrize(
    "call",
    [
        lambda ledger: ledger.run("x"),
        lambda ledger: ledger.finding("x"),
        lambda ledger: ledger.wake("x"),
        lambda ledger: ledger.decisions("x"),
        lambda ledger: ledger.abandon("x", "", T0),
        lambda ledger: ledger.begin_wake("x", OWNER, T0),
        lambda ledger: ledger.settle_wake("x", Reply(), (), T0),
        lambda ledger: ledger.postpone_wake("x", "", T0, T0),
        lambda ledger: ledger.give_up_wake("x", "", T0),
        lambda ledger: ledger.retry_wake("x", T0),
        lambda ledger: ledger.cancel_wake("x", "", T0),
        lambda ledger: ledger.cancel_item("x", T0),
        lambda ledger: ledger.run("\udcff"),
        lambda ledger: ledger.finding("\udcff"),
        lambda ledger: ledger.wake("\udcff"),
        lambda ledger: ledger.decisions("\udcff"),
        lambda ledger: ledger.retry_wake("\udcff", T0),
        lambda ledger: ledger.cancel_wake("\udcff", "", T0),
        lambda ledger: ledger.cancel_item("\udcff", T0),
    ],
)
def test_what_does_not_exist_is_not_found(ledger: Ledger, call: Callable[[Ledger], object]) -> None:
    with pytest.raises(NotFound, match=r"^cannot find the .*; `heartbeat "):
        call(ledger)


def test_nothing_is_listed_under_a_name_that_cannot_be_decoded(ledger: Ledger) -> None:
    record(ledger, 0, lambda _view: (decision("k", Action.BRIEF),))
    assert ledger.findings(job="\udcff") == ledger.findings(key="\udcff") == []
    assert ledger.runs("\udcff") == []
    assert ledger.state("\udcff") is None
    assert ledger.slots("\udcff") == ledger.slots("\udcff", at=T0) == []
    assert ledger.view("\udcff", ["\udcff"], T0) == View(JobState("\udcff", T0))
    assert ledger.recover("job:\udcff", T0) is None


def test_wakes_and_findings_are_listed_newest_first_by_state(ledger: Ledger) -> None:
    first, second = waking(ledger, 0, "a"), waking(ledger, 1, "b", target=Target("codex"))
    ledger.cancel_wake(first, "", at(2))
    record(ledger, 3, lambda _view: (decision("c", Action.BRIEF),), job="other")
    assert [wake.id for wake in ledger.wakes()] == [second, first]
    assert [wake.id for wake in ledger.wakes("cancelled")] == [first]
    assert [wake.id for wake in ledger.wakes(limit=1)] == [second]
    assert [row.finding.key for row in ledger.findings()] == ["c", "b", "a"]
    assert [row.finding.key for row in ledger.findings(JOB)] == ["b", "a"]
    assert [row.finding.key for row in ledger.findings(state="dropped")] == ["a"]
    assert [row.finding.key for row in ledger.findings(limit=1)] == ["c"]


def test_an_unknown_state_lists_the_known_ones(ledger: Ledger) -> None:
    with pytest.raises(Invalid, match="'sleeping'; the states are pending, sending, settled, failed, cancelled"):
        ledger.wakes("sleeping")
    with pytest.raises(Invalid, match="the states are wake, held, brief, told"):
        ledger.findings(state="lost")
    with pytest.raises(
        Invalid, match="list slots in state 'lost'; the states are claimed, ran, skipped, missed, inter"
    ):
        ledger.slots(state="lost")


# Faults and incidents


def fault_change(faults: int, *, opens: bool = False, resolves: bool = False) -> Plan:
    streak = Streak(f"job:{JOB}", faults, "exit 1" if faults else "", None if faults else at(0))
    return Plan(faults=(FaultChange(streak, opens, resolves, "failed"),))


def test_an_incident_is_raised_once_and_resolved_once(ledger: Ledger) -> None:
    record(ledger, 0, plan=fault_change(3, opens=True), verdict=Verdict.FAILED)
    record(ledger, 1, plan=fault_change(4, opens=True), verdict=Verdict.FAILED)
    (incident,) = ledger.incidents(open_only=True)
    assert (incident.subject, incident.code, incident.message, incident.opened_at, incident.resolved_at) == (
        f"job:{JOB}", "failed", "exit 1", at(0), None,
    )  # fmt: skip
    record(ledger, 2, plan=fault_change(0, resolves=True))
    record(ledger, 3, plan=fault_change(0, resolves=True))
    assert ledger.incidents(open_only=True) == []
    assert [incident.resolved_at for incident in ledger.incidents()] == [at(2)]
    record(ledger, 4, plan=fault_change(3, opens=True), verdict=Verdict.FAILED)
    assert [incident.opened_at for incident in ledger.incidents()] == [at(4), at(0)]
    assert len(ledger.incidents(limit=1)) == 1


def test_an_agent_has_incidents_too(ledger: Ledger) -> None:
    opened = ledger.fault("agent:claude", "unreachable", "no answer", at(0))
    assert opened is not None
    assert ledger.fault("agent:claude", "unreachable", "again", at(1)) is None
    assert ledger.incidents() == [opened]
    assert ledger.recover("agent:claude", at(2)) == replace(opened, resolved_at=at(2), tell_at=None)
    assert ledger.recover("agent:claude", at(3)) is None


# The brief


def test_the_brief_tells_what_waits_oldest_first_and_changes_nothing(ledger: Ledger) -> None:
    record(ledger, 5, lambda _view: (decision("b", Action.BRIEF), decision("held", Action.HOLD)))
    record(ledger, 3, lambda _view: (decision("a", Action.BRIEF),))
    waking(ledger, 6, "wake")
    for _ in range(2):
        brief = ledger.brief(at(9))
        assert [item.finding.key for item in brief.items] == ["a", "b"]
        assert (brief.since, brief.until, brief.id[:6]) == (None, at(9), "brief_")


def test_a_consumed_brief_is_told_once(ledger: Ledger) -> None:
    record(ledger, 0, lambda _view: (decision("k", Action.BRIEF),))
    brief = ledger.consume_brief(at(1))
    row = only(ledger)
    assert [item.id for item in brief.items] == [row.id]
    assert (row.state, row.brief_id) == (State.BRIEFED, brief.id)
    assert row.events[-1].brief_id == brief.id
    assert ledger.consume_brief(at(2)).items == ()
    assert ledger.brief(at(3)).since == at(1)


def test_an_empty_brief_leaves_no_trace(ledger: Ledger) -> None:
    assert ledger.consume_brief(at(1)).id.startswith("brief_")
    assert ledger.brief(at(2)).since is None


def test_a_brief_since_an_instant_leaves_the_rest_waiting(ledger: Ledger) -> None:
    record(ledger, 0, lambda _view: (decision("old", Action.BRIEF),))
    record(ledger, 5, lambda _view: (decision("new", Action.BRIEF),))
    assert [item.finding.key for item in ledger.brief(at(9), at(5)).items] == ["new"]
    assert [item.finding.key for item in ledger.consume_brief(at(9), at(5)).items] == ["new"]
    assert [item.finding.key for item in ledger.brief(at(9)).items] == ["old"]


def test_an_incident_is_told_when_it_opens_and_when_it_is_over(ledger: Ledger) -> None:
    ledger.fault("agent:claude", "unreachable", "no answer", at(0))
    assert [incident.resolved_at for incident in ledger.brief(at(1)).incidents] == [None]
    assert [incident.resolved_at for incident in ledger.consume_brief(at(1)).incidents] == [None]
    assert ledger.consume_brief(at(2)).incidents == ()
    ledger.recover("agent:claude", at(3))
    assert [incident.resolved_at for incident in ledger.consume_brief(at(4)).incidents] == [at(3)]
    assert ledger.consume_brief(at(5)).incidents == ()


def test_an_incident_over_before_the_brief_is_told_once(ledger: Ledger) -> None:
    ledger.fault("agent:claude", "unreachable", "no answer", at(0))
    ledger.recover("agent:claude", at(1))
    assert len(ledger.consume_brief(at(2)).incidents) == 1
    assert ledger.consume_brief(at(3)).incidents == ()


# The queue


def an_item(**more: Any) -> QueueItem:
    return replace(QueueItem("", "rent", "pay the rent", at(60)), **more)


def tell_item(ledger: Ledger, minute: float, item: QueueItem, action: Action = Action.BRIEF) -> None:
    """What the shipped script and the rules do with a due item."""
    told = telling(item, at(minute))
    record(ledger, minute, lambda _view: (decision(told.key, action, version=told.version),), job="due-queue")


def test_a_key_given_twice_is_one_item(ledger: Ledger) -> None:
    item, new = ledger.enqueue(an_item(urgency=Urgency.HIGH, source="shell", until=at(90)), at(0))
    assert new
    assert item == an_item(id=item.id, urgency=Urgency.HIGH, source="shell", until=at(90))
    assert ledger.enqueue(replace(item, id=""), at(1)) == (item, False)
    changed, new = ledger.enqueue(an_item(message="pay it"), at(2))
    assert (changed, new) == (an_item(id=item.id, message="pay it"), False)
    assert ledger.queue(at(2)) == [changed]


def test_items_without_a_key_are_items_of_their_own(ledger: Ledger) -> None:
    for _ in range(2):
        item, new = ledger.enqueue(an_item(key=""), at(0))
        assert (item.key, new) == (item.id, True)
    assert len(ledger.queue(at(0))) == 2


def test_items_are_listed_by_due_instant(ledger: Ledger) -> None:
    for key, due in (("late", 60), ("early", 5), ("over", 30)):
        ledger.enqueue(an_item(key=key, due_at=at(due)), at(0))
    ledger.cancel_item("over", at(1))
    assert [item.key for item in ledger.queue(at(1))] == ["early", "over", "late"]
    assert [item.key for item in ledger.queue(at(1), waiting_only=True)] == ["early", "late"]


@pytest.mark.parametrize("by_id", [True, False])
def test_a_waiting_item_can_be_cancelled_once(ledger: Ledger, *, by_id: bool) -> None:
    item, _new = ledger.enqueue(an_item(), at(0))
    name = item.id if by_id else item.key
    assert ledger.cancel_item(name, at(1)) == replace(item, state="cancelled")
    with pytest.raises(Refused, match="it is cancelled already"):
        ledger.cancel_item(name, at(2))


def test_a_cancelled_item_stays_so_until_it_is_changed(ledger: Ledger) -> None:
    ledger.enqueue(an_item(), at(0))
    ledger.cancel_item("rent", at(1))
    assert ledger.enqueue(an_item(), at(2))[0].state == "cancelled"
    assert ledger.enqueue(an_item(message="really"), at(3))[0].state == "waiting"


def test_an_item_is_told_when_its_finding_is(ledger: Ledger) -> None:
    item, _new = ledger.enqueue(an_item(), at(0))
    tell_item(ledger, 60, item)
    assert [found.state for found in ledger.queue(at(61))] == ["due"]
    ledger.consume_brief(at(62))
    assert [found.state for found in ledger.queue(at(63))] == ["told"]
    assert ledger.queue(at(63), waiting_only=True) == []
    with pytest.raises(Refused, match="it is told already"):
        ledger.cancel_item("rent", at(64))
    again, _new = ledger.enqueue(an_item(message="pay it again"), at(65))
    assert again.state == "due"


def test_the_version_of_an_item_is_its_instant_and_its_message() -> None:
    item = an_item()
    assert telling(item, at(0)).version == "2026-06-10T09:00:00.000000Z|cfea48e5ef2b"
    assert telling(replace(item, urgency=Urgency.LOW, source="x", until=at(99)), at(0)) == telling(item, at(0))


# Upkeep

DAY = timedelta(days=1)


def days(number: float) -> float:
    """In minutes, as `at` wants them."""
    return number * 24 * 60


def test_pruning_removes_what_is_old_and_settled(ledger: Ledger) -> None:
    told(ledger, 0, "old")
    record(ledger, 1)
    pass_over(ledger, 2, fate(2))
    ledger.note_clock(ClockEvent(at(2), "back", -1.0, ""))
    record(ledger, 3)
    ledger.fault("agent:a", "x", "y", at(0))
    ledger.recover("agent:a", at(1))
    ledger.consume_brief(at(2))
    ledger.fault("agent:a", "x", "y", at(days(30)))
    ledger.consume_brief(at(days(30)))
    record(ledger, days(30), lambda _view: (decision("new", Action.DROP),))
    counts = ledger.prune(at(days(31)), DAY * 7, 10)
    assert counts == {
        "queue": 0, "findings": 1, "wakes": 1, "runs": 3, "incidents": 1, "briefs": 1, "slots": 4, "scopes": 0,
        "clock_events": 1, "outputs": 0, "messages": 0, "holds": 0, "overrides": 0,
    }  # fmt: skip
    assert [row.finding.key for row in ledger.findings()] == ["new"]
    assert len(ledger.runs()) == 1
    assert ledger.wakes() == []
    assert len(ledger.incidents()) == 1
    assert ledger.brief(at(days(31))).since == at(days(30))
    assert not any(ledger.prune(at(days(31)), DAY * 7, 10).values())


def test_pruning_keeps_what_has_not_been_told(ledger: Ledger) -> None:
    record(ledger, 0, lambda _view: (decision("brief", Action.BRIEF),))
    held_id, _none = record(ledger, 0.5, lambda _view: (decision("held", Action.HOLD),))
    run_id, wake_id = record(ledger, 1, lambda _view: (decision("wake", Action.WAKE),))
    running = a_run(2)
    ledger.claim(running, OWNER)
    ledger.fault("agent:open", "x", "y", at(0))
    ledger.fault("agent:over", "x", "y", at(0))
    ledger.recover("agent:over", at(1))
    waiting, _new = ledger.enqueue(an_item(due_at=at(3)), at(0))
    record(ledger, 4, job="other")
    ledger.prune(at(days(400)), DAY, 0)
    assert sorted(row.finding.key for row in ledger.findings()) == ["brief", "held", "wake"]
    assert [run.id for run in ledger.runs(JOB)] == [running.id, run_id, held_id]
    assert ledger.due_wakes(at(9)) == [wake_id]
    assert len(ledger.incidents()) == 2
    assert ledger.queue(at(0)) == [waiting]
    with pytest.raises(Refused):
        ledger.claim(replace(a_run(9), slot_at=at(2)), OWNER)


def test_pruning_keeps_what_the_latest_complete_run_of_a_rare_job_reported(ledger: Ledger) -> None:
    first = told(ledger, 0)
    record(ledger, days(100), verdict=Verdict.FAILED)
    record(ledger, days(100), job="other")
    ledger.prune(at(days(400)), DAY, 0)
    assert only(ledger).id == first.id
    record(ledger, days(401))
    ledger.prune(at(days(401)), DAY, 0)
    assert ledger.findings() == []


def test_pruning_keeps_slots_that_may_still_be_run_or_are_not_over(ledger: Ledger) -> None:
    for job in ("again", "went-on"):
        run = a_run(0, job)
        ledger.claim(run, OWNER)
        ledger.abandon(run.id, "stops", at(0))
    pass_over(ledger, 1, fate(1), job="went-on")
    pass_over(ledger, 2, fate(1, days(9)), job="long")
    ledger.claim(a_run(0, "runs"), OWNER)
    assert ledger.prune(at(days(9)), DAY * 7, 10)["slots"] == 2
    assert sorted(slot.job for slot in ledger.slots()) == ["again", "long", "runs"]
    assert ledger.prune(at(days(17)), DAY * 7, 10)["slots"] == 1


def test_the_outputs_of_many_jobs_are_pruned_whole(ledger: Ledger) -> None:
    for number in range(3):
        for minute in range(number + 1):
            record(ledger, minute, job=f"job-{number}")
    assert ledger.prune(at(4), DAY, 1)["outputs"] == 0 + 1 + 2
    assert ledger.prune(at(4), DAY, 0)["outputs"] == 3


@pytest.mark.parametrize(("minutes", "kept"), [(0, 1), (1, 0)])
def test_history_ends_exactly_where_it_should(ledger: Ledger, minutes: int, kept: int) -> None:
    record(ledger, 0)
    ledger.prune(at(days(7) + minutes), DAY * 7, 10)
    assert len(ledger.runs()) == kept


def test_queue_items_go_when_they_were_told_or_cancelled_long_ago(ledger: Ledger) -> None:
    for key in ("told", "cancelled", "waiting", "dropped"):
        ledger.enqueue(an_item(key=key), at(0))
    ledger.cancel_item("cancelled", at(1))
    items = {item.key: item for item in ledger.queue(at(1))}
    tell_item(ledger, 60, items["told"])
    ledger.consume_brief(at(61))
    tell_item(ledger, 61, items["dropped"], Action.DROP)
    tell_item(ledger, 62, items["waiting"])
    ledger.prune(at(days(1)), DAY * 7, 10)
    assert len(ledger.queue(at(99))) == 4
    assert ledger.prune(at(days(9)), DAY * 7, 10)["queue"] == 3
    assert [item.key for item in ledger.queue(at(99))] == ["waiting"]


def test_outputs_of_older_runs_of_each_job_go_with_their_duplicates(ledger: Ledger) -> None:
    record(ledger, 0, lambda _view: (decision("k", Action.DROP),))
    ids = []
    for minute in (1, 2, 3):
        run = a_run(minute)
        ledger.claim(run, OWNER)
        execution = Execution(at(minute), at(minute), stdout=Captured(b"o" * 10), stderr=Captured(b"e" * 20000))
        judgement = Judgement(Verdict.WAKE, "", "", gate=Gate(True, findings=(Finding("k", "k"),)), context="above")
        ledger.record(
            run,
            execution,
            judgement,
            lambda view: Plan(
                (
                    decision("k", Action.DUPLICATE, Change.SAME, view),
                    decision("x", Action.DROP, Change.RETRACTION),
                )
            ),
        )
        ids.append(run.id)
    assert ledger.prune(at(4), DAY, 1)["outputs"] == 3
    pruned, kept = ledger.run(ids[0]), ledger.run(ids[2])
    assert (pruned.stdout, pruned.stderr, pruned.context) == (Captured(dropped=10), Captured(dropped=20000), "")
    assert (kept.stdout.head, kept.context) == (b"o" * 10, "above")
    assert [made.action for _id, made in ledger.decisions(ids[0])] == [Action.DROP]
    assert len(ledger.decisions(ids[2])) == 2
    assert ledger.prune(at(4), DAY, 1)["outputs"] == 0


@pytest.mark.parametrize("action", [Action.WAKE, Action.HOLD])
def test_the_text_for_what_waits_for_the_agent_is_kept(ledger: Ledger, action: Action) -> None:
    waking(ledger, 0, "other")
    run = a_run(0, slot=False)
    ledger.claim(run, OWNER)
    judgement = Judgement(Verdict.WAKE, "", "", context="above")
    plan = Plan((decision("k", action),))
    ledger.record(run, Execution(at(0), at(0)), judgement, lambda _view: plan)
    ledger.prune(at(days(99)), DAY, 0)
    assert ledger.run(run.id).context == "above"


def test_a_backlog_of_many_batches_is_pruned_whole(ledger: Ledger) -> None:
    record(ledger, 0, lambda _view: tuple(decision(f"k{number}", Action.DROP) for number in range(1201)))
    record(ledger, 1)
    assert ledger.prune(at(days(9)), DAY, 10)["findings"] == 1201
    assert ledger.findings() == []


# Odd input


@pytest.mark.parametrize("odd", ["\x00", "a\udcffb", "\ud800", "💓" * 300, "'; DROP TABLE findings; --", ""])
def test_any_text_is_stored_and_costs_nothing_else(ledger: Ledger, odd: str) -> None:
    record(ledger, 0, lambda _view: (decision("k", Action.BRIEF, body=odd, data={odd: odd}),))
    readable = odd.encode(errors="backslashreplace").decode()
    item = only(ledger).finding
    assert (item.body, item.data) == (readable, {odd: odd})
    assert ledger.enqueue(an_item(message=odd), at(0))[0].message == readable
    wake_id = waking(ledger, 1, "w")
    ledger.begin_wake(wake_id, OWNER, at(1))
    ledger.settle_wake(wake_id, Reply(odd), (), at(1))
    assert ledger.wake(wake_id).reply == readable


def report(ledger: Ledger, minute: float, keys: Collection[str]) -> list[Change]:
    """A run that reports these keys, decided by the real rules; what its decisions say of them."""
    judgement = Judgement(
        Verdict.QUIET, "quiet", "", gate=Gate(False, findings=tuple(Finding(key, "t") for key in keys))
    )
    run = a_run(minute)
    ledger.claim(run, OWNER)
    plan, _wake = ledger.record(
        run,
        Execution(at(minute), at(minute)),
        judgement,
        lambda view: Plan(decide(judgement, view, Rules(), at(0))),
    )
    return [made.change for made in plan.decisions]


@given(st.sets(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\0aA\u0301é'\\")), min_size=1))
@example({"mail\0x", "mail", "mail\0", "mail\0y", "\0", ""})
@example({"\u00e9", "e\u0301", "E\u0301", "%", "_", "'"})
def test_whatever_its_key_a_finding_reported_again_is_a_duplicate(keys: set[str]) -> None:
    ledger = open_memory()
    assert report(ledger, 0, keys) == [Change.NEW] * len(keys)
    assert report(ledger, 1, keys) == [Change.SAME] * len(keys)
    assert {row.finding.key for row in ledger.findings(limit=1000)} == keys
    assert all(only(ledger, key).last_seen_at == at(1) for key in keys)
    ledger.close()


@pytest.mark.parametrize("count", [499, 500, 501, 1001])
def test_however_many_keys_are_reported_all_are_known_the_next_time(ledger: Ledger, count: int) -> None:
    keys = [f"key {number}" for number in range(count)]
    report(ledger, 0, keys)
    assert set(report(ledger, 1, keys)) == {Change.SAME}
    assert set(ledger.view(JOB, keys, at(1)).known) == set(keys)
    assert set(ledger.view(JOB, keys[1:], at(1)).known) == set(keys[1:])


@pytest.mark.parametrize("year", [1, 999, 9999])
def test_instants_of_any_year_keep_their_order(ledger: Ledger, year: int) -> None:
    instant = datetime(year, 12, 31, tzinfo=UTC)
    ledger.enqueue(an_item(key="now"), at(0))
    ledger.enqueue(an_item(key="odd", due_at=instant), at(0))
    expected = ["odd", "now"] if year < 2026 else ["now", "odd"]
    assert [item.key for item in ledger.queue(at(0))] == expected
    assert {item.due_at for item in ledger.queue(at(0))} == {instant, at(60)}


def test_instants_in_any_zone_are_the_same_instant(ledger: Ledger) -> None:
    ledger.enqueue(an_item(due_at=at(60).astimezone(ZoneInfo("Asia/Kathmandu"))), at(0))
    assert ledger.queue(at(0))[0].due_at == at(60)
    assert ledger.enqueue(an_item(), at(0))[1] is False


def test_a_clock_set_back_breaks_nothing(ledger: Ledger) -> None:
    first = told(ledger, 100, "a")
    record(ledger, 5, lambda view: (decision("a", Action.DUPLICATE, Change.SAME, view), decision("b", Action.BRIEF)))
    assert only(ledger, "a") == replace(first, last_seen_at=at(5))
    wake_id = waking(ledger, 50, "w")
    ledger.begin_wake(wake_id, OWNER, at(40))
    ledger.postpone_wake(wake_id, "x", at(30), at(20))
    assert ledger.due_wakes(at(30)) == [wake_id]
    ledger.begin_wake(wake_id, OWNER, at(-10))
    ledger.settle_wake(wake_id, Reply(), (), at(-20))
    assert [item.finding.key for item in ledger.consume_brief(at(-30)).items] == ["b"]
    assert ledger.consume_brief(at(-40)).items == ()
    ledger.prune(at(-100), DAY, 5)


def test_errors_are_of_the_house_tree(ledger: Ledger) -> None:
    with pytest.raises(HeartbeatError) as caught:
        ledger.run("nope")
    assert caught.value.exit_code == 3


def test_a_ledger_can_be_closed_twice(ledger: Ledger) -> None:
    ledger.close()
    ledger.close()


def test_cancelling_an_item_withdraws_what_still_waits_to_be_told_of_it(ledger: Ledger) -> None:
    item, _ = ledger.enqueue(an_item(key="garage", due_at=at(0)), at(0))
    _run, wake_id = record(ledger, 1, lambda _view: (decision("queue:garage", Action.WAKE),))
    assert wake_id is not None
    ledger.cancel_item("garage", at(2))
    row = only(ledger, "queue:garage")
    assert (row.state, row.current, row.rule) == (State.WITHDRAWN, False, "cancelled")
    assert ledger.wake(wake_id).state == "cancelled"
    assert [entry.state for entry in ledger.queue(at(2)) if entry.id == item.id] == ["cancelled"]


def test_cancelling_an_item_cannot_take_back_what_the_agent_is_being_told(ledger: Ledger) -> None:
    ledger.enqueue(an_item(key="garage", due_at=at(0)), at(0))
    _run, wake_id = record(ledger, 1, lambda _view: (decision("queue:garage", Action.WAKE),))
    assert wake_id is not None
    ledger.begin_wake(wake_id, OWNER, at(2))
    ledger.cancel_item("garage", at(2))
    assert only(ledger, "queue:garage").state is State.WAKE
