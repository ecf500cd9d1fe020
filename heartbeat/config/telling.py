"""The sections on what the owner is told by and by: [brief], [incidents] and [ping]."""

from __future__ import annotations

import re
from datetime import time, timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from heartbeat.config.fields import Model, Text
from heartbeat.config.secret import Secret
from heartbeat.config.times import Between, Days, Period
from heartbeat.config.wording import show
from heartbeat.schedule import EVERY_DAY

OFF = "off"
_AT = "([01][0-9]|2[0-3]):[0-5][0-9]"


def _at(text: str) -> str:
    if text == OFF or re.fullmatch(_AT, text):
        return text
    raise ValueError(f'cannot use {show(text)} as a time of day; write it like "08:00", from 00:00 to 23:59, or "off"')


TimeOfDay = Annotated[str, AfterValidator(_at), WithJsonSchema({"type": "string", "pattern": f"^({_AT}|{OFF})$"})]


class BriefSettings(Model):
    at: TimeOfDay = "08:00"
    """The time of day, in the owner's zone; "off": only when it is asked for."""
    days: Days | None = None
    agent: bool = False
    """An agent writes it up."""
    file: Text = ""
    """Also kept as Markdown in this file; `{day}` stands for the date."""
    empty: Literal["line", "none"] = "line"

    @property
    def time_of_day(self) -> time | None:
        """None: never by itself."""
        return None if self.at == OFF else time.fromisoformat(self.at)

    @property
    def weekdays(self) -> frozenset[int]:
        """As `datetime.weekday` counts them."""
        return frozenset().union(*self.days) if self.days else EVERY_DAY


class IncidentSettings(Model):
    after: Annotated[int, Field(ge=1, le=1000)] = 3
    """Faults in a row that make an incident."""
    stale: Period = timedelta(hours=26)
    """So long without a success, one fault makes one too."""


class PingSettings(Model):
    url: Secret | None = None
    """An address in the manner of healthchecks.io."""
    every: Annotated[timedelta, Between("1m", "24h")] = timedelta(minutes=5)
