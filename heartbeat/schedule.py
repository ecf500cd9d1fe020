"""Which instants a job is due at: pure functions of a schedule, the last slot, a zone and now."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from croniter import croniter
from croniter.croniter import CroniterBadDateError, CroniterError

_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)
_YEARS_AHEAD = 41
"""29 February falls on a given weekday every 28 years, and once (1 March 2088 to 2128) only after 40."""
_MACROS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NUMBERS = {name: number for names, first in ((_MONTHS, 1), (_WEEKDAYS, 0)) for number, name in enumerate(names, first)}
_RANGE = re.compile("([0-9]+|{names})-([0-9]+|{names})(?![0-9a-z])".format(names="|".join(_NUMBERS)))


@dataclass(frozen=True, slots=True)
class Every:
    """Each multiple of a period, counted from the job's anchor in elapsed time."""

    period: timedelta


@dataclass(frozen=True, slots=True)
class Cron:
    """Five fields (minute first) or six (second first), on the wall clock of a zone."""

    expression: str


@dataclass(frozen=True, slots=True)
class At:
    """One instant."""

    instant: datetime


Schedule = Every | Cron | At


@dataclass(frozen=True, slots=True)
class Due:
    """The slot to run now, and whether it stands for earlier ones too."""

    slot: datetime
    since: datetime | None = None
    """The first of the earlier slots that it stands for."""


def due(schedule: Schedule, *, anchor: datetime, last: datetime | None, now: datetime, zone: ZoneInfo) -> Due | None:
    """The latest slot in (last, now], or None.

    A job is due at its anchor when it runs by interval; a cron slot or an instant counts only after the anchor.
    """
    after = last
    if after is None:
        after = anchor - timedelta.resolution if isinstance(schedule, Every) else anchor
    first = next_slot(schedule, after, anchor=anchor, zone=zone)
    if first is None or first > now:
        return None
    slot = latest_slot(schedule, first, now, anchor=anchor, zone=zone)
    return Due(slot, since=first if first < slot else None)


def next_slot(schedule: Schedule, after: datetime, *, anchor: datetime, zone: ZoneInfo) -> datetime | None:
    """The first slot strictly after an instant, in UTC; None when there is none."""
    # In UTC first: between two instants of one zone Python subtracts wall clocks, an hour off over a clock change.
    after = after.astimezone(UTC)
    match schedule:
        case Every(period):
            start = anchor.astimezone(UTC)
            return start + max(0, (after - start) // period + 1) * period
        case Cron(expression):
            return _next_cron(expression, after, zone)
        case At(instant):
            return instant.astimezone(UTC) if instant > after else None


def latest_slot(schedule: Schedule, first: datetime, now: datetime, *, anchor: datetime, zone: ZoneInfo) -> datetime:
    """The last slot up to now, when *first* is one. Halves the time in question: a year of seconds costs little."""
    slot, end = first, now
    while end - slot >= _SECOND:
        middle = slot + (end - slot) / 2
        found = next_slot(schedule, middle, anchor=anchor, zone=zone)
        if found is not None and found <= end:
            slot = found
        else:
            end = middle
    return slot


def check_cron(expression: str) -> None:
    """Raise ValueError, with the reason, for an expression that has no clear meaning."""
    if expression in _MACROS:
        return
    fields = expression.split()
    if len(fields) not in (5, 6):
        raise ValueError(
            f"cannot use the cron expression {expression!r}: it has {len(fields)} fields; "
            f"write five, or six with seconds first, or one of {', '.join(_MACROS)}"
        )
    for part in (part for text in fields for part in text.split(",")):
        _check_part(part)
    try:
        _croniter(expression, datetime(2026, 1, 1)).get_next(datetime)  # noqa: DTZ001 - a wall clock reading
    except CroniterBadDateError:
        raise ValueError(f"cannot use the cron expression {expression!r}: such a date never comes; mend it") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"cannot use the cron expression {expression!r}: {error}; see `man 5 crontab` for the form"
        ) from error


def _check_part(part: str) -> None:
    """Refuse what croniter takes in a sense that no cron gives it."""
    if not re.fullmatch(r"[0-9A-Za-z*/?#-]{1,20}", part) or "**" in part:
        raise ValueError(f"cannot use {part[:40]!r} in a cron expression; use numbers, names, '*', ',', '-' and '/'")
    if re.fullmatch(r"[hr](/.*)?", part.lower()):
        raise ValueError(f"cannot use {part!r} in a cron expression: it means a random time; write the time")
    ends = _RANGE.match(part.lower())
    if ends and _number(ends[1]) >= _number(ends[2]):
        raise ValueError(
            f"cannot use the range {part!r} in a cron expression: its end does not come after its start; "
            "write a single value, or two ranges with a comma (Sunday is also 7)"
        )


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else _NUMBERS[text]


def _croniter(expression: str, wall: datetime) -> croniter:
    return croniter(
        _settle_days(expression),
        wall,
        second_at_beginning=True,
        implement_cron_bug=True,  # Debian: a day field that begins with '*' makes both day fields count
        max_years_between_matches=_YEARS_AHEAD,
    )


@lru_cache(maxsize=1024)
def _settle_days(expression: str) -> str:
    """Write '*' for both day fields when either alone means every day: croniter takes a list '1,*' for a star."""
    if expression in _MACROS:
        return expression
    *times, day, month, weekday = expression.split()
    if day[0] in "*?" or weekday[0] in "*?":
        return expression
    days, weekdays = croniter.expand(f"0 0 {day} * *")[0], croniter.expand(f"0 0 * * {weekday}")[0]
    return " ".join([*times, "*", month, "*"]) if "*" in days[2] + weekdays[4] else expression


def _next_cron(expression: str, after: datetime, zone: ZoneInfo) -> datetime | None:
    """Wall clock stepping by croniter; what a change of offset means is settled here.

    A fixed-time job (minute and hour do not begin with '*') whose time a gap skips runs right after the gap,
    and runs in the first pass only of an overlap. Any other job runs at each wall clock time that happens.
    """
    fixed = _is_fixed_time(expression)
    wall = after.astimezone(zone).replace(tzinfo=None, fold=0)
    while True:
        try:
            wall = _croniter(expression, wall).get_next(datetime)
        except CroniterError:
            return None
        found = _happens(wall, after, zone, fixed=fixed)
        if found is not None:
            return found if fixed else _repeated(expression, after, found, zone) or found
        if not fixed and not _is_real(wall, zone):
            # Go on at the first time after the gap, which may itself be a slot.
            wall = _change_near(wall, zone).astimezone(zone).replace(tzinfo=None, fold=0) - _SECOND


def _happens(wall: datetime, after: datetime, zone: ZoneInfo, *, fixed: bool) -> datetime | None:
    """The first instant after *after* at which the wall clock shows *wall* (or would, for a fixed time in a gap)."""
    if not _is_real(wall, zone):
        change = _change_near(wall, zone)
        return change if fixed and change > after else None
    passes = (_as_utc(wall, zone, fold) for fold in ((0,) if fixed else (0, 1)))
    return next((instant for instant in passes if instant > after), None)


def _repeated(expression: str, after: datetime, found: datetime, zone: ZoneInfo) -> datetime | None:
    """An earlier slot in the hour that the clock shows a second time, when *after* lies in the first pass."""
    until = min(found, after + _DAY)  # further away, another change of the clock could lie between
    if _offset(after, zone) <= _offset(until, zone):
        return None
    change = _change(after, until, zone)
    wall = change.astimezone(zone).replace(tzinfo=None, fold=0)
    candidate = _croniter(expression, wall - _SECOND).get_next(datetime)
    instant = change + (candidate - wall)
    return instant if instant < found else None


def _is_fixed_time(expression: str) -> bool:
    fields = expression.split()
    if expression in _MACROS:
        return expression != "@hourly"
    minute, hour = fields[-5], fields[-4]
    return not minute.startswith("*") and not hour.startswith("*")


def _as_utc(wall: datetime, zone: ZoneInfo, fold: int = 0) -> datetime:
    return wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)


def _is_real(wall: datetime, zone: ZoneInfo) -> bool:
    return _as_utc(wall, zone).astimezone(zone).replace(tzinfo=None, fold=0) == wall


def _offset(instant: datetime, zone: ZoneInfo) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta()


def _change_near(wall: datetime, zone: ZoneInfo) -> datetime:
    """The change of offset whose gap holds *wall*."""
    instant = _as_utc(wall, zone)
    return _change(instant - _DAY, instant + _DAY, zone)


def _change(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The instant in (before, after] at which the zone's offset becomes another, to the second."""
    low, high, old = before, after, _offset(before, zone)
    while high - low > _SECOND:
        middle = low + (high - low) / 2
        low, high = (middle, high) if _offset(middle, zone) == old else (low, middle)
    return high.replace(microsecond=0)
