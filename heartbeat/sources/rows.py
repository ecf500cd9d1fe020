"""Occurrences as plain JSON rows: how they come from the worker and lie in the cache folder.

Most ticks look at a few of thousands, so a row becomes an Occurrence only when it is wanted.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from heartbeat.sources.occurrence import LONGEST, Occurrence

Row = list[Any]
FORMAT = 2
"""To be raised with every change of what a row holds or of what is read from a calendar: kept rows are then dropped."""
START, UID, SLOT = 0, 2, 3


def to_row(one: Occurrence) -> Row:
    """*one* as a list of JSON values, its start, in seconds since 1970, first."""
    flags = (one.all_day, one.cancelled, one.declined, one.tentative, one.free)
    end = one.end.timestamp() if one.end else None
    start = one.start.timestamp()
    return [start, end, one.uid, one.slot, one.title, *map(int, flags), one.attendees, one.description]


def from_row(row: Row) -> Occurrence:
    """The occurrence that `to_row` was given; raises ValueError, TypeError or OverflowError for anything else."""
    start, end, uid, slot, title, all_day, cancelled, declined, tentative, free, attendees, description = row
    return Occurrence(
        uid=str(uid),
        slot=str(slot),
        title=str(title),
        start=datetime.fromtimestamp(start, UTC),
        end=datetime.fromtimestamp(end, UTC) if _is_end(start, end) else None,
        all_day=bool(all_day),
        cancelled=bool(cancelled),
        declined=bool(declined),
        tentative=bool(tentative),
        free=bool(free),
        attendees=int(attendees),
        description=str(description),
    )


def _is_end(start: float, end: float | None) -> bool:
    return end is not None and abs(end - start) <= LONGEST.total_seconds()


def readable(row: Row) -> Occurrence | None:
    """The occurrence, if it can be one: a service may write what no clock shows, and that must cost nothing else."""
    try:
        return from_row(row)
    except (ValueError, TypeError, OverflowError, OSError):
        return None
