"""When the jobs of these tests are due, reckoned without heartbeat's help: what the ledger is held against.

Instants are whole microseconds since 1970, so that the slots of a month are one `range`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

Due = Callable[[int, int], Sequence[int]]
"""The slots of a schedule up to an end, which is included, in their order: an interval begins at its anchor."""

SECOND = 10**6
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(text: str) -> int:
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


def show(at: int) -> str:
    return (_EPOCH + timedelta(microseconds=at)).isoformat()


def every(seconds: int) -> Due:
    """From the anchor on."""
    return lambda anchor, end: range(anchor, end + 1, seconds * SECOND)


def multiples(seconds: int) -> Due:
    """Whenever the seconds of the day are a multiple of a number, in UTC."""
    step = seconds * SECOND
    return lambda anchor, end: range((anchor // step + 1) * step, end + 1, step)


def once(text: str) -> Due:
    """Whether or not it lies before the anchor."""
    at = instant(text)
    return lambda _anchor, end: [at] if at <= end else []


def any_of(*schedules: Due) -> Due:
    return lambda anchor, end: sorted({slot for due in schedules for slot in due(anchor, end)})


def each_time(zone: str, minutes: Collection[int] = range(60)) -> Due:
    """Each time that the clock on the wall shows one of these minutes."""
    place = ZoneInfo(zone)

    def slots(anchor: int, end: int) -> list[int]:
        scanned = range((anchor // MINUTE + 1) * MINUTE, end + 1, MINUTE)
        return [at for at in scanned if _wall(at, place).minute in minutes]

    return slots


def once_a_day(zone: str, *times: str) -> Due:
    """At the first instant of a day at which the clock on the wall shows that time, or is past it already."""
    place = ZoneInfo(zone)

    def slots(anchor: int, end: int) -> list[int]:
        found = set()
        begin = anchor // MINUTE * MINUTE - DAY
        latest = _wall(begin, place)
        for at in range(begin, end + 1, MINUTE):
            wall = _wall(at, place)
            wanted = (datetime.combine(wall, time.fromisoformat(text)) for text in times)
            if any(latest < moment <= wall for moment in wanted) and at > anchor:
                found.add(at)
            latest = max(latest, wall)
        return sorted(found)

    return slots


def _wall(at: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(at // SECOND, zone).replace(tzinfo=None, fold=0)
