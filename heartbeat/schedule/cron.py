"""Cron on the wall clock of a zone: croniter parses and steps, what a change of offset means is settled here."""

from __future__ import annotations

import re
from copy import copy
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from croniter import croniter
from croniter.croniter import CroniterBadDateError

from heartbeat.schedule.offsets import change_between
from heartbeat.schedule.wall import end_of_gap, instants_of, reading_at

_SECOND = timedelta(seconds=1)
_WITH_SECONDS = 6
_SOME_DAY = datetime(2026, 1, 1)  # noqa: DTZ001 - a wall clock reading
_YEARS_AHEAD = 41
"""29 February falls on a given weekday every 28 years, and once (1 March 2088 to 2128) only after 40."""
_MACROS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NUMBERS = {name: number for names, first in ((_MONTHS, 1), (_WEEKDAYS, 0)) for number, name in enumerate(names, first)}
_COUNTED = re.compile(r"[0-9]w|w[0-9]|[0-7a-z]#[1-5]|\bl[0-7]", re.IGNORECASE)
"""A nearest weekday such as 15W, a second Monday such as mon#2, or a last Friday such as L5."""
_MIXED = "its days are named in ways that do not mix; write a list of two expressions"
_NO_PLAIN_SPACE = re.compile(r"[^\S \t\n]")
_EVERY = re.compile(r"@every ((?:[0-9]{1,6}[wdhms]){1,5})")


class _Field(NamedTuple):
    name: str
    first: int
    last: int
    names: tuple[str, ...] = ()
    special: str = r"(?!)"
    """What only days may be."""
    more: str = ""


_FIELDS = (
    _Field("second", 0, 59),
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31, (), r"\?|l|w?(?:[1-9]|[12][0-9]|3[01])w?", ", 'L' for the last"),
    _Field("month", 1, 12, _MONTHS),
    _Field(
        "day of the week", 0, 7, _WEEKDAYS, rf"\?|l[0-7]|(?:[0-7]|{'|'.join(_WEEKDAYS)})#[1-5]", ", 'mon#2' or 'L5'"
    ),
)
_RANGE = re.compile("([0-9]+|{names})-([0-9]+|{names})(?![0-9a-z])".format(names="|".join(_NUMBERS)))


def check_cron(expression: str) -> None:
    """Raise ValueError, with the reason, for an expression that has no clear meaning."""
    if expression in _MACROS:
        return
    told = f"cannot use the cron expression {expression!r}"
    fields = expression.split()
    if expression.lstrip().startswith("@"):
        interval = _EVERY.fullmatch(expression)
        remedy = f"write the interval as 'every {interval[1]}'" if interval else f"write one of {', '.join(_MACROS)}"
        raise ValueError(f"{told}: such a macro is not known; {remedy}")
    if len(fields) not in (5, 6):
        raise ValueError(
            f"{told}: it has {len(fields)} field{'s' * (len(fields) != 1)}; "
            f"write five, or six with seconds first, or one of {', '.join(_MACROS)}"
        )
    for part in (part for text in fields for part in text.split(",")):
        _check_part(part)
    day, _, weekday = fields[-3:]
    if _COUNTED.search(f"{day} {weekday}") and day[0] not in "*?" and weekday[0] not in "*?":
        raise ValueError(
            f"{told}: it may mean either of its days or only where both hold; "
            "write '*' for one of the two, or a list of two expressions"
        )
    try:
        _stepper(expression, _SOME_DAY).get_next(datetime)
    except CroniterBadDateError:
        raise ValueError(f"{told}: such a date never comes; mend its day or its month") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{told}: {_fault(expression)}") from error
    if len({bool(_COUNTED.search(part)) for part in weekday.split(",")}) > 1:  # croniter forgets '*' beside mon#2
        raise ValueError(f"{told}: {_MIXED}")


def _fault(expression: str) -> str:
    """Why croniter refuses it, and what to write: its own words name no field and no range."""
    fields = expression.split()
    for field, text in zip(_FIELDS[-len(fields) :], fields, strict=True):
        number = "|".join(("[0-9]+", *field.names))
        usual = re.compile(rf"(?:\*|({number})(?:-({number}))?)(?:/0*[1-9][0-9]*)?")
        for part in text.lower().split(","):
            found = usual.fullmatch(part)
            if found and not all(field.first <= _number(end) <= field.last for end in found.groups() if end):
                return f"{part!r} is out of range for the {field.name}; write {field.first} to {field.last}"
            if not found and not re.fullmatch(field.special, part):
                return f"{part!r} cannot be the {field.name}; {_remedy(field, part)}"
    return "it holds unusual spaces; write plain ones" if _NO_PLAIN_SPACE.search(expression) else _MIXED


def _remedy(field: _Field, part: str) -> str:
    last = re.fullmatch(rf"([0-7]|{'|'.join(_WEEKDAYS)})#?l", part)
    if last and field.names == _WEEKDAYS:
        return f"write 'L{_number(last[1])}' for the last one of the month"
    names = f" or {field.names[0]} to {field.names[-1]}" if field.names else ""
    return f"write {field.first} to {field.last}{names}, '*', a range such as '1-5', a step such as '*/2'{field.more}"


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


@lru_cache(maxsize=4096)  # jobs by the same expression are due together
def next_cron(expression: str, after: datetime, zone: ZoneInfo) -> datetime | None:
    """The first slot strictly after *after*, which is in UTC; None when there is none.

    A fixed-time job (minute and hour do not begin with '*') whose time a gap skips runs right after the gap,
    and runs in the first pass only of an overlap. Any other job runs at each wall clock time that happens.
    """
    fixed = is_fixed_time(expression)
    shown = reading_at(after, zone)
    again = None if fixed else _again(expression, after, shown, zone)
    wall = _step(expression, shown)
    while wall is not None:
        instants = instants_of(wall, zone)
        found = next((each for each in instants[: 1 if fixed else 2] if each > after), None)
        if found is not None:
            return min(found, again or found)
        if not instants:
            change = end_of_gap(wall, zone)
            if fixed:
                return change
            wall = reading_at(change, zone) - _SECOND  # the first time after the gap may itself be a slot
        wall = _step(expression, wall)
    return again


def _again(expression: str, after: datetime, shown: datetime, zone: ZoneInfo) -> datetime | None:
    """The first slot among the times up to *shown* that the clock is about to show a second time."""
    second = instants_of(shown, zone)[-1]
    if second <= after:
        return None
    change = change_between(after, second, zone)
    start = reading_at(change, zone)
    wall = _step(expression, start - _SECOND)
    return change + (wall - start) if wall is not None and wall <= shown else None


def is_fixed_time(expression: str) -> bool:
    """Whether it names times of the day: neither the minute nor the hour begins with '*'."""
    if expression in _MACROS:
        return expression != "@hourly"
    minute, hour = expression.split()[-5:-3]
    return not minute.startswith("*") and not hour.startswith("*")


def _step(expression: str, wall: datetime) -> datetime | None:
    """The next time that the expression names, on a clock that never changes; None when there is none."""
    seconds = 0 if len(expression.split()) == _WITH_SECONDS else wall.second
    return _cached_step(expression, wall - timedelta(seconds=seconds, microseconds=wall.microsecond))


@lru_cache(maxsize=4096)  # the times are the same on the wall of every zone
def _cached_step(expression: str, wall: datetime) -> datetime | None:
    stepper = _stepper(expression, wall)
    try:
        found: datetime = stepper.get_next(datetime)
    except (ValueError, OverflowError):  # such a date never comes again, or not before the year 10000
        return None
    return found


def _stepper(expression: str, wall: datetime) -> croniter:
    """A croniter of our own that stands at *wall*: stepping changes it, and parsing takes longer than stepping."""
    stepper = copy(_parsed(expression))
    stepper.set_current(wall, force=True)
    return stepper


@lru_cache(maxsize=4096)
def _parsed(expression: str) -> croniter:
    return croniter(
        _settle_days(expression),
        _SOME_DAY,
        second_at_beginning=True,
        implement_cron_bug=True,  # Debian: a day field that begins with '*' makes both day fields count
        max_years_between_matches=_YEARS_AHEAD,
    )


def _settle_days(expression: str) -> str:
    """Write '*' for both day fields when either alone means every day: croniter takes a list '1,*' for a star."""
    if expression in _MACROS:
        return expression
    *times, day, month, weekday = expression.split()
    if day[0] in "*?" or weekday[0] in "*?":
        return expression
    days, weekdays = croniter.expand(f"0 0 {day} * *")[0], croniter.expand(f"0 0 * * {weekday}")[0]
    return " ".join([*times, "*", month, "*"]) if "*" in days[2] + weekdays[4] else expression
