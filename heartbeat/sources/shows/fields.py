"""Fields of an answer that nobody vouches for: each has the type that was asked for, or is empty."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from heartbeat.sources.text import clean_title

LONGEST_TEXT = 300
LONGEST_ID = 200
LONGEST_LINK = 2000
_YEARS = range(2000, 2200)
"""Outside of them a date is a placeholder: sales that `began` in 1900, shows on the last day of year 9999."""


def dig(value: Any, *path: str | int) -> Any:
    """What stands at *path*, None where the path leads nowhere."""
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def rows(value: Any, *path: str | int) -> list[Any]:
    found = dig(value, *path)
    return found if isinstance(found, list) else []


def text(value: Any, *path: str | int, limit: int = LONGEST_TEXT) -> str:
    """One cleaned line."""
    found = dig(value, *path)
    return clean_title(found, limit) if isinstance(found, str) else ""


def ident(value: Any, *path: str | int) -> str:
    """An id, given as a text or as a number."""
    found = dig(value, *path)
    if isinstance(found, int) and not isinstance(found, bool) and abs(found) < 10**18:
        return str(found)
    clean = text(found, limit=LONGEST_ID + 1)
    return clean if len(clean) <= LONGEST_ID else ""  # a shortened id would be another one's


def flag(value: Any, *path: str | int) -> bool:
    return dig(value, *path) is True


def count(value: Any, *path: str | int) -> int | None:
    found = dig(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 10**9 else None


def number(value: Any, *path: str | int) -> float | None:
    """A finite number, given as such or as a text."""
    found = dig(value, *path)
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        return None
    try:
        parsed = float(found)
    except (ValueError, OverflowError):
        return None
    return parsed if math.isfinite(parsed) else None


def point(value: Any) -> tuple[float, float] | None:
    """A place with `latitude` and `longitude`; nothing happens at 0/0, which stands for `unknown`."""
    latitude, longitude = number(value, "latitude"), number(value, "longitude")
    if latitude is None or longitude is None or (latitude, longitude) == (0, 0):
        return None
    return (latitude, longitude) if abs(latitude) <= 90 and abs(longitude) <= 180 else None  # noqa: PLR2004


def day(value: Any, *path: str | int) -> date | None:
    """A whole date of our time, YYYY-MM-DD."""
    found = dig(value, *path)
    try:
        parsed = date.fromisoformat(found) if isinstance(found, str) else None
    except ValueError:
        return None
    return parsed if parsed and parsed.year in _YEARS else None


def clock(value: Any, *path: str | int) -> time | None:
    """A time on a wall, whatever offset it may carry."""
    found = dig(value, *path)
    try:
        return time.fromisoformat(found).replace(tzinfo=None, microsecond=0) if isinstance(found, str) else None
    except ValueError:
        return None


def moment(value: Any, *path: str | int) -> datetime | None:
    """A date and time of our time, aware only if it says its offset."""
    found = dig(value, *path)
    try:
        parsed = datetime.fromisoformat(found) if isinstance(found, str) else None
    except ValueError:
        return None
    return parsed if parsed and parsed.year in _YEARS else None


def instant(value: Any, *path: str | int) -> datetime | None:
    """A moment that says its offset, in UTC."""
    found = moment(value, *path)
    return found.astimezone(UTC) if found and found.tzinfo else None


def country(value: Any, *path: str | int) -> str:
    code = text(value, *path).upper()
    return code if len(code) == 2 and code.isascii() and code.isalpha() else ""  # noqa: PLR2004


def zone(value: Any, *path: str | int) -> str:
    """The name of a zone that this machine knows."""
    try:
        return ZoneInfo(text(value, *path)).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ""


def link(value: Any, *path: str | int, query: bool = True) -> str:
    """An address of the web that may be shown; without *query* only its path."""
    found = dig(value, *path)
    if not isinstance(found, str) or len(found) > LONGEST_LINK or not found.isprintable() or " " in found:
        return ""
    try:
        parts = urlsplit(found)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return ""
    shown = parts if query else parts._replace(query="", fragment="")
    return shown.geturl() if usable else ""
