"""What a phrase says, clause by clause, before anything is made of it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from heartbeat.schedule.phrases.tokens import Time
from heartbeat.schedule.phrases.words import Unclear


@dataclass(frozen=True, slots=True)
class Said:
    """Both a single clause and all of them together; what is not said is as it stands here."""

    step: int = 0
    """In seconds."""
    period: str = ""
    """`hourly`, `daily`, `weekly`, `monthly` or `yearly`."""
    minutes: tuple[int, ...] = ()
    """Of each hour."""
    times: tuple[Time, ...] = ()
    window: tuple[Time, ...] = ()
    """Its start and its end."""
    part: str = ""
    """Of the day: `morning`, `afternoon`, `evening` or `night`, which only a time beside it makes exact."""
    weekdays: frozenset[int] = frozenset()
    nth: frozenset[tuple[int, int]] = frozenset()
    """Such as (1, 5) for the first Friday."""
    dates: frozenset[int] = frozenset()
    """Days of the month, LAST for the last one."""
    of_the_month: bool = False
    months: frozenset[int] = frozenset()


_NAMES = {
    "step": "the interval",
    "period": "how often",
    "minutes": "the minute",
    "times": "the time",
    "window": "the span",
    "part": "the part of the day",
    "weekdays": "the days",
    "nth": "the days",
    "dates": "the dates",
    "months": "the months",
}


def join(said: Said, more: Said) -> Said:
    """Both together; raises Unclear where they differ."""
    nothing = Said()
    values: dict[str, Any] = {}
    for name in (field.name for field in fields(Said)):
        old, new, default = getattr(said, name), getattr(more, name), getattr(nothing, name)
        if default not in (old, new) and old != new:
            raise Unclear(f"it gives {_NAMES[name]} twice", "keep one, or write a list of two expressions")
        values[name] = old if new == default else new
    return Said(**values)
