"""What the next changes of the clock are said to do to a timing, and that it is what happens."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product
from zoneinfo import ZoneInfo

import pytest

from heartbeat.schedule.changes import ClockChange, clock_changes
from heartbeat.schedule.kinds import At, Cron, Every, Timing, Window
from heartbeat.schedule.offsets import next_change
from heartbeat.schedule.walk import next_slot

ZULU, BERLIN = ZoneInfo("UTC"), ZoneInfo("Europe/Berlin")
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
TINY, SECOND, MINUTE, HOUR = timedelta.resolution, timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
TEN_MINUTES = Every(10 * MINUTE)


def effects(timing: Timing, after: datetime = NEW_YEAR) -> list[str]:
    return [change.effect for change in clock_changes(timing, after)]


CRON = [
    # A time that is skipped runs right after, one that comes twice runs once
    (
        "30 2 * * *",
        "02:30 does not exist then: it runs at 03:00",
        "02:30 comes twice then: it runs the first time only",
    ),
    (
        "0,30 2 * * *",
        "02:00 and 02:30 do not exist then: it runs once at 03:00",
        "02:00 and 02:30 come twice then: it runs the first time only",
    ),
    (
        "0 2,3 * * *",
        "02:00 does not exist then: it runs once at 03:00, together with what is due at 03:00 anyway",
        "02:00 comes twice then: it runs the first time only",
    ),
    (
        "0-40 2 * * *",
        "the times from 02:00 to 02:40 do not exist then: it runs once at 03:00",
        "the times from 02:00 to 02:40 come twice then: it runs the first time only",
    ),
    (
        "15 30 2 * * *",
        "02:30:15 does not exist then: it runs at 03:00",
        "02:30:15 comes twice then: it runs the first time only",
    ),
    # Others follow the clock on the wall
    (
        "*/30 * * * *",
        "02:00 and 02:30 do not exist then: left out",
        "02:00 and 02:30 come twice then: it runs both times",
    ),
    ("0 */2 * * *", "02:00 does not exist then: left out", "02:00 comes twice then: it runs both times"),
    ("@hourly", "02:00 does not exist then: left out", "02:00 comes twice then: it runs both times"),
    (
        "*/10 * * * *",
        "the times from 02:00 to 02:50 do not exist then: left out",
        "the times from 02:00 to 02:50 come twice then: it runs both times",
    ),
    (
        "*/20 30 2 * * *",
        "02:30:00, 02:30:20 and 02:30:40 do not exist then: it runs once at 03:00",
        "02:30:00, 02:30:20 and 02:30:40 come twice then: it runs the first time only",
    ),
    (
        "* * * * * *",
        "the times from 02:00:00 to 02:59:59 do not exist then: left out",
        "the times from 02:00:00 to 02:59:59 come twice then: it runs both times",
    ),
    # Not touched
    *((each, *["nothing: no slot lies between 02:00 and 03:00"] * 2) for each in ("0 9 * * 1-5", "0 3 * * *")),
    ("30 2 * * 1", *["nothing: no slot lies between 02:00 and 03:00"] * 2),
    (
        "30 2 29 3 *",
        "02:30 does not exist then: it runs at 03:00",
        "nothing: no slot lies between 02:00 and 03:00",
    ),
]


@pytest.mark.parametrize(("expression", "forward", "back"), CRON)
def test_the_effect_on_cron_follows_what_its_fields_are(expression: str, forward: str, back: str) -> None:
    assert clock_changes(Timing((Cron(expression),), BERLIN), NEW_YEAR) == [
        ClockChange(datetime(2026, 3, 29, 1, tzinfo=UTC), forward),
        ClockChange(datetime(2026, 10, 25, 1, tzinfo=UTC), back),
    ]


@pytest.mark.parametrize(
    ("zone", "after", "expression", "expected"),
    [
        (
            "Australia/Lord_Howe",
            "2026-01-01",
            "*/10 * * * *",
            [
                ("2026-04-05T01:30:00+10:30", "01:30, 01:40 and 01:50 come twice then: it runs both times"),
                ("2026-10-04T02:30:00+11:00", "02:00, 02:10 and 02:20 do not exist then: left out"),
            ],
        ),
        (
            "Australia/Lord_Howe",
            "2026-01-01",
            "15 1,2 * * *",
            [
                ("2026-04-05T01:30:00+10:30", "nothing: no slot lies between 01:30 and 02:00"),
                ("2026-10-04T02:30:00+11:00", "02:15 does not exist then: it runs at 02:30"),
            ],
        ),
        (
            "America/Havana",
            "2026-01-01",
            "@daily",
            [
                ("2026-03-08T01:00:00-04:00", "00:00 does not exist then: it runs at 01:00"),
                ("2026-11-01T00:00:00-05:00", "00:00 comes twice then: it runs the first time only"),
            ],
        ),
        (
            "Asia/Beirut",
            "2026-01-01",
            "0 0,23 * * *",
            [
                ("2026-03-29T01:00:00+03:00", "00:00 does not exist then: it runs at 01:00"),
                ("2026-10-24T23:00:00+02:00", "23:00 comes twice then: it runs the first time only"),
            ],
        ),
        (
            "Africa/Cairo",
            "2026-01-01",
            "0 0 * * 5",
            [
                ("2026-04-24T01:00:00+03:00", "00:00 does not exist then: it runs at 01:00"),
                ("2026-10-29T23:00:00+02:00", "nothing: no slot lies between 23:00 and 00:00"),
            ],
        ),
        (
            "Africa/Casablanca",
            "2026-01-01",
            "30 2 * * *",
            [
                ("2026-02-15T02:00:00+00:00", "02:30 comes twice then: it runs the first time only"),
                ("2026-03-22T03:00:00+01:00", "02:30 does not exist then: it runs at 03:00"),
            ],
        ),
        (
            "Antarctica/Troll",
            "2026-01-01",
            "0 * * * *",
            [
                ("2026-03-29T03:00:00+02:00", "01:00 and 02:00 do not exist then: left out"),
                ("2026-10-25T01:00:00+00:00", "01:00 and 02:00 come twice then: it runs both times"),
            ],
        ),
        (
            "Pacific/Apia",
            "2011-11-01",
            "0 9 * * *",
            [
                ("2011-12-31T00:00:00+14:00", "2011-12-30 09:00 does not exist then: it runs at 2011-12-31 00:00"),
                ("2012-04-01T03:00:00+13:00", "nothing: no slot lies between 03:00 and 04:00"),
            ],
        ),
        (
            "Pacific/Apia",
            "2011-11-01",
            "0 9 * * 6",
            [
                (
                    "2011-12-31T00:00:00+14:00",
                    "nothing: no slot lies between 2011-12-30 00:00 and 2011-12-31 00:00",
                ),
                ("2012-04-01T03:00:00+13:00", "nothing: no slot lies between 03:00 and 04:00"),
            ],
        ),
        ("UTC", "2026-01-01", "0 9 * * *", []),
        ("Asia/Kolkata", "2026-01-01", "0 9 * * *", []),
        # Once, in 1986, by a quarter of an hour
        (
            "Asia/Kathmandu",
            "1985-12-01",
            "10 0 * * *",
            [("1986-01-01T00:15:00+05:45", "00:10 does not exist then: it runs at 00:15")],
        ),
    ],
)
def test_each_zone_has_its_own_changes(zone: str, after: str, expression: str, expected: list[tuple[str, str]]) -> None:
    timing = Timing((Cron(expression),), ZoneInfo(zone))
    found = clock_changes(timing, datetime.fromisoformat(after).replace(tzinfo=UTC))
    assert [(change.at.astimezone(timing.zone).isoformat(), change.effect) for change in found] == expected


OPEN_AFTER, SHORT, MONDAY = Window(3 * 60, 4 * 60), Window(2 * 60 + 30, 2 * 60 + 40), frozenset({0})
UNTOUCHED = "nothing: no slot lies between 02:00 and 03:00"
ONE_INSTANT, ELAPSED = "nothing: it is one instant", "nothing: it counts elapsed time"
CLOSED = f"{ELAPSED}, and no window is open between 02:00 and 03:00"


@pytest.mark.parametrize(
    ("timing", "forward", "back"),
    [
        (Timing((TEN_MINUTES,), BERLIN), ELAPSED, ELAPSED),
        (Timing((TEN_MINUTES,), BERLIN, days=MONDAY), CLOSED, CLOSED),
        (Timing((TEN_MINUTES,), BERLIN, between=(OPEN_AFTER,)), CLOSED, CLOSED),
        (
            Timing((TEN_MINUTES,), BERLIN, between=(SHORT,)),
            "it counts elapsed time, and the part of its windows between 02:00 and 03:00 does not happen then",
            "it counts elapsed time, and the part of its windows between 02:00 and 03:00 happens twice then",
        ),
        (Timing((At(NEW_YEAR),), BERLIN), ONE_INSTANT, ONE_INSTANT),
        (Timing((TEN_MINUTES, At(NEW_YEAR)), BERLIN), *["nothing: none of its schedules is touched"] * 2),
        (
            Timing((Cron("30 2 * * *"), TEN_MINUTES), BERLIN),
            "at 02:30 every day, Europe/Berlin: 02:30 does not exist then: it runs at 03:00; and nothing to the others",
            (
                "at 02:30 every day, Europe/Berlin: 02:30 comes twice then: it runs the first time only; "
                "and nothing to the others"
            ),
        ),
        # Windows look at the clock on the wall, after a skipped time was moved behind the gap
        (
            Timing((Cron("30 2 * * *"),), BERLIN, between=(OPEN_AFTER,)),
            "02:30 does not exist then: it runs at 03:00",
            UNTOUCHED,
        ),
        (
            Timing((Cron("30 2 * * *"),), BERLIN, between=(SHORT,)),
            "02:30 does not exist then, and 03:00 lies outside its windows: it does not run",
            "02:30 comes twice then: it runs the first time only",
        ),
        (
            Timing((Cron("*/20 * * * *"),), BERLIN, between=(SHORT,)),
            "02:40 does not exist then: left out",
            "02:40 comes twice then: it runs both times",
        ),
        (
            Timing((Cron("* * * * * *"),), BERLIN, between=(SHORT,)),
            "the times from 02:30 to 02:40 do not exist then: left out",
            "the times from 02:30 to 02:40 come twice then: it runs both times",
        ),
        (Timing((Cron("*/20 * * * *"),), BERLIN, days=MONDAY), UNTOUCHED, UNTOUCHED),
        (Timing((Cron("30 2 * * *"),), BERLIN, days=MONDAY), UNTOUCHED, UNTOUCHED),
        (
            Timing((Cron("30 2 * * *"),), BERLIN, timedelta(seconds=252)),
            "02:30 does not exist then: it runs at 03:00 (then moved by 4m12s, as always)",
            "02:30 comes twice then: it runs the first time only (then moved by 4m12s, as always)",
        ),
        (Timing((Cron("0 9 * * *"),), BERLIN, timedelta(seconds=252)), UNTOUCHED, UNTOUCHED),
        # The end
        (
            Timing((Cron("30 2 * * *"),), BERLIN, until=datetime(2026, 3, 29, 0, 59, tzinfo=UTC)),
            *["nothing: there is no slot after 2026-03-29 01:59:00+01:00"] * 2,
        ),
        (
            Timing((Cron("*/20 * * * *"),), BERLIN, until=datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
            "02:00, 02:20 and 02:40 do not exist then: left out",
            "02:00 and 02:20 come twice then: it runs the first time only",
        ),
        (
            Timing((Cron("*/20 * * * *"),), BERLIN, until=datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
            "02:00, 02:20 and 02:40 do not exist then: left out",
            (
                "what lies between 02:00 and 03:00 comes twice then: "
                "it runs at 02:00, 02:20 and 02:40, then at 02:00 and 02:20"
            ),
        ),
    ],
)
def test_the_rest_of_a_timing_is_looked_at_too(timing: Timing, forward: str, back: str) -> None:
    assert effects(timing) == [forward, back]


def test_no_more_changes_than_asked_for_and_none_further_away_than_400_days() -> None:
    timing = Timing((Cron("0 9 * * *"),), BERLIN)
    assert [len(clock_changes(timing, NEW_YEAR, most=most)) for most in (0, 1, 2, 5)] == [0, 1, 2, 2]
    assert (
        clock_changes(Timing((Cron("0 9 * * *"),), ZoneInfo("Asia/Kathmandu")), datetime(1984, 11, 1, tzinfo=UTC)) == []
    )


def test_a_change_lies_strictly_after_the_instant_asked_for_and_not_after_the_end() -> None:
    change = datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert next_change(change - TINY, change + HOUR, BERLIN) == change
    assert next_change(change - HOUR, change, BERLIN) == change
    assert next_change(change, change + HOUR, BERLIN) is None
    assert next_change(change - HOUR, change - TINY, BERLIN) is None


@pytest.mark.parametrize("after", ["0001-01-01T00:00", "9999-12-31T23:59:59.999999", "9999-10-31", "9990-01-01"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Pacific/Kiritimati", "America/New_York"])
def test_the_ends_of_the_calendar_are_no_obstacle(after: str, zone: str) -> None:
    start = datetime.fromisoformat(after).replace(tzinfo=UTC)
    for expression in ("30 2 * * *", "0 0 29 2 *", "*/30 * * * *"):
        found = clock_changes(Timing((Cron(expression),), ZoneInfo(zone)), start)
        assert [change for change in found if change.at <= start] == []


CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 3, 8, 5, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 11, 1, 5, tzinfo=UTC)),
    ("Asia/Beirut", datetime(2026, 10, 24, 21, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 4, 23, 22, tzinfo=UTC)),
    ("Africa/Casablanca", datetime(2026, 2, 15, 2, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
]


def walk(timing: Timing, start: datetime, end: datetime) -> list[datetime]:
    """The slots in [start, end)."""
    found: list[datetime] = []
    slot = next_slot(timing, start - TINY, anchor=start)
    while slot is not None and slot < end:
        found.append(slot)
        slot = next_slot(timing, slot, anchor=start)
    return found


@pytest.mark.parametrize(("zone_name", "at"), CHANGES)
def test_what_is_said_is_what_happens(zone_name: str, at: datetime) -> None:
    zone = ZoneInfo(zone_name)

    def reading(instant: datetime) -> datetime:
        return instant.astimezone(zone).replace(tzinfo=UTC, fold=0)

    old, new = reading(at - SECOND) + SECOND, reading(at)
    for minute, hour, days in product(("0", "*/20", "15,45"), ("*", "*/3", "0", "1,2", "3", "23"), ("* * *", "* * 0")):
        cron = Cron(f"{minute} {hour} {days}")
        (change,) = clock_changes(Timing((cron,), zone), at - TINY, most=1)
        start, end = at - 4 * HOUR, at + 4 * HOUR
        slots = walk(Timing((cron,), zone), start, end)
        named = walk(Timing((cron,), ZULU), reading(start), reading(end))
        touched = [each for each in named if min(old, new) <= each < max(old, new)]
        others = [each for each in named if each not in touched]
        happened = {
            "nothing": (others, []),
            "left out": (others, touched),
            "it runs at": (sorted({*others, new}), touched),
            "it runs once": (sorted({*others, new}), touched),
            "both times": (sorted(others + touched + touched), touched),
            "first time only": (named, [reading(slot) for slot in slots if reading(slot) in touched and slot < at]),
        }
        (said,) = (words for words in happened if words in change.effect)
        assert change.at == at
        assert (sorted(map(reading, slots)), touched) == happened[said], (cron, change)
        assert (said == "nothing") == (not touched)
