"""What a phrase must say, and what it must not say at once, to mean one thing only."""

from __future__ import annotations

from datetime import timedelta

from heartbeat.durations import show_duration
from heartbeat.schedule.phrases.said import Said
from heartbeat.schedule.phrases.tokens import DAY, HOUR, check_halves
from heartbeat.schedule.phrases.words import EVERY_OTHER, ONE_INSTANT, Unclear

_TWO = "keep one, or write a list of two expressions"
_HOW_OFTEN = "write it like 'every 2 hours between 8 and 18'"

_PARTS = {
    "morning": (0, 12 * HOUR - 1),
    "afternoon": (12 * HOUR, 6 * HOUR),
    "evening": (17 * HOUR, 7 * HOUR - 1),
    "night": (18 * HOUR, 12 * HOUR),
}
"""The first minute of each, and how many more it may have: only what nobody would call so is outside."""
_AFTERNOON = 13 * HOUR
"""Whoever writes this or later counts 24 hours."""


def check_said(said: Said, text: str) -> None:
    """Raise Unclear unless it says exactly which instants are meant; *text* is the phrase."""
    check_halves(said.times)
    check_halves(said.window)
    _check_days(said)
    _check_period(said)
    if said.part:
        _check_part(said)
    _check_how_often(said, text)
    if said.window:
        _check_window(said)
    elif not said.times and said.period != "hourly":
        raise Unclear("it does not say at what time", "add one, such as 'at 9' or 'at 17:30'")
    elif not (said.period or said.weekdays or said.nth or said.dates):
        example = "daily in june at 9" if said.months else "daily at 9"
        raise Unclear("it may mean every day or once", f"write it like '{example}', and {ONE_INSTANT}")
    _check_midnight(said)


def _check_days(said: Said) -> None:
    if bool(said.weekdays) + bool(said.nth) + bool(said.dates) > 1:
        raise Unclear("it names days in two ways: either of them, or only where both hold", _TWO)
    if said.nth and not said.months and not said.of_the_month and said.period != "monthly":
        raise Unclear("it does not say of which month", "write it like 'first monday of the month at 9'")
    if said.of_the_month and not said.nth and not said.dates:
        raise Unclear("it does not say on which day of the month", "write it like 'on the 1st of the month at 9'")


def _check_period(said: Said) -> None:
    dated = said.nth or said.dates
    match said.period:
        case "daily" if said.weekdays or dated:
            raise Unclear("it says every day and also on which days", "keep one of the two")
        case "weekly" if not said.weekdays:
            remedy = "write it like 'weekly on monday at 9', or 'every 7d' for elapsed time"
            raise Unclear("it does not say on which day of the week and at what time", remedy)
        case "monthly" if not dated:
            remedy = "write it like 'monthly on the 1st at 9' or 'first monday of the month at 9'"
            raise Unclear("it does not say on which day of the month and at what time", remedy)
        case "yearly" if not (dated and said.months):
            raise Unclear(
                "it does not say on which day of the year and at what time", "write it like 'december 24 at 18'"
            )


def _check_part(said: Said) -> None:
    """Refuse a part of the day without a time, with a time outside it, and a night that lies on two days."""
    if not said.times and not said.window:
        remedy = "write times, such as 'daily at 07:30', or a span, such as 'every 2 hours between 22 and 6'"
        raise Unclear(f"{said.part!r} is no exact time", remedy)
    start, length = _PARTS[said.part]
    times = [time.minute for time in said.times or said.window]
    if any((minute - start) % DAY > length for minute in times):
        remedy = f"leave {said.part!r} out, and write the time like 20:30 or 8:30pm"
        raise Unclear(f"the time is not of the {said.part}", remedy)
    if min(times) < start and _some_days(said):
        remedy = "leave 'night' out and name the days that the clock shows, such as 'tue-sat at 2:30'"
        raise Unclear("the night of a day may be the one before it or after it", remedy)


def _some_days(said: Said) -> bool:
    return bool(said.weekdays or said.nth or said.dates or said.months)


def _check_how_often(said: Said, text: str) -> None:
    """Refuse an interval, `hourly` and times of the day beside each other, and an interval that begins nowhere."""
    hourly = said.period == "hourly"
    if said.minutes and not hourly:
        remedy = "write 'hourly at :15', or it like 'every 2 hours between 00:15 and 23:59'"
        raise Unclear("it names a minute, but not of each hour", remedy)
    if hourly and said.times:
        raise Unclear("it says each hour and also a time of the day", "write 'hourly at :15' or 'daily at 9'")
    if said.step and hourly:
        raise Unclear("it says how often twice", _TWO)
    if not said.step:
        return
    if not said.window and said.step >= DAY * 60:
        raise Unclear("an interval of days does not say which day is the first", EVERY_OTHER)
    if said.times:
        raise Unclear("it has an interval and also a time of the day", f"{_HOW_OFTEN} or 'daily at 9'")
    if not said.window:
        if said.step % 60:
            shown = show_duration(timedelta(seconds=said.step))
            remedy = f"count whole minutes, or give the job's `days` beside the schedule 'every {shown}'"
            raise Unclear("within a day only whole minutes can be counted", remedy)
        remedy = f"give both ends, such as '{text} between 00:00 and 23:59'"
        raise Unclear("it does not say from when on the interval is counted on such a day", remedy)


def _check_window(said: Said) -> None:
    start, end = (time.minute for time in said.window)
    if end < start < _AFTERNOON and said.window[1].either:
        raise Unclear("it may end in the afternoon or on the next morning", "write it like 17:00 or 5pm, or like 05:00")
    if said.times:
        raise Unclear("it has a span and also a time of the day", "keep one of the two")
    if not said.step and said.period != "hourly":
        raise Unclear("a span does not say how often", _HOW_OFTEN)
    if said.step % 60:
        raise Unclear(
            "within a span only whole minutes can be counted", "write it like 'every 2 minutes between 8 and 18'"
        )
    if said.step > (end - start) % DAY * 60:
        remedy = f"write the time, such as 'daily at {start // HOUR:02}:{start % HOUR:02}'"
        raise Unclear("the interval is longer than the span", remedy)
    if end < start and (said.nth or said.dates or said.months):
        remedy = "end it at 23:59, or give the job's `between` and `days` beside a schedule such as 'every 10m'"
        raise Unclear("a span over midnight ends on another day than those named", remedy)


def _check_midnight(said: Said) -> None:
    first = said.window[:1] or said.times
    if any(time.midnight for time in first) and _some_days(said):
        remedy = "write 00:00 for the start of the day named, 23:59 for its end"
        raise Unclear("midnight of a day may be its start or its end", remedy)
