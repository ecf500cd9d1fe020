"""The sections [watch.NAME]: other daemons that `heartbeat health NAME` looks after.

The probe reads these sections itself, for it must work when the rest of the configuration does not
(`heartbeat.probe.watched`); here they are checked as strictly as all the others.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, model_validator

from heartbeat.config.fields import Model
from heartbeat.config.times import OneOrMore, Period
from heartbeat.config.wording import show

_LONGEST_LIST = 50
_EVIDENCE = ("state_file", "heartbeat_file", "pid_file", "unit", "label")


def _line(text: str) -> str:
    if text.isprintable():
        return text
    raise ValueError(f"cannot use {show(text)}: it holds a character that cannot be shown; take that out")


def _home(text: str) -> str:
    if not text or os.path.isabs(os.path.expanduser(text)):
        return text
    raise ValueError(f'cannot use {show(text)} as a home; write a whole path, or one from ~, such as "~/.my-daemon"')


Line = Annotated[str, AfterValidator(_line)]
Lines = Annotated[tuple[Line, ...], OneOrMore(_LONGEST_LIST)]
Folder = Annotated[str, AfterValidator(_line), AfterValidator(_home)]


class WatchSettings(Model):
    """What is left out comes from the preset."""

    preset: Literal["hermes", "openclaw"] | None = None
    home: Folder = ""
    installed: Lines | None = None
    state_file: Line = ""
    pid_key: Line = "pid"
    start_key: Line = "start_time"
    updated_key: Line = "updated_at"
    phase_key: Line = ""
    phases: Lines | None = None
    platforms_key: Line = "platforms"
    required: Lines | None = None
    stale: Period = timedelta(minutes=15)
    heartbeat_file: Line = ""
    heartbeat_stale: Period = timedelta(minutes=3)
    pid_file: Lines | None = None
    starts_log: Line = ""
    unit: Line = ""
    scope: Literal["user", "system"] | None = None
    label: Line = ""
    restarters: Lines | None = None
    commands: Lines | None = None

    @model_validator(mode="after")
    def _can_be_looked_at(self) -> WatchSettings:
        if self.preset:
            return self
        if not any(getattr(self, key) for key in _EVIDENCE):
            raise ValueError(
                "cannot watch it: it names nothing to look at;"
                f' write preset = "hermes" or "openclaw", or one of {", ".join(_EVIDENCE)}'
            )
        for key in ("required", "phases"):
            if getattr(self, key) and not self.state_file:
                raise ValueError(
                    f"cannot use {key} without a state_file, which alone could tell; write state_file as well"
                )
        for key in ("installed", "state_file", "heartbeat_file", "pid_file", "starts_log"):
            value = getattr(self, key) or ()
            for name in (value,) if isinstance(value, str) else value:
                if not self.home and not os.path.isabs(os.path.expanduser(name)):
                    raise ValueError(
                        f"cannot find {show(name)} of {key} without a home; write a whole path, or home as well"
                    )
        return self
