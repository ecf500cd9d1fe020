"""What is wrong at the moment though the daemon goes on: said once in the log, and in each pulse until it is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from heartbeat.log import event, warn

_SETTLES = 60.0
"""Seconds; a trouble that is back so soon was never over, such as a full disk on which one page was freed."""


class Troubles:
    """Troubles by place; any thread may report one or say that it is over."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._messages: dict[str, str] = {}
        self._past: dict[str, tuple[str, float]] = {}
        """What was over at a place last, and when."""

    def report(self, place: str, error: BaseException) -> None:
        """Something failed at *place* (`ledger`, `run:JOB`, …); logged when it is news."""
        told = "; ".join(str(error).splitlines())  # one line in the pulse: each problem must still end somewhere
        with self._lock:
            message, at = self._past.get(place, ("", 0.0))
            is_back = message == told and self._clock() - at < _SETTLES
            is_news = self._messages.get(place) != told and not is_back
            self._messages[place] = told
        if is_news:
            warn("trouble", place=place, error=f"{type(error).__name__}: {told}")

    def over(self, place: str) -> None:
        """It worked this time."""
        with self._lock:
            was_there = self._messages.pop(place, None)
            if was_there is not None:
                self._past[place] = was_there, self._clock()
        if was_there is not None:
            event("trouble_over", place=place)

    def keep(self, places: Iterable[str]) -> None:
        """Forget those of jobs that are gone: of all places of the form `x:JOB` only these stay."""
        kept = set(places)
        with self._lock:
            for place in [place for place in self._messages if ":" in place and place not in kept]:
                del self._messages[place]
            for place in [place for place in self._past if ":" in place and place not in kept]:
                del self._past[place]

    def all(self) -> tuple[tuple[str, str], ...]:
        """Each as (code, message), for the probe."""
        with self._lock:
            return tuple((f"{place.split(':')[0]}_trouble", message) for place, message in self._messages.items())
