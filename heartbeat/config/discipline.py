"""The sections on when to interrupt: [quiet], [budget] and [[rules]]."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import Field, model_validator

from heartbeat.config.fields import Model, Text
from heartbeat.config.patterns import compiled
from heartbeat.config.times import (
    CLOCK,
    CLOCK_OR_MIDNIGHT,
    HOLIDAYS,
    AtInstant,
    Between,
    DaysOrHolidays,
    Period,
    Written,
)
from heartbeat.config.wording import show
from heartbeat.decide import Budget, OwnerRule, QuietHours, QuietWindow
from heartbeat.model import Urgency
from heartbeat.schedule import EVERY_DAY, Window

MOST_WINDOWS = 100
MOST_HOLIDAYS = 1000
_TIME = r"([0-9]{1,2}):([0-9]{2})"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DAY_OF_CALENDAR = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_SENDER = r"[^@\s<>]*@[^@\s<>]+"
_MIDNIGHT = 24 * 60
_LAST_CALL = Between("1m", "24h")  # so short at least that what is told then is still told in time


def _time(value: object) -> int:
    """Minutes since midnight."""
    found = re.fullmatch(_TIME, value) if isinstance(value, str) else None
    if found:
        hour, minute = map(int, found.groups())
        if minute < 60 and hour * 60 + minute <= _MIDNIGHT:  # noqa: PLR2004 - minutes of an hour
            return hour * 60 + minute
    raise ValueError(f'cannot use {show(value)} as a time of day; write it in quotes, like "23:30"')


def _date(value: object) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        if isinstance(value, str) and re.fullmatch(_DAY, value):
            return date.fromisoformat(value)
    except ValueError:  # the 30th of February
        pass
    raise ValueError(f"cannot use {show(value)} as a day; write it like 2026-12-25")


def _last_call(value: object) -> timedelta | None:
    if value is None or value == "never":
        return None
    try:
        return _LAST_CALL.read(value)
    except ValueError as error:
        raise ValueError(f'{error}, or "never"') from None


StartOfDay = Annotated[int, Written(_time, CLOCK)]
TimeOfDay = Annotated[int, Written(_time, CLOCK_OR_MIDNIGHT)]
Holiday = Annotated[date, Written(_date, _DAY_OF_CALENDAR)]
LastCall = Annotated[timedelta | None, Written(_last_call, "never|([0-9]{1,9}[wdhms])+")]


class QuietWindowSettings(Model):
    start: StartOfDay
    end: TimeOfDay
    days: DaysOrHolidays | None = None

    @model_validator(mode="after")
    def _has_a_length(self) -> Self:
        if self.start == self.end:
            shown = show(f"{self.start // 60:02}:{self.start % 60:02}")
            raise ValueError(
                f"cannot use the window: it ends where it begins, at {shown};"
                ' write start = "00:00" and end = "24:00" for a whole day'
            )
        if self.start == _MIDNIGHT:
            raise ValueError('cannot begin a window at "24:00"; write start = "00:00"')
        return self

    def window(self) -> QuietWindow:
        days = EVERY_DAY | {HOLIDAYS} if self.days is None else frozenset().union(*self.days)
        return QuietWindow(Window(self.start, self.end), days - {HOLIDAYS}, holidays=HOLIDAYS in days)


class QuietSettings(Model):
    windows: Annotated[tuple[QuietWindowSettings, ...], Field(strict=False, max_length=MOST_WINDOWS)] = ()
    holidays: Annotated[tuple[Holiday, ...], Field(strict=False, max_length=MOST_HOLIDAYS)] = ()
    last_call: LastCall = timedelta(minutes=30)
    """None is written "never"."""

    def hours(self, zone: ZoneInfo) -> QuietHours:
        """On the wall clock of the owner's zone."""
        windows = tuple(each.window() for each in self.windows)
        return QuietHours(windows, zone, frozenset(self.holidays), self.last_call)


class BudgetSettings(Model):
    min_gap: Annotated[timedelta, Between("0s", "24h")] = timedelta(minutes=2)
    per_hour: Annotated[int, Field(ge=0, le=3600)] = 6
    per_day: Annotated[int, Field(ge=0, le=86_400)] = 40
    critical_per_hour: Annotated[int, Field(ge=1, le=3600)] = 12
    usd_per_day: Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)] | None = None
    tokens_per_day: Annotated[int, Field(ge=0)] | None = None

    def budget(self) -> Budget:
        return Budget(
            self.min_gap,
            self.per_hour,
            self.per_day,
            self.critical_per_hour,
            self.usd_per_day,
            self.tokens_per_day,
        )


class RuleSettings(Model):
    do: Literal["mute", "raise", "lower", "remind"]
    job: Text = ""
    kind: Text = ""
    source: Text = ""
    sender: Text = ""
    pattern: Text = ""
    until: AtInstant | None = None
    to: Literal["low", "normal", "high", "critical"] | None = None
    after: Period | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        self.rule(0)
        return self

    def rule(self, number: int) -> OwnerRule:
        """The rule; raises ValueError when it says nothing, too little or too much."""
        self._check()
        return OwnerRule(
            self.do,
            number,
            job=self.job,
            kind=self.kind,
            source=self.source,
            sender=self.sender,
            pattern=compiled(self.pattern, number) if self.pattern else None,
            until=self.until,
            to=Urgency(self.to) if self.to else None,
            after=self.after,
        )

    def _check(self) -> None:
        if not (self.job or self.kind or self.source or self.sender or self.pattern):
            raise ValueError(
                f"cannot use a rule to {self.do} that names nothing: it would {self.do} everything;"
                ' name a job, kind, source, sender or pattern, or write job = "*" if you mean that'
            )
        if self.to is not None and self.do not in ("raise", "lower"):
            raise ValueError(f'cannot use to in a rule to {self.do}; remove it, or write do = "raise" or "lower"')
        if self.after is not None and self.do != "remind":
            raise ValueError(f'cannot use after in a rule to {self.do}; remove it, or write do = "remind"')
        if self.after is None and self.do == "remind":
            raise ValueError('cannot remind without knowing when; write how long after it was told, as after = "2h"')
        if self.sender and not re.fullmatch(_SENDER, self.sender):
            raise ValueError(
                f"cannot use {show(self.sender)} as a sender;"
                ' write an address such as "rae@example.org", or "@example.org" for everybody there'
            )
