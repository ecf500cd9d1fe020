"""Regular expressions of the owner, compiled within limits: what they are searched in comes from anybody."""

from __future__ import annotations

import re
from typing import Any

from heartbeat.config.wording import show
from heartbeat.text import one_line

LONGEST = 1_000
MOST_REPEATS = 10_000
_COUNT = re.compile(r"\{\s*(\d*)\s*,?\s*(\d*)\s*\}")


def compiled(text: str) -> Any:
    """A pattern of the package `regex`, whose searches take a timeout; raises ValueError."""
    import regex  # imported here: it costs more than all the rest, and most have no patterns

    if len(text) > LONGEST:
        raise ValueError(f"cannot use the pattern {show(text)}: it is too long; write at most {LONGEST} characters")
    if _repeats(text) > MOST_REPEATS:
        # Compiling writes out every repetition, and no time limit ends it.
        raise ValueError(
            f"cannot use the pattern {show(text)}: it repeats something more than {MOST_REPEATS} times; count less"
        )
    try:
        return regex.compile(text)
    except (regex.error, ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
        wrong = one_line(str(error), 100).replace("; ", ", ")
        raise ValueError(
            f"cannot use the pattern {show(text)}: {wrong}; write one of Python's regular expressions"
        ) from None


def _repeats(text: str) -> int:
    product = 1
    for found in _COUNT.finditer(text):
        product *= max(1, *(int(count[:9]) for count in found.groups() if count))
    return product
