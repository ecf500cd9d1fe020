"""One side of a replay in figures, counted as it goes."""

from __future__ import annotations

from datetime import datetime, timedelta

from heartbeat.replay.outcome import Busiest, End, Fate, Totals

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


class Count:
    """Of what happens from *start* on."""

    def __init__(self, start: datetime, end: datetime) -> None:
        self._start, self._end = start, end
        self._calls: dict[str, tuple[datetime, End]] = {}
        self._held = 0
        self._ends = dict.fromkeys(End, 0)

    def add(self, fate: Fate) -> None:
        self._held += fate.was_held
        self._ends[fate.end] += 1
        if fate.end.interrupts and fate.at >= self._start:
            # What joins a wake that waits is no further interruption.
            first = self._calls.get(fate.call)
            if first is None or fate.at < first[0]:
                self._calls[fate.call] = (fate.at, fate.end)

    def totals(self) -> Totals:
        calls = list(self._calls.values())
        notices = sum(end is End.NOTICE for _, end in calls)
        return Totals(
            wakes=len(calls) - notices,
            notices=notices,
            held=self._held,
            brief=self._ends[End.BRIEF],
            dropped=self._ends[End.DROPPED] + self._ends[End.WITHDRAWN],
            per_day=len(calls) / ((self._end - self._start) / _DAY),
            busiest=_busiest(sorted(at for at, _ in calls)),
        )


def _busiest(instants: list[datetime]) -> Busiest | None:
    """The first of the hours with the most; each begins with one of them."""
    best, last = None, 0
    for number, since in enumerate(instants):
        while last < len(instants) and instants[last] - since < _HOUR:
            last += 1
        if best is None or last - number > best.interruptions:
            best = Busiest(since, last - number)
    return best
