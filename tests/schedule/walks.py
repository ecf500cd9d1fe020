"""Walking through slots, and the same slots by going through every minute of a zone's clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from heartbeat.schedule import Schedule, Timing, next_slot

ZULU, BERLIN = ZoneInfo("UTC"), ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
TINY = timedelta.resolution

CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("Europe/Dublin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Dublin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 8, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ("Pacific/Chatham", datetime(2026, 4, 4, 14, tzinfo=UTC)),
    ("America/Santiago", datetime(2026, 4, 5, 3, tzinfo=UTC)),
    ("America/Santiago", datetime(2026, 9, 6, 4, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 3, 8, 5, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 11, 1, 5, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 4, 23, 22, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 10, 29, 21, tzinfo=UTC)),
    ("Asia/Beirut", datetime(2026, 3, 28, 22, tzinfo=UTC)),
    ("Asia/Beirut", datetime(2026, 10, 24, 21, tzinfo=UTC)),
    # One minute after midnight, back into the day before.
    ("America/St_Johns", datetime(2010, 11, 7, 2, 31, tzinfo=UTC)),
    # Winter time during Ramadan.
    ("Africa/Casablanca", datetime(2026, 2, 15, 2, tzinfo=UTC)),
    ("Africa/Casablanca", datetime(2026, 3, 22, 2, tzinfo=UTC)),
    # Two hours.
    ("Antarctica/Troll", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    # A day that did not happen, and one that nearly happened twice.
    ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
    ("Pacific/Kwajalein", datetime(1969, 9, 30, 13, tzinfo=UTC)),
    ("Europe/Berlin", datetime(1945, 9, 24, 0, tzinfo=UTC)),
    ("Asia/Kathmandu", datetime(1985, 12, 31, 18, 30, tzinfo=UTC)),
    # Another change lies less than a week, or four days, away.
    ("America/Noronha", datetime(2000, 10, 8, 2, tzinfo=UTC)),
    ("Africa/Freetown", datetime(1939, 9, 1, 1, tzinfo=UTC)),
]
_MINUTES = ("*", "*/15", "*/7", "0", "30", "0,30", "5-50/15", "59")
_HOURS = ("*", "*/2", "0", "1", "2", "3", "0-3", "1,2", "23", "23,0")
_DAYS = ("* * *", "25,29 * *", "* * 0", "*/2 * 0", "8 * 1", "1-7 * */7", "* 3,10 *")
crons = st.builds(
    lambda minute, hour, days: f"{minute} {hour} {days}", *map(st.sampled_from, (_MINUTES, _HOURS, _DAYS))
)


def timing(*schedules: Schedule, zone: ZoneInfo = ZULU) -> Timing:
    return Timing(schedules, zone)


def slots_from(walked: Timing, after: datetime, *, anchor: datetime = NOON) -> Iterator[datetime]:
    slot = next_slot(walked, after, anchor=anchor)
    while slot is not None:
        yield slot
        slot = next_slot(walked, slot, anchor=anchor)


def walk(walked: Timing, after: datetime, count: int, *, anchor: datetime = NOON) -> list[datetime]:
    return list(islice(slots_from(walked, after, anchor=anchor), count))


def walk_to(walked: Timing, after: datetime, end: datetime, *, anchor: datetime = NOON) -> list[datetime]:
    return list(takewhile(lambda slot: slot <= end, slots_from(walked, after, anchor=anchor)))


@lru_cache(maxsize=1024)
def minutes_of(zone: ZoneInfo, start: datetime, end: datetime) -> tuple[tuple[datetime, datetime], ...]:
    """Each minute from *start* to *end*, in UTC, with what the clock on the wall shows then."""
    count = (end - start) // MINUTE + 1
    instants = [start + number * MINUTE for number in range(count)]
    return tuple((instant, instant.astimezone(zone).replace(tzinfo=None, fold=0)) for instant in instants)


def slots_by_rule(expression: str, zone: ZoneInfo, start: datetime, end: datetime) -> list[datetime]:
    """The slots in (start, end] by the rules of Debian's cron, read off the zone's real clock minute by minute."""
    minute, hour = expression.split()[:2]
    is_fixed = not minute.startswith("*") and not hour.startswith("*")
    minutes = minutes_of(zone, start - 2 * DAY, end)
    slots: list[datetime] = []
    seen: set[datetime] = set()
    for (_, before), (instant, wall) in pairwise(minutes):
        seen.add(before)
        skipped = (before + step * MINUTE for step in range(1, (wall - before) // MINUTE))
        if is_fixed:
            happens = any(names(expression, each) for each in (*skipped, wall)) and wall not in seen
        else:
            happens = names(expression, wall)
        if happens and instant > start:
            slots.append(instant)
    return slots


@lru_cache(maxsize=100_000)
def names(expression: str, wall: datetime) -> bool:
    """Whether the expression names this minute, on a clock that never changes."""
    minute, hour, day, month, weekday = expression.split()
    days = wall.day in _values(day, 1, 31), bool({wall.isoweekday(), wall.isoweekday() % 7} & _values(weekday, 0, 7))
    is_day = all(days) if "*" in day[0] + weekday[0] else any(days)
    return (
        wall.minute in _values(minute, 0, 59)
        and wall.hour in _values(hour, 0, 23)
        and wall.month in _values(month, 1, 12)
        and is_day
    )


@lru_cache(maxsize=1024)
def _values(text: str, least: int, most: int) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        reach, _, step = part.partition("/")
        first, _, last = (f"{least}-{most}" if reach == "*" else reach).partition("-")
        found |= set(range(int(first), int(last or first) + 1, int(step or 1)))
    return frozenset(found)
