"""The options of a job: the script's declared defaults, the owner's values over them, as one JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from heartbeat.config.secret import is_secret, secret_of
from heartbeat.config.wording import MOST_TOLD, dotted, show, split, unknown
from heartbeat.errors import Problem

_DEEPEST = 16
_LARGEST = 64 * 1024  # bytes of JSON; the kernel allows 128 KiB for one variable
_LARGEST_INTEGER = 2**63
_MOST_SECRETS = 50  # each that cannot be had brings a sentence, and they must all fit into one variable
_PRIVATE = re.compile(r"pass|pw|secret|token|key|auth|cred", re.IGNORECASE)
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Place = tuple[str | int, ...]


def to_json(options: Mapping[str, Any]) -> str:
    """The text of HEARTBEAT_OPTIONS."""
    return json.dumps(options, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def check_options(options: Mapping[str, Any], file: str, place: Place) -> list[Problem]:
    """What keeps *options*, found at *place* of *file*, from becoming JSON."""
    faults = (
        Problem(file, dotted(where), f"cannot use {_shown(where, value)} in an option: {wrong}", remedy)
        for where, value in _walk(options, place)
        if (fault := _fault(value, len(where) - len(place))) is not None
        for wrong, remedy in (fault,)
    )
    problems = list(islice(faults, MOST_TOLD))
    if not problems and len(to_json(options)) > _LARGEST:
        message, remedy = (
            "cannot use these options: as JSON they are over 64 KiB",
            "keep large data in a file and name it",
        )
        problems.append(Problem(file, dotted(place), message, remedy))
    return problems or _secret_problems(options, file, place)


def check_against(declared: Mapping[str, Any], options: Mapping[str, Any], file: str, place: Place) -> list[Problem]:
    """What in *options* the script does not know, or wants to be of another type."""
    problems = []
    for name, value in options.items():
        where = (*place, name)
        if name not in declared:
            problems.append(Problem(file, dotted(where), *unknown("option", name, declared)))
        elif not _fits(value, declared[name]) and not (is_secret(value) and isinstance(declared[name], str)):
            message = f"cannot use {_shown(where, value)}: this option is {_kind(declared[name])}"
            remedy = f"write {_kind(declared[name])}, such as the default {_shown(where, declared[name])}"
            problems.append(Problem(file, dotted(where), message, remedy))
    return problems


def variables(options: Mapping[str, Any], place: Place = ()) -> Iterator[tuple[Place, str]]:
    """The variables that options refer to as `{ env = "NAME" }`, each with its place."""
    for where, value in _walk(options, place):
        match value:
            case {"env": str(name)} if len(value) == 1 and where != place and _ENV_NAME.fullmatch(name):
                yield where, name


def secret_tables(options: Mapping[str, Any], place: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """What stands as the value of a key and says only where a secret is kept; in a list it would be a source."""
    for where, value in _walk(options, place):
        if is_secret(value) and where != place and isinstance(where[-1], str):
            yield where, value


def with_secrets(value: Any, put: Callable[[dict[str, Any]], Any]) -> Any:
    """The options, or a part of them, with what *put* makes of each of their secret tables in its place."""
    match value:
        case dict():
            return {name: put(below) if is_secret(below) else with_secrets(below, put) for name, below in value.items()}
        case list():
            return [with_secrets(below, put) for below in value]
    return value


def _secret_problems(options: Mapping[str, Any], file: str, place: Place) -> list[Problem]:
    """What keeps the secret tables from being understood; whether the secrets can be had is another matter."""
    problems, count = [], 0
    for where, table in secret_tables(options, place):
        count += 1
        try:
            secret_of(table)
        except ValueError as error:
            problems.append(Problem(file, dotted(where), *split(error)))
    if count > _MOST_SECRETS:
        message = f"cannot keep {count} secrets in the options of one job"
        problems.append(Problem(file, dotted(place), message, f"make do with {_MOST_SECRETS}"))
    return problems[:MOST_TOLD]


def _walk(value: Any, place: Place, depth: int = 0) -> Iterator[tuple[Place, Any]]:
    """Every value with its place, down to one level deeper than is allowed."""
    yield place, value
    if depth > _DEEPEST:
        return
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, below in inner:
        yield from _walk(below, (*place, name), depth + 1)


def _fault(value: Any, depth: int) -> tuple[str, str] | None:
    if depth > _DEEPEST:
        return f"it is nested more than {_DEEPEST} levels deep", "use fewer levels"
    match value:
        case str() | bool() | dict() | list():
            return None
        case int():
            fits = -_LARGEST_INTEGER <= value < _LARGEST_INTEGER
            return None if fits else ("it does not fit into 64 bits", "write it as text in quotes")
        case float():
            fits = value - value == 0  # not for NaN and the infinities
            return None if fits else ("JSON has no such number", "leave it out or write it as text in quotes")
    return "JSON has no dates and times", "write it as text in quotes"


def _fits(value: Any, default: Any) -> bool:
    if isinstance(default, float):  # JSON has one kind of number
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is type(default)


def _kind(value: Any) -> str:
    names = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "text",
        list: "a list",
        dict: "a table",
    }
    return names[type(value)]


def _shown(where: Place, value: Any) -> str:
    private = any(isinstance(part, str) and _PRIVATE.search(part) for part in where)
    return "the value (not shown)" if private else show(value)
