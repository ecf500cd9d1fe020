"""The kinds of value that a configuration and a script header hold, each with its limits and its own words."""

from __future__ import annotations

import difflib
import re
from functools import cache
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticKnownError

from heartbeat.config.wording import show
from heartbeat.zones import is_zone

_LONGEST_ENV_VALUE = 64 * 1024  # bytes; the kernel allows 128 KiB for NAME=value
_LONGEST_ADDRESS = 254
_ENV_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
_JOB_NAME = r"^[a-z0-9][a-z0-9-]{0,63}$"


class Model(BaseModel):
    """A table with known keys; nothing is coerced and nothing can be changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


@cache  # it reads hundreds of files
def _known_zones() -> tuple[str, ...]:
    return tuple(available_timezones())


def check_zone(name: str) -> str:
    """The name; raises ValueError when it is no zone."""
    if is_zone(name):
        return name
    # Not all that has the form of a zone's name is taken as one.
    close = next(filter(is_zone, difflib.get_close_matches(name, _known_zones())), None)
    example = f"; did you mean {close!r}?" if close else "; write an IANA zone, such as 'Europe/Berlin'"
    raise ValueError(f"cannot use {show(name)} as a time zone{example}")


def _address(text: str) -> str:
    local, _, domain = text.partition("@")
    plain = text.isprintable() and not set(text) & set(" ,<>\"'")
    if local and domain and "@" not in domain and plain and len(text) <= _LONGEST_ADDRESS:
        return text
    raise ValueError(f'cannot use {show(text)} as a mail address; write it bare, such as "me@example.org"')


def check_job_name(name: str) -> str:
    """The name; raises ValueError when a job cannot have it."""
    return _name(name, "job")


def _channel_name(name: str) -> str:
    return _name(name, "channel")


def _target_name(name: str) -> str:
    return _name(name, "target")


def _name(name: str, what: str) -> str:
    if re.fullmatch(_JOB_NAME, name):
        return name
    raise ValueError(f"cannot use {show(name)} as a {what}'s name; write at most 64 of a-z, 0-9 and '-', not '-' first")


def _given(items: tuple[str, ...]) -> tuple[str, ...]:
    # Not by the schema's min_length, which counts only what is right: a list of faults would be empty too.
    if not items:
        raise PydanticKnownError("too_short", {"field_type": "Tuple", "min_length": 1, "actual_length": 0})
    return items


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
Zone = Annotated[str, AfterValidator(check_zone)]
SearchPath = Annotated[str, AfterValidator(_search_path)]
EnvName = Annotated[str, AfterValidator(_env_name), WithJsonSchema({"type": "string", "pattern": _ENV_NAME})]
EnvValue = Annotated[str, AfterValidator(_env_value)]
JobName = Annotated[str, AfterValidator(check_job_name), WithJsonSchema({"type": "string", "pattern": _JOB_NAME})]
ChannelName = Annotated[str, AfterValidator(_channel_name), WithJsonSchema({"type": "string", "pattern": _JOB_NAME})]
TargetName = Annotated[str, AfterValidator(_target_name), WithJsonSchema({"type": "string", "pattern": _JOB_NAME})]
# strict=False only for the list itself: TOML gives lists, a frozen model keeps tuples.
Addresses = Annotated[tuple[Annotated[str, AfterValidator(_address)], ...], Field(strict=False)]
Command = Annotated[tuple[Text, ...], Field(strict=False), AfterValidator(_command)]
Given = AfterValidator(_given)
"""Of a list: at least one."""
Dialect = Literal["strict", "hermes", "nanoclaw"]
Dedupe = Literal["identity", "text"]
