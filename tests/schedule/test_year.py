"""A whole year in twelve zones: no slot is left out, none comes twice, none drifts, and each has exactly one fate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

import pytest

from heartbeat.model import JobState
from heartbeat.schedule import Cron, Every, Schedule, Timing, next_slot
from heartbeat.slots import CatchUp, Policy, first_look, next_move
from tests.schedule.walks import DAY, MINUTE, TINY

NEW_YEAR, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
WEEKS = [NEW_YEAR + number * 7 * DAY for number in range(53)]
STEP = 5 * MINUTE
"""Nothing in these zones, in this year, falls between two steps."""
TEN_MINUTES = 10 * MINUTE
ORDINARY = 144
"""Slots of ten minutes in a day."""
# Of ten minutes, on the days of the year whose clock changes.
ZONES = {
    "UTC": (),
    "Europe/Berlin": (138, 150),
    "Europe/London": (138, 150),
    "America/New_York": (138, 150),
    "America/Los_Angeles": (138, 150),
    "America/Sao_Paulo": (),
    "America/Havana": (138, 150),
    "Africa/Casablanca": (138, 150),
    "Asia/Kolkata": (),
    "Asia/Kathmandu": (),
    "Australia/Lord_Howe": (141, 147),
    "Pacific/Auckland": (138, 150),
}


@lru_cache
def clock(zone: str) -> tuple[tuple[datetime, datetime], ...]:
    """Each step of the year with what the clock on the wall shows, from a day before to a day after."""
    instants = [NEW_YEAR - DAY + number * STEP for number in range(367 * 288)]
    return tuple((instant, instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0)) for instant in instants)


def each_multiple(zone: str, minutes: int) -> list[datetime]:
    return [instant for instant, wall in clock(zone) if wall.minute % minutes == 0 and NEW_YEAR < instant <= END]


def each_day_at(zone: str, hour: int, minute: int) -> list[datetime]:
    """The first step of each day of the wall calendar at which its clock shows this time or a later one."""
    found: dict[date, datetime] = {}
    for instant, wall in clock(zone):
        if (wall.hour, wall.minute) >= (hour, minute):
            found.setdefault(wall.date(), instant)
    return [instant for instant in found.values() if NEW_YEAR < instant <= END]


def slots_of(schedule: Schedule, zones: list[str]) -> dict[str, list[datetime]]:
    """The slots of the year, walked week by week in all zones: what one has stepped over is known for the next."""
    found: dict[str, list[datetime]] = {zone: [] for zone in zones}
    for first, end in zip(WEEKS, [*WEEKS[1:], END], strict=True):
        for zone in zones:
            timing = Timing((schedule,), ZoneInfo(zone))
            slot = next_slot(timing, first, anchor=NEW_YEAR)
            while slot is not None and slot <= end:
                found[zone].append(slot)
                slot = next_slot(timing, slot, anchor=NEW_YEAR)
    return found


@pytest.mark.parametrize("zones", [list(ZONES)[:6], list(ZONES)[6:]], ids=["first half", "second half"])
def test_cron_of_ten_minutes_meets_each_of_them_on_the_wall(zones: list[str]) -> None:
    slots = slots_of(Cron("*/10 * * * *"), zones)
    for zone in zones:
        assert slots[zone] == each_multiple(zone, 10), zone
        days = Counter(slot.astimezone(ZoneInfo(zone)).date() for slot in slots[zone])
        whole = [days[date(2026, 1, 2) + number * DAY] for number in range(363)]
        assert sorted(count for count in whole if count != ORDINARY) == list(ZONES[zone]), zone


@pytest.mark.parametrize(("hour", "minute"), [(2, 30), (9, 0)])
def test_a_daily_time_comes_once_on_each_day(hour: int, minute: int) -> None:
    slots = slots_of(Cron(f"{minute} {hour} * * *"), list(ZONES))
    for zone in ZONES:
        assert slots[zone] == each_day_at(zone, hour, minute), zone
        days = [slot.astimezone(ZoneInfo(zone)).date() for slot in slots[zone]]
        assert days == [days[0] + number * DAY for number in range(365)], zone


def test_an_interval_of_ten_minutes_neither_drifts_nor_heeds_the_wall() -> None:
    expected = [NEW_YEAR + number * TEN_MINUTES for number in range(1, 365 * ORDINARY + 1)]
    for zone, slots in slots_of(Every(TEN_MINUTES), ["UTC", "America/Havana", "Australia/Lord_Howe"]).items():
        assert slots == expected, zone


# Through the moves of the daemon

DOWN = (datetime(2026, 5, 6, 9, 12, tzinfo=UTC), datetime(2026, 5, 6, 16, 12, tzinfo=UTC))
"""Seven hours in which no daemon runs."""
SUSPENDED = (datetime(2026, 10, 24, 21, 3, 30, tzinfo=UTC), datetime(2026, 10, 25, 5, 41, 7, tzinfo=UTC))
"""A night, in some zones that of the change, over which the machine sleeps."""
RAN = "ran"
CATCH_UPS: tuple[CatchUp, ...] = ("once", "all", "skip")


def wake_at(due: datetime) -> datetime:
    """When a daemon that wants to look at *due* really does."""
    for begins, ends in (DOWN, SUSPENDED):
        if begins <= due < ends:
            return ends
    return due + 200 * TINY


def fates_of(timing: Timing, policy: Policy, expected: list[datetime]) -> Iterator[tuple[datetime, str]]:
    """Each slot with what became of it, as the ledger would keep them, in the order of their entry."""
    state = JobState("check", NEW_YEAR, NEW_YEAR)
    look = first_look(timing, policy, state, NEW_YEAR)
    while look is not None and look <= END:
        now = wake_at(look)
        move = next_move(timing, policy, state, now)
        done = state.last_slot_at or NEW_YEAR
        for fate in move.fates:
            stretch = [slot for slot in expected if fate.first <= slot <= fate.last] if fate.first < fate.last else []
            assert not stretch or fate.count in (len(stretch), None)
            yield from ((slot, fate.state) for slot in stretch or [fate.first])
            done = max(done, fate.last)
        if move.start is not None:
            assert move.start <= now
            yield move.start, RAN
            done = max(done, move.start)
        assert move.next_at is None or move.next_at > done
        state, look = replace(state, last_slot_at=done), move.next_at


def missed_at_once(expected: list[datetime]) -> list[int]:
    return [sum(begins <= slot <= ends for slot in expected) for begins, ends in (DOWN, SUSPENDED)]


JOBS: list[tuple[str, Schedule, CatchUp]] = [
    ("UTC", Every(TEN_MINUTES), "all"),
    ("Europe/Berlin", Cron("*/30 * * * *"), "once"),
    *((zone, Cron("30 2 * * *"), how) for zone in ZONES for how in CATCH_UPS),
    *((zone, Cron("0 9 * * *"), how) for zone in ZONES for how in CATCH_UPS),
]


def expected_of(zone: str, schedule: Schedule) -> list[datetime]:
    match schedule:
        case Cron("30 2 * * *"):
            return each_day_at(zone, 2, 30)
        case Cron("0 9 * * *"):
            return each_day_at(zone, 9, 0)
        case _:
            return each_multiple(zone, 30 if isinstance(schedule, Cron) else 10)


@pytest.mark.parametrize(("zone", "schedule", "catch_up"), JOBS, ids=str)
def test_each_slot_of_the_year_has_exactly_one_fate(zone: str, schedule: Schedule, catch_up: CatchUp) -> None:
    expected = expected_of(zone, schedule)
    fates = list(fates_of(Timing((schedule,), ZoneInfo(zone)), Policy(catch_up), expected))
    assert sorted(slot for slot, _ in fates) == expected
    late = missed_at_once(expected)
    counts = Counter(state for _, state in fates)
    # Of those that passed at once all ran, or the last of them, or only one that was just due at the end.
    just_due = sum(ends - MINUTE <= slot <= ends for _, ends in (DOWN, SUSPENDED) for slot in expected)
    not_run = {"all": 0, "once": sum(max(0, missed - 1) for missed in late), "skip": sum(late) - just_due}
    assert len(expected) - counts[RAN] == not_run[catch_up]
