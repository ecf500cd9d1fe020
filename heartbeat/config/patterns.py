"""Regular expressions of the owner, compiled within limits: what they are searched in comes from anybody."""

from __future__ import annotations

import re

from heartbeat.config.searching import Pattern
from heartbeat.config.wording import show
from heartbeat.text import one_line

LONGEST = 1_000
MOST_REPEATS = 10_000
_PART = re.compile(
    r"""
    \\.                                     # escaped, as a brace may be
    | \[ \^? \]? (?: \\. | [^\]\\] )* \]    # a set of characters
    | (?P<open>\() | (?P<close>\))
    | \{ \s* (?P<least>\d*) \s* ,? \s* (?P<most>\d*) \s* \}
    """,
    re.VERBOSE | re.DOTALL,
)


def compiled(text: str, number: int = 0) -> Pattern:
    """A pattern whose searches are limited; raises ValueError. *number* is its rule's, for the log."""
    import regex  # imported here: it costs more than all the rest, and most have no patterns

    if len(text) > LONGEST:
        raise ValueError(f"cannot use the pattern {show(text)}: it is too long; write at most {LONGEST} characters")
    if _repeats(text) > MOST_REPEATS:
        # Compiling writes out every repetition, and no time limit ends it.
        raise ValueError(
            f"cannot use the pattern {show(text)}: it repeats something more than {MOST_REPEATS} times; count less"
        )
    try:
        return Pattern(regex.compile(text), number)
    except (regex.error, ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
        wrong = one_line(str(error), 100).replace("; ", ", ")
        raise ValueError(
            f"cannot use the pattern {show(text)}: {wrong}; write one of Python's regular expressions"
        ) from None


def _repeats(text: str) -> int:
    """How often what is repeated most is written out; only counts within each other multiply."""
    most = [1]  # in each open group
    last = 1  # in what a count stands behind
    for part in _PART.finditer(text):
        if part["open"]:
            most.append(1)
        elif part["close"]:
            last = most.pop() if len(most) > 1 else 1
            most[-1] = max(most[-1], last)
            if part.end() == len(text) or text[part.end()] != "{":
                last = 1
        elif part["least"] is not None:
            last *= max(1, *(int(count[:9]) for count in (part["least"], part["most"]) if count), 1)
            most[-1] = max(most[-1], last)
            last = 1
        else:
            last = 1
    return max(most)
