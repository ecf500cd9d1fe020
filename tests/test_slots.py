"""What the daemon does with one job at one moment: a pure table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.faults import LONGEST_BACKOFF
from heartbeat.model import Fate, JobState, SlotState
from heartbeat.schedule import At, Cron, Every, Schedule, Timing, Window
from heartbeat.slots import (
    CLOCK_STEP,
    LATE,
    MOST_ATTEMPTS,
    MOST_ROWS,
    Move,
    Policy,
    first_look,
    next_move,
    overlooked,
    pending,
    superseded,
)

ANCHOR = datetime(2026, 6, 10, 8, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
MINUTE = timedelta(minutes=1)
TEN_MINUTES = Every(10 * MINUTE)
TINY = timedelta.resolution
ONCE = Policy()
OVERLAP = "overlap: the run before was still going"


def at(minutes: float, *, tiny: int = 0) -> datetime:
    return ANCHOR + timedelta(minutes=minutes) + tiny * TINY


def timing(*schedules: Schedule, between: tuple[Window, ...] = (), until: datetime | None = None) -> Timing:
    return Timing(schedules or (TEN_MINUTES,), BERLIN, between=between, until=until)


def state(
    last: datetime | None = None,
    backoff: datetime | None = None,
    interrupted: datetime | None = None,
    attempts: int = 1,
) -> JobState:
    return JobState("check", ANCHOR, last, backoff, interrupted_at=interrupted, attempts=attempts)


def move(
    now: datetime,
    *,
    last: datetime | None = None,
    backoff: datetime | None = None,
    running: datetime | None = None,
    schedule: Schedule = TEN_MINUTES,
    policy: Policy = ONCE,
) -> Move:
    return next_move(timing(schedule), policy, state(last, backoff), now, running)


def skipped(reason: str, *minutes: float, word: SlotState = SlotState.SKIPPED) -> tuple[Fate, ...]:
    return tuple(Fate(word, at(minute), at(minute), reason) for minute in minutes)


@pytest.mark.parametrize(
    ("now", "last", "expected"),
    [
        (at(0), None, Move(at(10), start=at(0))),
        (at(0, tiny=-1), None, Move(at(0))),
        (at(9), at(0), Move(at(10))),
        (at(10, tiny=-1), at(0), Move(at(10))),
        (at(10), at(0), Move(at(20), start=at(10))),
        (at(10, tiny=1), at(0), Move(at(20), start=at(10))),
        (at(11), at(0), Move(at(20), start=at(10))),
        (at(20, tiny=-1), at(0), Move(at(20), start=at(10), note="9m59s late")),
    ],
)
def test_a_slot_is_started_from_its_instant_on_and_once(now: datetime, last: datetime | None, expected: Move) -> None:
    assert move(now, last=last) == expected


# Catching up


def test_after_a_pause_the_latest_slot_runs_and_each_of_the_others_is_coalesced_into_it() -> None:
    reason = "coalesced into 2026-06-10T08:40:00Z"
    note = "5m late, stands for every slot since 2026-06-10T08:10:00Z"
    assert move(at(45), last=at(0)) == Move(at(50), start=at(40), note=note, fates=skipped(reason, 10, 20, 30))


@pytest.mark.parametrize(
    ("limit", "now", "late", "started"),
    [
        (5, at(15), (), 10),
        (5, at(15, tiny=1), (10,), None),
        (5, at(25), (10,), 20),
        (5, at(25, tiny=1), (10, 20), None),
        (15, at(35), (10,), 30),
        (10, at(30), (10,), 30),
    ],
)
def test_a_slot_later_than_max_late_is_not_run(
    limit: int, now: datetime, late: tuple[int, ...], started: int | None
) -> None:
    found = move(now, last=at(0), policy=Policy(max_late=limit * MINUTE))
    assert found.start == (None if started is None else at(started))
    told = skipped(f"too late: more than {limit}m after its instant", *late)
    assert found.fates[: len(told)] == told
    assert all(fate.reason.startswith("coalesced") for fate in found.fates[len(told) :])
    assert sum(1 for fate in found.fates) + (started is not None) == (now - at(0)) // (10 * MINUTE)


def test_all_slots_run_one_after_the_other_from_the_oldest_on() -> None:
    catch_up = Policy(catch_up="all", overlap="queue")
    now, last, started = at(45), at(0), []
    while (found := move(now, last=last, policy=catch_up)).start is not None:
        assert found.fates == ()
        last = found.start
        started.append(last)
    assert started == [at(10), at(20), at(30), at(40)]
    assert found.next_at == at(50)


def test_all_means_those_of_the_last_day_unless_max_late_says_otherwise() -> None:
    found = move(at(3 * 24 * 60), last=at(0), policy=Policy(catch_up="all", overlap="queue"))
    assert found.start == at(2 * 24 * 60)
    [stretch] = found.fates
    assert (stretch.first, stretch.last, stretch.count) == (at(10), at(2 * 24 * 60 - 10), 2 * 144 - 1)
    week = Policy(catch_up="all", overlap="queue", max_late=timedelta(days=7))
    assert move(at(3 * 24 * 60), last=at(0), policy=week).start == at(10)


@pytest.mark.parametrize(("late", "runs"), [(timedelta(), True), (LATE, True), (LATE + TINY, False)])
def test_a_job_that_does_not_catch_up_misses_what_is_late(late: timedelta, runs: bool) -> None:
    found = move(at(30) + late, last=at(0), policy=Policy(catch_up="skip"))
    reason = "too late: more than 1m after its instant"
    assert found.start == (at(30) if runs else None)
    assert found.fates == skipped(reason, 10, 20, *(() if runs else (30,)), word=SlotState.MISSED)


def test_many_slots_share_one_row_and_a_few_have_a_row_each() -> None:
    few = move(at(10 * (MOST_ROWS + 1)), last=at(0))
    assert len(few.fates) == MOST_ROWS
    [many] = move(at(10 * (MOST_ROWS + 2)), last=at(0)).fates
    assert (many.first, many.last, many.count) == (at(10), at(10 * (MOST_ROWS + 1)), MOST_ROWS + 1)


@pytest.mark.parametrize("schedule", [Every(timedelta(seconds=1)), Cron("* * * * * *"), Cron("* * * * *")])
def test_a_month_forward_is_one_run_and_one_row(schedule: Schedule) -> None:
    found = move(at(31 * 24 * 60), last=at(0), schedule=schedule)
    assert found.start == at(31 * 24 * 60)
    [stretch] = found.fates
    assert stretch.count == (31 * 86_400 - 1 if isinstance(schedule, Every) else None)


def test_a_stretch_inside_windows_is_not_counted() -> None:
    day = timing(between=(Window(8 * 60, 18 * 60),))
    [stretch] = next_move(day, ONCE, state(at(0)), at(31 * 24 * 60)).fates
    assert stretch.count is None


# Overlap


def test_a_slot_that_comes_while_the_run_before_goes_on_is_skipped() -> None:
    assert move(at(10), last=at(0), running=at(0)) == Move(at(20), fates=skipped(OVERLAP, 10))
    assert move(at(25), last=at(0), running=at(0)) == Move(at(30), fates=skipped(OVERLAP, 10, 20))


@pytest.mark.parametrize(("overlap", "ends"), [("queue", False), ("replace", True)])
def test_a_slot_may_wait_for_the_run_before_or_end_it(overlap: str, ends: bool) -> None:
    found = move(at(10), last=at(0), running=at(0), policy=Policy(overlap=overlap))  # type: ignore[arg-type]
    assert found == Move(at(20), waits=True, ends_running=ends)
    assert move(at(12), last=at(0), policy=Policy(overlap=overlap)).start == at(10)  # type: ignore[arg-type]


def test_of_slots_that_waited_the_latest_runs() -> None:
    found = move(at(31), last=at(0), policy=Policy(overlap="queue"))
    assert (found.start, len(found.fates)) == (at(30), 2)


@pytest.mark.parametrize("overlap", ["skip", "queue", "replace"])
def test_the_slot_that_is_running_is_not_its_own_overlap(overlap: str) -> None:
    policy = Policy(overlap=overlap)  # type: ignore[arg-type]
    assert move(at(10), last=at(0), running=at(10), policy=policy) == Move(at(20))


# Paused


def test_the_slots_of_a_paused_job_are_skipped_one_by_one() -> None:
    found = move(at(20), last=at(0), policy=Policy(paused=True))
    assert found == Move(at(30), fates=skipped("paused: the job is paused in the configuration", 10, 20))
    assert move(at(15), last=at(10), policy=Policy(paused=True)) == Move(at(20))


# Backing off


@pytest.mark.parametrize(
    ("backoff", "started"),
    [(at(10, tiny=1), False), (at(10), True), (at(10, tiny=-1), True), (None, True)],
)
def test_slots_before_the_end_of_the_backoff_are_skipped(backoff: datetime | None, started: bool) -> None:
    found = move(at(10), last=at(0), backoff=backoff)
    assert (found.start is not None, found.fates == ()) == (started, started)
    if not started:
        assert found.fates == skipped("backing off until 2026-06-10T08:10:01Z after faults", 10)


def test_it_is_the_slot_and_not_the_hour_that_counts_for_the_backoff() -> None:
    assert move(at(15), last=at(0), backoff=at(12)).start is None


def test_a_backoff_of_a_clock_far_ahead_is_not_obeyed() -> None:
    assert move(at(10), last=at(0), backoff=at(10) + LONGEST_BACKOFF).start is None
    assert move(at(10), last=at(0), backoff=at(10, tiny=1) + LONGEST_BACKOFF).start == at(10)


# Interrupted


AGAIN = Policy(rerun_interrupted=True)


def again(now: datetime, policy: Policy = AGAIN, attempts: int = 1, running: datetime | None = None) -> Move:
    return next_move(timing(), policy, state(at(10), interrupted=at(10), attempts=attempts), now, running)


def test_an_interrupted_slot_is_begun_again_only_if_the_job_says_so() -> None:
    assert again(at(11)) == Move(at(20), start=at(10), note="begun again: run 1 for it was interrupted", again=True)
    assert again(at(11), ONCE) == Move(at(20))
    assert first_look(timing(), AGAIN, state(at(10), interrupted=at(10)), at(11)) == at(10)
    assert first_look(timing(), ONCE, state(at(10), interrupted=at(10)), at(11)) == at(20)


def test_a_newer_slot_takes_the_place_of_an_interrupted_one() -> None:
    assert again(at(20)).start == at(20)


@pytest.mark.parametrize(("attempts", "runs"), [(1, True), (MOST_ATTEMPTS - 1, True), (MOST_ATTEMPTS, False)])
def test_a_slot_that_kills_heartbeat_is_not_begun_for_ever(attempts: int, runs: bool) -> None:
    assert (again(at(11), attempts=attempts).start is not None) is runs


@pytest.mark.parametrize(
    "found",
    [
        again(at(15, tiny=1), Policy(rerun_interrupted=True, max_late=5 * MINUTE)),
        again(at(11), Policy(rerun_interrupted=True, paused=True)),
        again(at(11), running=at(10)),
    ],
)
def test_an_interrupted_slot_is_not_begun_again_when_too_late_paused_or_running(found: Move) -> None:
    assert found == Move(at(20))


# A clock that was set


@pytest.mark.parametrize(
    ("back", "rewound"),
    [
        (timedelta(minutes=1), False),
        (CLOCK_STEP, False),
        (CLOCK_STEP + TINY, True),
        (timedelta(days=3650), True),
    ],
)
def test_a_clock_set_back_a_little_is_waited_for_and_further_back_believed(back: timedelta, rewound: bool) -> None:
    last = at(600)
    found = move(last - back, last=last)
    assert (found.rewound, found.start, found.fates) == (rewound, None, ())
    assert found.next_at == (last - back if rewound else last) + timedelta(minutes=10)
    assert first_look(timing(), ONCE, state(last), last - back) == (last - back if rewound else at(610))


def test_after_a_clock_was_set_back_the_schedule_goes_on_from_the_new_time() -> None:
    now = at(95)
    assert move(now, last=at(600)) == Move(at(105), rewound=True)
    assert next_move(timing(), ONCE, JobState("check", now, now), at(105)).start == at(105)


def test_a_run_whose_slot_lies_ahead_of_a_clock_set_back_holds_up_nothing() -> None:
    assert move(at(95), last=at(600), running=at(600)) == Move(at(105), rewound=True)
    assert next_move(timing(), ONCE, JobState("check", at(95), at(95)), at(105), at(600)).fates == skipped(OVERLAP, 105)


@pytest.mark.parametrize(("hours", "rewound"), [(3, False), (3.01, True)])
def test_a_slot_just_ahead_that_was_entered_by_a_clock_far_ahead_comes_due_again(hours: float, rewound: bool) -> None:
    last = replace(state(at(10)), entered_at=at(8 + 60 * hours))
    found = next_move(timing(Cron("*/10 * * * *")), ONCE, last, at(8))
    assert (found.rewound, found.next_at) == (rewound, at(10 if rewound else 20))


@pytest.mark.parametrize("schedule", [TEN_MINUTES, Cron("*/10 * * * *")])
def test_a_job_that_was_made_known_under_a_clock_far_ahead_does_not_wait_for_it(schedule: Schedule) -> None:
    found = move(at(-60 * 24 * 365), schedule=schedule)
    assert (found.rewound, found.start) == (True, None)
    assert found.next_at == at(-60 * 24 * 365 + 10)


# Other schedules


def test_one_instant_is_started_once_and_then_never_again() -> None:
    once = At(at(30))
    assert move(at(0), schedule=once) == Move(at(30))
    assert move(at(30), schedule=once) == Move(None, start=at(30))
    assert move(at(31), last=at(30), schedule=once) == Move(None)


def test_an_instant_that_passed_just_before_the_job_was_known_still_counts_and_an_older_one_is_missed() -> None:
    for minutes, counts in ((-1, True), (-2, False), (-3, False)):
        once = timing(At(at(minutes)))
        found = next_move(once, ONCE, state(), at(0))
        assert found.start == (at(minutes) if counts else None)
        missed = skipped("it had passed before heartbeat first saw this schedule", minutes, word=SlotState.MISSED)
        assert overlooked(once, at(0)) == (() if counts else missed)
    assert overlooked(timing(TEN_MINUTES, Cron("* * * * *"), At(at(1))), at(0)) == ()


def test_what_is_missed_of_the_past_is_where_the_slot_would_have_been() -> None:
    late = Timing((At(at(-10)), At(at(-50)), Cron("* * * * *")), BERLIN, shift=MINUTE, until=at(-20))
    assert [fate.first for fate in overlooked(late, at(0))] == [at(-49)]


def test_a_cron_slot_follows_the_zone_of_the_job() -> None:
    found = move(at(121), last=at(0), schedule=Cron("0 12 * * *"))
    assert (found.start, found.next_at) == (at(120), at(120 + 24 * 60))


def test_a_list_is_due_at_the_instants_of_each() -> None:
    both = timing(TEN_MINUTES, Cron("5 * * * *"))
    found = next_move(both, ONCE, state(at(0)), at(12))
    assert [fate.first for fate in found.fates] + [found.start, found.next_at] == [at(5), at(10), at(20)]


def test_what_is_due_by_a_schedule_that_is_replaced_is_skipped_but_for_the_slot_that_runs() -> None:
    reason = "the schedule was changed before it could run"
    assert superseded(timing(), state(at(0)), at(25)) == skipped(reason, 10, 20)
    assert superseded(timing(), state(at(0)), at(25), at(10)) == skipped(reason, 20)
    assert superseded(timing(), state(at(0)), at(9)) == ()
    assert superseded(timing(), state(at(600)), at(25)) == ()


def test_nothing_is_due_after_the_end() -> None:
    ending = timing(until=at(20))
    assert next_move(ending, ONCE, state(at(10)), at(20)) == Move(None, start=at(20))
    assert next_move(ending, ONCE, state(at(20)), at(30)) == Move(None)


# Every slot has one fate


@dataclass
class Memory:
    """A ledger as small as possible, which insists on one fate for each slot."""

    timing: Timing
    policy: Policy
    last: datetime | None = None
    fates: dict[datetime, str] = field(default_factory=dict)

    def enter(self, slot: datetime, word: str) -> None:
        assert slot not in self.fates
        self.fates[slot] = word
        self.last = max(self.last or slot, slot)

    def step(self, now: datetime, running: datetime | None) -> datetime | None:
        """Decide once; the slot that was started."""
        found = next_move(self.timing, self.policy, state(self.last), now, running)
        assert found.next_at is None or found.next_at > (found.start or now)
        for fate in found.fates:
            slot: datetime | None = fate.first
            while slot is not None and slot <= fate.last:
                self.enter(slot, fate.state)
                slot = pending(self.timing, state(slot))
        if found.start is not None:
            assert found.start <= now
            self.enter(found.start, "ran")
        return found.start


timings = st.sampled_from(
    [
        timing(),
        timing(Every(61 * MINUTE)),
        timing(Cron("*/20 * * * *"), Every(30 * MINUTE)),
        timing(Every(25 * MINUTE), between=(Window(9 * 60, 17 * 60),)),
        timing(Cron("0 9,12 * * *"), At(at(77))),
    ]
)
policies = st.builds(
    Policy,
    catch_up=st.sampled_from(["once", "all", "skip"]),
    max_late=st.none() | st.integers(1, 300).map(lambda minutes: minutes * MINUTE),
    overlap=st.sampled_from(["skip", "queue", "replace"]),
    paused=st.booleans(),
)
passes = st.tuples(st.integers(0, 2000), st.booleans())


@given(timing=timings, policy=policies, steps=st.lists(passes, min_size=1, max_size=25))
def test_however_time_passes_every_slot_has_exactly_one_fate(
    timing: Timing, policy: Policy, steps: list[tuple[int, bool]]
) -> None:
    memory, now, running = Memory(timing, policy), ANCHOR, None
    for minutes, ends in steps:
        now += minutes * MINUTE
        running = None if ends else running
        started = memory.step(now, running)
        running = started or running
    # In the end nothing runs, and whatever is due is dealt with.
    while memory.step(now, None) is not None:
        pass
    expected, slot = set(), pending(timing, state())
    while slot is not None and slot <= now:
        expected.add(slot)
        slot = pending(timing, state(slot))
    assert set(memory.fates) == expected
