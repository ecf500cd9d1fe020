"""On which of the owner's days the brief is due."""

from __future__ import annotations

from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from heartbeat.clock import local


def brief_day(at: time | None, days: frozenset[int], zone: ZoneInfo, now: datetime) -> date | None:
    """The day whose brief is due at *now* unless it was made: from *at* on the wall clock of the zone to midnight.

    None before that, on other days of the week, and always when *at* is None. A time that the clock skips is past
    when it is put forward.
    """
    wall = local(now, zone)
    is_due = at is not None and wall.weekday() in days and wall.time() >= at
    return wall.date() if is_due else None
