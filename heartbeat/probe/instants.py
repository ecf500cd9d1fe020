"""Instants as text and back, without the imports that `datetime` costs. Standard library only."""

from __future__ import annotations

import time

_LONGEST = 40
_DAYS_TO_1970 = 719_468
"""From the first of March of the year 0, which is where the count of days begins here."""


def text_of(at: float) -> str:
    """UTC to the second, `2026-06-10T08:00:00Z`; `an unknown instant` for what no calendar shows."""
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
    except (ValueError, OverflowError, OSError):
        return "an unknown instant"


def local_of(at: float) -> str:
    """For people: by this machine's clock on the wall, `2026-06-10 10:00:00 +0200`; UTC where that cannot be told."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(at))
    except (ValueError, OverflowError, OSError):
        return text_of(at)


def seconds_of(text: str) -> float | None:
    """Seconds since 1970 of what `heartbeat.clock.to_text` wrote; None for anything else."""
    if len(text) > _LONGEST:
        return None  # with a year beyond every float
    date, _, rest = text.partition("T")
    day, clock = date.split("-"), rest.removesuffix("Z").split(":")
    if not rest.endswith("Z") or len(day) != 3 or len(clock) != 3 or not text.isascii():  # noqa: PLR2004 year, month, day; hour, minute, second
        return None
    try:
        year, month, number = map(int, day)
        hour, minute, second = int(clock[0]), int(clock[1]), float(clock[2])
    except ValueError:
        return None
    if not (1 <= month <= 12 and 1 <= number <= 31 and 0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 61):  # noqa: PLR2004 as above
        return None
    return _days(year, month, number) * 86_400.0 + hour * 3_600 + minute * 60 + second


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970 in the Gregorian calendar: years begin in March, so that the leap day is their last."""
    year -= month <= 2  # noqa: PLR2004 January and February are the last months of the year before
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + of_year - _DAYS_TO_1970


def span_of(seconds: float) -> str:
    """A length of time for people: `45 s`, `12 min`, `3 h`, `2 d`."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
