"""When too much vanishes at once it is the source that is doubted, not the shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from heartbeat.sources.shows.kept import Kept

LEAST = 4
"""Of fewer shows, any may vanish without anything being wrong."""
PATIENCE = timedelta(days=3)
"""So long a loss is doubted; what is still gone then counts as gone, and its absences begin to be counted."""


def doubted(kept: Mapping[str, Sequence[Kept]], source: str, now: datetime) -> frozenset[str]:
    """The artists whose shows at *source* are not to be taken as whole: more than a third of them has just vanished.

    All artists, when that is so of all shows together. *kept* holds, by artist, what is remembered after this run.
    """
    today = now.astimezone(UTC).date()
    counts = {ident: _count(shows, source, today) for ident, shows in kept.items()}
    listed, gone = (sum(count[place] for count in counts.values()) for place in (0, 1))
    if _is_doubtful(listed, gone):
        return frozenset(kept)
    return frozenset(ident for ident, count in counts.items() if _is_doubtful(*count))


def _is_doubtful(listed: int, gone: int) -> bool:
    return listed + gone >= LEAST and 3 * gone > listed + gone


def _count(shows: Iterable[Kept], source: str, today: date) -> tuple[int, int]:
    """How many the source lists, and how many it has just stopped to list."""
    listed = gone = 0
    for kept in shows:
        if source in kept.sources:
            listed += 1
        elif source in kept.gone and today - _day(kept.gone[source]) < PATIENCE:
            gone += 1
    return listed, gone


def gone_since(kept: Kept, source: str) -> date | None:
    """Since when *source* no longer lists it."""
    return _day(kept.gone[source]) if source in kept.gone else None


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return date.min  # a spoilt cache: no reason for doubt
