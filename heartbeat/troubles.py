"""What is wrong at the moment though the daemon goes on: said once in the log, and in each pulse until it is over."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from heartbeat.log import event, warn


class Troubles:
    """Troubles by place; any thread may report one or say that it is over."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._messages: dict[str, str] = {}

    def report(self, place: str, error: BaseException) -> None:
        """Something failed at *place* (`ledger`, `run:JOB`, …); logged when it is news."""
        with self._lock:
            is_news = self._messages.get(place) != str(error)
            self._messages[place] = str(error)
        if is_news:
            warn("trouble", place=place, error=f"{type(error).__name__}: {error}")

    def over(self, place: str) -> None:
        """It worked this time."""
        with self._lock:
            was_there = self._messages.pop(place, None)
        if was_there is not None:
            event("trouble_over", place=place)

    def keep(self, places: Iterable[str]) -> None:
        """Forget those of jobs that are gone: of all places of the form `x:JOB` only these stay."""
        kept = set(places)
        with self._lock:
            for place in [place for place in self._messages if ":" in place and place not in kept]:
                del self._messages[place]

    def all(self) -> tuple[tuple[str, str], ...]:
        """Each as (code, message), for the probe."""
        with self._lock:
            return tuple((f"{place.split(':')[0]}_trouble", message) for place, message in self._messages.items())
