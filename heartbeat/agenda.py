"""Which job is to be looked at when. Time is an argument; nothing here reads a clock."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from datetime import datetime, timedelta

_APART = timedelta(seconds=1)
_LONGEST = timedelta(minutes=1)


class Agenda:
    """One instant for each job, in a heap: 100,000 jobs at rest cost nothing, and finding the next is immediate."""

    def __init__(self) -> None:
        self._heap: list[tuple[datetime, str]] = []
        self._at: dict[str, datetime] = {}

    def __len__(self) -> int:
        return len(self._at)

    def put(self, job: str, at: datetime | None) -> None:
        """Look at *job* at this instant and at no other; None: not at all."""
        if at is None:
            self._at.pop(job, None)
            return
        self._at[job] = at
        heapq.heappush(self._heap, (at, job))

    def hasten(self, job: str, at: datetime) -> None:
        """Look at *job* at this instant, unless it is to be looked at sooner."""
        if self._at.get(job, at) >= at:
            self.put(job, at)

    def clear(self) -> None:
        self._heap.clear()
        self._at.clear()

    def next_at(self) -> datetime | None:
        """The first instant at which something is to be looked at."""
        while self._heap and self._is_stale(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take(self, now: datetime) -> list[tuple[datetime, str]]:
        """Take out what is to be looked at by *now*, in the order of the instants."""
        taken = []
        while self._heap and self._heap[0][0] <= now:
            entry = heapq.heappop(self._heap)
            if not self._is_stale(entry):
                del self._at[entry[1]]
                taken.append(entry)
        return taken

    def _is_stale(self, entry: tuple[datetime, str]) -> bool:
        # Putting a job anew leaves its old entry behind: searching a heap would take longer than all the rest.
        return self._at.get(entry[1]) != entry[0]


def stagger(jobs: Sequence[str], now: datetime) -> list[tuple[str, datetime]]:
    """Spread jobs that are late: one a second, or so many that all have begun within a minute."""
    apart = min(_APART, _LONGEST / max(len(jobs), 1))
    return [(job, now + number * apart) for number, job in enumerate(jobs)]
