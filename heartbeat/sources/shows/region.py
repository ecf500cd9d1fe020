"""What is near home: by distance where both places are known, else by city, region and country. Unknown is not far."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from heartbeat.errors import Invalid
from heartbeat.sources.shows.naming import plain_name
from heartbeat.sources.shows.show import Venue

KEYS = ("lat", "lon", "radius", "city", "region", "country")
RADIUS = "60km"
FARTHEST = 1_000.0
_EARTH_KM = 6_371.0
_KM_PER = {"km": 1.0, "mi": 1.609344}
_DISTANCE = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,3})?) ?(km|mi)")
_LONGEST_CODE = 3


class Where(StrEnum):
    NEAR = "near"
    FAR = "far"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Home:
    """Where the owner goes to shows."""

    place: tuple[float, float] | None = None
    radius_km: float = 60.0
    city: str = ""
    region: str = ""
    country: str = ""


def read_home(value: Any) -> Home | None:
    """The option `home`; None when it says nothing. Raises Invalid."""
    if not isinstance(value, dict):
        raise _invalid("home", 'write { lat = 52.52, lon = 13.40, radius = "60km" }, or { city = "…", country = "DE" }')
    if unknown := sorted(set(value) - set(KEYS)):
        raise _invalid(f"the key {unknown[0]!r} of home", f"it knows {', '.join(KEYS)}")
    words = {name: value.get(name, "") for name in ("city", "region", "country")}
    for name, word in words.items():
        if not isinstance(word, str):
            raise _invalid(f"home.{name}", "write it in quotes")
    if words["country"] and not re.fullmatch(r"[A-Za-z]{2}", words["country"]):
        raise _invalid("home.country", 'write the ISO code of two letters, such as "DE"')
    home = Home(_place(value), _radius(value.get("radius", RADIUS)), **{**words, "country": words["country"].upper()})
    return home if home.place or any(words.values()) else None


def distance_km(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Over the surface of the earth (haversine)."""
    latitude, other_latitude = math.radians(one[0]), math.radians(other[0])
    turn = math.radians(other[1] - one[1])
    height = math.sin((other_latitude - latitude) / 2) ** 2
    chord = height + math.cos(latitude) * math.cos(other_latitude) * math.sin(turn / 2) ** 2
    return 2 * _EARTH_KM * math.asin(math.sqrt(min(1.0, chord)))


def question_of(home: Home | None) -> str:
    """What is asked when it is asked what is near: another home is another question."""
    if home is None:
        return ""
    # A hundredth of a degree is a kilometre: whoever writes home more exactly has not moved.
    place = f"{home.place[0]:.2f},{home.place[1]:.2f},{home.radius_km:.0f}" if home.place else ""
    return "|".join((place, *map(plain_name, (home.city, home.region)), home.country))


def where(venue: Venue, home: Home | None) -> Where:
    if home is None:
        return Where.UNKNOWN
    if home.place and venue.place:
        return Where.NEAR if distance_km(home.place, venue.place) <= home.radius_km else Where.FAR
    if home.country and venue.country and home.country != venue.country:
        return Where.FAR
    known_country = not home.country or venue.country != ""
    if home.city:
        return _by_city(venue, home, known_country=known_country)
    same = _same_region(home.region, venue.region) if home.region else bool(home.country)
    if same is None or not known_country or home.place:
        return Where.UNKNOWN
    return Where.NEAR if same else Where.FAR


def _by_city(venue: Venue, home: Home, *, known_country: bool) -> Where:
    if not venue.city or not known_country:
        return Where.UNKNOWN
    if plain_name(venue.city) == plain_name(home.city):
        return Where.FAR if _same_region(home.region, venue.region) is False else Where.NEAR
    # Another name in the same country may be another spelling (Munich), or a town inside the radius.
    may_be_near = home.place is not None or home.country != ""
    return Where.UNKNOWN if may_be_near and _same_region(home.region, venue.region) is not False else Where.FAR


def _same_region(one: str, other: str) -> bool | None:
    """None when they cannot be compared: one is not said, or one is a code and the other a name."""
    if not one or not other or (len(one) <= _LONGEST_CODE) != (len(other) <= _LONGEST_CODE):
        return None
    return plain_name(one) == plain_name(other)


def _place(value: Mapping[str, Any]) -> tuple[float, float] | None:
    given = [value[name] for name in ("lat", "lon") if name in value]
    if not given:
        return None
    numbers = [float(one) for one in given if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) != 2 or not (abs(numbers[0]) <= 90 and abs(numbers[1]) <= 180):  # noqa: PLR2004  # degrees
        raise _invalid("home.lat and home.lon", "write both in degrees, such as lat = 52.52, lon = 13.40")
    return numbers[0], numbers[1]


def _radius(text: Any) -> float:
    match = _DISTANCE.fullmatch(text.strip()) if isinstance(text, str) else None
    kilometres = float(match[1]) * _KM_PER[match[2]] if match else 0.0
    if not 0 < kilometres <= FARTHEST:
        raise _invalid("home.radius", f'write a distance up to {FARTHEST:.0f}km, such as "60km" or "40mi"')
    return kilometres


def _invalid(what: str, remedy: str) -> Invalid:
    return Invalid(f"cannot use {what}; {remedy}")
