"""What the daemon does with one job at one moment: a pure table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.faults import LONGEST_BACKOFF
from heartbeat.model import JobState
from heartbeat.schedule import At, Cron, Every, Schedule
from heartbeat.slots import CLOCK_STEP, Move, next_move

ANCHOR = datetime(2026, 6, 10, 8, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
TEN_MINUTES = Every(timedelta(minutes=10))
TINY = timedelta.resolution


def at(minutes: float, *, tiny: int = 0) -> datetime:
    return ANCHOR + timedelta(minutes=minutes) + tiny * TINY


def move(
    now: datetime,
    *,
    last: datetime | None = None,
    backoff: datetime | None = None,
    running: datetime | None = None,
    schedule: Schedule = TEN_MINUTES,
) -> Move:
    return next_move(schedule, JobState("check", ANCHOR, last, backoff), now, BERLIN, running)


@pytest.mark.parametrize(
    ("now", "last", "expected"),
    [
        (at(0), None, Move(at(10), start=at(0))),
        (at(0, tiny=-1), None, Move(at(0))),
        (at(9, tiny=0), at(0), Move(at(10))),
        (at(10, tiny=-1), at(0), Move(at(10))),
        (at(10), at(0), Move(at(20), start=at(10))),
        (at(10, tiny=1), at(0), Move(at(20), start=at(10))),
        (at(20, tiny=-1), at(0), Move(at(20), start=at(10))),
    ],
)
def test_a_slot_is_started_from_its_instant_on_and_once(now: datetime, last: datetime | None, expected: Move) -> None:
    assert move(now, last=last) == expected


def test_after_a_pause_one_slot_stands_for_all_that_were_missed() -> None:
    found = move(at(65), last=at(0))
    assert (found.start, found.next_at, found.skip) == (at(60), at(70), None)
    assert found.reason == "stands for every slot since 2026-06-10T08:10:00.000000Z"


def test_a_single_slot_stands_for_itself_alone() -> None:
    assert move(at(12), last=at(0)).reason == ""


# Overlap


def test_a_slot_that_comes_while_the_run_before_goes_on_is_skipped() -> None:
    found = move(at(10), last=at(0), running=at(0))
    assert found == Move(at(20), skip=at(10), reason="overlap: the run before was still going")


def test_the_slot_that_is_running_is_not_skipped_as_its_own_overlap() -> None:
    assert move(at(10), last=at(0), running=at(10)) == Move(at(20))


def test_overlap_is_said_before_backing_off() -> None:
    assert "overlap" in move(at(10), last=at(0), running=at(0), backoff=at(60)).reason


# Backing off


@pytest.mark.parametrize(
    ("backoff", "started"),
    [(at(10, tiny=1), False), (at(10), True), (at(10, tiny=-1), True), (None, True)],
)
def test_slots_before_the_end_of_the_backoff_are_skipped(backoff: datetime | None, started: bool) -> None:
    found = move(at(10), last=at(0), backoff=backoff)
    assert (found.start is not None, found.skip is None) == (started, started)
    if not started:
        assert found.reason == "backing off until 2026-06-10T08:10:00.000001Z after faults"


def test_it_is_the_slot_and_not_the_hour_that_counts_for_the_backoff() -> None:
    assert move(at(15), last=at(0), backoff=at(12)).skip == at(10)


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
    assert (found.rewound, found.start, found.skip) == (rewound, None, None)
    assert found.next_at == (last - back if rewound else last) + timedelta(minutes=10)


def test_after_a_clock_was_set_back_the_schedule_goes_on_from_the_new_time() -> None:
    now = at(95)
    assert move(now, last=at(600)) == Move(at(105), rewound=True)
    assert next_move(TEN_MINUTES, JobState("check", now, now), at(105), BERLIN).start == at(105)


@pytest.mark.parametrize("schedule", [TEN_MINUTES, Cron("*/10 * * * *")])
def test_a_job_that_was_made_known_under_a_clock_far_ahead_does_not_wait_for_it(schedule: Schedule) -> None:
    found = move(at(-60 * 24 * 365), schedule=schedule)
    assert (found.rewound, found.start) == (True, None)
    assert found.next_at == at(-60 * 24 * 365 + 10)


def test_a_backoff_of_a_clock_far_ahead_is_not_obeyed() -> None:
    assert move(at(10), last=at(0), backoff=at(10) + LONGEST_BACKOFF).skip == at(10)
    assert move(at(10), last=at(0), backoff=at(10, tiny=1) + LONGEST_BACKOFF).start == at(10)


def test_a_clock_set_forward_is_a_pause() -> None:
    assert move(at(60 * 24 * 365), last=at(0)).start == at(60 * 24 * 365)


# Other schedules


def test_one_instant_is_started_once_and_then_never_again() -> None:
    once = At(at(30))
    assert move(at(0), schedule=once) == Move(at(30))
    assert move(at(31), schedule=once) == Move(None, start=at(30))
    assert move(at(31), last=at(30), schedule=once) == Move(None)


def test_an_instant_before_the_job_was_known_is_never_started() -> None:
    assert move(at(5), schedule=At(at(-1))) == Move(None)


def test_a_cron_slot_follows_the_owners_zone() -> None:
    found = move(at(121), last=at(0), schedule=Cron("0 12 * * *"))
    assert (found.start, found.next_at) == (at(120), at(120 + 24 * 60))


periods = st.integers(1, 10_000).map(lambda minutes: Every(timedelta(minutes=minutes)))
minutes = st.integers(-100_000, 100_000)


@given(
    schedule=periods,
    now=minutes,
    last=st.none() | minutes,
    backoff=st.none() | minutes,
    running=st.none() | minutes,
)
def test_a_move_starts_or_skips_at_most_one_slot_and_looks_again_later(
    schedule: Every, now: int, last: int | None, backoff: int | None, running: int | None
) -> None:
    times = [None if minute is None else at(minute) for minute in (last, backoff, running)]
    found = move(at(now), last=times[0], backoff=times[1], running=times[2], schedule=schedule)
    assert found.next_at is not None
    assert found.next_at > at(now)
    assert found.start is None or found.skip is None
    for slot in (found.start, found.skip):
        if slot is not None:
            assert slot <= at(now)
            assert (slot - ANCHOR) % schedule.period == timedelta()
            assert times[0] is None or slot > times[0] or found.rewound


@given(schedule=periods, steps=st.lists(st.integers(0, 5_000), min_size=1, max_size=30))
def test_however_the_time_passes_no_slot_is_started_twice(schedule: Every, steps: list[int]) -> None:
    now, last, started = 0, None, []
    for step in steps:
        now += step
        found = move(at(now), last=last, schedule=schedule)
        if found.start is not None:
            started.append(found.start)
            last = found.start
    assert started == sorted(set(started))
    assert started[0] <= at(now)
