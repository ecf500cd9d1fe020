"""Whether something starts again and again: a burst, or a slow and steady chain. Pure; standard library only."""

from __future__ import annotations

from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

WINDOW, BURST = 600.0, 4
"""So many starts within so many seconds are a burst."""
GAP, CHAIN = 300.0, 3
"""So many starts, each at most so many seconds after the one before, are a chain: a loop too slow for any window."""


class Flapping(Record):
    """What was found.

    `kind` is `burst`, `chain`, or `counter`: a supervisor's own count, of starts that no log tells of. `starts` are the
    instants that are known, oldest first, in seconds since 1970; `count` is how many there were.
    """

    __slots__ = ("count", "kind", "starts")

    def __init__(self, kind: str, starts: tuple[float, ...], count: int | None = None) -> None:
        self.kind = kind
        self.starts = starts
        self.count = len(starts) if count is None else count

    @property
    def since(self) -> float:
        return self.starts[0]

    @property
    def message(self) -> str:
        if self.kind == "counter":
            return f"{self.count} restarts by the supervisor, of which the log of starts does not tell"
        if self.kind == "burst":
            return f"{self.count} starts within 10 minutes that nobody asked for"
        gap = (self.starts[-1] - self.starts[0]) / (len(self.starts) - 1)
        return f"{self.count} starts in a row that nobody asked for, about {gap:.0f} s apart"


def find_flapping(instants: Iterable[float], now: float) -> Flapping | None:
    """What the instants of unasked starts show at *now*; an instant in the future shows nothing."""
    starts = sorted(at for at in instants if 0 < at <= now)
    recent = tuple(at for at in starts if at >= now - WINDOW)
    chain = _chain(starts, now)
    if len(recent) >= BURST:
        return Flapping("burst", recent)
    return Flapping("chain", chain) if len(chain) >= CHAIN else None


def _chain(starts: list[float], now: float) -> tuple[float, ...]:
    """The latest starts, each soon after the one before, the last one soon before *now*."""
    chain: list[float] = []
    after = now
    for at in reversed(starts):
        if after - at > GAP:
            break
        chain.append(at)
        after = at
    return tuple(reversed(chain))
