"""Schedules written as text: which instants they mean, and what is refused because it could mean two things."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import combinations, islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heartbeat.schedule.cron import check_cron
from heartbeat.schedule.kinds import At, Cron, Every, Schedule, Timing
from heartbeat.schedule.phrases import read_expression
from heartbeat.schedule.walk import next_slot

ZULU = ZoneInfo("UTC")
BERLIN = ZoneInfo("Europe/Berlin")
WEDNESDAY = datetime(2026, 6, 10, 12, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def walk(schedules: tuple[Schedule, ...], after: datetime, zone: ZoneInfo = ZULU) -> Iterator[datetime]:
    timing = Timing(schedules, zone)
    slot = next_slot(timing, after, anchor=after)
    while slot is not None:
        yield slot
        slot = next_slot(timing, slot, anchor=after)


def refusal(text: str) -> str:
    with pytest.raises(ValueError) as caught:
        read_expression(text)
    assert type(caught.value) is ValueError
    return str(caught.value)


# One kind at a time


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("0 9 * * 1-5", "0 9 * * 1-5"),
        ("  0   9 * *\tMON-Fri ", "0 9 * * mon-fri"),
        ("30 0 9 * * *", "30 0 9 * * *"),
        ("*/15 8-18 * * mon-fri", "*/15 8-18 * * mon-fri"),
        ("0 17 * * L5", "0 17 * * l5"),
        ("0 9 24 12 *", "0 9 24 12 *"),
        ("0,30 9 1 1 mon", "0,30 9 1 1 mon"),
        ("@daily", "@daily"),
        ("@Hourly", "@hourly"),
        ("cron 0 9 * * *", "0 9 * * *"),
        ("Cron  @daily", "@daily"),
    ],
)
def test_a_cron_expression_stays_what_it_is(text: str, expression: str) -> None:
    assert read_expression(text) == (Cron(expression),)


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("every 10m", timedelta(minutes=10)),
        ("each 10m", timedelta(minutes=10)),
        ("every 10 m", timedelta(minutes=10)),
        ("every 10min", timedelta(minutes=10)),
        ("every 90 minutes", timedelta(minutes=90)),
        ("every 2 hours", timedelta(hours=2)),
        ("every 30 seconds", timedelta(seconds=30)),
        ("every 1s", timedelta(seconds=1)),
        ("every 2h30m", timedelta(minutes=150)),
        ("every 2 hours 30 minutes", timedelta(minutes=150)),
        ("every 2 hours and 30 minutes", timedelta(minutes=150)),
        ("every hour", timedelta(hours=1)),
        ("once an hour", timedelta(hours=1)),
        ("every ten minutes", timedelta(minutes=10)),
        ("every half hour", timedelta(minutes=30)),
        ("every half an hour", timedelta(minutes=30)),
        ("every quarter of an hour", timedelta(minutes=15)),
        ("every quarter hour", timedelta(minutes=15)),
        ("every minute", timedelta(minutes=1)),
        ("every second", timedelta(seconds=1)),
        ("every 2d", timedelta(days=2)),
        ("every 2 weeks", timedelta(days=14)),
        ("every 366d", timedelta(days=366)),
    ],
)
def test_an_interval_is_elapsed_time(text: str, period: timedelta) -> None:
    assert read_expression(text) == (Every(period),)


@pytest.mark.parametrize(
    "text",
    [
        "at 2026-06-10T08:00:00+02:00",
        "2026-06-10T08:00:00+02:00",
        "2026-06-10t08:00+0200",
        "AT 2026-06-10  08:00 +02",
        "2026-06-10T06:00:00Z",
        "2026-06-10T06:00:00.000z",
    ],
)
def test_a_date_and_time_with_offset_is_one_instant(text: str) -> None:
    assert read_expression(text) == (At(datetime(2026, 6, 10, 8, tzinfo=timezone(timedelta(hours=2)))),)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("weekdays at 9; weekends at 11", ["weekdays at 9", "weekends at 11"]),
        ("cron 0 9 * * *;every 10m", ["0 9 * * *", "every 10m"]),
        ("every 10m; at 2026-06-10T08:00:00+02:00 ", ["every 10m", "at 2026-06-10T08:00:00+02:00"]),
        ("daily at 9; every 10m; cron 0 9 * * *; every 10 minutes", ["daily at 9", "every 10m"]),
        ("daily at 9;" * 99 + "hourly", ["daily at 9", "hourly"]),
    ],
)
def test_several_expressions_are_all_meant_and_each_once(text: str, parts: list[str]) -> None:
    assert read_expression(text) == tuple(schedule for part in parts for schedule in read_expression(part))


# Phrases, by hand: the instants after Wednesday, 10 June 2026, 12:00

NEXT = {
    "weekdays at 9": "06-11 09:00, 06-12 09:00, 06-15 09:00, 06-16 09:00",
    "at 9 on weekdays": "06-11 09:00, 06-12 09:00, 06-15 09:00",
    "every weekday at 9": "06-11 09:00, 06-12 09:00, 06-15 09:00",
    "daily at 07:30": "06-11 07:30, 06-12 07:30",
    "every day at 9pm": "06-10 21:00, 06-11 21:00",
    "9am every day": "06-11 09:00, 06-12 09:00",
    "each day 9:30 pm": "06-10 21:30, 06-11 21:30",
    "daily at 12am": "06-11 00:00, 06-12 00:00",
    "daily at 12pm": "06-11 12:00, 06-12 12:00",
    "daily at 12:30am": "06-11 00:30, 06-12 00:30",
    "daily at 9,17:30": "06-10 17:30, 06-11 09:00, 06-11 17:30",
    "every day at noon": "06-11 12:00, 06-12 12:00",
    "noon every day": "06-11 12:00, 06-12 12:00",
    "daily at midnight": "06-11 00:00, 06-12 00:00",
    "weekends at 10": "06-13 10:00, 06-14 10:00, 06-20 10:00",
    "on the weekend at 10": "06-13 10:00, 06-14 10:00, 06-20 10:00",
    "mondays at 8": "06-15 08:00, 06-22 08:00",
    "every sunday at 8": "06-14 08:00, 06-21 08:00",
    "every monday 9am": "06-15 09:00, 06-22 09:00",
    "every monday and thursday at 8 and 17:30": "06-11 08:00, 06-11 17:30, 06-15 08:00, 06-15 17:30, 06-18 08:00",
    "mon, wed and fri at 12:00": "06-12 12:00, 06-15 12:00, 06-17 12:00",
    "mon,wed, and fri at 12:00": "06-12 12:00, 06-15 12:00, 06-17 12:00",
    "monday to friday at 9": "06-11 09:00, 06-12 09:00, 06-15 09:00",
    "mon-fri at 9": "06-11 09:00, 06-12 09:00, 06-15 09:00",
    "from friday to monday at 9": "06-12 09:00, 06-13 09:00, 06-14 09:00, 06-15 09:00, 06-19 09:00",
    "sat - sun and wed at 9": "06-13 09:00, 06-14 09:00, 06-17 09:00, 06-20 09:00",
    "weekends and fridays at 9": "06-12 09:00, 06-13 09:00, 06-14 09:00, 06-19 09:00",
    "weekly on monday at 9": "06-15 09:00, 06-22 09:00",
    "every week on monday at 9": "06-15 09:00, 06-22 09:00",
    "hourly": "06-10 13:00, 06-10 14:00",
    "hourly at :15": "06-10 12:15, 06-10 13:15",
    "every hour at :15 and :45": "06-10 12:15, 06-10 12:45, 06-10 13:15",
    "hourly on sundays": "06-14 00:00, 06-14 01:00",
    "hourly between 9 and 14": "06-10 13:00, 06-10 14:00, 06-11 09:00",
    "hourly at :15 between 9 and 14": "06-10 12:15, 06-10 13:15, 06-11 09:15",
    "every 2 hours between 8 and 18": "06-10 14:00, 06-10 16:00, 06-10 18:00, 06-11 08:00, 06-11 10:00",
    "every 2 hours from 8am to 6pm": "06-10 14:00, 06-10 16:00, 06-10 18:00, 06-11 08:00, 06-11 10:00",
    "every 90m between 8 and 13": "06-10 12:30, 06-11 08:00, 06-11 09:30",
    "every 2h30m between 8 and 18": "06-10 13:00, 06-10 15:30, 06-10 18:00, 06-11 08:00, 06-11 10:30",
    "every 45 minutes between 8 and 14": "06-10 12:30, 06-10 13:15, 06-10 14:00, 06-11 08:00, 06-11 08:45, 06-11 09:30",
    "every 15 minutes between 9:00 and 12:30 on fridays": "06-12 09:00, 06-12 09:15, 06-12 09:30",
    "weekends every 6 hours between 9 and 17": "06-13 09:00, 06-13 15:00, 06-14 09:00",
    "every 3 hours between 22 and 6": "06-10 22:00, 06-11 01:00, 06-11 04:00, 06-11 22:00",
    "every 4 hours between 22 and 6 on weekends": (
        "06-13 22:00, 06-14 02:00, 06-14 06:00, 06-14 22:00, 06-15 02:00, 06-15 06:00, 06-20 22:00"
    ),
    "every 2 hours between 20 and midnight on fridays": "06-12 20:00, 06-12 22:00, 06-13 00:00, 06-19 20:00",
    "first monday of the month at 07:30": "07-06 07:30, 08-03 07:30, 09-07 07:30",
    "monthly on the first monday at 07:30": "07-06 07:30, 08-03 07:30, 09-07 07:30",
    "1st and 3rd monday of every month at 9": "06-15 09:00, 07-06 09:00, 07-20 09:00",
    "first monday and third thursday of the month at 9": "06-18 09:00, 07-06 09:00, 07-16 09:00",
    "fifth friday of the month at 9": "07-31 09:00, 10-30 09:00",
    "last friday of the month at 17:00": "06-26 17:00, 07-31 17:00, 08-28 17:00",
    "first and last friday of the month at 9": "06-26 09:00, 07-03 09:00, 07-31 09:00",
    "last day of the month at 18:00": "06-30 18:00, 07-31 18:00",
    "first day of the month at 18:00": "07-01 18:00, 08-01 18:00",
    "on the 1st and 15th at 9": "06-15 09:00, 07-01 09:00, 07-15 09:00",
    "on the 1st, the 15th and the last day of the month at 9": "06-15 09:00, 06-30 09:00, 07-01 09:00",
    "on the 31st of the month at 9": "07-31 09:00, 08-31 09:00, 10-31 09:00",
    "on the 31st and the last day of the month at 9": "06-30 09:00, 07-31 09:00",
    "every month on the 1st at 9": "07-01 09:00, 08-01 09:00",
    "monthly on the 1st at 9 and 17": "07-01 09:00, 07-01 17:00, 08-01 09:00",
    "december 24 at 18:00": "12-24 18:00",
    "on 24 december at 18:00": "12-24 18:00",
    "every 24 dec at 18:00": "12-24 18:00",
    "at 6pm on the 24th of december": "12-24 18:00",
    "yearly on december 24th at 18:00": "12-24 18:00",
    "dec 24, 18:00": "12-24 18:00",
    "24, 31 december at 18:00": "12-24 18:00, 12-31 18:00",
    "24 and 31 december at 18:00": "12-24 18:00, 12-31 18:00",
    "on the 1st in july and september at 9": "07-01 09:00, 09-01 09:00",
    "first monday of october at 9": "10-05 09:00",
    "weekdays in june and july at 9": "06-11 09:00, 06-12 09:00, 06-15 09:00",
    "daily in november to january at 9": "11-01 09:00, 11-02 09:00",
    "every 6 hours mon-fri 8am-6pm": "06-10 14:00, 06-11 08:00, 06-11 14:00, 06-12 08:00, 06-12 14:00, 06-15 08:00",
    "every 6 hours, weekdays, 8:00-18:00": "06-10 14:00, 06-11 08:00",
    "every 6 hours at 8-18": "06-10 14:00, 06-11 08:00",
    "hourly 9am to noon": "06-11 09:00, 06-11 10:00, 06-11 11:00, 06-11 12:00, 06-12 09:00",
    "daily at nine": "06-11 09:00",
    "every night at 2:30": "06-11 02:30, 06-12 02:30",
    "nightly at 22": "06-10 22:00, 06-11 22:00",
    "every night at midnight": "06-11 00:00, 06-12 00:00",
    "every weekday morning at 8": "06-11 08:00, 06-12 08:00, 06-15 08:00",
    "friday night at 23": "06-12 23:00, 06-19 23:00",
    "at 8 in the morning on weekends": "06-13 08:00, 06-14 08:00",
    "saturday afternoons at 14:30": "06-13 14:30, 06-20 14:30",
    "every 2 hours in the evening between 18 and 20": "06-10 18:00, 06-10 20:00, 06-11 18:00",
    "once a day at 9": "06-11 09:00, 06-12 09:00",
    "once a week on monday at 9": "06-15 09:00, 06-22 09:00",
    "mondays at 9:30 p.m.": "06-15 21:30, 06-22 21:30",
    "daily at 9 a.m. and 5 p.m": "06-10 17:00, 06-11 09:00",
    "second monday of november at 9": "11-09 09:00",
}


@pytest.mark.parametrize(("phrase", "instants"), NEXT.items())
def test_a_phrase_means_these_instants(phrase: str, instants: str) -> None:
    expected = instants.split(", ")
    found = islice(walk(read_expression(phrase), WEDNESDAY), len(expected))
    assert [f"{slot:%m-%d %H:%M}" for slot in found] == expected


@pytest.mark.parametrize("phrase", NEXT)
def test_capitals_and_spaces_do_not_matter(phrase: str) -> None:
    assert read_expression(f" {phrase.upper()} ".replace(" ", " \t ")) == read_expression(phrase)


# Phrases, minute by minute

Rule = Callable[[date, int], bool]
"""Whether a minute since midnight of a day is a slot."""


def monday_of_week(day: date, number: int) -> bool:
    return day.weekday() == 0 and (day.day - 1) // 7 + 1 == number


RULES: dict[str, Rule] = {
    "every 7 minutes between 0:00 and 23:59 on the 1st": lambda day, minute: day.day == 1 and minute % 7 == 0,
    "every 1 minute between 8:10 and 9:05": lambda _, minute: 490 <= minute <= 545,
    "every 45 minutes between 8 and 18": lambda _, minute: 480 <= minute <= 1080 and (minute - 480) % 45 == 0,
    "every 10 minutes between 9 and 17 on weekdays": (
        lambda day, minute: day.weekday() < 5 and 540 <= minute <= 1020 and minute % 10 == 0
    ),
    "every 20 minutes between 22:30 and 1:10": (
        lambda _, minute: (minute >= 1350 and (minute - 1350) % 20 == 0) or (minute <= 70 and (minute + 90) % 20 == 0)
    ),
    "every 50 minutes between 22 and 6 on fri and sat": (
        lambda day, minute: (
            (day.weekday() in (4, 5) and minute >= 1320 and (minute - 1320) % 50 == 0)
            or (day.weekday() in (5, 6) and minute <= 360 and (minute + 120) % 50 == 0)
        )
    ),
    "every 70 minutes between 20:30 and 20:00": lambda _, minute: (minute - 1230) % 1440 % 70 == 0,
    "every 30 minutes between 22:30 and 22:00": lambda _, minute: minute % 30 == 0,
    "hourly at :15 and :45 between 22:30 and 1:30": lambda _, minute: minute in (1365, 1395, 1425, 15, 45, 75),
    "first and third monday of the month at 9 and 9:30": (
        lambda day, minute: (monday_of_week(day, 1) or monday_of_week(day, 3)) and minute in (540, 570)
    ),
    "last day of the month at 0:00": lambda day, minute: (day + DAY).day == 1 and minute == 0,
    "weekends in november to february at 23:59": (
        lambda day, minute: day.weekday() > 4 and day.month in (11, 12, 1, 2) and minute == 1439
    ),
    "29 february at 9": lambda day, minute: (day.month, day.day, minute) == (2, 29, 540),
}


@pytest.mark.parametrize("phrase", RULES)
def test_a_phrase_means_the_minutes_that_its_rule_finds(phrase: str) -> None:
    rule = RULES[phrase]
    days = [date(2027, 12, 30) + number * DAY for number in range(70)]
    start = datetime(2027, 12, 30, tzinfo=UTC)
    expected = [
        start + number * DAY + minute * MINUTE
        for number, day in enumerate(days)
        for minute in range(1440)
        if rule(day, minute)
    ]
    found = walk(read_expression(phrase), start - MINUTE)
    assert list(takewhile(lambda slot: slot < start + len(days) * DAY, found)) == expected


@pytest.mark.parametrize("phrase", [*NEXT, *RULES])
def test_no_instant_belongs_to_two_of_the_expressions(phrase: str) -> None:
    each = [
        set(takewhile(lambda slot: slot < WEDNESDAY + 9 * DAY, walk((schedule,), WEDNESDAY)))
        for schedule in read_expression(phrase)
    ]
    assert all(one.isdisjoint(other) for one, other in combinations(each, 2))


@pytest.mark.parametrize(
    ("phrase", "expressions"),
    [
        ("every 15 minutes between 9:00 and 17:30", ["*/15 9-16 * * *", "0,15,30 17 * * *"]),
        ("every 30 minutes between 22 and 6", ["*/30 0-5,22,23 * * *", "0 6 * * *"]),
        ("every hour between 0:00 and 23:59", ["0 * * * *"]),
        ("every 45 minutes between 8 and 18", ["0,45 8,11,14,17 * * *", "30 9,12,15 * * *", "15 10,13,16 * * *"]),
        ("daily at 8, 9, 10:00 and 17", ["0 8-10,17 * * *"]),
    ],
)
def test_hours_with_the_same_minutes_share_an_expression(phrase: str, expressions: list[str]) -> None:
    assert read_expression(phrase) == tuple(map(Cron, expressions))


def test_short_steps_go_on_in_the_hour_that_the_clock_shows_twice() -> None:
    night = datetime(2026, 10, 24, 23, tzinfo=UTC)  # 01:00 in Berlin; at 03:00 summer time it is 02:00 again
    found = takewhile(lambda slot: slot <= night + 4 * 60 * MINUTE, walk(every_half_hour, night - MINUTE, BERLIN))
    assert list(found) == [night + number * 30 * MINUTE for number in range(9)]


every_half_hour = read_expression("every 30 minutes between 0:00 and 4:00")


# Refusals: each with a word that says why or what to write

REFUSED = {
    # every day, or once
    "at 9": "once",
    "noon": "once",
    "9am": "once",
    "at 9 in june": "daily in june at 9",
    "30m": "every 30m",
    "30 minutes": "every 30 minutes",
    "2h30m": "every 2h30m",
    # the day it is read
    "tomorrow at 9": "tomorrow",
    "tonight": "tonight",
    "in 30 minutes": "offset",
    "in 30m": "offset",
    "in an hour": "offset",
    "next monday at 9": "next",
    # no time
    "daily": "at what time",
    "every day": "at what time",
    "mondays": "at what time",
    "first monday of the month": "at what time",
    "december 24": "at what time",
    "weekdays at": "time",
    # no day
    "weekly": "monday",
    "every week": "every 7d",
    "weekly at 9": "on which day",
    "monthly": "1st",
    "every month at 9": "on which day",
    "yearly at 9": "december 24",
    "at 9 of the month": "1st",
    "first monday at 9": "of which month",
    "every second monday at 9": "of which month",
    "december at 9": "daily in december",
    "the last of the month at 9": "last day",
    # not exact
    "sometimes": "sometimes",
    "every few minutes": "few",
    "every morning": "morning",
    "in the morning": "morning",
    "nightly": "night",
    "every 30 minutes at night": "every 2 hours between 22 and 6",
    "every night at 9": "leave 'night' out",
    "every evening at 8": "8:30pm",
    "daily at 9 in the evening": "leave 'evening' out",
    "every morning at 12": "not of the morning",
    "every morning in the evening at 9": "the part of the day twice",
    "weekday nights at 2:30": "before it or after it",
    "friday night at midnight": "before it or after it",
    "mornings at 8": "every day or once",
    "daily at sunset": "no exact time",
    "every midnight": "'daily at midnight'",
    "every 9:30": "'daily at 9:30'",
    "every 13pm": "1 to 12",
    "twice a day at 9 and 17": "'daily at 9 and 17'",
    "once": "naming",
    "twice a day": "daily at 9 and 17",
    "3 times a day": "times",
    "mondays at 9 or 10": "and",
    # which of them is the first
    "every other day": "every 2d",
    "biweekly": "every 14d",
    "every 2 days at 9": "elapsed",
    "every 2d at 9": "elapsed",
    "every 2 weeks on monday": "elapsed",
    "every second day": "elapsed",
    "every 3rd day at 9": "elapsed",
    "every 10 minutes on weekdays": "'every 10 minutes on weekdays between 00:00 and 23:59'",
    "every 5 minutes on saturday in june": "'every 5 minutes on saturday in june between 00:00 and 23:59'",
    "every half hour on the 1st": "'every 30 minutes on the 1st between 00:00 and 23:59'",
    "every 30 seconds on saturday": "`days`",
    "quarterly": "january",
    # not equally long
    "every 2 months": "every 30d",
    "every 1 year": "every 30d",
    # no interval
    "every 0m": "1s",
    "every 500ms": "at least 1s",
    "every 0 hours": "1s",
    "every 367d": "366d",
    "every 53 weeks": "366d",
    "every 10": "unit",
    "every 1.5 hours": "90m",
    "every": "follow",
    "every 1234567 seconds": "too large",
    "every 99999999999999999999999999999s": "too long",
    "every 1s1s1s1s1s1s": "too long",
    # no time of a day
    "daily at 24:00": "00:00",
    "daily at 25": "0 to 23",
    "daily at 9:60": "59",
    "daily at 9:5": "no time",
    "daily at 13pm": "1 to 12",
    "daily at 0am": "1 to 12",
    "mondays at 8.45": "write 8:45 for a time",
    "daily at 25.30": "write 9:30 for a time",
    "daily at 0900": "09:30",
    "daily at 9:30:15": "six fields",
    "daily at 9 and 5pm": "am or pm",
    "daily at mondays": "no time",
    "daily 9": "at 9",
    "9": "'daily at 9'",
    "17": "'daily at 17'",
    "45": "'daily at 9'",
    "hourly at :5": ":15",
    "hourly at :60": ":59",
    # spans
    "daily between 9 and 17": "how often",
    "daily at 9 to 17": "how often",
    "daily at 9-17": "how often",
    "weekdays 9:00-17:00": "how often",
    "every hour 9:00-9:00": "ends when it begins",
    "every hour at 8, 9-17": "keep one",
    "every hour 8-6pm": "am or pm",
    "every 10 minutes, weekdays, 8-18": "'between 8 and 18'",
    "every 10 minutes in june 8 to 18": "'between 8 and 18'",
    "8-18 december at 9": "date",
    "every hour between 1 and 6pm": "am or pm",
    "every hour between 9 and 5": "5pm",
    "every hour between noon and 6": "5pm",
    "every hour between 8 and 8": "23:59",
    "every hour between 8": "both ends",
    "every hour between 8 and": "ends where",
    "every 90 seconds between 8 and 9": "whole minutes",
    "every 12 hours between 8 and 18": "longer than the span",
    "hourly at :45 between 9:00 and 9:30": "no such minute",
    "every 2 hours between 22 and 6 on the 1st": "`between`",
    "every 2 hours between 22 and 6 in june": "`between`",
    "every 2 hours between 8 and 18 at 9": "time of the day",
    "daily at 9 between 8 and 18": "keep one",
    "every 2 hours at 9": "between 8 and 18",
    "every 2 hours at :15": "00:15",
    "hourly at 9": ":15",
    "hourly every 10 minutes between 8 and 18": "twice",
    "every hour after 9": "between",
    # midnight
    "friday at midnight": "00:00",
    "friday at 12am": "00:00",
    "on the 1st at midnight": "00:00",
    "every hour between midnight and 6 on fridays": "00:00",
    # days in two ways
    "friday the 13th at 9": "either",
    "mondays on the 1st at 9": "either",
    "daily on weekdays at 9": "every day",
    "weekly on the 1st at 9": "week",
    "monthly on monday at 9": "first monday",
    "mondays at 9 on fridays": "twice",
    "mondays at 9 at 10": "twice",
    "mondays at 9 and fridays at 10": "list of two",
    "24 dec and 1 jan at 9": "list of two",
    "monday to monday at 9": "different",
    "weekdays except friday at 9": "mon, tue and thu",
    # days that never come or cannot be counted
    "february 30 at 9": "never",
    "31 april at 9": "never",
    "on the 32nd at 9": "1 to 31",
    "on the 0th at 9": "1 to 31",
    "6th monday of the month at 9": "fifth",
    "first weekday of the month at 9": "first monday",
    "last business day of the month at 9": "weekdays",
    # one year, one zone, one end
    "december 24 2026 at 9": "2026-06-10T08:00:00+02:00",
    "24 december 2026 at 9": "2026-06-10T08:00:00+02:00",
    "daily at 9 utc": "zone",
    "daily at 9 Europe/London": "set the job's zone",
    "daily at 9 America/Argentina/Buenos_Aires": "set the job's zone",
    "tuesday at 9 in New York": "set the job's zone",
    "daily at 9 in januray": "'january'",
    "daily at 9 until december": "`until`",
    "2026-06-10T08:00": "offset",
    "at 2026-06-10": "offset",
    "on 2026-06-10 at 9": "offset",
    "2026-02-30T08:00Z": "no such date",
    "2026-06-10T25:00Z": "no such date",
    "1969-12-31T23:59:59Z": "1970",
    "2200-01-01T00:00Z": "1970",
    "0001-01-01T00:00+14:00": "no such date",
    # cron
    "@reboot": "@hourly",
    "@every 5m": "'every 5m'",
    "0 9 * *": "five",
    "0 25 * * *": "'25' is out of range for the hour; write 0 to 23",
    "0 9 * * 5L": "'L5'",
    "cron 0 9 * *": "five",
    "cron daily at 9": "five",
    "h h * * *": "random",
    "0 9 30 2 *": "never",
    # no phrase at all
    "": "empty",
    " \t ": "empty",
    "dayly at 9": "'daily'",
    "xyzzy": "weekdays at 9",
    "never": "paused",
    "PT10M": "'pt' is not known; write it like",
    "montags um 9": "'montags' is not known; write it like",
    "9 o'clock": "'o' is not known; write it like",
    "mondays, at 9,": "comma",
    "and": "list",
    "-": "spans",
    ";": "as a part of",
    "daily at 9;": "as a part of",
    "daily at 9; ;daily at 10": "as a part of",
    "daily at 9; often": "'often'",
    "daily at 9;" * 100 + "hourly": "at most 100",
    "daily at 9\n": "\\n",
    "daily at 9\0": "\\x00",
    "daily at \N{ARABIC-INDIC DIGIT NINE}": "\\u0669",
    "daily\N{NO-BREAK SPACE}at 9": "\\xa0",
    "daily at 9\udcff": "\\udcff",
    "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}n june": "\\u0130",
    "every 10m" + " " * 192: "200",
}


@pytest.mark.parametrize(("text", "word"), REFUSED.items())
def test_what_is_not_clear_is_refused_with_a_remedy(text: str, word: str) -> None:
    message = refusal(text)
    assert message.startswith("cannot use ")
    why, separator, remedy = message.rpartition("; ")
    assert (separator, bool(why), bool(remedy)) == ("; ", True, True)
    assert word in message.removeprefix(f"cannot use {text!r}")
    assert message.isprintable()


NO_WHOLE_EXPRESSION = re.compile(
    r"at|in|morning|evening|night|january|at 9|at 17:30|on the 9th|9, 17|and|fifth|first|last|last day|weekdays"
    r"|of the month|in june|in june and july|daily|monday to friday|every|between .*|:00|:59|[A-Z].*|2026-12-31T.*|\W"
)


@pytest.mark.parametrize("text", REFUSED)
def test_an_expression_that_a_remedy_shows_can_be_used(text: str) -> None:
    remedy = refusal(text).rpartition("; ")[2]
    shown = [each for each in re.findall(r"(?<![a-z])'([^']+)'", remedy) if not NO_WHOLE_EXPRESSION.fullmatch(each)]
    assert [each for each in shown if not read_expression(each)] == []


@pytest.mark.parametrize("fill", ["1", "1m", "9:", "mon,", "and ", "first and ", "every ", "1s2", "*", "@", "- ", "#"])
def test_what_is_too_long_is_refused_without_reading_it(fill: str) -> None:
    assert "at most 200" in refusal(fill * 100_000)
    assert len(refusal((fill * 200)[:200])) < 400


# Any text

WORDS = [
    *("every", "each", "at", "on", "in", "of", "the", "and", "between", "from", "to", "-", ",", "until", "or"),
    *("daily", "hourly", "weekly", "monthly", "yearly", "day", "week", "month", "hour", "second", "minutes", "days"),
    *("weekdays", "weekends", "monday", "fri", "sundays", "june", "dec", "first", "fifth", "last", "1st", "31st"),
    *("9", "17", "24", "0", "9:30", "9am", "13pm", ":15", "noon", "midnight", "10m", "2h30m", "*", "*/5", "mon#1"),
    *("night", "mornings", "nightly", "half an hour", "once a day", "p.m.", "ten", ";", "cron", "Europe/Berlin"),
]
texts = st.text(max_size=250) | st.text("0123456789:-+@*/,.# \tamptzweryonhdlist\n\0", max_size=210)
word_salads = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)


@given(texts | word_salads)
@example("²")
@example("every \N{ARABIC-INDIC DIGIT ONE}0m")
@example("9" * 200)
@example("2026-" + "1" * 100)
@example("every 1w" + "1w" * 90)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        schedules = read_expression(text)
    except ValueError as error:
        assert str(error).startswith("cannot use ")  # noqa: PT017 - either way is right
        assert "; " in str(error)  # noqa: PT017 - the same
        return
    assert schedules
    for schedule in schedules:
        if isinstance(schedule, Cron):
            check_cron(schedule.expression)
    assert len(text) >= 200 or read_expression(f"\t{text.swapcase()}") == schedules


DAYS = [
    "daily",
    "weekdays",
    "every sat and sun",
    "mon-thu",
    "on the 31st",
    "last day of the month",
    "first monday of march",
]
DAYS += [
    "29 february",
    "december 24",
    "on the 1st and last day of the month",
    "weekends in may",
    "last friday of the month",
]
times = st.builds("{:d}:{:02d}".format, st.integers(0, 23), st.integers(0, 59))
spans = st.builds("every {}m between {} and {}".format, st.integers(1, 600), times, times)
phrases = st.builds(
    lambda days, when, first: f"{days} {when}" if first else f"{when} {days}",
    st.sampled_from(DAYS),
    st.lists(times, min_size=1, max_size=4).map(lambda each: "at " + ", ".join(each)) | spans,
    st.booleans(),
)


@given(phrases, st.integers(0, 14 * 366 * 24).map(lambda hours: WEDNESDAY + hours * 60 * MINUTE))
def test_whatever_is_read_comes_within_nine_years(phrase: str, after: datetime) -> None:
    try:
        schedules = read_expression(phrase)
    except ValueError:
        assert "between" in phrase, "only a span can be unfit"
        return
    slot = next(walk(schedules, after, BERLIN), None)
    assert slot is not None
    assert slot - after < 9 * 366 * DAY
