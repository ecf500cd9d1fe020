"""The clauses of a phrase, in whatever order they come: how often, at what times, between which, on which days."""

from __future__ import annotations

from collections.abc import Sequence

from heartbeat.durations import parse_duration
from heartbeat.schedule.phrases.days import is_ordinal, read_days, read_months
from heartbeat.schedule.phrases.said import Said, join
from heartbeat.schedule.phrases.tokens import Cursor, Time, Token, time_of
from heartbeat.schedule.phrases.words import (
    MONTHS,
    ONE_INSTANT,
    PARTS_OF_DAY,
    PERIODS,
    RANGE,
    TIMES,
    UNEVEN_UNITS,
    UNITS,
    WEEKDAYS,
    Unclear,
)

_MOST_DIGITS = 6
_LAST_MINUTE = 59


def read_clauses(tokens: Sequence[Token]) -> Said:
    """Everything that the tokens say; raises Unclear for what is no clause, and for two of one kind."""
    cursor, said = Cursor(tokens), Said()
    while not cursor.at_end:
        said = join(said, _clause(cursor))
        if cursor.skip(",") and cursor.at_end:
            raise Unclear("it ends with a comma", "leave that out, or add what comes after it")
    return said


def _clause(cursor: Cursor) -> Said:
    token = cursor.peek()
    if token.text in ("every", "each"):
        return _every(cursor)
    is_span = token.kind == "number" and _to_time(cursor, 1)
    if token.text in ("at", *TIMES, *PARTS_OF_DAY) or token.kind == "time" or is_span:
        return _at(cursor)
    if token.text == "between" or (token.text == "from" and cursor.peek(1).text not in WEEKDAYS):
        return _window(cursor)
    if token.text in ("in", "of"):
        return read_months(cursor)
    if token.text in PERIODS and token.text not in (*UNITS, *UNEVEN_UNITS):
        return Said(period=PERIODS[cursor.take().text])
    if token.kind == "duration" or (token.kind == "number" and cursor.peek(1).text in (*UNITS, *UNEVEN_UNITS)):
        shown = token.text if token.kind == "duration" else f"{token.text} {cursor.peek(1).text}"
        raise Unclear(f"'{shown[:30]}' may mean once or always", f"write 'every {shown[:30]}', or {ONE_INSTANT}")
    return read_days(cursor)


def _every(cursor: Cursor) -> Said:
    """What comes after `every`: an interval, a period or days."""
    cursor.take()
    token, after = cursor.peek(), cursor.peek(1).text
    if is_ordinal(token) and after == "day":
        remedy = "count elapsed time, such as 'every 2d', or name the dates, such as 'on the 1st and 15th at 9'"
        raise Unclear(f"'every {token.text} day' does not say which day is the first", remedy)
    if token.kind == "duration" or (token.kind == "number" and after not in MONTHS):
        step = _interval(cursor)
        if not step:
            raise Unclear("an interval of nothing never ends", "write one from 1s to 366d")
        return Said(step=step)
    if token.text in ("hour", "minute", "second") and not (is_ordinal(token) and after in WEEKDAYS):
        return Said(step=_seconds("1", UNITS[cursor.take().text]))
    if token.text in PERIODS:
        return Said(period=PERIODS[cursor.take().text])
    if token.text in PARTS_OF_DAY:
        return Said(period="daily", part=PARTS_OF_DAY[cursor.take().text])
    if token.kind == "time" or token.text in TIMES:
        time_of(token)  # a remedy must not show what is no time
        raise Unclear(f"'every {token.text}' names a time, not days", f"write 'daily at {token.text}'")
    return read_days(cursor)


def _interval(cursor: Cursor) -> int:
    """In seconds: `2h30m`, `90 minutes`, `2 hours and 30 minutes`."""
    if cursor.peek().kind == "duration":
        text = cursor.take().text
        try:
            return int(parse_duration(text).total_seconds())
        except ValueError:  # a number too long, or too many of them
            raise Unclear(
                f"{text[:30]!r} is too long", "write an interval from 1s to 366d, such as 'every 2h30m'"
            ) from None
    total = _counted(cursor)
    while True:
        skipped = int(cursor.peek().text == "and")
        if cursor.peek(skipped).kind != "number" or cursor.peek(skipped + 1).text not in UNITS:
            return total
        cursor.skip("and")
        total += _counted(cursor)


def _counted(cursor: Cursor) -> int:
    number, unit = cursor.take().text, cursor.take().text
    if unit in UNEVEN_UNITS:
        remedy = "count days, such as 'every 30d', or name the date, such as 'on the 1st at 9'"
        raise Unclear("months and years are not equally long", remedy)
    if unit not in UNITS:
        raise Unclear(f"'every {number[:20]}' has no unit", "write one, such as 'every 10 minutes' or 'every 10m'")
    return _seconds(number, UNITS[unit])


def _seconds(number: str, unit: str) -> int:
    if len(number) > _MOST_DIGITS:
        raise Unclear(f"the number {number[:20]} is too large", "write an interval from 1s to 366d")
    return int(parse_duration(number + unit).total_seconds())


def _at(cursor: Cursor) -> Said:
    """Times, a part of the day, or a span that is written as `8am-6pm`."""
    told = cursor.skip("at")
    if cursor.at_end:
        raise Unclear("no time follows 'at'", "write one, such as 'daily at 9'")
    if cursor.peek().text in PARTS_OF_DAY:
        return Said(part=PARTS_OF_DAY[cursor.take().text])
    if cursor.peek().kind == "minute":
        minutes = cursor.many(lambda ahead: cursor.peek(ahead).kind == "minute", lambda: _minute(cursor))
        return Said(minutes=tuple(sorted(set(minutes))))
    first = cursor.peek()
    times = cursor.many(lambda ahead: _is_time(cursor, ahead), lambda: time_of(cursor.take()))
    if not _to_time(cursor):
        return Said(times=tuple(times))
    if len(times) > 1:
        raise Unclear("it has a span and also a time of the day", "keep one of the two")
    cursor.take()
    last = cursor.take()
    if first.kind == last.kind == "number" and not told:
        remedy = f"write 'between {first.text[:20]} and {last.text[:20]}' for times"
        raise Unclear(f"'{first.text[:20]}-{last.text[:20]}' may be times or dates", remedy)
    return _span(times[0], time_of(last))


def _to_time(cursor: Cursor, ahead: int = 0) -> bool:
    """Whether the end of a span of times stands there."""
    return cursor.peek(ahead).text in RANGE and _is_time(cursor, ahead + 1)


def _is_time(cursor: Cursor, ahead: int) -> bool:
    token = cursor.peek(ahead)
    is_date = token.kind == "number" and cursor.peek(ahead + 1).text in MONTHS
    return token.text in TIMES or (token.kind in ("time", "number") and not is_date)


def _minute(cursor: Cursor) -> int:
    text = cursor.take().text[1:]
    if len(text) != 2 or int(text) > _LAST_MINUTE:  # noqa: PLR2004 - two digits
        raise Unclear(f"':{text[:20]}' is no minute of an hour", "write ':00' to ':59', such as 'hourly at :15'")
    return int(text)


def _window(cursor: Cursor) -> Said:
    cursor.take()
    start = time_of(cursor.take())
    if not cursor.skip("and", *RANGE):
        raise Unclear("the span has no end", "write both ends, such as 'between 8 and 18'")
    return _span(start, time_of(cursor.take()))


def _span(start: Time, end: Time) -> Said:
    if start.minute == end.minute:
        raise Unclear("the span ends when it begins", "write two times, such as 'between 00:00 and 23:59'")
    return Said(window=(start, end))
