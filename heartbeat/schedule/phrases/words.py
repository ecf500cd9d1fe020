"""The words that a schedule phrase is made of, and those that say too little to be used."""

from __future__ import annotations

import re

LAST = 0
"""The ordinal of `last`."""

_NAMES_OF_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_NAMES_OF_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MORE_DAYS = {"tues": 2, "weds": 3, "thur": 4, "thurs": 4}

WEEKDAYS = {
    text: number
    for number, name in enumerate(_NAMES_OF_DAYS)
    for text in (name, name + "s", name[:3])
} | _MORE_DAYS  # fmt: skip
"""As cron counts them: 0 is Sunday."""
MONTHS = {text: number for number, name in enumerate(_NAMES_OF_MONTHS, 1) for text in (name, name[:3])} | {"sept": 9}
SETS_OF_DAYS = {
    **dict.fromkeys(("weekday", "weekdays"), frozenset(range(1, 6))),
    **dict.fromkeys(("weekend", "weekends"), frozenset((0, 6))),
}
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": LAST}
UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("w", "week", "weeks"), "w"),
}
UNEVEN_UNITS = ("month", "months", "year", "years")
PERIODS = {
    "hourly": "hourly",
    **dict.fromkeys(("daily", "day"), "daily"),
    **dict.fromkeys(("weekly", "week"), "weekly"),
    **dict.fromkeys(("monthly", "month"), "monthly"),
    **dict.fromkeys(("yearly", "annually", "year"), "yearly"),
}
TIMES = {"noon": 12 * 60, "midnight": 0}
PARTS_OF_DAY = {part + plural: part for part in ("morning", "afternoon", "evening", "night") for plural in ("", "s")}
_FIRST_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
NUMBERS = {word: str(number) for number, word in enumerate(_FIRST_NUMBERS, 1)}
NUMBERS |= {"fifteen": "15", "twenty": "20", "thirty": "30"}
RANGE = ("to", "through", "thru", "until", "till", "-")
_SMALL_WORDS = ("every", "each", "at", "on", "in", "of", "the", "and", "between", "from", *RANGE)
_OF_DAYS = (*WEEKDAYS, *MONTHS, *SETS_OF_DAYS, *ORDINALS, *PARTS_OF_DAY)
KNOWN = {*_OF_DAYS, *UNITS, *UNEVEN_UNITS, *PERIODS, *TIMES, *NUMBERS, *_SMALL_WORDS}

_ALIKE = (
    (r"\bhalf (?:an )?hour\b", "30 minutes"),
    (r"\bquarter (?:of an )?hour\b", "15 minutes"),
    (r"\bonce (?:an?|per|every|each) (?=(?:hour|day|week|month|year)\b)", "every "),
    (r"\bnightly\b", "every night"),
    (r"(?<![a-z])([ap])\.m\b\.?", r"\1m"),
)


def reworded(text: str) -> str:
    """The same in words that are known, where a text says it in several words that are not."""
    for pattern, words in _ALIKE:
        text = re.sub(pattern, words, text)
    return text


ONE_INSTANT = "for one instant write its date and offset, such as 'at 2026-06-10T08:00:00+02:00'"
EXAMPLES = "write it like 'every 10m', 'weekdays at 9', 'first monday of the month at 07:30' or '0 9 * * 1-5'"
EVERY_OTHER = "name the days, such as 'every monday at 9', or count elapsed time, such as 'every 2d' or 'every 14d'"
ZONE = (
    "a phrase is on the clock of the job's zone",
    "leave that out and set the job's zone, such as 'Europe/Berlin'",
)
_UNCLEAR = (
    ("today tonight tomorrow yesterday next now later", "'{}' depends on the day it is read", ONE_INSTANT),
    (
        "sunrise sunset dawn dusk",
        "'{}' is no exact time",
        "write a time, such as 'daily at 07:30'",
    ),
    (
        "sometimes often rarely occasionally regularly frequently randomly few several some about around roughly",
        "'{}' is not exact",
        "write how often or at what time, such as 'every 2 hours' or 'daily at 9'",
    ),
    (
        "once twice thrice times",
        "'{}' counts times without naming them",
        f"write the times alone, such as 'daily at 9 and 17', and {ONE_INSTANT}",
    ),
    (
        "other alternate alternating biweekly bimonthly fortnightly fortnight",
        "'{}' does not say which of them is the first",
        EVERY_OTHER,
    ),
    ("a an per", "'{}' does not say whether it is once or always", f"write 'every' for always, and {ONE_INSTANT}"),
    ("never", "'{}' is no schedule", "write `paused = true` for the job"),
    ("or", "'{}' leaves the choice open", "write 'and' when both are meant, else one of the two"),
    (
        "except excluding without but not",
        "it cannot leave something out",
        "name what remains, such as 'mon, tue and thu at 9'",
    ),
    (
        "business working workday workdays holiday holidays",
        "no calendar of working days is known here",
        "write 'weekdays' for monday to friday",
    ),
    (
        "quarterly",
        "'{}' does not say on which day",
        "write it like 'on the 1st in january, april, july and october at 9'",
    ),
    (
        "after before",
        "'{}' leaves one end open",
        "write both, such as 'every 2 hours between 8 and 18'",
    ),
    ("starting beginning since", "a phrase has no first day", "leave that out, or write a cron expression"),
    ("ms msec msecs millisecond milliseconds", "an interval is at least 1s", "write it like 'every 1s' or 'every 10m'"),
    ("utc gmt bst cet cest est edt cst cdt mst mdt pst pdt", *ZONE),
)
REFUSED = {word: (why, remedy) for words, why, remedy in _UNCLEAR for word in words.split()}


class Unclear(Exception):
    """Why a phrase cannot be used, and what to write instead."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(why, remedy)
        self.why, self.remedy = why, remedy
