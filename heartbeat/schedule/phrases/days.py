"""Which days a phrase is about: days of the week, dates, the first or last of a month, months."""

from __future__ import annotations

from string import ascii_lowercase

from heartbeat.schedule.phrases.said import Said
from heartbeat.schedule.phrases.tokens import Cursor, Token
from heartbeat.schedule.phrases.words import (
    EXAMPLES,
    LAST,
    MONTHS,
    ONE_INSTANT,
    ORDINALS,
    PARTS_OF_DAY,
    RANGE,
    SETS_OF_DAYS,
    WEEKDAYS,
    Unclear,
)

_LAST_DATE, _LAST_WEEK = 31, 5
_DIGITS_OF_A_YEAR = 4
_DIGITS_OF_AN_HOUR, _HOURS = 2, 24


def is_ordinal(token: Token) -> bool:
    return token.kind == "ordinal" or token.text in ORDINALS


def read_days(cursor: Cursor) -> Said:
    """Days, with or without `on` before them; raises Unclear when none are there."""
    if cursor.skip("on", "from"):
        cursor.skip("every", "each")
    cursor.skip("the")
    token = cursor.peek()
    if _is_days_of_week(token):
        return Said(weekdays=_days_of_week(cursor))
    if is_ordinal(token):
        return _ordinals(cursor)
    if token.text in MONTHS:
        return _month_and_dates(cursor)
    if token.kind == "number":
        return _dates_and_month(cursor)
    raise _no_clause(token)


def _no_clause(token: Token) -> Unclear:
    text = token.text[:30]
    if token.kind == "end":
        return Unclear("it ends where something must follow", EXAMPLES)
    if text == "and":
        return Unclear("what follows 'and' is not more of the same", "write a list of two expressions")
    if text in ("until", "till"):
        return Unclear("a phrase has no last day", "give the job's `until`, such as '2026-12-31T23:59:00+01:00'")
    if text in RANGE:
        return Unclear(f"{text!r} does not fit there", "write spans like 'monday to friday' or 'between 8 and 18'")
    return Unclear(f"{text!r} does not fit there", EXAMPLES)


def _is_days_of_week(token: Token) -> bool:
    return token.text in WEEKDAYS or token.text in SETS_OF_DAYS


def _days_of_week(cursor: Cursor) -> frozenset[int]:
    def some() -> frozenset[int]:
        text = cursor.take().text
        return SETS_OF_DAYS[text] if text in SETS_OF_DAYS else _span(cursor, WEEKDAYS, text, 0, 7)

    return frozenset[int]().union(*cursor.many(lambda ahead: _is_days_of_week(cursor.peek(ahead)), some))


def _span(cursor: Cursor, names: dict[str, int], text: str, lowest: int, count: int) -> frozenset[int]:
    """The numbers of `monday`, or of `friday to monday` when the cursor stands before such an end."""
    first = names[text]
    if cursor.peek().text not in RANGE or cursor.peek(1).text not in names:
        return frozenset((first,))
    cursor.take()
    last = names[cursor.take().text]
    if first == last:
        raise Unclear(f"the span from {text!r} ends where it begins", "write two different names, or 'daily at 9'")
    return frozenset((first - lowest + ahead) % count + lowest for ahead in range((last - first) % count + 1))


def _ordinals(cursor: Cursor) -> Said:
    """`1st and 15th`, `first and third monday`, `last day`, and the month that may follow."""
    groups = cursor.many(lambda ahead: _begins_ordinal(cursor, ahead), lambda: _group(cursor))
    months = _names_of_months(cursor) if cursor.peek().text in MONTHS else frozenset()
    return Said(
        nth=frozenset((number, day) for day, numbers in groups if day is not None for number in numbers),
        dates=frozenset(number for day, numbers in groups if day is None for number in numbers),
        months=months,
    )


def _begins_ordinal(cursor: Cursor, ahead: int) -> bool:
    return is_ordinal(cursor.peek(ahead + (cursor.peek(ahead).text == "the")))


def _group(cursor: Cursor) -> tuple[int | None, list[int]]:
    """The day of the week, None for days of the month, and which of them."""

    def one() -> int:
        cursor.skip("the")
        text = cursor.take().text
        return ORDINALS[text] if text in ORDINALS else _date(text[:-2])

    numbers = cursor.many(lambda ahead: _begins_ordinal(cursor, ahead), one)
    token = cursor.peek()
    if token.text in SETS_OF_DAYS:
        remedy = "name the day, such as 'first monday of the month at 9' or 'last day of the month at 18:00'"
        raise Unclear(f"{token.text!r} of a month cannot be counted", remedy)
    if token.text in WEEKDAYS:
        if max(numbers) > _LAST_WEEK:
            raise Unclear("a month has each day of the week at most five times", "write 'first' to 'fifth', or 'last'")
        return WEEKDAYS[cursor.take().text], numbers
    if not cursor.skip("day") and LAST in numbers:
        raise Unclear(
            "'last' does not say of which days",
            "write 'last day of the month at 18' or 'last friday of the month at 9'",
        )
    return None, numbers


def _month_and_dates(cursor: Cursor) -> Said:
    """`december 24`, `december 24th and 31st`."""
    month = cursor.take().text

    def is_date(ahead: int) -> bool:
        token = cursor.peek(ahead + (cursor.peek(ahead).text == "the"))
        return token.kind in ("number", "ordinal")

    def date() -> int:
        cursor.skip("the")
        return _date(cursor.take().text.rstrip(ascii_lowercase))

    if not is_date(0):
        raise Unclear(f"{month!r} does not say on which days", f"write '{month} 24 at 9' or 'daily in {month} at 9'")
    return Said(months=frozenset((MONTHS[month],)), dates=frozenset(cursor.many(is_date, date)))


def _dates_and_month(cursor: Cursor) -> Said:
    """`24 december`, `24 and 31 december`."""
    shown = cursor.peek().text[:20]
    texts = cursor.many(lambda ahead: cursor.peek(ahead).kind == "number", lambda: cursor.take().text)
    cursor.skip("of")
    if cursor.peek().text not in MONTHS:
        if len(shown) == _DIGITS_OF_A_YEAR:
            _date(shown)
        hour = shown if len(shown) <= _DIGITS_OF_AN_HOUR and int(shown) < _HOURS else "9"
        raise Unclear(
            f"{shown!r} may be a time or a date",
            f"write 'at' before a time, such as 'daily at {hour}', or a date like 'on the 9th'",
        )
    return Said(dates=frozenset(map(_date, texts)), months=_names_of_months(cursor))


def _date(text: str) -> int:
    if len(text) == _DIGITS_OF_A_YEAR:
        raise Unclear(f"a phrase comes again each year, {text!r} does not", ONE_INSTANT)
    if len(text) > _DIGITS_OF_A_YEAR or not 1 <= int(text) <= _LAST_DATE:
        raise Unclear(f"{text[:20]!r} is no day of a month", "write 1 to 31, or 'last day'")
    return int(text)


def read_months(cursor: Cursor) -> Said:
    """`of the month`, `in june and july`, `in the morning`."""
    cursor.take()
    if not cursor.skip("the"):
        cursor.skip("every", "each")
    if cursor.skip("month"):
        return Said(of_the_month=True)
    if cursor.peek().text in PARTS_OF_DAY:
        return Said(part=PARTS_OF_DAY[cursor.take().text])
    token = cursor.peek()
    if token.kind in ("number", "duration"):
        raise Unclear(f"'in {token.text[:20]}' depends on when it is read", ONE_INSTANT)
    if token.text not in MONTHS:
        raise Unclear("no month follows 'in' or 'of'", "write 'of the month', 'in june' or 'in june and july'")
    return Said(months=_names_of_months(cursor))


def _names_of_months(cursor: Cursor) -> frozenset[int]:
    def some() -> frozenset[int]:
        return _span(cursor, MONTHS, cursor.take().text, 1, 12)

    return frozenset[int]().union(*cursor.many(lambda ahead: cursor.peek(ahead).text in MONTHS, some))
