"""From slot to slot: intervals, instants, lists, and the ends of everything."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat.schedule import (
    EVERY_DAY,
    OVERLOOKED,
    At,
    Cron,
    Every,
    Schedule,
    Timing,
    Window,
    first_slot,
    latest_slot,
    next_slot,
    slots_between,
    walk,
)
from tests.schedule.walks import (
    BERLIN,
    CHANGES,
    DAY,
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    TINY,
    ZULU,
    crons,
    slots_from,
    timing,
    walk_to,
)

# Intervals


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (NOON - DAY, NOON),
        (NOON - TINY, NOON),
        (NOON, NOON + 10 * MINUTE),
        (NOON + 10 * MINUTE - TINY, NOON + 10 * MINUTE),
        (NOON + 10 * MINUTE, NOON + 20 * MINUTE),
        (NOON + 365 * DAY + 1 * SECOND, NOON + 365 * DAY + 10 * MINUTE),
    ],
)
def test_an_interval_counts_from_its_anchor_and_never_before_it(after: datetime, expected: datetime) -> None:
    assert next_slot(timing(Every(10 * MINUTE)), after, anchor=NOON) == expected


@given(
    period=st.timedeltas(SECOND, 30 * DAY),
    passed=st.timedeltas(-DAY, 4000 * DAY),
    shift=st.timedeltas(timedelta(), HOUR),
)
def test_each_slot_of_an_interval_is_an_exact_multiple_of_its_period(
    period: timedelta, passed: timedelta, shift: timedelta
) -> None:
    slot = next_slot(Timing((Every(period),), BERLIN, shift), NOON + passed, anchor=NOON)
    assert slot is not None
    assert slot > NOON + passed
    assert slot >= NOON + shift
    assert (slot - NOON - shift) % period == timedelta()
    assert slot == NOON + shift or slot - period <= NOON + passed


@pytest.mark.parametrize(
    ("anchor", "expected"),
    [
        (datetime(2026, 3, 28, 12, tzinfo=BERLIN), datetime(2026, 3, 29, 11, tzinfo=UTC)),
        (datetime(2026, 10, 24, 2, 30, tzinfo=BERLIN), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        # Both passes of the repeated hour.
        (datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN), datetime(2026, 10, 26, 0, 30, tzinfo=UTC)),
        (datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1), datetime(2026, 10, 26, 1, 30, tzinfo=UTC)),
    ],
)
def test_an_interval_is_elapsed_time_over_a_clock_change_whatever_zone_the_anchor_is_written_in(
    anchor: datetime, expected: datetime
) -> None:
    daily = timing(Every(DAY), zone=BERLIN)
    assert next_slot(daily, anchor, anchor=anchor) == expected
    assert next_slot(daily, expected.astimezone(BERLIN), anchor=anchor) == expected + DAY


# The first slot


def test_an_interval_is_due_at_its_anchor() -> None:
    assert first_slot(timing(Every(HOUR)), anchor=NOON) == NOON
    assert first_slot(Timing((Every(HOUR),), ZULU, 7 * MINUTE), anchor=NOON) == NOON + 7 * MINUTE


@pytest.mark.parametrize("part", [timedelta(), timedelta(milliseconds=1), timedelta(milliseconds=999)])
def test_a_cron_slot_counts_only_after_the_anchor(part: timedelta) -> None:
    assert first_slot(timing(Cron("* * * * *")), anchor=NOON + part) == NOON + MINUTE


def test_a_moved_cron_slot_counts_when_it_is_after_the_anchor_though_its_own_time_is_before() -> None:
    moved = Timing((Cron("0 * * * *"),), ZULU, 5 * MINUTE)
    assert first_slot(moved, anchor=NOON) == NOON + 5 * MINUTE
    assert first_slot(moved, anchor=NOON + 5 * MINUTE) == NOON + HOUR + 5 * MINUTE


@pytest.mark.parametrize(
    ("early", "is_due"),
    [(-HOUR, True), (timedelta(), True), (OVERLOOKED - TINY, True), (OVERLOOKED, False), (DAY, False)],
)
@pytest.mark.parametrize("shift", [timedelta(), 3 * MINUTE])
def test_an_instant_counts_that_had_only_just_passed_at_the_anchor(
    early: timedelta, is_due: bool, shift: timedelta
) -> None:
    once = Timing((At(NOON - early - shift),), ZULU, shift)
    assert first_slot(once, anchor=NOON) == (NOON - early if is_due else None)


def test_an_instant_comes_once_and_never_again() -> None:
    once = timing(At(NOON + HOUR))
    assert next_slot(once, NOON + HOUR - TINY, anchor=NOON) == NOON + HOUR
    assert next_slot(once, NOON + HOUR, anchor=NOON) is None
    assert latest_slot(once, NOON + HOUR, NOON + 100 * DAY, anchor=NOON) == NOON + HOUR


def test_slots_are_in_utc_however_the_instants_were_written() -> None:
    written = datetime(2026, 6, 10, 15, tzinfo=BERLIN)
    for each in (At(written), Every(HOUR), Cron("0 15 * * *")):
        by = timing(each, zone=BERLIN)
        for slot in (
            next_slot(by, written - MINUTE, anchor=written),
            first_slot(by, anchor=written - MINUTE),
            latest_slot(by, written, written + TINY, anchor=written),
        ):
            assert slot is not None
            assert slot.tzinfo is UTC


# Several schedules in one


def test_a_list_has_the_slots_of_all_of_its_schedules_and_none_twice() -> None:
    listed = timing(Every(20 * MINUTE), Cron("*/30 * * * *"), Cron("0 * * * *"), At(NOON + 45 * MINUTE), At(NOON))
    minutes = [(slot - NOON) / MINUTE for slot in walk_to(listed, NOON - TINY, NOON + HOUR)]
    assert minutes == [0, 20, 30, 40, 45, 60]


def test_the_first_slot_of_a_list_is_the_first_of_any_of_them() -> None:
    listed = timing(Cron("30 * * * *"), Every(HOUR))
    assert first_slot(listed, anchor=NOON) == NOON
    assert first_slot(timing(Cron("30 * * * *"), At(NOON - MINUTE)), anchor=NOON) == NOON - MINUTE


def test_no_slot_lies_after_the_end() -> None:
    ends = Timing((Every(10 * MINUTE), Cron("*/15 * * * *")), ZULU, 2 * MINUTE, until=NOON + 32 * MINUTE)
    assert walk_to(ends, NOON, NOON + DAY) == [NOON + part * MINUTE for part in (2, 12, 17, 22, 32)]
    assert next_slot(ends, NOON + DAY, anchor=NOON) is None
    at_last = NOON + 32 * MINUTE
    assert latest_slot(ends, NOON + 2 * MINUTE, NOON + DAY, anchor=NOON) == at_last


def test_the_end_may_be_written_in_a_zone_whose_clock_changes() -> None:
    end = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1)
    ends = Timing((Cron("*/30 2 * * *"),), BERLIN, until=end)
    assert walk_to(ends, datetime(2026, 10, 24, 12, tzinfo=UTC), NOON + 365 * DAY) == [
        datetime(2026, 10, 25, hour, minute, tzinfo=UTC) for hour in (0, 1) for minute in (0, 30)
    ]


# The latest slot

windows = st.sampled_from(
    [(), (Window(60, 150),), (Window(23 * 60, 90),), (Window(30, 31), Window(130, 165)), (Window(0, 24 * 60),)]
)
schedules = st.one_of(
    crons.map(Cron),
    st.sampled_from(["*/20 * * * * *", "*/20 30 2 * * *", "0 0 */2 * * *"]).map(Cron),
    st.timedeltas(10 * SECOND, DAY).map(Every),
    st.timedeltas(-2 * HOUR, 2 * HOUR).map(lambda after: At(NOON + after)),
)


@given(
    listed=st.lists(schedules, min_size=1, max_size=3),
    change=st.sampled_from(CHANGES),
    early=st.integers(0, 3600),
    length=st.timedeltas(timedelta(), HOUR),
    between=windows,
    days=st.sampled_from([EVERY_DAY, EVERY_DAY - {6}]),
    shift=st.sampled_from([timedelta(), 37 * SECOND, 5 * MINUTE]),
)
@settings(deadline=None, max_examples=40)
def test_the_latest_slot_is_the_one_that_walking_slot_by_slot_comes_to(
    *,
    listed: list[Schedule],
    change: tuple[str, datetime],
    early: int,
    length: timedelta,
    between: tuple[Window, ...],
    days: frozenset[int],
    shift: timedelta,
) -> None:
    start = change[1] - early * SECOND
    listed = [At(start + (each.instant - NOON) / 2) if isinstance(each, At) else each for each in listed]
    by = Timing(tuple(listed), ZoneInfo(change[0]), shift, between, days)
    walked = walk_to(by, start, start + length, anchor=start)
    assert all(earlier < later for earlier, later in pairwise(walked))
    if walked:
        assert latest_slot(by, walked[0], start + length, anchor=start) == walked[-1]
        assert list(slots_between(by, walked[0], start + length, anchor=start)) == walked


@given(
    schedule=st.one_of(crons.map(Cron), st.timedeltas(HOUR, 3 * DAY).map(Every)),
    days=st.integers(0, 80),
    between=windows,
    weekdays=st.sampled_from([EVERY_DAY, frozenset({0}), frozenset({5, 6})]),
)
@settings(deadline=None, max_examples=15)
def test_the_latest_slot_is_found_across_closed_nights_and_weeks(
    schedule: Schedule, days: int, between: tuple[Window, ...], weekdays: frozenset[int]
) -> None:
    by = Timing((schedule,), BERLIN, timedelta(), between, weekdays)
    walked = list(islice(slots_from(by, NOON), 60))
    end = min(NOON + days * DAY, walked[-1] if walked else NOON)
    walked = [slot for slot in walked if slot <= end]
    if walked:
        assert latest_slot(by, walked[0], end, anchor=NOON) == walked[-1]


def test_two_slots_within_one_second_are_both_seen() -> None:
    close = timing(Every(10 * SECOND), At(NOON + 20.25 * SECOND), At(NOON + 20.5 * SECOND), At(NOON + 20.75 * SECOND))
    assert latest_slot(close, NOON, NOON + 20.6 * SECOND, anchor=NOON) == NOON + 20.5 * SECOND
    assert latest_slot(close, NOON, NOON + 25 * SECOND, anchor=NOON) == NOON + 20.75 * SECOND


@pytest.mark.parametrize(
    ("expression", "now", "expected"),
    [
        ("* * * * * *", NOON + 31 * DAY, NOON + 31 * DAY),
        # Nothing for eleven months, then a month of seconds to look back into.
        ("* * * * 1 *", datetime(2027, 12, 31, 23, tzinfo=UTC), datetime(2027, 1, 31, 23, 59, 59, tzinfo=UTC)),
        (
            "* * 9-17 * * 1-5",
            datetime(2026, 7, 13, 8, 59, 59, tzinfo=UTC),
            datetime(2026, 7, 10, 17, 59, 59, tzinfo=UTC),
        ),
        ("0 0 29 2 *", datetime(2035, 1, 1, tzinfo=UTC), datetime(2032, 2, 29, tzinfo=UTC)),
    ],
)
def test_the_latest_of_millions_of_missed_slots_is_found_in_a_few_looks(
    expression: str, now: datetime, expected: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    by = timing(Cron(expression))
    first = next_slot(by, NOON, anchor=NOON)
    assert first is not None
    looks: list[datetime] = []

    def counted(timing: Timing, after: datetime, *, anchor: datetime) -> datetime | None:
        looks.append(after)
        return next_slot(timing, after, anchor=anchor)

    monkeypatch.setattr(walk, "next_slot", counted)
    assert latest_slot(by, first, now, anchor=NOON) == expected
    assert len(looks) < 40


# The ends of the calendar

LAST = datetime.max.replace(tzinfo=UTC)
ENDLESS: list[Schedule] = [
    Every(SECOND),
    Every(366 * DAY),
    Cron("* * * * *"),
    Cron("* * * * * *"),
    Cron("30 2 * * *"),
    Cron("0 0 29 2 */7"),
    At(LAST),
]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Kiritimati"])
@pytest.mark.parametrize("schedule", ENDLESS, ids=str)
@pytest.mark.parametrize("between", [(), (Window(60, 30),)], ids=str)
@pytest.mark.parametrize("days", [EVERY_DAY, frozenset({0})], ids=str)
def test_after_the_last_day_of_the_calendar_there_is_no_slot(
    schedule: Schedule, zone: str, between: tuple[Window, ...], days: frozenset[int]
) -> None:
    by = Timing((schedule,), ZoneInfo(zone), MINUTE, between, days)
    assert next_slot(by, LAST, anchor=NOON) is None
    assert next_slot(by, LAST.replace(tzinfo=ZoneInfo("America/New_York")), anchor=NOON) is None
    for hours in (0, 1, 13, 26, 100):
        slot = next_slot(by, LAST - hours * HOUR, anchor=NOON)
        assert slot is None or slot > LAST - hours * HOUR


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Kiritimati"])
@pytest.mark.parametrize("schedule", ENDLESS[:-1], ids=str)
def test_from_the_first_instant_of_the_calendar_there_is_one(schedule: Schedule, zone: str) -> None:
    for written in (UTC, ZoneInfo(zone)):
        first = datetime.min.replace(tzinfo=written)
        slot = next_slot(Timing((schedule,), ZoneInfo(zone), between=(Window(0, 24 * 60),)), first, anchor=NOON)
        assert slot is not None
        assert slot > first


def test_a_schedule_at_the_end_of_the_calendar_does_not_hide_the_others() -> None:
    listed = Timing((At(LAST), Cron("0 0 1 1 *"), Every(HOUR)), ZULU, shift=SECOND)
    after = datetime(9999, 12, 31, 20, tzinfo=UTC)
    assert next_slot(listed, after, anchor=NOON) == after + SECOND
