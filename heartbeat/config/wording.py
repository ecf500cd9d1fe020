"""Faults of a configuration in our own words: each with its key, the value that was found, and the remedy."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from datetime import date, time
from types import NoneType, UnionType
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from heartbeat.errors import ConfigError, Problem

MOST_TOLD = 100
"""How many problems of one file are told."""

_TABLES = {
    "windows": 'write a list of tables, such as windows = [{ start = "23:00", end = "07:00" }]',
    "rules": "write [[rules]] with two brackets above each rule",
}
"""What to write for a table where a list of tables belongs."""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_AT_LINE = re.compile(r" \(at line (\d+), column (\d+)\)$")
_AT_END = " (at end of document)"
_LONGEST_SHOWN = 60
_LARGEST_SHOWN = 10**18

# By pydantic's error type: what is wrong with {value}, and the remedy.
_WORDS = {
    "string_type": ("it must be text", "put it in quotes"),
    "bool_type": ("it must be true or false", "write true or false, without quotes"),
    "finite_number": ("it is no number that can be reckoned with", "write a number such as 2.5"),
    "float_type": ("it must be a number", "write a number, without quotes"),
    "int_type": ("it must be a whole number", "write a whole number, without quotes"),
    "dict_type": ("it must be a table", "write NAME = value pairs in a table of this name"),
    "model_type": ("it must be a table", "write its keys in a table of this name"),
    "tuple_type": ("it must be a list", 'write a list, such as ["one", "two"]'),
    "literal_error": ("it is not one of the known words", "write {expected}"),
    "too_short": ("it is empty", "write at least one, or remove the key"),
    "too_long": ("it is too long", "write at most {max_length}"),
    "greater_than_equal": ("it is too small", "write a number from {ge}"),
    "less_than_equal": ("it is too large", "write a number up to {le}"),
}


def parse_toml(raw: bytes, file: str, *, first_line: int = 1) -> dict[str, Any]:
    """The table in *raw*; raises ConfigError with line and column. *first_line* is where it begins in *file*."""
    try:
        return tomllib.loads(_decode(raw, file, first_line))
    except tomllib.TOMLDecodeError as error:
        text, line, column = _place(str(error), raw)
        message = f"cannot read line {line + first_line - 1}, column {column}: {text[:1].lower()}{text[1:]}"
        raise ConfigError((Problem(file, "", message, _toml_remedy(text)),)) from None
    except RecursionError:
        raise nested_too_deeply(file) from None
    except ValueError:  # a number of more than 4,300 digits
        problem = Problem(
            file, "", "cannot read it: a number in it is too long", "write it shorter, or as text in quotes"
        )
        raise ConfigError((problem,)) from None


def nested_too_deeply(file: str) -> ConfigError:
    return ConfigError(
        (Problem(file, "", "cannot read it: lists or tables are nested too deeply", "use fewer levels"),)
    )


def problems_of(
    error: ValidationError, model: type[BaseModel], file: str, prefix: tuple[str, ...] = ()
) -> list[Problem]:
    """The faults that pydantic found, as many as are told. *prefix* is the place of the model's table in the file."""
    faults = error.errors(include_url=False)[:MOST_TOLD]
    problems = []
    for fault in faults:
        message, remedy = _explain(fault, model, "key" if prefix else "section")
        place = (*prefix, *fault["loc"])
        problems.append(Problem(file, dotted(place), _numbered(message, place), remedy))
    return problems


def at_most(problems: Iterable[Problem], file: str) -> tuple[Problem, ...]:
    """Each problem once, and not more of them than a person reads."""
    told = tuple(dict.fromkeys(problems))
    if len(told) <= MOST_TOLD:
        return told
    message = f"cannot list every problem: there are more than {MOST_TOLD}"
    return (*told[:MOST_TOLD], Problem(file, "", message, "correct these first"))


def split(error: ValueError) -> tuple[str, str]:
    """Message and remedy of an error that says both, with a semicolon between."""
    message, _, remedy = str(error).rpartition("; ")
    return message, remedy


def unknown(what: str, name: str, known: Iterable[str]) -> tuple[str, str]:
    """Message and remedy for a name that is not among *known*."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    suggestion = f"did you mean {close[0]!r}? " if close else ""
    return f"cannot use the unknown {what} {show(name)}", f"{suggestion}known are: {', '.join(names) or 'none'}"


def dotted(path: Iterable[int | str]) -> str:
    """A place in a table as TOML writes it: `jobs.my-check.options.sources[0].file`."""
    key = ""
    for part in path:
        if isinstance(part, int):
            key += f"[{part}]"
        elif part != "[key]":  # pydantic's mark for the name itself
            key += ("." if key else "") + (part if _BARE_KEY.fullmatch(part) else show(part))
    return key


def show(value: object) -> str:
    """A value for a message: short, on one line, never the inside of a list or table, never an address's password."""
    match value:
        case bool():
            shown = "true" if value else "false"
        case str():
            shown = _show_text(value)
        case int() if abs(value) > _LARGEST_SHOWN:
            shown = "a very large number"
        case int() | float():
            shown = str(value)
        case date() | time():
            shown = value.isoformat()
        case dict():
            shown = "a table"
        case _:
            shown = "a list"
    return shown


def _show_text(text: str) -> str:
    if "://" in text and "@" in text:
        return "an address (not shown, it may hold a password)"
    short = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
    return json.dumps(short, ensure_ascii=not short.isprintable())


def _numbered(message: str, place: tuple[int | str, ...]) -> str:
    """The message with the number that a rule has in reasons, where the first is 1."""
    match place:
        case ("rules", int(index), *_):
            return f"{message} (rule {index + 1})"
    return message


def _explain(fault: ErrorDetails, model: type[BaseModel], outermost: str) -> tuple[str, str]:
    place, kind, context = fault["loc"], fault["type"], fault.get("ctx", {})
    if kind == "extra_forbidden":
        what = "key" if len(place) > 1 else outermost
        return unknown(what, str(place[-1]), _known_at(model, place[:-1]))
    if kind == "missing":
        return f"cannot do without the key {place[-1]}", f"write {place[-1]} = …"
    if kind == "value_error":
        return split(context["error"])
    if kind == "tuple_type" and isinstance(fault["input"], dict) and place[-1] in _TABLES:
        return "cannot use a table: it must be a list of tables", _TABLES[str(place[-1])]
    # What stands under env or secrets may be a secret written in the wrong form.
    private = any(part in ("env", "secrets") for part in place)
    value = "the value (not shown)" if private else show(fault["input"])
    wrong, remedy = _WORDS.get(kind, ("it is not of the right kind", "see config/default.toml for what stands here"))
    return f"cannot use {value}: {wrong}", remedy.format(**context)


def _known_at(model: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    """The keys that a table may have."""
    current: Any = model
    for part in place:
        if isinstance(current, type) and issubclass(current, BaseModel):
            current = _given(current.model_fields[str(part)].annotation)
        else:  # a table of tables, such as jobs, or a list of them, such as rules
            current = _given(get_args(current)[0 if isinstance(part, int) else 1])
    return list(current.model_fields)


def _given(kind: Any) -> Any:
    """What stands there when anything does: of `Secret | None` the secret."""
    if isinstance(kind, UnionType):
        return next(each for each in get_args(kind) if each is not NoneType)
    return kind


def _decode(raw: bytes, file: str, first_line: int) -> str:
    if raw.startswith(b"\xef\xbb\xbf"):
        problem = Problem(
            file, "", "cannot read line 1, column 1: a byte order mark stands there", "save it as UTF-8 without BOM"
        )
        raise ConfigError((problem,))
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line, column = before.count(b"\n") + first_line, len(before) - (before.rfind(b"\n") + 1) + 1
        message = f"cannot read line {line}, column {column}: the byte 0x{raw[error.start]:02x} is not UTF-8 text"
        raise ConfigError((Problem(file, "", message, "save it as UTF-8"),)) from None


def _place(text: str, raw: bytes) -> tuple[str, int, int]:
    found = _AT_LINE.search(text)
    if found:
        return text[: found.start()], int(found[1]), int(found[2])
    return text.removesuffix(_AT_END), raw.count(b"\n") + 1, len(raw) - (raw.rfind(b"\n") + 1) + 1


def _toml_remedy(text: str) -> str:
    if text.startswith("Cannot"):
        return "give each table and each key once"
    if "escape" in text.lower() or "\\" in text:
        return "write text that holds a backslash in single quotes"
    return 'write keys as NAME = value, and text in quotes, such as every = "10m"'
