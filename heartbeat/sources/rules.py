"""Recurrence rules from strangers: mended where the meaning is plain, refused where they would run for ever."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from math import prod

from heartbeat.sources.moments import Moment

_FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY")
_BOMBS = ("MINUTELY", "SECONDLY")
_PARTS = frozenset(
    {"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYMONTH", "BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY", "BYHOUR",
     "BYMINUTE", "BYSECOND", "BYSETPOS"}
)  # fmt: skip
_UNTIL = re.compile(r"([0-9]{8})(?:T([0-9]{6})(Z?))?")
_FIRST_YEAR = 1000
_FOR_EVER = "9000"
"""A rule until such a year has no end, and there is no room to move it into another zone."""
MAX_COMBINATIONS = 20_000


class UnusableRule(Exception):
    """The rule cannot be followed; the event's own start still stands."""


class ForbiddenRule(Exception):
    """The rule repeats so fast that the whole series is left out."""


def mended(rule: str, start: Moment) -> str:
    """*rule* as it can be expanded on the wall clock on which *start* was written."""
    pairs = (part.partition("=") for part in rule.upper().split(";"))
    parts = {name.strip(): value.strip() for name, equals, value in pairs if equals}
    if parts.get("FREQ") in _BOMBS:
        raise ForbiddenRule
    if parts.get("FREQ") not in _FREQUENCIES or parts.get("RSCALE", "GREGORIAN") != "GREGORIAN":
        raise UnusableRule
    parts = {name: value for name, value in parts.items() if name in _PARTS and value}
    _check_size(parts)
    if parts.get("COUNT", "1").startswith(("-", "0")):
        del parts["COUNT"]  # old exports write COUNT=-1 for no end
    if (until := parts.pop("UNTIL", "")) and until[:4] < _FOR_EVER:
        parts["UNTIL"] = _until(until, start)
    return ";".join(f"{name}={value}" for name, value in parts.items())


def _check_size(parts: dict[str, str]) -> None:
    if prod(value.count(",") + 1 for name, value in parts.items() if name.startswith("BY")) > MAX_COMBINATIONS:
        raise UnusableRule
    if not re.fullmatch("[0-9]{1,4}", parts.get("INTERVAL", "1")) or int(parts.get("INTERVAL", "1")) == 0:
        raise UnusableRule  # an interval of nothing never ends


def _until(value: str, start: Moment) -> str:
    """The end of a rule on the wall clock of *start*: a day is meant whole, a time without zone is that clock's."""
    match = _UNTIL.fullmatch(value)
    if match is None:
        raise UnusableRule
    if match[1] < f"{_FIRST_YEAR}":
        raise UnusableRule
    if match[2] is None or start.whole_day:
        return f"{match[1]}T235959"
    try:
        wall = datetime.strptime(match[1] + match[2], "%Y%m%d%H%M%S")  # noqa: DTZ007  # a wall clock
    except ValueError:
        raise UnusableRule from None
    if match[3]:
        wall = Moment(wall, UTC).on_clock_of(start)
    return f"{wall:%Y%m%dT%H%M%S}"
