"""How the configuration writes time: durations, instants, parts of the day, days of the week, and schedules."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticKnownError, SchemaValidator, core_schema

from heartbeat.clock import from_text, to_text
from heartbeat.config.wording import show
from heartbeat.durations import DurationTooLong, parse_duration, show_duration
from heartbeat.schedule import Schedule, Window, check_cron
from heartbeat.schedule.phrases import read_expression

_LONGEST_DURATION_TEXT = 40
_LONGEST_CRON = 200
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_DAY = 24 * 60
_WINDOW = r"([0-9]{1,2}):([0-9]{2}) ?- ?([0-9]{1,2}):([0-9]{2})"
CLOCK = "([01]?[0-9]|2[0-3]):[0-5][0-9]"
CLOCK_OR_MIDNIGHT = f"{CLOCK}|24:00"
"""For the schema, which cannot reckon."""
HOLIDAYS = 7
"""Stands among days of the week for the days that the owner has free."""
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_GROUPS = {"weekday": frozenset(range(5)), "weekend": frozenset({5, 6})}
_DAY_NAMES = "|".join(f"[{name[0].upper()}{name[0]}]{name[1:3]}({name[3:]})?" for name in _WEEKDAYS)
_DAYS = f"[Ww]eek(day|end)s?|({_DAY_NAMES})((-| - | to )({_DAY_NAMES}))?"


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
        return _duration(value, self.shortest, self.longest)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.plain_serializer_function_ser_schema(show_duration)
        return core_schema.no_info_plain_validator_function(self.read, serialization=text)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {
            "type": "string",
            "pattern": "^([0-9]{1,9}[wdhms])+$",
            "description": f"{self.shortest} to {self.longest}",
        }


@lru_cache(maxsize=1024)
def _duration(text: str, shortest: str, longest: str) -> timedelta:
    try:
        duration = parse_duration(text)
    except (OverflowError, DurationTooLong):
        duration = timedelta.max
    if not parse_duration(shortest) <= duration <= parse_duration(longest):
        raise ValueError(f"cannot use {show(text)}; write a duration from {shortest} to {longest}")
    return duration


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


@dataclass(frozen=True, slots=True)
class Written:
    """Marks a value that is written as text of a form of its own."""

    read: Callable[[object], Any]
    pattern: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^({self.pattern})$"}


@dataclass(frozen=True, slots=True)
class OneOrMore:
    """Marks a tuple that is written as a list, or as its only value alone; a fault is told with its own place."""

    most: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        item = handler.generate_schema(get_args(source)[0])
        alone = SchemaValidator(item)

        def read(value: object, read_list: core_schema.ValidatorFunctionWrapHandler) -> Any:
            if not isinstance(value, list | tuple):
                return (alone.validate_python(value),)
            # Not by the schema's min_length, which counts only what is right: a list of faults would be empty too.
            if not value:
                raise PydanticKnownError("too_short", {"field_type": "Tuple", "min_length": 1, "actual_length": 0})
            return read_list(value)

        # strict=False only for the list itself: TOML gives lists, a frozen model keeps tuples.
        many = core_schema.tuple_variable_schema(item, max_length=self.most, strict=False)
        return core_schema.no_info_wrap_validator_function(read, many)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        many = handler(core) | {"minItems": 1}
        return {"anyOf": [many["items"], many]}


def _cron(expression: str) -> str:
    if len(expression) > _LONGEST_CRON:
        raise ValueError(f"cannot use {show(expression)}: it is too long; write at most {_LONGEST_CRON} characters")
    _checked_cron(expression)
    return expression


def _expression(text: str) -> str:
    schedules_in(text)
    return text


# Many jobs say the same, and reading it is slow.
_checked_cron = lru_cache(maxsize=4096)(check_cron)


@lru_cache(maxsize=4096)
def schedules_in(text: str) -> tuple[Schedule, ...]:
    """What a schedule in words means."""
    return read_expression(text)


def _window(value: object) -> Window:
    found = re.fullmatch(_WINDOW, value) if isinstance(value, str) else None
    if found:
        hour, minute, last_hour, last_minute = map(int, found.groups())
        start, end = hour * 60 + minute, last_hour * 60 + last_minute
        if start == end:
            raise ValueError(f'cannot use {show(value)}: it ends where it begins; write "00:00-24:00" for a whole day')
        if max(minute, last_minute) < 60 and start < _DAY and end <= _DAY:  # noqa: PLR2004 - minutes of an hour
            return Window(start, end)
    raise ValueError(f'cannot use {show(value)} as a part of the day; write it like "08:00-18:00" or "22:00-06:00"')


def _days(value: object) -> frozenset[int]:
    if isinstance(value, str) and re.fullmatch(_DAYS, value):
        text = value.lower()
        if text.startswith("week"):
            return _GROUPS[text.removesuffix("s")]
        first, *more = (_weekday(name) for name in re.split("-| - | to ", text))
        if [first] != more:
            reach = (more[0] - first) % 7 if more else 0
            return frozenset((first + number) % 7 for number in range(reach + 1))
    raise ValueError(
        f'cannot use {show(value)} as days of the week; write "weekdays", "weekends", days such as "mon",'
        ' or ranges such as "mon-fri"'
    )


def _days_or_holidays(value: object) -> frozenset[int]:
    if isinstance(value, str) and value.lower() == "holidays":
        return frozenset({HOLIDAYS})
    try:
        return _days(value)
    except ValueError as error:
        raise ValueError(str(error).replace('such as "mon",', 'such as "mon", "holidays",')) from None


def _weekday(name: str) -> int:
    return next(number for number, full in enumerate(_WEEKDAYS) if full.startswith(name))


Period = Annotated[timedelta, Between("1s", "366d")]
Limit = Annotated[timedelta, Between("1s", "24h")]
AtInstant = Annotated[datetime, Instant()]
AtInstants = Annotated[tuple[AtInstant, ...], OneOrMore(20)]
Crons = Annotated[tuple[Annotated[str, AfterValidator(_cron)], ...], OneOrMore(20)]
Expressions = Annotated[tuple[Annotated[str, AfterValidator(_expression)], ...], OneOrMore(20)]
Windows = Annotated[
    tuple[Annotated[Window, Written(_window, f"{CLOCK} ?- ?({CLOCK_OR_MIDNIGHT})")], ...], OneOrMore(10)
]
Days = Annotated[tuple[Annotated[frozenset[int], Written(_days, _DAYS)], ...], OneOrMore(7)]
_DayOrHolidays = Annotated[frozenset[int], Written(_days_or_holidays, f"{_DAYS}|[Hh]olidays")]
DaysOrHolidays = Annotated[tuple[_DayOrHolidays, ...], OneOrMore(8)]
