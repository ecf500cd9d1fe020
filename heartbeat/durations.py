"""Durations as people write them: `90m`, `1h30m`, `45s`, `7d`."""

from __future__ import annotations

import re
from datetime import timedelta

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_WHOLE = re.compile(r"(?:[0-9]{1,6}[wdhms]){1,5}")  # the longest still fits into a timedelta
_ANY_LENGTH = re.compile(r"(?:[0-9]+[wdhms])+")
_PART = re.compile(r"([0-9]+)([wdhms])")


class DurationTooLong(ValueError):
    """It is written as a duration, and longer than any that is needed."""


def parse_duration(text: str) -> timedelta:
    """The duration of a text such as `1h30m`; raises ValueError with a remedy for anything else."""
    if not _WHOLE.fullmatch(text):
        is_long = _ANY_LENGTH.fullmatch(text)
        wrong = f"cannot read {text!r} as a duration" + (": it is too long" if is_long else "")
        msg = f"{wrong}; write numbers with units w, d, h, m or s, such as '90m' or '1h30m'"
        raise (DurationTooLong if is_long else ValueError)(msg)
    return timedelta(seconds=sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(text)))


def show_duration(duration: timedelta) -> str:
    """The shortest text that `parse_duration` reads back: `5400 s` is `1h30m`; parts of a second are dropped."""
    rest = duration // timedelta(seconds=1)
    parts = []
    for unit, seconds in _UNITS.items():
        count, rest = divmod(rest, seconds)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
