"""Searching for the owner's patterns in what comes from anybody, within a time that is limited as a whole too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from time import monotonic
from typing import Any

from heartbeat.log import warn

LONGEST = 1.0
"""Seconds of searching at a stretch: before a run is recorded, and again in the transaction that does so."""
MOST_TIMEOUTS = 3
"""So many searches that take too long, and the pattern is not searched for again for the sake of the same run."""
_SLOW = 0.001
"""Seconds of a search whose outcome is kept: to search again is cheaper than to keep all of them."""
_MOST_KEPT = 2_000


class Allowance:
    """The time that the searches for one run, or for what is held at one moment, may take."""

    def __init__(self, seconds: float = LONGEST) -> None:
        self._seconds = self._left = seconds
        self._timeouts: dict[Pattern, int] = {}

    @contextmanager
    def granted(self) -> Iterator[None]:
        """Grant it to the searches in here, whole once more; only what patterns are too slow is remembered."""
        self._left = self._seconds
        token = _ALLOWANCE.set(self)
        try:
            yield
        finally:
            _ALLOWANCE.reset(token)

    def left_for(self, pattern: Pattern) -> float:
        return self._left if self._timeouts.get(pattern, 0) < MOST_TIMEOUTS else 0.0

    def spend(self, pattern: Pattern, seconds: float, *, in_vain: bool) -> None:
        self._left -= seconds
        self._timeouts[pattern] = self._timeouts.get(pattern, 0) + in_vain


_ALLOWANCE: ContextVar[Allowance | None] = ContextVar("allowance", default=None)


class Pattern:
    """A compiled pattern of the package `regex` as a rule searches for it; it never raises."""

    def __init__(self, compiled: Any, number: int) -> None:
        self._compiled, self._number = compiled, number
        self._kept: dict[tuple[int, int], bool] = {}
        self._lock = Lock()
        self._is_told = False

    @property
    def pattern(self) -> str:
        return str(self._compiled.pattern)

    def search(self, text: str, timeout: float) -> bool:
        """Whether it is found within so many seconds, and within what is left of the allowance."""
        key = (len(text), hash(text))
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        allowance = _ALLOWANCE.get()
        limit = timeout if allowance is None else min(timeout, allowance.left_for(self))
        if limit <= 0:
            self._tell()
            return False
        begun, in_vain = monotonic(), False
        try:
            found = self._compiled.search(text, timeout=limit) is not None
        except (TimeoutError, MemoryError, RecursionError):
            found, in_vain = False, True
            self._tell()
        taken = monotonic() - begun
        if allowance is not None:
            allowance.spend(self, taken, in_vain=in_vain)
        if taken >= _SLOW:
            self._keep(key, found)
        return found

    def _keep(self, key: tuple[int, int], found: bool) -> None:
        with self._lock:
            if len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = found

    def _tell(self) -> None:
        if not self._is_told:
            self._is_told = True
            warn("rule_is_slow", rule=self._number, pattern=self.pattern, effect="what was not searched is not found")
