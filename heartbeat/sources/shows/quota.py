"""How many calls a day are left, counted over runs, and corrected by what the server says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from heartbeat.sources import SourceFailed
from heartbeat.sources.shows.fields import count, instant
from heartbeat.sources.shows.notes import Notes

_KEY = "quota"
_LEAST_LIMIT = 100
"""A smaller one is not that of a day."""
_LONGEST = timedelta(days=2)


class Quota:
    """The calls of one day. *reserve* of them are left to whoever else uses the key."""

    def __init__(self, notes: Notes, now: datetime, zone: tzinfo, limit: int, reserve: int) -> None:
        self._notes, self._now, self._zone = notes, now, zone
        self._limit, self._reserve = limit, reserve

    def take(self) -> None:
        """Count one call; raises SourceFailed when none is left."""
        asked, limit, until = self._state()
        if asked >= limit - self._reserve:
            again = until.astimezone(self._zone)
            raise SourceFailed(f"the daily quota is used up; it goes on at {again:%H:%M on %Y-%m-%d}")
        self._keep(asked + 1, limit, until)

    def heed(self, headers: Mapping[str, str]) -> None:
        """What the server has counted is what counts."""
        limit, available = _digits(headers.get("rate-limit")), _digits(headers.get("rate-limit-available"))
        if limit is None or available is None or limit < _LEAST_LIMIT:
            return
        _, _, until = self._state()
        self._keep(max(limit - available, 0), limit, self._reset(headers.get("rate-limit-reset")) or until)

    def _state(self) -> tuple[int, int, datetime]:
        kept: Any = self._notes.get(_KEY)
        asked, limit, until = count(kept, "asked"), count(kept, "limit"), instant(kept, "until")
        if asked is None or limit is None or until is None or not self._now < until <= self._now + _LONGEST:
            midnight = self._now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
            return 0, self._limit, midnight + timedelta(days=1)
        return asked, limit, until

    def _keep(self, asked: int, limit: int, until: datetime) -> None:
        self._notes.put(_KEY, {"asked": asked, "limit": limit, "until": until.isoformat()})

    def _reset(self, asked: str | None) -> datetime | None:
        """The instant of the reset, which is told in milliseconds."""
        millis = _digits(asked)
        if millis is None:
            return None
        until = datetime.fromtimestamp(millis / 1000, UTC)
        return until if self._now < until <= self._now + _LONGEST else None


def _digits(value: str | None) -> int | None:
    return int(value) if value and value.isascii() and value.isdigit() and len(value) <= 14 else None  # noqa: PLR2004
