"""JSON as RFC 8259 means it: the one reading every reader agrees on, or a refusal with a code."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any

MAX_DEPTH = 32
_MAX_DIGITS = 640  # the longest integer Python converts however it is configured
_NOT_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[^][{}"]++', re.DOTALL)
_SQUARE = str.maketrans("{}", "[]")
_STEP = {"[": 1, "]": -1}


class Refusal(ValueError):
    """Why a gate is not one: the code and the reason of a `malformed` verdict. Never leaves the gate's room."""

    def __init__(self, code: str, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.hint = hint


class BigNumber(str):
    """A number too large for Python to carry, as it was written; its JSON form is that text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def read_object(text: str) -> dict[str, Any]:
    """The JSON object of *text*; raises Refusal for anything that two readers could take differently."""
    deep, closed = nesting(text)
    if deep and closed and text.lstrip(" \t\r\n").startswith("{"):
        raise Refusal("too_deep", f"nested over {MAX_DEPTH} levels deep")
    twice: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                twice.append(name)
            found[name] = value
        return found

    value = _read(text, unique, deep=deep)
    if not isinstance(value, dict):
        raise Refusal("gate_not_json", f"{describe(value)}, not a JSON object")
    if twice:
        raise Refusal("duplicate_key", f"the key {show(twice[0])} stands twice in one object")
    if "\\ud" in text.lower():
        _refuse_half_characters(value)
    return value


def read_loosely(text: str) -> Any:
    """The value of *text* as most readers take it (the last of two equal keys counts); raises Refusal."""
    return _read(text, dict, deep=nesting(text)[0])


def nesting(text: str, limit: int = MAX_DEPTH) -> tuple[bool, bool]:
    """Whether the brackets of *text* outside its strings nest deeper than *limit*, and whether as many close as open.

    Where they do not, no reader gets to the end, and twice the limit is still taken as not deeper.
    """
    brackets = _NOT_BRACKETS.sub("", text).translate(_SQUARE)
    closed = brackets.count("[") == brackets.count("]")
    # Each pass takes away the innermost pairs, so what is left has MAX_DEPTH more levels inside it.
    for _ in range(MAX_DEPTH):
        if "[]" not in brackets:
            break
        brackets = brackets.replace("[]", "")
    bound = limit - MAX_DEPTH if closed else limit
    return any(level > bound for level in accumulate(map(_STEP.__getitem__, brackets))), closed


def _read(text: str, pairs_hook: Callable[[list[tuple[str, Any]]], Any], *, deep: bool) -> Any:
    if deep:
        # Python's parser recurses: on a small stack, deep input could end the whole process.
        raise Refusal("gate_not_json", f"not a JSON object: its brackets nest over {MAX_DEPTH} levels deep")
    try:
        return json.loads(
            text,
            object_pairs_hook=pairs_hook,
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_float,
        )
    except json.JSONDecodeError as error:
        message = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise Refusal("gate_not_json", f"not JSON: {message} at column {error.pos + 1}") from None


def compact(value: Any) -> str:
    """The shortest JSON text of a value that was read here."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def show(value: Any, width: int = 60) -> str:
    """A value in one printable line of bounded length, for a message."""
    text = repr(value)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def describe(value: Any) -> str:
    """What kind of JSON value this is, in words."""
    match value:
        case None:
            return "null"
        case True | False:
            return "true" if value else "false"
        case BigNumber() | int() | float():
            return f"the number {show(value)}"
        case str():
            return f"the text {show(value)}"
        case list():
            return "an array"
        case _:
            return "an object"


def _integer(literal: str) -> int | BigNumber:
    return int(literal) if len(literal) <= _MAX_DIGITS else BigNumber(literal)


def _float(literal: str) -> float | BigNumber:
    # A float that overflows would be written back as Infinity, which is not JSON.
    number = float(literal)
    return number if math.isfinite(number) else BigNumber(literal)


def _refuse_constant(name: str) -> None:
    raise Refusal("gate_not_json", f"not JSON: {name} is not a JSON value", f"write null where you mean {name}")


def _refuse_half_characters(value: Any) -> None:
    try:
        compact(value).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        around = show(error.object[max(0, error.start - 20) : error.start])
        raise Refusal("unpaired_surrogate", f"{half} after {around} is half a character") from None
