"""A cron expression in English. It says what croniter expands the fields to, so that the two cannot differ."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise, product

from croniter import croniter

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_NUMBERS = tuple(map(str, range(60)))
_ORDINALS = (
    *("1st", "2nd", "3rd", *(f"{day}th" for day in range(4, 21))),
    *("21st", "22nd", "23rd", *(f"{day}th" for day in range(24, 31)), "31st"),
)
_POSITIONS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", "l": "last"}
_FEW_TIMES = 6
"""So many times of the day are written out as 09:30."""
_FEW_NUMBERS = 12
"""So many numbers of a progression are written out; of more only the step is said."""
_RUN = 3
"""So many neighbours are a range."""

_Nth = Mapping[int, Collection[object]]
"""A weekday (0 is Sunday) and which ones of it in the month: 1 to 5, or 'l' for the last."""


def cron_words(expression: str) -> str:
    """What a valid expression means, without its zone."""
    expanded, nth = croniter.expand(expression, second_at_beginning=True)
    minutes, hours = _numbers(expanded[0]), _numbers(expanded[1])
    seconds = _numbers(expanded[5]) if len(expanded) > len("mhdMw") else [0]
    months = _numbers(expanded[3])
    day = _day(expression.lower(), expanded[2], expanded[4], nth) or ("every day" if hours else "")
    if len(months) == 1 and day.endswith(" of the month"):
        day, months = f"{day.removesuffix('the month')}{_MONTHS[months[0] - 1]}", []
    only = f", only in {join(runs(_MONTHS, [month - 1 for month in months]))}" if months else ""
    return f"{_times(seconds, minutes, hours)} {day}".rstrip() + only


def _numbers(field: Collection[object]) -> list[int]:
    """The values of a field in order; none when each one is allowed."""
    return [] if "*" in field else sorted(value for value in field if isinstance(value, int))


# Times of the day: an empty list stands for every second, minute or hour.


def _times(seconds: list[int], minutes: list[int], hours: list[int]) -> str:
    if 0 < len(seconds) * len(minutes) * len(hours) <= _FEW_TIMES:
        clock = "{:02}:{:02}" if seconds == [0] else "{:02}:{:02}:{:02}"
        return "at " + join([clock.format(*time) for time in product(hours, minutes, seconds)])
    minute = f"{_listed('minute', minutes)} of {_hours(hours)}" if minutes else f"every minute{_span(hours)}"
    if seconds == [0]:
        return f"at {minute}" if minutes else minute
    if seconds:
        return f"at {_listed('second', seconds)} of {minute}"
    return f"every second of {minute}" if minutes or hours else "every second"


def _span(hours: list[int]) -> str:
    """The hours whose every minute counts."""
    if not hours:
        return ""
    contiguous = hours[-1] - hours[0] == len(hours) - 1
    return f" from {hours[0]:02}:00 to {hours[-1]:02}:59" if contiguous else f" of {_hours(hours)}"


def _hours(hours: list[int]) -> str:
    if not hours:
        return "every hour"
    return f"hour {hours[0]}" if len(hours) == 1 else f"the hours {join(runs(_NUMBERS, hours))}"


def _listed(unit: str, numbers: list[int]) -> str:
    step = _step(numbers)
    if step:
        return f"every {_ORDINALS[step - 1]} {unit} from {numbers[0]} to {numbers[-1]}"
    return f"{unit} {join(runs(_NUMBERS, numbers))}"


# Days


def _day(expression: str, days: Collection[object], weekdays: Collection[object], nth: _Nth) -> str:
    """On which days; empty for each one. A field that begins with '*' makes both count, else either is enough."""
    fields = expression.split()
    day, weekday = (fields[-3], fields[-1]) if len(fields) > 1 else ("*", "*")  # a macro restricts one at most
    both = day[0] in "*?" or weekday[0] in "*?"
    every_day = "w" not in day and ("*" in days or len(days) == len(_ORDINALS))
    every_weekday = not nth and ("*" in weekdays or len(weekdays) == len(WEEKDAYS))
    if (every_day and every_weekday) or (not both and (every_day or every_weekday)):
        return ""
    nearest = "the weekday (Monday to Friday) nearest to " if "w" in day else ""
    if every_weekday:
        return f"on {nearest}{_month_days(days)} of the month"
    named = sorted((number - 1) % 7 for number in weekdays if isinstance(number, int))
    on_weekday = f"on {_positions(nth)} of the month" if nth else f"on {join(runs(WEEKDAYS, named))}"
    if every_day:
        return on_weekday
    if both:
        return f"{on_weekday}, if that is also {nearest}{_month_days(days, 'or')} of the month"
    if nth or nearest:
        return f"on the days that {day!r} as day of the month and {weekday!r} as day of the week name together"
    also = f"every {WEEKDAYS[named[0]]}" if len(named) == 1 else join(runs(WEEKDAYS, named))
    return f"on {_month_days(days)} of the month, and on {also}"


def _month_days(days: Collection[object], last: str = "and") -> str:
    numbers = _numbers(days)
    step = _step(numbers)
    if step and last == "and":
        return (
            f"every {_ORDINALS[step - 1]} day from the {_ORDINALS[numbers[0] - 1]} to the {_ORDINALS[numbers[-1] - 1]}"
        )
    words = runs(_ORDINALS, [number - 1 for number in numbers]) + (["last day"] if "l" in days else [])
    return f"the {join(words, last)}"


def _positions(nth: _Nth) -> str:
    """Such as `the first and third Monday and the last Friday`."""
    words = []
    for number in sorted(nth, key=lambda number: (number - 1) % 7):
        which = [word for position, word in _POSITIONS.items() if position in nth[number]]
        words.append(f"the {join(which)} {WEEKDAYS[(number - 1) % 7]}")
    return join(words)


# Lists


def join(words: Sequence[str], last: str = "and") -> str:
    """An English list: `a, b and c`."""
    return f" {last} ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def runs(names: Sequence[str], numbers: Sequence[int]) -> list[str]:
    """The names of the numbers, which are in order; neighbours become `a to c`."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    words: list[str] = []
    for run in found:
        is_range = len(run) >= _RUN
        words += [f"{names[run[0]]} to {names[run[-1]]}"] if is_range else [names[number] for number in run]
    return words


def _step(numbers: Sequence[int]) -> int | None:
    """The step of a progression that is too long to be written out."""
    steps = {after - before for before, after in pairwise(numbers)}
    return steps.pop() if len(numbers) > _FEW_NUMBERS and len(steps) == 1 and steps != {1} else None
