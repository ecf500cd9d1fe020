"""What a timing is said to mean: the words for each kind of schedule, and that the same words never mean two things."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heartbeat.schedule.cron import check_cron
from heartbeat.schedule.cron_wording import cron_words
from heartbeat.schedule.kinds import At, Cron, Every, Timing, Window
from heartbeat.schedule.walk import slots_between
from heartbeat.schedule.wording import means

BERLIN, ZULU = ZoneInfo("Europe/Berlin"), ZoneInfo("UTC")
START = datetime(2026, 1, 1, tzinfo=UTC)
NINE = Cron("0 9 * * 1-5")
ODD_DAYS = "1st, 3rd, 5th, 7th, 9th, 11th, 13th, 15th, 17th, 19th, 21st, 23rd, 25th, 27th, 29th or 31st"

CRON = [
    # Times of the day
    ("* * * * *", "every minute"),
    ("*/1 * * * *", "every minute"),
    ("0-59 0-23 * * *", "every minute"),
    ("0 * * * *", "at minute 0 of every hour"),
    ("*/10 * * * *", "at minute 0, 10, 20, 30, 40 and 50 of every hour"),
    ("5/20 * * * *", "at minute 5, 25 and 45 of every hour"),
    ("59/15 * * * *", "at minute 59 of every hour"),
    ("*/7 * * * *", "at minute 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"),
    ("*/2 * * * *", "at every 2nd minute from 0 to 58 of every hour"),
    ("1-40/3 * * * *", "at every 3rd minute from 1 to 40 of every hour"),
    ("5-20 * * * *", "at minute 5 to 20 of every hour"),
    ("1,2,10-12 * * * *", "at minute 1, 2 and 10 to 12 of every hour"),
    ("* 9 * * *", "every minute from 09:00 to 09:59 every day"),
    ("* 9-17 * * *", "every minute from 09:00 to 17:59 every day"),
    ("* 9,17 * * *", "every minute of the hours 9 and 17 every day"),
    ("30 9 * * *", "at 09:30 every day"),
    ("0,30 8,18 * * *", "at 08:00, 08:30, 18:00 and 18:30 every day"),
    ("5-14 7 * * *", "at minute 5 to 14 of hour 7 every day"),
    ("0 8-18 * * *", "at minute 0 of the hours 8 to 18 every day"),
    ("15 */2 * * *", "at minute 15 of the hours 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 and 22 every day"),
    # Days
    ("0 9 * * 1-5", "at 09:00 on Monday to Friday"),
    ("0 9 * * mon-FRI", "at 09:00 on Monday to Friday"),
    ("0 9 * * 0", "at 09:00 on Sunday"),
    ("0 9 * * 7", "at 09:00 on Sunday"),
    ("0 9 * * 5-7", "at 09:00 on Friday to Sunday"),
    ("0 9 * * 0,6", "at 09:00 on Saturday and Sunday"),
    ("0 9 * * 0-1", "at 09:00 on Monday and Sunday"),
    ("0 9 * * */2", "at 09:00 on Tuesday, Thursday, Saturday and Sunday"),
    ("0 9 * * 0-6", "at 09:00 every day"),
    ("*/30 * * * sun", "at minute 0 and 30 of every hour on Sunday"),
    ("0 9 1 * *", "at 09:00 on the 1st of the month"),
    ("0 9 1,15 * *", "at 09:00 on the 1st and 15th of the month"),
    ("0 9 22-24 * *", "at 09:00 on the 22nd to 24th of the month"),
    ("0 9 */2 * *", "at 09:00 on every 2nd day from the 1st to the 31st of the month"),
    ("0 9 */10 * *", "at 09:00 on the 1st, 11th, 21st and 31st of the month"),
    ("0 9 L * *", "at 09:00 on the last day of the month"),
    ("0 9 1,15,l * *", "at 09:00 on the 1st, 15th and last day of the month"),
    ("0 9 15W * *", "at 09:00 on the weekday (Monday to Friday) nearest to the 15th of the month"),
    ("30 7 * * mon#1", "at 07:30 on the first Monday of the month"),
    ("30 7 * * 1#1,1#3,2#5", "at 07:30 on the first and third Monday and the fifth Tuesday of the month"),
    ("30 7 * * L5", "at 07:30 on the last Friday of the month"),
    ("30 7 * * L5,0#2", "at 07:30 on the last Friday and the second Sunday of the month"),
    # Both fields of days: either is enough, unless one of them begins with '*'
    ("0 9 1,15 * 1", "at 09:00 on the 1st and 15th of the month, and on every Monday"),
    ("0 9 1 * 1-5", "at 09:00 on the 1st of the month, and on Monday to Friday"),
    ("0 9 L * 1,3", "at 09:00 on the last day of the month, and on Monday and Wednesday"),
    ("0 9 */2 * 1", f"at 09:00 on Monday, if that is also the {ODD_DAYS} of the month"),
    ("0 9 1 * */2", "at 09:00 on Tuesday, Thursday, Saturday and Sunday, if that is also the 1st of the month"),
    ("0 9 1-31/2 * 1", "at 09:00 on every 2nd day from the 1st to the 31st of the month, and on every Monday"),
    ("0 9 */1 * 1", "at 09:00 on Monday"),
    ("0 9 1-31 * 1", "at 09:00 every day"),
    ("0 9 1,* * 1", "at 09:00 every day"),
    ("0 9 *,1 * 1", "at 09:00 on Monday"),
    ("0 9 ? * 1", "at 09:00 on Monday"),
    ("0 9 1 * ?", "at 09:00 on the 1st of the month"),
    # Months
    ("0 9 * 6 *", "at 09:00 every day, only in June"),
    ("* * * jun-aug *", "every minute, only in June to August"),
    ("0 9 * */3 *", "at 09:00 every day, only in January, April, July and October"),
    ("0 9 29 2 *", "at 09:00 on the 29th of February"),
    ("0 9 * 9 1#1", "at 09:00 on the first Monday of September"),
    ("0 9 1 6,7 *", "at 09:00 on the 1st of the month, only in June and July"),
    ("0 9 1 6 1", "at 09:00 on the 1st of the month, and on every Monday, only in June"),
    ("0 9 * 1-12 *", "at 09:00 every day"),
    # Seconds first
    ("* * * * * *", "every second"),
    ("*/15 * * * * *", "at second 0, 15, 30 and 45 of every minute"),
    ("0 * * * * *", "every minute"),
    ("0 30 9 * * *", "at 09:30 every day"),
    ("15 30 9 * * 1", "at 09:30:15 on Monday"),
    ("5 0,30 * * * *", "at second 5 of minute 0 and 30 of every hour"),
    ("*/20 * 9-17 * * *", "at second 0, 20 and 40 of every minute from 09:00 to 17:59 every day"),
    ("* 30 * * * *", "every second of minute 30 of every hour"),
    ("* * 9 * * *", "every second of every minute from 09:00 to 09:59 every day"),
    # Macros
    ("@hourly", "at minute 0 of every hour"),
    ("@daily", "at 00:00 every day"),
    ("@midnight", "at 00:00 every day"),
    ("@weekly", "at 00:00 on Sunday"),
    ("@monthly", "at 00:00 on the 1st of the month"),
    ("@yearly", "at 00:00 on the 1st of January"),
    ("@annually", "at 00:00 on the 1st of January"),
]


@pytest.mark.parametrize(("expression", "words"), CRON)
def test_a_cron_expression_is_said_in_words_with_its_zone(expression: str, words: str) -> None:
    check_cron(expression)
    assert means(Timing((Cron(expression),), BERLIN)) == f"{words}, Europe/Berlin"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "second"),
        (45, "45 seconds"),
        (60, "minute"),
        (600, "10 minutes"),
        (3600, "hour"),
        (5400, "1 hour and 30 minutes"),
        (86_400, "day"),
        (14 * 86_400, "2 weeks"),
        (694_861, "1 week, 1 day, 1 hour, 1 minute and 1 second"),
        (0.5, "0.5 seconds"),
    ],
)
def test_an_interval_says_that_it_counts_elapsed_time_and_from_when(seconds: float, words: str) -> None:
    timing = Timing((Every(timedelta(seconds=seconds)),), BERLIN)
    assert means(timing) == f"every {words} of elapsed time, counted from when heartbeat first saw the job"


TEN_MINUTES = "every 10 minutes of elapsed time, counted from when heartbeat first saw the job"
WORKING = "at 09:00 on Monday to Friday, Europe/Berlin"
BY_BEGINNING = ", by the day on which the window begins"
EVERY = Every(timedelta(minutes=10))
DAY = Window(8 * 60, 18 * 60)
DAY_OR_EVENING = "from 08:00 to 18:00 or from 20:00 to the end of the day, both included"
NIGHT = Window(22 * 60, 6 * 60)
JUNE = datetime(2026, 6, 10, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("timing", "words"),
    [
        (Timing((At(JUNE),), BERLIN), "at 2026-06-10 08:00:00+02:00, once"),
        (
            Timing((At(datetime(9999, 12, 31, 23, 59, tzinfo=UTC)),), BERLIN),
            "at 9999-12-31 23:59:00+00:00, once",
        ),
        (Timing((NINE, EVERY), BERLIN), f"{WORKING}; and {TEN_MINUTES}"),
        (
            Timing((EVERY,), BERLIN, between=(DAY,)),
            f"{TEN_MINUTES}, only from 08:00 to 18:00, both included, Europe/Berlin",
        ),
        (
            Timing((NINE,), BERLIN, between=(DAY,)),
            f"{WORKING}, only from 08:00 to 18:00, both included",
        ),
        (
            Timing((NINE, EVERY), BERLIN, between=(DAY, Window(20 * 60, 24 * 60))),
            f"{WORKING}; and {TEN_MINUTES}; all of it only {DAY_OR_EVENING}",
        ),
        (
            Timing((EVERY,), BERLIN, days=frozenset(range(5))),
            f"{TEN_MINUTES}, only on Monday to Friday, Europe/Berlin",
        ),
        (
            Timing((EVERY,), BERLIN, between=(DAY,), days=frozenset({0, 6})),
            f"{TEN_MINUTES}, only from 08:00 to 18:00, both included, and only on Monday and Sunday, Europe/Berlin",
        ),
        (
            Timing((NINE,), BERLIN, between=(NIGHT,), days=frozenset({4})),
            f"{WORKING}, only from 22:00 to 06:00 of the next day, both included, and only on Friday{BY_BEGINNING}",
        ),
        (Timing((EVERY,), BERLIN, days=frozenset()), f"{TEN_MINUTES}, only on no day, Europe/Berlin"),
        (
            Timing((NINE,), BERLIN, timedelta(seconds=252)),
            f"{WORKING}; then moved by 4m12s, this job's share of its jitter",
        ),
        (
            Timing((NINE,), BERLIN, timedelta(seconds=1.5)),
            f"{WORKING}; then moved by 1.5s, this job's share of its jitter",
        ),
        (Timing((NINE,), BERLIN, until=JUNE), f"{WORKING}; none after 2026-06-10 08:00:00+02:00"),
    ],
)
def test_every_part_of_a_timing_is_said(timing: Timing, words: str) -> None:
    assert means(timing) == words


DAYS = ("*", "?", "*/2", "*/1", "1", "1-7", "1-31", "1-31/2", "1,*", "*,1", "31", "L", "15,L", "14W", "15W", "9,23,30")
WEEKDAYS = ("*", "?", "*/2", "*/1", "1", "mon", "0-6", "1-7", "1-5", "0,6", "sat,sun", "5-7", "1,*", "1#1", "L1", "1#5")


FIELDS = ("*", "0", "*/2", "*/20", "3-20", "9-17", "0,10", "1,2", "5/7", "23")


def accepted(expression: str) -> bool:
    try:
        check_cron(expression)
    except ValueError:
        return False
    return True


def test_the_same_words_for_days_always_mean_the_same_days() -> None:
    end = START + timedelta(days=500)
    slots = defaultdict(set)
    for day, weekday in product(DAYS, WEEKDAYS):
        expression = f"0 9 {day} * {weekday}"
        if accepted(expression):
            found = slots_between(Timing((Cron(expression),), ZULU), START, end, anchor=START)
            slots[cron_words(expression)].add(tuple(islice(found, 1, 70)))
    assert [words for words, different in slots.items() if len(different) > 1] == []
    assert len(slots) > 50


def test_other_times_are_said_in_other_words() -> None:
    words = {cron_words(f"{' '.join(fields)} * * *") for fields in product(FIELDS, repeat=3)}
    assert len(words) == len(FIELDS) ** 3


def field(lowest: int, highest: int) -> st.SearchStrategy[str]:
    number = st.integers(lowest, highest)
    pair = st.tuples(number, number).filter(lambda pair: pair[0] < pair[1])
    step = st.one_of(st.just(""), st.integers(1, 20).map("/{}".format))
    part = st.one_of(number.map(str), pair.map("{0[0]}-{0[1]}".format), st.just("*"))
    stepped = st.tuples(part, step).map("".join)
    return st.one_of(stepped, st.lists(stepped, min_size=1, max_size=4).map(",".join))


@given(st.tuples(field(0, 59), field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7)).map(" ".join))
def test_there_are_words_for_whatever_is_accepted(expression: str) -> None:
    assume(accepted(expression))
    words = cron_words(expression)
    assert words.startswith(("at ", "every "))
    assert "  " not in words
