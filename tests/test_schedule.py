"""Which slots are due: intervals, cron over clock changes, one instant; and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, pairwise, takewhile
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from heartbeat.schedule import At, Cron, Due, Every, Schedule, check_cron, due, next_slot

CASES = [json.loads(line) for line in (Path(__file__).parent / "schedule" / "cron.jsonl").read_text().splitlines()]
NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)
ZULU = ZoneInfo("UTC")
BERLIN = ZoneInfo("Europe/Berlin")
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def slots_from(
    schedule: Schedule, after: datetime, *, anchor: datetime = NOON, zone: ZoneInfo = ZULU
) -> Iterator[datetime]:
    slot = next_slot(schedule, after, anchor=anchor, zone=zone)
    while slot is not None:
        yield slot
        slot = next_slot(schedule, slot, anchor=anchor, zone=zone)


def walk(schedule: Schedule, after: datetime, count: int, zone: ZoneInfo = ZULU) -> list[datetime]:
    return list(islice(slots_from(schedule, after, zone=zone), count))


def walk_to(schedule: Schedule, after: datetime, end: datetime, zone: ZoneInfo) -> list[datetime]:
    return list(takewhile(lambda slot: slot <= end, slots_from(schedule, after, zone=zone)))


# Intervals


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (NOON - DAY, NOON),
        (NOON - timedelta.resolution, NOON),
        (NOON, NOON + 10 * MINUTE),
        (NOON + 10 * MINUTE - timedelta.resolution, NOON + 10 * MINUTE),
        (NOON + 10 * MINUTE, NOON + 20 * MINUTE),
        (NOON + 365 * DAY + 1 * SECOND, NOON + 365 * DAY + 10 * MINUTE),
    ],
)
def test_an_interval_counts_from_its_anchor_and_never_before_it(after: datetime, expected: datetime) -> None:
    assert next_slot(Every(10 * MINUTE), after, anchor=NOON, zone=ZULU) == expected


def test_an_interval_runs_first_at_its_anchor() -> None:
    assert due(Every(HOUR), anchor=NOON, last=None, now=NOON - SECOND, zone=ZULU) is None
    assert due(Every(HOUR), anchor=NOON, last=None, now=NOON, zone=ZULU) == Due(NOON)


@given(period=st.timedeltas(SECOND, 30 * DAY), passed=st.timedeltas(-DAY, 4000 * DAY))
def test_each_slot_of_an_interval_is_an_exact_multiple_of_its_period(period: timedelta, passed: timedelta) -> None:
    slot = next_slot(Every(period), NOON + passed, anchor=NOON, zone=BERLIN)
    assert slot is not None
    assert slot > NOON + passed
    assert slot >= NOON
    assert (slot - NOON) % period == timedelta()
    assert slot == NOON or slot - period <= NOON + passed


def test_an_interval_is_elapsed_time_over_a_clock_change_whatever_zone_the_anchor_is_written_in() -> None:
    anchor = datetime(2026, 3, 28, 12, tzinfo=BERLIN)
    slots = list(islice(slots_from(Every(DAY), anchor, anchor=anchor, zone=BERLIN), 2))
    assert slots == [datetime(2026, 3, 29, 11, tzinfo=UTC), datetime(2026, 3, 30, 11, tzinfo=UTC)]


# What is due


def test_the_latest_slot_stands_for_the_earlier_ones_and_says_from_when() -> None:
    now = NOON + 35 * MINUTE
    assert due(Every(10 * MINUTE), anchor=NOON, last=NOON, now=now, zone=ZULU) == Due(
        NOON + 30 * MINUTE, since=NOON + 10 * MINUTE
    )


def test_one_slot_alone_stands_for_no_other() -> None:
    assert due(Every(10 * MINUTE), anchor=NOON, last=NOON, now=NOON + 19 * MINUTE, zone=ZULU) == Due(NOON + 10 * MINUTE)


def test_a_slot_is_due_at_its_instant_and_not_before() -> None:
    slot = NOON + MINUTE
    assert due(Cron("* * * * *"), anchor=NOON, last=NOON, now=slot - timedelta.resolution, zone=ZULU) is None
    assert due(Cron("* * * * *"), anchor=NOON, last=NOON, now=slot, zone=ZULU) == Due(slot)


@pytest.mark.parametrize("schedule", [Every(MINUTE), Cron("* * * * *"), At(NOON - DAY)])
def test_after_the_clock_is_set_back_nothing_is_due(schedule: Schedule) -> None:
    assert due(schedule, anchor=NOON - 30 * DAY, last=NOON, now=NOON - DAY, zone=ZULU) is None
    assert due(schedule, anchor=NOON, last=None, now=NOON - DAY, zone=ZULU) is None


@pytest.mark.parametrize("part", [timedelta(), timedelta(milliseconds=1), timedelta(milliseconds=999)])
def test_a_cron_slot_counts_only_after_the_anchor(part: timedelta) -> None:
    anchor = NOON + part
    assert due(Cron("* * * * *"), anchor=anchor, last=None, now=anchor, zone=ZULU) is None
    assert due(Cron("* * * * *"), anchor=anchor, last=None, now=NOON + MINUTE, zone=ZULU) == Due(NOON + MINUTE)


def test_one_instant_is_due_once_and_never_again() -> None:
    once = At(NOON + HOUR)
    assert due(once, anchor=NOON, last=None, now=NOON + HOUR - SECOND, zone=ZULU) is None
    assert due(once, anchor=NOON, last=None, now=NOON + 100 * DAY, zone=ZULU) == Due(NOON + HOUR)
    assert due(once, anchor=NOON, last=NOON + HOUR, now=NOON + 100 * DAY, zone=ZULU) is None


@pytest.mark.parametrize("early", [timedelta(), timedelta.resolution, timedelta(milliseconds=500), DAY])
def test_an_instant_that_had_passed_when_the_job_was_anchored_is_never_due(early: timedelta) -> None:
    assert due(At(NOON - early), anchor=NOON, last=None, now=NOON + DAY, zone=ZULU) is None


def test_slots_are_in_utc_however_the_instant_was_written() -> None:
    slot = next_slot(At(datetime(2026, 6, 10, 15, tzinfo=BERLIN)), NOON, anchor=NOON, zone=BERLIN)
    assert slot is not None
    assert slot.isoformat() == "2026-06-10T13:00:00+00:00"


@pytest.mark.parametrize(
    ("expression", "now", "expected"),
    [
        ("* * * * * *", NOON + 31 * DAY, NOON + 31 * DAY),
        # Nothing for eleven months, then a month of seconds to look back into.
        ("* * * * 1 *", datetime(2027, 12, 31, 23, tzinfo=UTC), datetime(2027, 1, 31, 23, 59, 59, tzinfo=UTC)),
        (
            "* * 9-17 * * 1-5",
            datetime(2026, 7, 13, 8, 59, 59, tzinfo=UTC),
            datetime(2026, 7, 10, 17, 59, 59, tzinfo=UTC),
        ),
        ("0 0 29 2 *", datetime(2035, 1, 1, tzinfo=UTC), datetime(2032, 2, 29, tzinfo=UTC)),
    ],
)
def test_the_latest_of_millions_of_missed_slots_is_found_at_once(
    expression: str, now: datetime, expected: datetime
) -> None:
    begun = time.process_time()
    found = due(Cron(expression), anchor=NOON, last=None, now=now, zone=ZULU)
    assert time.process_time() - begun < 0.5
    assert found is not None
    assert found.slot == expected


# Cron


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_cron_follows_debian_over_clock_changes(case: dict[str, Any]) -> None:
    check_cron(case["expr"])
    zone = ZoneInfo(case["tz"])
    slots = walk(Cron(case["expr"]), datetime.fromisoformat(case["start"]), len(case["expected"]), zone=zone)
    assert [slot.astimezone(zone).isoformat() for slot in slots] == case["expected"]


@pytest.mark.parametrize(
    ("macro", "same"),
    [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
    ],
)
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Havana"])
def test_a_macro_means_the_fields_it_stands_for(macro: str, same: str, zone: str) -> None:
    check_cron(macro)
    start = datetime(2026, 3, 7, tzinfo=UTC)
    assert walk(Cron(macro), start, 30, zone=ZoneInfo(zone)) == walk(Cron(same), start, 30, zone=ZoneInfo(zone))


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        ("0 0 1,* * 1", "0 0 * * *"),
        ("0 0 1-31 * 1,*/2", "0 0 * * *"),
        ("0 0 1,*/2 * 0-6", "0 0 * * *"),
        ("0 0 1 * 0-7", "0 0 * * *"),
        ("0 0 1,* * *", "0 0 * * *"),
        ("0 0 1,* * */2", "0 0 * * */2"),
        ("0 0 * * 5-7", "0 0 * * 0,5,6"),
        ("0 0 * * mon-FRI", "0 0 * * 1-5"),
        ("0 0 ? * 1", "0 0 * * 1"),
    ],
)
def test_a_day_list_that_names_every_day_is_no_star(expression: str, same: str) -> None:
    check_cron(expression)
    assert walk(Cron(expression), NOON, 40) == walk(Cron(same), NOON, 40)


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        ("0 0 29 2 *", datetime(2096, 3, 1, tzinfo=UTC), datetime(2104, 2, 29, tzinfo=UTC)),
        ("0 0 29 2 */7", datetime(2088, 3, 1, tzinfo=UTC), datetime(2128, 2, 29, tzinfo=UTC)),
    ],
)
def test_the_rarest_date_is_found(expression: str, after: datetime, expected: datetime) -> None:
    assert next_slot(Cron(expression), after, anchor=NOON, zone=ZULU) == expected


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "it has 0 fields"),
        ("* * * *", "it has 4 fields"),
        ("* * * * * * *", "it has 7 fields"),
        ("@reboot", "@daily"),
        ("@Daily", "@daily"),
        (" @daily", "it has 1 fields"),
        ("@daily *", "it has 2 fields"),
        ("60 * * * *", "out of range"),
        ("* 24 * * *", "out of range"),
        ("* * 0 * *", "out of range"),
        ("* * 32 * *", "out of range"),
        ("* * * 0 *", "out of range"),
        ("* * * 13 *", "out of range"),
        ("* * * * 8", "out of range"),
        ("60 * * * * *", "out of range"),
        ("-1 * * * *", "negative"),
        ("*/0 * * * *", "step '0'"),
        ("*/x * * * *", "not acceptable"),
        ("1--2 * * * *", "not acceptable"),
        ("1-2-3 * * * *", "not acceptable"),
        ("a b c d e", "not acceptable"),
        ("* * * foo *", "not acceptable"),
        ("* * * * mon-xyz", "not acceptable"),
        ("* * * * fri#6", "Invalid day_of_week"),
        ("0 0 30 2 *", "such a date never comes"),
        ("0 0 31 4,6,9,11 *", "such a date never comes"),
        ("1.5 * * * *", "'1.5'"),
        ("1_0 * * * *", "'1_0'"),
        ("** * * * *", "'**'"),
        ("1, * * * *", "''"),
        ("\u0661 * * * *", "'\u0661'"),
        ("\uff11 * * * *", "'\uff11'"),
        ("0\xa09 * * *", "columns"),
        ("R * * * *", "random time"),
        ("r/5 * * * *", "random time"),
        ("1,R * * * *", "random time"),
        ("H H * * *", "random time"),
        ("5-1 * * * *", "'5-1'"),
        ("5-5 * * * *", "'5-5'"),
        ("05-5/2 * * * *", "'05-5/2'"),
        ("* 22-6 * * *", "'22-6'"),
        ("* * * * sat-sun", "'sat-sun'"),
        ("* * * Nov-feb *", "'Nov-feb'"),
        ("* * * * 1,5-2", "'5-2'"),
        ("9" * 5000 + " * * * *", "numbers, names"),
        ("1-" + "9" * 5000 + " * * * *", "numbers, names"),
        ("*; * * * *", "'*;'"),
    ],
)
def test_an_expression_without_a_clear_meaning_is_refused_with_the_reason(expression: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"^cannot use ") as refused:
        check_cron(expression)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


@given(st.lists(st.text("0123456789*,-/?#LWRHabcmonjul ._@", max_size=8), min_size=4, max_size=7).map(" ".join))
@settings(deadline=None)
def test_an_expression_is_either_refused_or_always_means_the_same(expression: str) -> None:
    try:
        check_cron(expression)
    except ValueError as error:
        assert str(error).startswith("cannot use ")  # noqa: PT017 - accepted or refused: both are looked at
        return
    slots = walk(Cron(expression), NOON, 3)
    assert len(slots) == 3
    assert slots == walk(Cron(expression), NOON, 3)


# Properties over clock changes

CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("Europe/Dublin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 8, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ("America/Santiago", datetime(2026, 4, 5, 3, tzinfo=UTC)),
    ("America/Santiago", datetime(2026, 9, 6, 4, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 3, 8, 5, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 11, 1, 5, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
    ("Europe/Berlin", datetime(1945, 9, 24, 0, tzinfo=UTC)),
    ("Asia/Kathmandu", datetime(1985, 12, 31, 18, 30, tzinfo=UTC)),
]
MINUTES = ("*", "*/15", "*/7", "0", "30", "0,30", "5-50/15")
HOURS = ("*", "*/2", "0", "1", "2", "3", "0-3", "1,2", "23")
DAYS = ("* * *", "25,29 * *", "* * 0", "*/2 * 0", "8 * 1")
crons = st.builds(lambda minute, hour, days: f"{minute} {hour} {days}", *map(st.sampled_from, (MINUTES, HOURS, DAYS)))


@lru_cache(maxsize=4096)
def walls(expression: str, start: datetime, end: datetime) -> tuple[datetime, ...]:
    """The readings of a clock without changes that the expression names, in [start, end)."""
    steps = croniter(expression, start - MINUTE, ret_type=datetime, implement_cron_bug=True)
    found: list[datetime] = []
    while not found or found[-1] < end:
        found.append(steps.get_next())
    return tuple(found[:-1])


def slots_by_rule(expression: str, zone: ZoneInfo, start: datetime, end: datetime) -> list[datetime]:
    """The slots in (start, end], by going through every minute of the zone's real clock."""
    named = set(walls(expression, (start - 2 * DAY).replace(tzinfo=None), (end + 2 * DAY).replace(tzinfo=None)))
    minute, hour = expression.split()[:2]
    fixed = not minute.startswith("*") and not hour.startswith("*")
    slots: list[datetime] = []
    seen: set[datetime] = set()
    before = (start - 2 * DAY).astimezone(zone).replace(tzinfo=None)
    instant = start - 2 * DAY + MINUTE
    while instant <= end:
        wall = instant.astimezone(zone).replace(tzinfo=None, fold=0)
        if fixed:
            skipped = {before + step * MINUTE for step in range(1, (wall - before) // MINUTE)}
            happens = bool(skipped & named) or (wall in named and wall not in seen)
        else:
            happens = wall in named
        if happens and instant > start:
            slots.append(instant)
        seen.add(wall)
        before = wall
        instant += MINUTE
    return slots


@pytest.mark.parametrize(("zone", "change"), CHANGES)
@given(expression=crons, early=st.integers(1, 26 * 60), seconds=st.integers(0, 59))
@settings(deadline=None, max_examples=8)
def test_cron_runs_at_each_minute_that_happens_and_a_fixed_time_once(
    zone: str, change: datetime, expression: str, early: int, seconds: int
) -> None:
    start, end = change - early * MINUTE, change + 4 * HOUR
    slots = walk_to(Cron(expression), start + seconds * SECOND, end, ZoneInfo(zone))
    assert slots == slots_by_rule(expression, ZoneInfo(zone), start, end)


@given(
    expression=crons,
    change=st.sampled_from(CHANGES),
    starts=st.lists(st.integers(-3 * 3600, 3 * 3600), min_size=2, max_size=6),
)
@settings(deadline=None)
def test_slots_only_grow_and_are_the_same_however_the_walk_is_cut(
    expression: str, change: tuple[str, datetime], starts: list[int]
) -> None:
    zone, instant = ZoneInfo(change[0]), change[1]
    cuts = sorted(instant + second * SECOND for second in starts)
    whole = walk_to(Cron(expression), cuts[0], cuts[-1], zone)
    assert all(earlier < later for earlier, later in pairwise(whole))
    assert [slot for start, end in pairwise(cuts) for slot in walk_to(Cron(expression), start, end, zone)] == whole


schedules = st.one_of(
    crons.map(Cron),
    st.sampled_from(["* * * * * *", "*/20 30 2 * * *", "0 0 */2 * * *"]).map(Cron),
    st.timedeltas(SECOND, DAY).map(Every),
    st.timedeltas(-2 * DAY, 2 * DAY).map(lambda after: At(NOON + after)),
)


@given(
    schedule=schedules,
    change=st.sampled_from(CHANGES),
    early=st.integers(0, 3600),
    length=st.timedeltas(timedelta(), HOUR),
    fresh=st.booleans(),
)
@settings(deadline=None)
def test_due_finds_what_walking_slot_by_slot_finds(
    schedule: Schedule, change: tuple[str, datetime], early: int, length: timedelta, fresh: bool
) -> None:
    zone, instant = ZoneInfo(change[0]), change[1]
    start = instant - early * SECOND
    if isinstance(schedule, At):
        schedule = At(start + (schedule.instant - NOON) / 48)
    now = start + length
    anchor = start if fresh else start - DAY
    first = start - timedelta.resolution if fresh and isinstance(schedule, Every) else start
    walked = list(takewhile(lambda slot: slot <= now, slots_from(schedule, first, anchor=anchor, zone=zone)))
    found = due(schedule, anchor=anchor, last=None if fresh else start, now=now, zone=zone)
    assert found == (Due(walked[-1], walked[0] if len(walked) > 1 else None) if walked else None)


@given(expression=crons, days=st.integers(0, 4000), zone=st.sampled_from(sorted({zone for zone, _ in CHANGES})))
@settings(deadline=None)
def test_the_next_slot_does_not_change_as_the_time_until_it_passes(expression: str, days: int, zone: str) -> None:
    start = NOON + days * DAY
    slot = next_slot(Cron(expression), start, anchor=NOON, zone=ZoneInfo(zone))
    assert slot is not None
    assume(slot - start > 2 * SECOND)
    for part in (0.25, 0.5, 0.99):
        assert next_slot(Cron(expression), start + (slot - start) * part, anchor=NOON, zone=ZoneInfo(zone)) == slot


def test_a_clock_change_long_before_the_next_slot_does_not_move_it() -> None:
    # Between the two lie a change back by an hour, one forward, and two back (the summer of 1945).
    after = datetime(1944, 9, 1, tzinfo=UTC)
    slot = next_slot(Cron("*/30 2 30 11 *"), after + 100 * DAY, anchor=NOON, zone=BERLIN)
    assert slot == datetime(1945, 11, 30, 1, tzinfo=UTC)
    assert next_slot(Cron("*/30 2 30 11 *"), datetime(1945, 6, 1, tzinfo=UTC), anchor=NOON, zone=BERLIN) == slot


WALK_ALL = f"""
import json
from datetime import datetime, timedelta, UTC
from zoneinfo import ZoneInfo
from heartbeat.schedule import Cron, Every, due, next_slot
found = []
for zone in ("Europe/Berlin", "America/Havana", "Antarctica/Troll"):
    for expression in ("*/20 * * * *", "30 2 * * *", "@daily"):
        slot = datetime.fromisoformat("{datetime(2026, 3, 7, tzinfo=UTC).isoformat()}")
        for _ in range(30):
            slot = next_slot(Cron(expression), slot, anchor=slot, zone=ZoneInfo(zone))
            found.append(slot.isoformat())
    anchor = datetime(2026, 3, 28, 12, tzinfo=UTC)
    at = due(Every(timedelta(hours=7)), anchor=anchor, last=None, now=anchor + timedelta(days=3), zone=ZoneInfo(zone))
    found.append(at.slot.isoformat())
print(json.dumps(found))
"""


def test_the_slots_do_not_depend_on_the_zone_of_the_process() -> None:
    answers = {
        subprocess.run(
            [sys.executable, "-c", WALK_ALL], env={**os.environ, "TZ": zone}, capture_output=True, check=True
        ).stdout
        for zone in ("UTC", "America/New_York", "Pacific/Chatham")
    }
    assert len(answers) == 1
    assert len(json.loads(answers.pop())) == 273
