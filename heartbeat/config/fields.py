"""The kinds of value that a configuration and a script header hold, each with its limits and its own words."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from heartbeat.clock import from_text, to_text
from heartbeat.config.wording import show
from heartbeat.durations import parse_duration, show_duration
from heartbeat.schedule import check_cron

_LONGEST_DURATION_TEXT = 40
_LONGEST_ENV_VALUE = 64 * 1024  # bytes; the kernel allows 128 KiB for NAME=value
_LONGEST_ADDRESS = 254
_LONGEST_CRON = 200
_ENV_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
_JOB_NAME = r"^[a-z0-9][a-z0-9-]{0,63}$"
_ZONE_NAME = re.compile(r"(?!posix/|right/|localtime$|posixrules$|Factory$)[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


class Model(BaseModel):
    """A table with known keys; nothing is coerced and nothing can be changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class Between:
    """Marks a timedelta that is written as text, such as `"10m"`, and has limits."""

    shortest: str
    longest: str

    def read(self, value: object) -> timedelta:
        if isinstance(value, timedelta):
            return value
        if not isinstance(value, str) or len(value) > _LONGEST_DURATION_TEXT:
            raise ValueError(
                f'cannot use {show(value)} as a duration; write a number with a unit in quotes, such as "10m"'
            )
        try:
            duration = parse_duration(value)
        except OverflowError:
            duration = timedelta.max
        if not parse_duration(self.shortest) <= duration <= parse_duration(self.longest):
            raise ValueError(f"cannot use {show(value)}; write a duration from {self.shortest} to {self.longest}")
        return duration

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.plain_serializer_function_ser_schema(show_duration)
        return core_schema.no_info_plain_validator_function(self.read, serialization=text)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {
            "type": "string",
            "pattern": "^([0-9]{1,9}[wdhms])+$",
            "description": f"{self.shortest} to {self.longest}",
        }


@dataclass(frozen=True, slots=True)
class Instant:
    """Marks a datetime that is written with its offset, as text or as a TOML date and time."""

    def read(self, value: object) -> datetime:
        try:
            instant = from_text(value if isinstance(value, str) else value.isoformat())  # type: ignore[attr-defined]
            if _EARLIEST <= instant < _LATEST:
                return instant
        except (ValueError, OverflowError, AttributeError):
            pass
        raise ValueError(
            f"cannot use {show(value)} as an instant; write date, time and offset of the years 1970 to 2199,"
            ' such as "2026-06-10T08:00:00+02:00"'
        )

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.plain_serializer_function_ser_schema(to_text)
        return core_schema.no_info_plain_validator_function(self.read, serialization=text)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "format": "date-time"}


def is_zone(name: str) -> bool:
    """Whether *name* is an IANA zone that this machine knows."""
    if not _ZONE_NAME.fullmatch(name):
        return False
    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):  # not a zone file, a folder, no such name
        return False
    return True


def _zone(name: str) -> str:
    if is_zone(name):
        return name
    close = difflib.get_close_matches(name, available_timezones(), n=1)
    example = f"; did you mean {close[0]!r}?" if close else "; write an IANA zone, such as 'Europe/Berlin'"
    raise ValueError(f"cannot use {show(name)} as a time zone{example}")


def _address(text: str) -> str:
    local, _, domain = text.partition("@")
    plain = text.isprintable() and not set(text) & set(" ,<>\"'")
    if local and domain and "@" not in domain and plain and len(text) <= _LONGEST_ADDRESS:
        return text
    raise ValueError(f'cannot use {show(text)} as a mail address; write it bare, such as "me@example.org"')


def _job_name(name: str) -> str:
    if re.fullmatch(_JOB_NAME, name):
        return name
    raise ValueError(f"cannot use {show(name)} as a job's name; write at most 64 of a-z, 0-9 and '-', not '-' first")


def _env_name(name: str) -> str:
    if not re.fullmatch(_ENV_NAME, name):
        raise ValueError(f"cannot use {show(name)} as a variable's name; write letters, digits and '_', no digit first")
    if name.startswith("HEARTBEAT_"):
        raise ValueError(f"cannot set {name}: names that begin with HEARTBEAT_ are heartbeat's; choose another name")
    return name


def _env_value(text: str) -> str:
    # The value is not quoted: people keep secrets here.
    if "\0" in text or len(text.encode()) > _LONGEST_ENV_VALUE:
        raise ValueError("cannot use the value (not shown); write at most 64 KiB without a NUL character")
    return text


def _text(text: str) -> str:
    if "\0" in text:
        raise ValueError(f"cannot use {show(text)}: it holds a NUL character; take that out")
    return text


def _cron(expression: str) -> str:
    if len(expression) > _LONGEST_CRON:
        raise ValueError(f"cannot use {show(expression)}: it is too long; write at most {_LONGEST_CRON} characters")
    check_cron(expression)
    return expression


def _search_path(text: str) -> str:
    if all(folder.startswith("/") for folder in text.split(":")) and "\0" not in text:
        return text
    raise ValueError(f"cannot use {show(text)} as a search path; write whole folder names with ':' between them")


def _command(words: tuple[str, ...]) -> tuple[str, ...]:
    if words and not words[0]:
        raise ValueError(
            'cannot use a command whose first word is empty; begin it with a program, such as "/usr/bin/env"'
        )
    return words


Text = Annotated[str, AfterValidator(_text)]
Zone = Annotated[str, AfterValidator(_zone)]
SearchPath = Annotated[str, AfterValidator(_search_path)]
CronText = Annotated[str, AfterValidator(_cron)]
EnvName = Annotated[str, AfterValidator(_env_name), WithJsonSchema({"type": "string", "pattern": _ENV_NAME})]
EnvValue = Annotated[str, AfterValidator(_env_value)]
JobName = Annotated[str, AfterValidator(_job_name), WithJsonSchema({"type": "string", "pattern": _JOB_NAME})]
# strict=False only for the list itself: TOML gives lists, a frozen model keeps tuples.
Addresses = Annotated[tuple[Annotated[str, AfterValidator(_address)], ...], Field(strict=False)]
Command = Annotated[tuple[Text, ...], Field(strict=False), AfterValidator(_command)]
Period = Annotated[timedelta, Between("1s", "366d")]
Limit = Annotated[timedelta, Between("1s", "24h")]
AtInstant = Annotated[datetime, Instant()]
Dialect = Literal["strict", "hermes", "nanoclaw"]
Dedupe = Literal["identity", "text"]
