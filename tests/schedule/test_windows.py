"""Parts of the day and days of the week, by the clock on the wall."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat.schedule import EVERY_DAY, At, Cron, Every, Schedule, Timing, Window, next_slot, windows
from heartbeat.schedule.windows import is_inside
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
    minutes_of,
    slots_by_rule,
    walk_to,
)
from tests.schedule.walks import walk as steps

MON, TUE, SAT, SUN = 0, 1, 5, 6
MORNING, NIGHT = Window(8 * 60, 10 * 60), Window(22 * 60, 6 * 60)
EVENING = Window(18 * 60, 24 * 60)
WHOLE_DAY = Window(0, 24 * 60)
MONDAY = datetime(2026, 6, 8, tzinfo=UTC)


def bounded(
    *schedules: Schedule,
    between: tuple[Window, ...] = (),
    days: frozenset[int] = EVERY_DAY,
    zone: ZoneInfo = ZULU,
    shift: timedelta = timedelta(),
) -> Timing:
    return Timing(schedules, zone, shift, between, days)


@pytest.mark.parametrize(
    ("between", "days", "since_monday", "expected"),
    [
        ((), EVERY_DAY, HOUR, True),
        # Both ends are included, to the instant.
        ((MORNING,), EVERY_DAY, 8 * HOUR - TINY, False),
        ((MORNING,), EVERY_DAY, 8 * HOUR, True),
        ((MORNING,), EVERY_DAY, 10 * HOUR, True),
        ((MORNING,), EVERY_DAY, 10 * HOUR + TINY, False),
        ((MORNING,), EVERY_DAY, 10 * HOUR + SECOND, False),
        ((MORNING, Window(11 * 60, 12 * 60)), EVERY_DAY, 11 * HOUR, True),
        # Over midnight, it belongs to the day on which it starts.
        ((NIGHT,), EVERY_DAY, 3 * HOUR, True),
        ((NIGHT,), frozenset({MON}), 3 * HOUR, False),
        ((NIGHT,), frozenset({MON}), 22 * HOUR, True),
        ((NIGHT,), frozenset({MON}), DAY + 6 * HOUR, True),
        ((NIGHT,), frozenset({MON}), DAY + 6 * HOUR + TINY, False),
        ((NIGHT,), frozenset({MON}), DAY + 22 * HOUR, False),
        ((NIGHT,), frozenset({SUN}), timedelta(), True),
        # 24:00 is the midnight that ends the day, as 00:00 after 18:00 is.
        ((EVENING,), frozenset({MON}), DAY, True),
        ((EVENING,), frozenset({MON}), DAY + TINY, False),
        ((EVENING,), frozenset({MON}), timedelta(), False),
        ((EVENING,), frozenset({SUN}), timedelta(), True),
        ((Window(18 * 60, 0),), frozenset({MON}), DAY, True),
        ((Window(18 * 60, 0),), frozenset({MON}), timedelta(), False),
        # A whole day ends before the next begins.
        ((WHOLE_DAY,), frozenset({MON}), timedelta(), True),
        ((WHOLE_DAY,), frozenset({MON}), DAY - TINY, True),
        ((WHOLE_DAY,), frozenset({MON}), DAY, False),
        ((), frozenset({MON}), timedelta(), True),
        ((), frozenset({MON}), DAY - TINY, True),
        ((), frozenset({MON}), DAY, False),
        ((), frozenset({SUN}), -TINY, True),
    ],
)
def test_an_instant_is_inside_a_window_of_an_allowed_day(
    between: tuple[Window, ...], days: frozenset[int], since_monday: timedelta, expected: bool
) -> None:
    assert is_inside(MONDAY + since_monday, between, days, ZULU) is expected


def test_the_clock_on_the_wall_of_the_zone_counts() -> None:
    nine = bounded(Cron("0 * * * *"), between=(Window(9 * 60, 9 * 60 + 30),), zone=BERLIN)
    assert steps(nine, datetime(2026, 3, 27, 12, tzinfo=UTC), 3) == [
        datetime(2026, 3, 28, 8, tzinfo=UTC),
        datetime(2026, 3, 29, 7, tzinfo=UTC),
        datetime(2026, 3, 30, 7, tzinfo=UTC),
    ]


def test_an_interval_keeps_its_grid_through_a_closed_night() -> None:
    by_day = bounded(Every(7 * MINUTE), between=(MORNING,))
    slots = walk_to(by_day, NOON, NOON + 3 * DAY)
    assert len(slots) == 3 * 17 + 1
    assert all((slot - NOON) % (7 * MINUTE) == timedelta() for slot in slots)


def test_a_slot_is_moved_after_the_windows_were_asked() -> None:
    moved = bounded(Cron("0 * * * *"), between=(MORNING,), shift=20 * MINUTE)
    assert steps(moved, MONDAY, 4) == [MONDAY + (hour + 1 / 3) * HOUR for hour in (8, 9, 10, 32)]


def test_an_instant_outside_the_windows_never_comes() -> None:
    assert next_slot(bounded(At(NOON), between=(MORNING,)), MONDAY, anchor=MONDAY) is None
    assert next_slot(bounded(At(NOON), days=frozenset({MON})), MONDAY, anchor=MONDAY) is None
    assert next_slot(bounded(At(NOON), between=(Window(720, 721),)), MONDAY, anchor=MONDAY) == NOON


# Where the clock changes

FORWARD, BACK = datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)


@pytest.mark.parametrize(
    ("window", "night", "minutes"),
    [
        # 02:30 to 03:30, of which the gap leaves the half after 03:00.
        (Window(150, 210), FORWARD, [60, 75, 90]),
        # 02:10 to 02:50 does not happen.
        (Window(130, 170), FORWARD, []),
        # 01:30 to 02:30 ends with the gap.
        (Window(90, 150), FORWARD, [30, 45]),
        # 01:30 to 02:30, and the half of it that comes again.
        (Window(90, 150), BACK, [-30, -15, 0, 15, 30, 60, 75, 90]),
        # 02:10 to 02:50, twice.
        (Window(130, 170), BACK, [15, 30, 45, 75, 90, 105]),
        # 02:30 to 03:15 begins twice.
        (Window(150, 195), BACK, [30, 45, 90, 105, 120, 135]),
    ],
)
@pytest.mark.parametrize("schedule", [Every(15 * MINUTE), Cron("*/15 * * * *")], ids=str)
def test_a_window_is_open_when_the_clock_shows_its_times(
    window: Window, night: datetime, minutes: list[int], schedule: Schedule
) -> None:
    by_window = bounded(schedule, between=(window,), zone=BERLIN)
    slots = walk_to(by_window, night - 12 * HOUR, night + 12 * HOUR, anchor=night - 30 * DAY)
    assert slots == [night + minute * MINUTE for minute in minutes]


def test_a_weekday_that_the_calendar_leaves_out_comes_again_a_week_later() -> None:
    friday = bounded(Every(HOUR), between=(MORNING,), days=frozenset({4}), zone=ZoneInfo("Pacific/Apia"))
    thursday = datetime(2011, 12, 29, 22, tzinfo=UTC)  # noon; the 30th did not happen
    assert next_slot(friday, thursday, anchor=thursday) == datetime(2012, 1, 5, 18, tzinfo=UTC)


def is_open(wall: datetime, between: tuple[Window, ...], days: frozenset[int]) -> bool:
    """The rule in other words: a stretch of wall clock time, from a start on an allowed day to the end after it."""
    for window in between:
        for day in (wall.date() - DAY, wall.date()):
            start = datetime.combine(day, time()) + window.start * MINUTE
            end = datetime.combine(day, time()) + window.end * MINUTE
            end += DAY if end < start else timedelta()
            is_whole = end - start == DAY
            if day.weekday() in days and start <= wall and (wall < end if is_whole else wall <= end):
                return True
    return not between and wall.weekday() in days


window_lists = st.lists(
    st.tuples(st.integers(0, 1439), st.integers(0, 1440)).map(lambda ends: Window(*ends)), max_size=3
).map(tuple)
near_midnight = st.lists(
    st.tuples(
        st.sampled_from((0, 1, 15, 60, 90, 120, 150, 180, 1380, 1410, 1439)),
        st.sampled_from((0, 30, 60, 90, 120, 150, 210, 1380, 1440)),
    )
    .filter(lambda ends: ends[0] != ends[1])
    .map(lambda ends: Window(*ends)),
    max_size=3,
).map(tuple)
some_days = st.one_of(st.just(EVERY_DAY), st.frozensets(st.integers(0, 6), min_size=1))


@pytest.mark.parametrize(("zone", "change"), CHANGES)
@given(
    between=st.one_of(window_lists, near_midnight),
    days=some_days,
    early=st.integers(0, 3000),
    period=st.sampled_from((1, 7, 10, 60)),
)
@settings(deadline=None, max_examples=8)
def test_an_interval_runs_at_each_point_of_its_grid_whose_minute_is_open(
    *, zone: str, change: datetime, between: tuple[Window, ...], days: frozenset[int], early: int, period: int
) -> None:
    start, end = change - early * MINUTE, change + 1500 * MINUTE
    by = bounded(Every(period * MINUTE), between=between, days=days, zone=ZoneInfo(zone))
    grid = minutes_of(ZoneInfo(zone), start, end)[::period]
    assert walk_to(by, start - TINY, end, anchor=start) == [
        instant for instant, wall in grid if is_open(wall, between, days)
    ]


@pytest.mark.parametrize(("zone", "change"), CHANGES)
@given(expression=crons, between=near_midnight, days=some_days)
@settings(deadline=None, max_examples=4)
def test_a_cron_slot_is_one_by_the_rule_whose_minute_is_open(
    zone: str, change: datetime, expression: str, between: tuple[Window, ...], days: frozenset[int]
) -> None:
    start, end = change - DAY, change + 5 * HOUR
    named = slots_by_rule(expression, ZoneInfo(zone), start, end)
    by = bounded(Cron(expression), between=between, days=days, zone=ZoneInfo(zone))
    assert walk_to(by, start, end) == [
        slot for slot in named if is_open(slot.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0), between, days)
    ]


# How far ahead is looked


def openings_asked(by: Timing, monkeypatch: pytest.MonkeyPatch) -> tuple[datetime | None, int]:
    asked: list[datetime] = []
    ask = windows.next_opening

    def counted(
        instant: datetime, between: tuple[Window, ...], days: frozenset[int], zone: ZoneInfo
    ) -> datetime | None:
        asked.append(instant)
        return ask(instant, between, days, zone)

    monkeypatch.setattr("heartbeat.schedule.walk.next_opening", counted)
    return next_slot(by, NOON, anchor=NOON), len(asked)


def test_a_closed_night_of_seconds_is_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    slot, asked = openings_asked(bounded(Every(SECOND), between=(MORNING,)), monkeypatch)
    assert (slot, asked) == (NOON + 20 * HOUR, 1)


def test_a_slot_that_drifts_into_its_window_after_years_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # A second later each day: from 12:00:01 on to 12:49.
    drifting = bounded(Every(DAY + SECOND), between=(Window(12 * 60 + 49, 12 * 60 + 59),))
    slot, asked = openings_asked(drifting, monkeypatch)
    assert slot == NOON + 49 * 60 * (DAY + SECOND)
    assert asked == 49 * 60 - 1


def test_a_slot_once_a_year_is_found_among_many_windows() -> None:
    # 02:30 is outside of all of them, but on one day of the year runs at 03:00 instead.
    windows = tuple(Window(hour * 60 + 50, (hour * 60 + 70) % 1440) for hour in range(14))
    half_past = bounded(Cron("30 0-13 * * *"), between=windows, zone=BERLIN)
    assert next_slot(half_past, NOON, anchor=NOON) == datetime(2027, 3, 28, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "never",
    [
        bounded(Cron("0 3 * * *"), between=(MORNING,)),
        bounded(Every(DAY), between=(MORNING,)),
        bounded(Cron("0 0 1 1 *"), between=(MORNING,), days=frozenset({TUE, SAT})),
        bounded(Every(HOUR), days=frozenset()),
    ],
    ids=str,
)
def test_a_window_that_never_meets_its_schedule_leaves_no_slot(never: Timing) -> None:
    assert next_slot(never, NOON, anchor=NOON) is None
