"""Which kind of schedule a text is. What could mean two things is refused: a guess would run at the wrong time."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from heartbeat.clock import from_text
from heartbeat.schedule.cron import check_cron
from heartbeat.schedule.kinds import At, Cron, Schedule
from heartbeat.schedule.phrases.clauses import read_clauses
from heartbeat.schedule.phrases.crons import schedules_of
from heartbeat.schedule.phrases.tokens import tokens_of
from heartbeat.schedule.phrases.words import EXAMPLES, Unclear, reworded

_LONGEST = 200
_LONGEST_SHOWN = 60
_MOST = 100
"""More than a job has, whose schedules are shown as one text."""
_SEPARATOR = ";"
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_CRON_FIELDS = re.compile(r"(?:[0-9*?](?:[0-9*?/,-]*[0-9*?])?(?: |$)){2}")
_DATE = re.compile(r"(at |on )?[0-9]{4}-[0-9]")
_INSTANT = re.compile(
    r"(?:at )?([0-9]{4}-[0-9]{2}-[0-9]{2})[t ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)"
    r" ?(z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)


def read_expression(text: str) -> tuple[Schedule, ...]:
    """The schedules whose instants together are those of the text; raises ValueError with a remedy.

    A text may be several expressions with ';' between. Each is several schedules only when one cron expression
    cannot say it, and then no instant belongs to two of them.
    """
    parts = text.split(_SEPARATOR, _MOST)
    if len(parts) > _MOST:
        raise ValueError(f"cannot use so many expressions at once; write at most {_MOST} with ';' between")
    if len(parts) > 1 and not all(map(str.strip, parts)):
        raise ValueError(f"cannot use '' as a part of {_shown(text)}: it is empty; write something beside each ';'")
    return tuple(dict.fromkeys(schedule for part in parts for schedule in _read(part)))


def _read(text: str) -> tuple[Schedule, ...]:
    try:
        plain = _plain(text)
        if plain.startswith(("cron ", "@")) or "*" in plain or _CRON_FIELDS.match(plain):
            fields = plain.removeprefix("cron ")
            check_cron(fields)
            return (Cron(fields),)
        if _DATE.match(plain):
            return (_instant(plain),)
        phrase = reworded(plain)
        return schedules_of(read_clauses(tokens_of(phrase)), phrase)
    except Unclear as unclear:
        raise ValueError(f"cannot use {_shown(text)}: {unclear.why}; {unclear.remedy}") from None


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…")


def _plain(text: str) -> str:
    """In small letters with single spaces."""
    if len(text) > _LONGEST:
        raise Unclear("it is too long", f"write at most {_LONGEST} characters")
    strange = next(
        (letter for letter in text if not (letter.isascii() and (letter.isprintable() or letter == "\t"))), None
    )
    if strange is not None:
        raise Unclear(f"it holds the character {strange!a}", "write plain letters, digits and spaces")
    if not text.strip():
        raise Unclear("it is empty", EXAMPLES)
    return " ".join(text.lower().split())


def _instant(plain: str) -> At:
    found = _INSTANT.fullmatch(plain)
    remedy = "write date, time and offset, such as 'at 2026-06-10T08:00:00+02:00'"
    if found is None:
        raise Unclear("it is no date and time with an offset", remedy)
    if found[3] is None:
        raise Unclear("the instant has no offset", remedy)
    try:
        instant = from_text(f"{found[1]}T{found[2]}{found[3].upper()}")
    except ValueError:
        raise Unclear("the calendar has no such date and time", remedy) from None
    if not _EARLIEST <= instant < _LATEST:
        raise Unclear("it is not of the years 1970 to 2199", remedy)
    return At(instant)
