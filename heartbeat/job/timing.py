"""When a job is due, and what becomes of a slot that cannot simply run: plain values from the configuration."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from heartbeat.config import JobSettings, Schedules
from heartbeat.config.times import schedules_in
from heartbeat.durations import show_duration
from heartbeat.schedule import EVERY_DAY, At, Cron, Every, Schedule, Timing, Window, next_slot
from heartbeat.slots import Policy

KEYS = tuple(Schedules.model_fields)
"""The keys of which a job has exactly one."""

_START = datetime(1969, 12, 31, tzinfo=UTC)  # before every instant that a configuration can hold
_SECOND = timedelta(seconds=1)
_LONGEST_WAIT = timedelta(days=2 * 366)
"""So far `schedule` looks ahead through closed windows."""
_DAY = 24 * 60
_WEEK = 7 * _DAY


def schedules_of(source: Schedules) -> dict[str, tuple[Schedule, ...]]:
    """The schedules of each key that is given."""
    given: dict[str, tuple[Schedule, ...]] = {
        "every": (Every(source.every),) if source.every else (),
        "cron": tuple(map(Cron, source.cron or ())),
        "at": tuple(map(At, source.at or ())),
        "schedule": tuple(one for text in source.schedule or () for one in schedules_in(text)),
    }
    return {key: schedules for key, schedules in given.items() if schedules}


def in_words(source: Schedules, zone: ZoneInfo) -> str:
    """The schedules as they are written, for people."""
    words = [
        *([f"every {show_duration(source.every)}"] if source.every else ()),
        *(f"cron {expression}" for expression in source.cron or ()),
        *(f"at {instant.astimezone(zone).isoformat()}" for instant in source.at or ()),
        *(source.schedule or ()),
    ]
    return "; ".join(words)


def timing_of(wanted: JobSettings, schedules: tuple[Schedule, ...], zone: ZoneInfo) -> Timing:
    """When a job is due, but for its jitter."""
    return Timing(
        tuple(dict.fromkeys(schedules)),
        zone,
        between=wanted.between or (),
        days=frozenset().union(*wanted.days) if wanted.days else EVERY_DAY,
        until=wanted.until,
    )


def moved(timing: Timing, shift: timedelta) -> Timing:
    """Later by the job's share of its jitter, unless it is due only at instants that the owner names."""
    once = all(isinstance(schedule, At) for schedule in timing.schedules)
    return timing if once or not shift else replace(timing, shift=shift)


def policy_of(wanted: JobSettings) -> Policy:
    overlap = wanted.overlap or ("queue" if wanted.catch_up == "all" else "skip")
    return Policy(wanted.catch_up, wanted.max_late, overlap, wanted.rerun_interrupted, wanted.paused)


def shift_of(name: str, jitter: timedelta) -> timedelta:
    """A job's own whole number of seconds, less than *jitter*. Always the same, unlike one from Python's own hash."""
    if not jitter:
        return jitter
    return timedelta(seconds=int.from_bytes(hashlib.sha256(name.encode()).digest()) % (jitter // _SECOND))


def fault_of(timing: Timing) -> tuple[str, str] | None:
    """Message and remedy for a timing whose windows leave nothing, or leave it to chance."""
    if not timing.between and timing.days == EVERY_DAY:
        return None
    return _fault(timing.schedules, timing.zone, timing.between, timing.days)


@lru_cache(maxsize=4096)
def _fault(
    schedules: tuple[Schedule, ...], zone: ZoneInfo, between: tuple[Window, ...], days: frozenset[int]
) -> tuple[str, str] | None:
    stretch = _longest_stretch(between, days)
    intervals = [schedule for schedule in schedules if isinstance(schedule, Every)]
    others = tuple(schedule for schedule in schedules if not isinstance(schedule, Every))
    if any(_comes_due(every, stretch) for every in intervals):
        return None
    if others and next_slot(Timing(others, zone, between=between, days=days), _START, anchor=_START) is not None:
        return None
    if not intervals:
        message = "cannot use these times of day and days of the week: inside them the job never comes due"
        return message, "widen them, or change the schedule"
    message = (
        f"cannot run it every {show_duration(intervals[0].period)} inside these times of day and days of the week:"
        " whether it ever came due would depend on when heartbeat first saw the job"
    )
    return message, 'write a shorter interval, or the times themselves, such as cron = "0 9 * * *"'


def _comes_due(every: Every, stretch: int) -> bool:
    """Whether an interval, wherever it begins, meets a stretch of the week of so many minutes before it is given up.

    On the circle of the week, so many instants in a row leave gaps of two lengths, found as Euclid finds a divisor.
    """
    period, week = every.period // _SECOND, _WEEK * 60
    if period <= stretch * 60:
        return True
    ahead, behind = period % week, week - period % week
    instants_ahead = instants_behind = 1
    while max(ahead, behind) > stretch * 60:
        if min(ahead, behind) == 0 or (instants_ahead + instants_behind) * period > _LONGEST_WAIT // _SECOND:
            return False
        if ahead > behind:
            ahead, instants_ahead = ahead - behind, instants_ahead + instants_behind
        else:
            behind, instants_behind = behind - ahead, instants_behind + instants_ahead
    return (instants_ahead + instants_behind) * period <= _LONGEST_WAIT // _SECOND


def _longest_stretch(between: tuple[Window, ...], days: frozenset[int]) -> int:
    """The longest part of a week, in minutes, that lies inside."""
    week = bytearray(_WEEK)
    for day in days:
        for window in between or (Window(0, _DAY),):
            length = window.end - window.start if window.start < window.end else window.end - window.start + _DAY
            for minute in range(window.start, window.start + length):
                week[(day * _DAY + minute) % _WEEK] = 1
    return max(map(len, bytes(week * 2).split(b"\0")))
