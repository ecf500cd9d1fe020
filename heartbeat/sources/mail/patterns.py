"""Patterns searched in subjects, each search with a time limit: a subject comes from anybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from heartbeat.sources.text import clean_title

MOST = 100
LONGEST = 1_000
MOST_REPEATS = 10_000
TIME_LIMIT = 0.05
"""Seconds for one search."""
PATIENCE = 3
"""How often a pattern may run out of time before it is set aside for the rest of the run."""
_COUNT = re.compile(r"\{\s*(\d*)\s*,?\s*(\d*)\s*\}")


class Patterns:
    """The patterns of the option; those that are broken or too slow are left out and reported."""

    def __init__(self, value: Any) -> None:
        self._faults: list[str] = []
        self._patterns: dict[str, Any] = dict(self._read(value))
        self._slow: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._patterns)

    @property
    def faults(self) -> list[str]:
        """What is wrong with the patterns, as far as is known by now."""
        slow = [f"{_shown(text)} took too long on {count} subjects; write it simpler"
                for text, count in self._slow.items()]  # fmt: skip
        return self._faults + slow

    def __len__(self) -> int:
        return len(self._patterns)

    def search(self, subject: str) -> str:
        """The first pattern that is found in the subject, to be shown; empty if none is."""
        for text, pattern in self._patterns.items():
            if self._slow.get(text, 0) < PATIENCE and self._found(text, pattern, subject):
                return _shown(text)
        return ""

    def _found(self, text: str, pattern: Any, subject: str) -> bool:
        try:
            return pattern.search(subject, timeout=TIME_LIMIT) is not None
        except (TimeoutError, MemoryError, RecursionError):
            self._slow[text] = self._slow.get(text, 0) + 1
            return False

    def _read(self, value: Any) -> Iterator[tuple[str, Any]]:
        if not isinstance(value, list):
            self._faults.append("cannot use patterns: it is no list; write [ '(?i)invoice' ]")
            return
        for number, text in enumerate(value[:MOST], 1):
            try:
                yield text, _compiled(text)
            except ValueError as error:
                self._faults.append(f"cannot use pattern {number}, {_shown(text)}: {error}")
        if len(value) > MOST:
            self._faults.append(f"cannot use {len(value)} patterns; only the first {MOST} are searched")


def _compiled(text: Any) -> Any:
    import regex  # imported here: it costs more than all the rest, and many have no patterns

    if not isinstance(text, str) or not text:
        raise ValueError("it is no text, or empty; write what the subject has to hold")
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST} characters; write several")
    if _repeats(text) > MOST_REPEATS:
        # Compiling writes out every repetition, and no time limit ends it.
        raise ValueError(f"it repeats something more than {MOST_REPEATS} times; count less")
    try:
        return regex.compile(text)
    except (regex.error, ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
        raise ValueError(f"{clean_title(str(error), 100)}; see Python's regular expressions") from None


def _repeats(text: str) -> int:
    product = 1
    for found in _COUNT.finditer(text):
        product *= max(1, *(int(count[:9]) for count in found.groups() if count))
    return product


def _shown(text: Any) -> str:
    return clean_title(repr(text), 80)
