"""Who is at work in the daemon, and until when at most: a worker that is over its time is wedged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GRACE = 120.0
"""Seconds over its own time limit after which work that bounds itself is taken for wedged."""


class Progress:
    """What each thread works at, and its deadline. Safe in any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._work: dict[int, tuple[str, float]] = {}

    @contextmanager
    def working(self, at: str, seconds: float) -> Iterator[None]:
        """This thread works *at* something that bounds itself to so many seconds; what it was at before waits."""
        thread = threading.get_ident()
        with self._lock:
            before = self._work.get(thread)
            self._work[thread] = at, self._clock() + seconds + GRACE
        try:
            yield
        finally:
            with self._lock:
                del self._work[thread]
                if before is not None:
                    # It had no chance to go on meanwhile.
                    self._work[thread] = before[0], self._clock() + GRACE

    def extend(self, seconds: float) -> None:
        """This thread goes on and is well: it may take so long from now on. Nothing for one that is not at work."""
        thread = threading.get_ident()
        with self._lock:
            if thread in self._work:
                self._work[thread] = self._work[thread][0], self._clock() + seconds + GRACE

    def wedged(self) -> tuple[tuple[str, float], ...]:
        """What is over its time, each with the seconds it is over, worst first."""
        now = self._clock()
        with self._lock:
            late = [(at, now - deadline) for at, deadline in self._work.values() if now > deadline]
        return tuple(sorted(late, key=lambda each: -each[1]))
