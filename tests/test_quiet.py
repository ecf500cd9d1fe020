"""Quiet hours: their ends on any wall clock, what holds them off, and what breaks through."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heartbeat.decide.quiet import FOLLOWED, QuietHours, QuietWindow, quiet_hold
from heartbeat.model import Finding, Overrides, Urgency
from heartbeat.schedule import Window

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
INSTANT, MINUTE = timedelta.resolution, timedelta(minutes=1)
DAY = 24 * 60


def minutes(text: str) -> int:
    hour, minute = text.split(":")
    return int(hour) * 60 + int(minute)


def window(start: str, end: str, days: str | None = None, *, holidays: bool | None = None) -> QuietWindow:
    """Days as digits; Monday is 0."""
    shape = Window(minutes(start), minutes(end))
    if days is None:
        return QuietWindow(shape)
    return QuietWindow(shape, frozenset(map(int, days)), holidays=bool(holidays))


def local(text: str, zone: ZoneInfo = BERLIN, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).astimezone(UTC)


NIGHT = QuietHours((window("23:30", "07:00"),), BERLIN)
EVENING = local("2026-06-10T23:30")
MORNING = local("2026-06-11T07:00")


# Windows

WHEN = [
    # windows, local instant in Berlin (a Wednesday), the end of the quiet
    ([("23:30", "07:00")], "2026-06-10T23:29:59.999999", None),
    ([("23:30", "07:00")], "2026-06-10T23:30", "2026-06-11T07:00"),
    ([("23:30", "07:00")], "2026-06-11T00:00", "2026-06-11T07:00"),
    ([("23:30", "07:00")], "2026-06-11T06:59:59.999999", "2026-06-11T07:00"),
    ([("23:30", "07:00")], "2026-06-11T07:00", None),
    ([("00:00", "24:00", "2")], "2026-06-10T00:00", "2026-06-11T00:00"),
    ([("00:00", "24:00", "2")], "2026-06-11T00:00", None),
    ([("22:00", "00:00")], "2026-06-10T23:59:59.999999", "2026-06-11T00:00"),
    ([("22:00", "00:00")], "2026-06-11T00:00", None),
    # over midnight it belongs to the day it begins on
    ([("23:30", "07:00", "2")], "2026-06-11T06:00", "2026-06-11T07:00"),
    ([("23:30", "07:00", "3")], "2026-06-11T06:00", None),
    ([("23:30", "07:00", "6")], "2026-06-15T06:00", "2026-06-15T07:00"),
    # what touches or overlaps is one quiet
    ([("22:00", "24:00"), ("00:00", "06:00")], "2026-06-10T22:00", "2026-06-11T06:00"),
    ([("22:00", "01:00"), ("00:30", "02:00"), ("01:59", "06:00")], "2026-06-10T22:00", "2026-06-11T06:00"),
    ([("22:00", "23:59"), ("00:00", "06:00")], "2026-06-10T22:00", "2026-06-10T23:59"),
    ([("00:00", "24:00", "56")], "2026-06-13T12:00", "2026-06-15T00:00"),
    ([("00:00", "24:00", "56"), ("23:00", "06:00")], "2026-06-12T23:00", "2026-06-15T06:00"),
    ([], "2026-06-10T23:30", None),
]


@pytest.mark.parametrize(("windows", "at", "end"), WHEN)
def test_it_is_quiet_from_the_start_to_just_before_the_end(
    windows: list[tuple[str, ...]], at: str, end: str | None
) -> None:
    quiet = QuietHours(tuple(window(*each) for each in windows), BERLIN)
    assert quiet.until(local(at)) == (local(end) if end else None)


HOLIDAYS = [
    # days, holidays in the days, the holiday is a Wednesday: whether it is quiet at its noon
    (None, None, True),
    ("2", False, False),
    ("2", True, True),
    ("", True, True),
    ("0123456", False, False),
]


@pytest.mark.parametrize(("days", "named", "is_quiet"), HOLIDAYS)
def test_on_a_holiday_only_windows_for_every_day_or_for_holidays_count(
    days: str | None, named: bool | None, is_quiet: bool
) -> None:
    hours = QuietHours((window("11:00", "13:00", days, holidays=named),), BERLIN, frozenset({date(2026, 6, 10)}))
    assert (hours.until(local("2026-06-10T12:00")) is not None) == is_quiet


def test_a_window_for_holidays_alone_is_no_quiet_on_other_days() -> None:
    hours = QuietHours((window("11:00", "13:00", "", holidays=True),), BERLIN, frozenset({date(2026, 6, 10)}))
    assert hours.until(local("2026-06-11T12:00")) is None


def test_a_night_that_begins_on_a_holiday_follows_the_holiday_to_its_end() -> None:
    hours = QuietHours((window("23:00", "07:00", "2", holidays=False),), BERLIN, frozenset({date(2026, 6, 10)}))
    assert hours.until(local("2026-06-11T06:00")) is None
    eve = replace(hours, holidays=frozenset({date(2026, 6, 11)}))
    assert eve.until(local("2026-06-11T06:00")) == local("2026-06-11T07:00")


def test_quiet_that_never_ends_is_looked_at_again_after_two_weeks() -> None:
    always = QuietHours((window("00:00", "24:00"),), BERLIN)
    now = local("2026-06-10T12:00")
    assert always.until(now) == local("2026-06-25T00:00") >= now + FOLLOWED
    assert always.until(local("2026-06-10T00:00")) == local("2026-06-24T00:00")


# Changes of the clock

CHANGES = [
    # zone, window, instant, end: as UTC
    (BERLIN, ("23:00", "02:30"), "2026-03-29T00:59", "2026-03-29T01:00"),  # the end is skipped
    (BERLIN, ("02:30", "07:00"), "2026-03-29T01:00", "2026-03-29T05:00"),  # the start is skipped
    (BERLIN, ("02:15", "02:45"), "2026-03-29T01:00", None),  # all of it is
    (BERLIN, ("02:30", "07:00"), "2026-10-25T00:29", None),
    (BERLIN, ("02:30", "07:00"), "2026-10-25T00:30", "2026-10-25T06:00"),  # from the first passage of its start
    (BERLIN, ("02:30", "07:00"), "2026-10-25T01:00", "2026-10-25T06:00"),  # 02:00 once more
    (BERLIN, ("23:00", "02:30"), "2026-10-25T00:45", "2026-10-25T01:30"),  # to the second passage of its end
    (BERLIN, ("23:00", "02:30"), "2026-10-25T01:30", None),
    (ZoneInfo("Asia/Beirut"), ("00:00", "06:00"), "2026-03-28T22:00", "2026-03-29T03:00"),  # midnight is skipped
    (ZoneInfo("Pacific/Apia"), ("00:00", "24:00"), "2011-12-30T09:59", "2011-12-30T10:00"),  # the 30th is skipped
]


@pytest.mark.parametrize(("zone", "shape", "at", "end"), CHANGES)
def test_a_change_of_the_clock_moves_only_the_end_that_it_touches(
    zone: ZoneInfo, shape: tuple[str, str], at: str, end: str | None
) -> None:
    # On the day of the change alone, so that nothing follows.
    day = local_day(zone, shape, at)
    hours = QuietHours((replace(window(*shape), days=frozenset({day.weekday()})),), zone)
    assert hours.until(local(at, ZoneInfo("UTC"))) == (local(end, ZoneInfo("UTC")) if end else None)


def local_day(zone: ZoneInfo, shape: tuple[str, str], at: str) -> date:
    day = local(at, ZoneInfo("UTC")).astimezone(zone).date()
    return day - timedelta(days=minutes(shape[0]) > minutes(shape[1]))


ST_JOHNS = ZoneInfo("America/St_Johns")
OVER_MIDNIGHT = [
    # At 00:01 of a Sunday the clock went back to 23:01 of the Saturday: days, window, instant, end as UTC
    ("4", ("23:45", "23:30"), "2006-10-29T02:30:30", "2006-10-29T03:00"),  # on Sunday still Friday's
    ("6", ("00:00", "01:00"), "2006-10-29T02:50", "2006-10-29T04:30"),  # on Saturday once more already Sunday's
]


@pytest.mark.parametrize(("days", "shape", "at", "end"), OVER_MIDNIGHT)
def test_a_window_holds_while_the_clock_shows_another_date_for_an_hour(
    days: str, shape: tuple[str, str], at: str, end: str
) -> None:
    hours = QuietHours((window(*shape, days),), ST_JOHNS)
    assert hours.until(local(at, ZoneInfo("UTC"))) == local(end, ZoneInfo("UTC"))


WEEKS = {
    # The Monday before each change; St. John's went back over midnight then.
    "Europe/Berlin": (date(2026, 3, 23), date(2026, 10, 19)),
    "America/New_York": (date(2026, 3, 2), date(2026, 10, 26)),
    "Australia/Lord_Howe": (date(2026, 3, 30), date(2026, 9, 28)),
    "America/St_Johns": (date(2006, 10, 23),),
}


@cache
def week(name: str, first: date) -> tuple[tuple[datetime, datetime], ...]:
    """Every minute of twelve days, with what the clock on the wall shows then."""
    zone = ZoneInfo(name)
    start = datetime(first.year, first.month, first.day, tzinfo=UTC) - timedelta(days=3)
    instants = (start + MINUTE * number for number in range(13 * DAY))
    return tuple((instant, instant.astimezone(zone).replace(tzinfo=None)) for instant in instants)


def walked(each: QuietWindow, day: date, clock: tuple[tuple[datetime, datetime], ...]) -> tuple[datetime, datetime]:
    """The span of a window by looking at the clock each minute."""
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - what a clock shows
    start = midnight + MINUTE * each.window.start
    end = midnight + MINUTE * (each.window.end + DAY * (each.window.end < each.window.start))
    begins = next(instant for instant, shown in clock if shown >= start)
    ended, shows = next((instant, shown) for instant, shown in reversed(clock) if shown <= end)
    return begins, ended if shows == end else ended + MINUTE


TIMES = st.integers(0, 95).map(lambda quarter: quarter * 15)
SHAPES = st.tuples(TIMES, TIMES).filter(lambda pair: pair[0] != pair[1]).map(lambda pair: Window(*pair))
WINDOWS = st.builds(QuietWindow, SHAPES, st.frozensets(st.integers(0, 6)))
PLACES = st.sampled_from([(name, first) for name, firsts in WEEKS.items() for first in firsts])


@given(PLACES, st.lists(WINDOWS, max_size=3), st.lists(st.integers(0, 7 * DAY), min_size=1, max_size=10))
@example(("America/St_Johns", date(2006, 10, 23)), [QuietWindow(Window(1425, 15))], [6 * DAY + 180, 6 * DAY + 200])
def test_the_end_is_where_a_walk_minute_by_minute_leaves_the_quiet(
    place: tuple[str, date], windows: list[QuietWindow], offsets: list[int]
) -> None:
    name, first = place
    clock = week(name, first)
    days = [first + timedelta(days=number) for number in range(-2, 9)]
    spans = [walked(each, day, clock) for each in windows for day in days if day.weekday() in each.days]
    hours = QuietHours(tuple(windows), ZoneInfo(name))
    for offset in offsets:
        now = clock[3 * DAY + offset][0]
        step = now
        while any(begin <= step < end for begin, end in spans):
            step += MINUTE
        reached = hours.until(now)
        if step >= clock[0][0] + timedelta(days=11):  # the walk came to its own end
            assert reached is not None
        else:
            assert reached == (step if step > now else None)


@given(
    st.sampled_from(["Europe/Berlin", "America/Havana", "Asia/Kathmandu", "UTC"]).map(ZoneInfo),
    st.lists(WINDOWS, max_size=4),
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    st.none() | st.timedeltas(timedelta(), timedelta(days=3)),
)
def test_it_is_quiet_up_to_the_end_and_not_at_it(
    zone: ZoneInfo, windows: list[QuietWindow], now: datetime, forced: timedelta | None
) -> None:
    hours = QuietHours(tuple(windows), zone, forced_until=now + forced if forced is not None else None)
    end = hours.until(now)
    if end is None:
        return
    assert end > now
    assert hours.until(end - INSTANT) is not None
    assert hours.until(end) is None or end - now >= FOLLOWED


# What the owner said meanwhile

NOON = local("2026-06-10T12:00")


def test_quiet_for_now_holds_till_then_and_goes_on_where_a_window_touches() -> None:
    assert NIGHT.under(Overrides(quiet_until=NOON)).until(NOON - INSTANT) == NOON
    assert NIGHT.under(Overrides(quiet_until=NOON)).until(NOON) is None
    assert NIGHT.under(Overrides(quiet_until=EVENING)).until(NOON) == MORNING
    assert NIGHT.under(Overrides(quiet_until=EVENING - INSTANT)).until(NOON) == EVENING - INSTANT


def test_quiet_for_now_that_ends_in_a_window_or_after_it_ends_with_the_later() -> None:
    assert NIGHT.under(Overrides(quiet_until=MORNING - MINUTE)).until(EVENING) == MORNING
    assert NIGHT.under(Overrides(quiet_until=MORNING + MINUTE)).until(EVENING) == MORNING + MINUTE


def test_loud_for_now_suspends_the_windows_till_then() -> None:
    loud = NIGHT.under(Overrides(loud_until=EVENING + MINUTE))
    assert loud.until(EVENING + MINUTE - INSTANT) is None
    assert loud.until(EVENING + MINUTE) == MORNING


def test_away_the_hours_are_those_of_the_clock_there() -> None:
    away = NIGHT.under(Overrides(zone="America/New_York"))
    assert away.until(EVENING) is None
    assert away.until(local("2026-06-10T23:30", NEW_YORK)) == local("2026-06-11T07:00", NEW_YORK)


@pytest.mark.parametrize("name", ["", "Mars/Base", "../etc/passwd", "\0", "x" * 5000])
def test_a_zone_that_this_machine_does_not_know_changes_nothing(name: str) -> None:
    assert NIGHT.under(Overrides(zone=name)) == NIGHT


def test_what_was_said_before_does_not_outlast_what_is_said_now() -> None:
    assert NIGHT.under(Overrides(quiet_until=NOON, loud_until=NOON)).under(Overrides()) == NIGHT


# What is held

LAST_CALL = timedelta(minutes=30)


def item(useful_until: datetime | None = None, urgency: Urgency = Urgency.NORMAL) -> Finding:
    return Finding("k", "title", urgency=urgency, useful_until=useful_until)


def test_what_comes_when_it_is_not_quiet_is_not_held_and_no_reason_is_given() -> None:
    assert quiet_hold(item(NOON, Urgency.CRITICAL), NIGHT, NOON) == (None, "")
    assert quiet_hold(item(), NIGHT, EVENING - INSTANT) == (None, "")
    assert quiet_hold(item(), NIGHT, MORNING) == (None, "")


@pytest.mark.parametrize("urgency", [Urgency.LOW, Urgency.NORMAL, Urgency.HIGH])
def test_what_keeps_is_held_till_the_end(urgency: Urgency) -> None:
    for useful in (None, MORNING + INSTANT):
        assert quiet_hold(item(useful, urgency), NIGHT, EVENING) == (MORNING, "quiet hours until 2026-06-11 07:00")
    assert quiet_hold(item(), NIGHT, MORNING - INSTANT) == (MORNING, "quiet hours until 07:00")


def test_what_is_critical_breaks_through() -> None:
    until, reason = quiet_hold(item(None, Urgency.CRITICAL), NIGHT, EVENING)
    assert until is None
    assert reason == "it is critical, which breaks through quiet hours (until 2026-06-11 07:00)"


@pytest.mark.parametrize("useful", [MORNING, MORNING - INSTANT, EVENING + LAST_CALL + INSTANT])
def test_what_would_be_of_no_use_at_the_end_is_held_till_its_last_call(useful: datetime) -> None:
    last = useful - LAST_CALL
    until, reason = quiet_hold(item(useful), NIGHT, EVENING)
    assert until == last
    assert "last call at" in reason
    assert quiet_hold(item(useful), NIGHT, last - INSTANT)[0] == last
    until, reason = quiet_hold(item(useful), NIGHT, last)
    assert until is None
    assert reason.startswith("last call: it is of use only until ")


def test_a_meeting_after_the_end_waits_for_the_end_and_one_before_it_is_told_in_time() -> None:
    at_six = local("2026-06-11T05:45")
    assert quiet_hold(item(local("2026-06-11T07:15")), NIGHT, at_six)[0] == MORNING
    until, reason = quiet_hold(item(local("2026-06-11T06:50")), NIGHT, at_six)
    assert until == local("2026-06-11T06:20")
    assert reason == "quiet hours until 07:00; last call at 06:20, 30m before it is of no use any more"


def test_what_comes_after_its_last_call_is_told_at_once() -> None:
    assert quiet_hold(item(EVENING + MINUTE), NIGHT, EVENING)[0] is None
    assert quiet_hold(item(EVENING + LAST_CALL), NIGHT, EVENING)[0] is None
    assert quiet_hold(item(datetime.min.replace(tzinfo=UTC)), NIGHT, EVENING)[0] is None


def test_without_a_last_call_it_is_held_to_the_end_and_said_to_be_missed() -> None:
    never = replace(NIGHT, last_call=None)
    until, reason = quiet_hold(item(MORNING - INSTANT), never, EVENING)
    assert until == MORNING
    assert "missed: last_call is never" in reason
    # Useful to the very end it is still told there.
    assert quiet_hold(item(MORNING), never, EVENING) == (MORNING, "quiet hours until 2026-06-11 07:00")


def test_times_in_reasons_are_those_of_the_clock_where_the_owner_is() -> None:
    away = NIGHT.under(Overrides(zone="America/New_York"))
    assert quiet_hold(item(), away, local("2026-06-11T03:00", NEW_YORK))[1] == "quiet hours until 07:00"


def test_many_windows_are_reckoned_once_for_all_that_is_decided_at_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    windows = tuple(QuietWindow(Window(number * 14, number * 14 + 15)) for number in range(100))
    hours, plain = QuietHours(windows, ZoneInfo("Europe/Berlin")), QuietHours.end
    reckoned: list[datetime] = []

    def end(self: QuietHours, instant: datetime) -> datetime | None:
        reckoned.append(instant)
        return plain(self, instant)

    monkeypatch.setattr(QuietHours, "end", end)
    now = datetime(2026, 6, 9, 22, tzinfo=UTC)  # midnight there
    ends = {hours.under(Overrides()).until(now) for _ in range(10_000)}
    assert ends == {now + timedelta(minutes=99 * 14 + 15)}
    assert len(reckoned) < 200
