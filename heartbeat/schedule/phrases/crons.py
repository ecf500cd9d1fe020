"""From what a phrase says to cron expressions that say the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from heartbeat.durations import parse_duration
from heartbeat.schedule.cron import check_cron
from heartbeat.schedule.kinds import Cron, Every, Schedule
from heartbeat.schedule.phrases.checks import check_said
from heartbeat.schedule.phrases.said import Said
from heartbeat.schedule.phrases.tokens import DAY, HOUR
from heartbeat.schedule.phrases.words import LAST, Unclear

_LONGEST = parse_duration("366d")
_LONG_RUN = 3
_HOURS, _WEEK = 24, 7


def schedules_of(said: Said, text: str) -> tuple[Schedule, ...]:
    """One interval, or as few cron expressions as together say it; no instant belongs to two of them.

    *text* is the phrase itself, for a remedy that adds to it.

    Raises Unclear for what they cannot say, or could say in more than one way.
    """
    if said.step and said == Said(step=said.step):
        return (_interval(said.step),)
    if said.minutes and said.step == HOUR * 60:
        said = replace(said, step=0, period="hourly")
    check_said(said, text)
    if said.period == "hourly" and not said.window:
        return _crons([f"{_listed(said.minutes or (0,))} *"], _day_fields(said))
    minutes = _minutes(said)
    if not minutes:
        raise Unclear("no such minute lies within the span", "make the span longer")
    next_days = replace(said, weekdays=frozenset((day + 1) % _WEEK for day in said.weekdays))
    if next_days == said:
        minutes = sorted(minute % DAY for minute in minutes)
    today = [minute for minute in minutes if minute < DAY]
    tomorrow = [minute - DAY for minute in minutes if minute >= DAY]
    return (
        *_crons(_grouped(today, said.step // 60), _day_fields(said)),
        *_crons(_grouped(tomorrow, said.step // 60), _day_fields(next_days)),
    )


def _interval(step: int) -> Every:
    if timedelta(seconds=step) > _LONGEST:
        raise Unclear("the interval is too long", "write one from 1s to 366d")
    return Every(timedelta(seconds=step))


def _minutes(said: Said) -> list[int]:
    """The slots of a day in minutes since its midnight; those from 24 hours on are of the day after."""
    if not said.window:
        return sorted({time.minute for time in said.times})
    start, end = (time.minute for time in said.window)
    end += DAY if end < start else 0
    if said.step:
        return list(range(start, end + 1, said.step // 60))
    each_hour = (hour + minute for hour in range(0, 2 * DAY, HOUR) for minute in said.minutes or (0,))
    return [minute for minute in each_hour if start <= minute <= end]


def _grouped(slots: Iterable[int], step: int) -> list[str]:
    """Minute and hour fields; hours with the same minutes share one pair."""
    minutes_of: defaultdict[int, list[int]] = defaultdict(list)
    for slot in slots:
        minutes_of[slot // HOUR].append(slot % HOUR)
    hours_with: defaultdict[str, list[int]] = defaultdict(list)
    for hour, minutes in minutes_of.items():
        hours_with[_minute_field(minutes, step)].append(hour)
    return [f"{minutes} {_listed(hours) if len(hours) < _HOURS else '*'}" for minutes, hours in hours_with.items()]


def _minute_field(minutes: list[int], step: int) -> str:
    """With a star for an hour that short steps fill, so that they go on when the clock shows that hour again."""
    if 0 < step < HOUR and HOUR % step == 0 and minutes == list(range(0, HOUR, step)):
        return f"*/{step}" if step > 1 else "*"
    return _listed(minutes)


def _listed(numbers: Iterable[int]) -> str:
    """Such as `0,15,30` or `8-17,20`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) >= _LONG_RUN else ",".join(map(str, run)) for run in runs)


def _day_fields(said: Said) -> str:
    """Day of the month, month and day of the week."""
    dates = [str(date) for date in sorted(said.dates) if date != LAST] + ["L"] * (LAST in said.dates)
    if said.nth:
        weekdays = ",".join(f"L{day}" if number == LAST else f"{day}#{number}" for number, day in sorted(said.nth))
    else:
        weekdays = _listed(said.weekdays) if len(said.weekdays) < _WEEK else ""
    return f"{','.join(dates) or '*'} {_listed(said.months) or '*'} {weekdays or '*'}"


def _crons(times: Iterable[str], days: str) -> tuple[Cron, ...]:
    crons = tuple(Cron(f"{time} {days}") for time in times)
    for cron in crons:
        try:
            check_cron(cron.expression)
        except ValueError:
            raise Unclear("such a day never comes", "mend the day or the month") from None
    return crons
