"""Reading what an agent printed: any bytes may come, and none of them may break anything."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from heartbeat.text import one_line

REPLY_LIMIT = 65_536
"""Bytes of a reply that are kept, the mark of the cut included."""

_CUT = "\n[cut here]"
_OBJECT = re.compile(r"^\{", re.MULTILINE)
_MOST_TOKENS = 2**53
_SESSION_LIMIT = 200


def objects(raw: bytes) -> Iterator[dict[str, Any]]:
    """Every whole JSON object that begins a line, whatever stands between; one may reach over many lines."""
    text, end = raw.decode(errors="replace"), 0
    decoder = json.JSONDecoder()
    for start in (match.start() for match in _OBJECT.finditer(text)):
        if start < end:
            continue
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue  # cut short, or not JSON after all
        yield found


def table(value: object) -> Mapping[str, Any]:
    """The value if it is a table, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str:
    """The value if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def reply_text(value: str) -> str:
    """A reply, trimmed and cut, that can be written down anywhere."""
    encoded = value.encode(errors="replace").strip()
    if len(encoded) > REPLY_LIMIT:
        return encoded[: REPLY_LIMIT - len(_CUT)].decode(errors="ignore") + _CUT
    return encoded.decode()


def session_name(value: object) -> str:
    """The agent's name for the conversation."""
    return one_line(text(value), _SESSION_LIMIT)


def count(value: object) -> int | None:
    """A number of tokens; None for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_TOKENS:
        return None
    return int(value)


def total(numbers: Mapping[str, Any], first: str, *more: str) -> int | None:
    """The tokens under these names together; None when those under the first are not known."""
    known = count(numbers.get(first))
    return None if known is None else known + sum(count(numbers.get(name)) or 0 for name in more)


def dollars(value: object) -> float | None:
    """An amount of money; None for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_TOKENS:
        return None
    return float(value) if math.isfinite(value) else None
