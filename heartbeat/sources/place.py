"""Where the phone says it is, and whether that is at one of the owner's places. Pure; nothing here tells a position."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from heartbeat.clock import from_text
from heartbeat.durations import show_duration
from heartbeat.sources import SourceFailed
from heartbeat.sources.text import clean_title

SKEW = timedelta(minutes=5)
"""So far two clocks may differ."""

STAY = timedelta(hours=6)
"""So long after its last position the phone is taken to be where it was: many shortcuts write on arrival only."""

SILENCE = timedelta(days=7)
"""After so long without a position, something is broken."""

_EARTH = 6_371_009.0  # mean radius, metres
_BLUR = 100.0  # metres by which a position may be less certain than a place is wide
_EDGE = 50.0  # metres beyond its radius, at least, before a place is left
_SMALLEST, _LARGEST = 20.0, 50_000.0
_LONGEST_NAME, _LONGEST_SAYS = 100, 500
_NUMBER = re.compile(r"[+-]?[0-9]{1,6}(?:\.[0-9]{1,20})?")
_DISTANCE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(m|km)")
_KEYS = ("name", "lat", "lon", "radius", "says")
_SHAPE = 'write { name = "Office", lat = 52.52, lon = 13.4, radius = "150m", says = "…" }'
_AGAIN = 'let the phone write { "lat": …, "lon": …, "at": "2026-06-10T08:00:00+02:00" }'


@dataclass(frozen=True, slots=True)
class Fix:
    """One position, as the phone wrote it down."""

    lat: float
    lon: float
    at: datetime
    accuracy: float = 0.0
    """Metres by which it may be wrong; 0 when the phone does not say."""


@dataclass(frozen=True, slots=True)
class Area:
    """A place of the owner's; *fault* says why it cannot be used."""

    name: str
    lat: float = 0.0
    lon: float = 0.0
    radius: float = 0.0
    says: str = ""
    """What the owner wants to be told there."""
    fault: str = ""


def read_fix(content: bytes) -> Fix:
    """The position in a file: JSON with lat, lon, at and perhaps accuracy, or a line `lat,lon,at`.

    Raises SourceFailed, also for one that is half written; nothing of the content is ever quoted.
    """
    try:
        text = content.decode("utf-8-sig").strip()
        table = json.loads(text) if text.startswith("{") else _from_line(text)
    except (ValueError, RecursionError):
        raise SourceFailed(f"cannot read the place: it is garbled or half written; {_AGAIN}") from None
    lat, lon = _degrees(table.get("lat"), 90), _degrees(table.get("lon"), 180)
    accuracy = _number(table.get("accuracy", 0.0))
    if lat is None or lon is None:
        raise SourceFailed(f"cannot read the place: its lat or lon is no number of degrees; {_AGAIN}")
    if accuracy is None or not 0 <= accuracy < math.inf:
        # Phones say so with a negative number.
        raise SourceFailed("cannot use the place: the phone did not know where it was; wait until it does")
    try:
        return Fix(lat, lon, from_text(table["at"]), accuracy)
    except (KeyError, TypeError, ValueError):
        raise SourceFailed(f"cannot read the place: its time is missing or has no offset; {_AGAIN}") from None


def check_time(fix: Fix, now: datetime) -> None:
    """Raise SourceFailed for a position of a wrong clock, or of a phone that has stopped writing."""
    if fix.at > now + SKEW:
        raise SourceFailed(
            "cannot use the place: its time is in the future; set the clock of the phone, or of this host"
        )
    if now - fix.at > SILENCE:
        raise SourceFailed(f"cannot use the place: it is {age_of(fix.at, now)} old; see why the phone writes no more")


def age_of(at: datetime, now: datetime) -> str:
    """In words, down to the minute."""
    return show_duration(timedelta(minutes=(now - at) // timedelta(minutes=1)))


def read_areas(value: Any) -> list[Area]:
    """The places of an option, in order; one that cannot be used costs only itself."""
    if not isinstance(value, list):
        return [Area("places", fault=f"cannot use places: it is no list; {_SHAPE} in [ ]")]
    return list(_unique(_area(table, f"place {number}") for number, table in enumerate(value, 1)))


def is_at(area: Area, fix: Fix, *, was_at: bool) -> bool:
    """Whether one is there. Between surely there and surely away, where positions waver, it stays as it was."""
    away = metres(area.lat, area.lon, fix.lat, fix.lon)
    if away <= area.radius and fix.accuracy <= area.radius + _BLUR:
        return True
    return was_at and away - fix.accuracy <= area.radius + max(_EDGE, area.radius / 2)


def metres(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    """The way between two points along the surface of the earth."""
    north, other_north = math.radians(lat), math.radians(other_lat)
    by_lat, by_lon = (other_north - north) / 2, math.radians(other_lon - lon) / 2
    part = math.sin(by_lat) ** 2 + math.cos(north) * math.cos(other_north) * math.sin(by_lon) ** 2
    return 2 * _EARTH * math.asin(math.sqrt(min(1.0, part)))


def _from_line(text: str) -> dict[str, Any]:
    lat, lon, at = text.split(",")
    return {"lat": lat.strip(), "lon": lon.strip(), "at": at.strip()}


def _number(value: Any) -> float | None:
    """A number, also one in quotes, as the apps of phones write it."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    # The bound keeps an integer of a thousand digits from overflowing.
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9  # noqa: PLR2004
    return float(value) if known else None


def _degrees(value: Any, most: float) -> float | None:
    number = _number(value)
    return number if number is not None and -most <= number <= most else None


def _area(table: Any, name: str) -> Area:
    if not isinstance(table, dict):
        return Area(name, fault=f"cannot use it: it is no table; {_SHAPE}")
    if unknown := sorted(set(table) - set(_KEYS)):
        return Area(name, fault=f"cannot use the key {clean_title(unknown[0], 40)!r}: known are {', '.join(_KEYS)}")
    return _checked(table, name)


def _checked(table: Mapping[str, Any], name: str) -> Area:
    label, says = (clean_title(text, most) if isinstance(text, str) else None for text, most in _texts(table))
    lat, lon, radius = _degrees(table.get("lat"), 90), _degrees(table.get("lon"), 180), _distance(table.get("radius"))
    if not label or says is None:
        return Area(name, fault=f"cannot use it: it has no name, or name or says is no text; {_SHAPE}")
    if lat is None or lon is None:
        return Area(name, fault=f"cannot use it: its lat or lon is no number of degrees; {_SHAPE}")
    if radius is None:
        return Area(name, fault='cannot use its radius; write 20m to 50km, such as "150m"')
    return Area(label, lat, lon, radius, says)


def _texts(table: Mapping[str, Any]) -> tuple[tuple[Any, int], tuple[Any, int]]:
    return (table.get("name"), _LONGEST_NAME), (table.get("says", ""), _LONGEST_SAYS)


def _distance(value: Any) -> float | None:
    match = _DISTANCE.fullmatch(value) if isinstance(value, str) else None
    length = float(match[1]) * (1000 if match[2] == "km" else 1) if match else 0.0
    return length if _SMALLEST <= length <= _LARGEST else None


def _unique(areas: Iterator[Area]) -> Iterator[Area]:
    """Two places of one name would share their findings' key."""
    taken: set[str] = set()
    for number, area in enumerate(areas, 1):
        if area.name in taken:
            yield Area(f"place {number}", fault=f"cannot use it: there is another {area.name!r}; give it another name")
        else:
            taken.add(area.name)
            yield area
