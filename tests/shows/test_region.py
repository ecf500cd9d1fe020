"""What is near home: by distance, else by structured place, never by a part of a word."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.errors import Invalid
from heartbeat.sources.shows.region import Home, Where, distance_km, read_home, where
from heartbeat.sources.shows.show import Venue

BERLIN = (52.52, 13.405)
NEAR, FAR, UNKNOWN = Where.NEAR, Where.FAR, Where.UNKNOWN
PLACES = st.tuples(st.floats(-90, 90), st.floats(-180, 180))


@pytest.mark.parametrize(
    ("one", "other", "kilometres"),
    [
        (BERLIN, BERLIN, 0),
        (BERLIN, (52.3906, 13.0645), 27),
        (BERLIN, (48.1374, 11.5755), 504),
        ((0, 179.9), (0, -179.9), 22),
        ((90, 0), (-90, 0), 20_015),
    ],
)
def test_distance(one: tuple[float, float], other: tuple[float, float], kilometres: float) -> None:
    assert distance_km(one, other) == pytest.approx(kilometres, abs=1)


@given(PLACES, PLACES)
def test_a_distance_is_the_same_both_ways_and_never_round_the_world(
    one: tuple[float, float], other: tuple[float, float]
) -> None:
    there, back = distance_km(one, other), distance_km(other, one)
    assert math.isclose(there, back, abs_tol=1e-6)
    assert 0 <= there <= 20_016


@pytest.mark.parametrize(
    ("home", "venue", "expected"),
    [
        (Home(BERLIN, 27.5), Venue(place=(52.3906, 13.0645)), NEAR),
        (Home(BERLIN, 26.5), Venue(place=(52.3906, 13.0645)), FAR),
        # A point beats a name that says otherwise.
        (Home(BERLIN, 60, "Berlin", "", "DE"), Venue(city="Berlin", country="DE", place=(44.47, -71.18)), FAR),
        (Home(BERLIN, 60, "Berlin", "", "DE"), Venue(city="BERLIN", country="DE"), NEAR),
        (Home(BERLIN, 60, "Berlin", "", "DE"), Venue(city="Potsdam", country="DE"), UNKNOWN),
        (Home(BERLIN, 60, "Berlin", "", "DE"), Venue(city="Berlin", country="US"), FAR),
        (Home(BERLIN, 60, "Berlin", "", "DE"), Venue(city="Berlin"), UNKNOWN),
        (Home(BERLIN, 60, "Berlin", "", "DE"), Venue(), UNKNOWN),
        (Home(BERLIN), Venue(city="Berlin", country="DE"), UNKNOWN),
        (Home(BERLIN, 60, "", "", "DE"), Venue(city="Berlin", country="DE"), UNKNOWN),
        (Home(city="Berlin"), Venue(city="Berlin"), NEAR),
        (Home(city="Berlin"), Venue(city="Berlinchen"), FAR),
        (Home(city="Köln", country="DE"), Venue(city="Koln", country="DE"), NEAR),
        (Home(city="Berlin", country="DE"), Venue(city="Potsdam", country="DE"), UNKNOWN),
        (Home(city="München", country="DE"), Venue(city="Munich", country="DE"), UNKNOWN),
        (Home(city="München", country="DE"), Venue(city="Munich", country="US"), FAR),
        (Home(BERLIN, 60, "Portland", "OR", "US"), Venue(city="Salem", region="ME", country="US"), FAR),
        (Home(city="Portland", region="OR", country="US"), Venue(city="Portland", region="ME", country="US"), FAR),
        (Home(city="Portland", region="OR", country="US"), Venue(city="Portland", region="OR", country="US"), NEAR),
        (Home(city="Portland", region="OR", country="US"), Venue(city="Portland", region="Oregon", country="US"), NEAR),
        # `CA` is neither Canada nor any word that holds it.
        (Home(region="CA", country="US"), Venue(city="Cairo", country="EG"), FAR),
        (Home(region="CA", country="US"), Venue(city="Carson City", region="NV", country="US"), FAR),
        (Home(region="CA", country="US"), Venue(city="Toronto", region="ON", country="CA"), FAR),
        (Home(region="CA", country="US"), Venue(city="Fresno", region="CA", country="US"), NEAR),
        (Home(region="CA", country="US"), Venue(city="Fresno", region="California", country="US"), UNKNOWN),
        (Home(region="CA", country="US"), Venue(city="Fresno", country="US"), UNKNOWN),
        (Home(country="DE"), Venue(city="Köln", country="DE"), NEAR),
        (Home(country="DE"), Venue(city="Köln"), UNKNOWN),
        (None, Venue(city="Berlin", country="DE", place=BERLIN), UNKNOWN),
    ],
)
def test_where_a_venue_is(home: Home | None, venue: Venue, expected: Where) -> None:
    assert where(venue, home) is expected


@pytest.mark.parametrize(
    ("given_home", "home"),
    [
        ({}, None),
        ({"radius": "10km"}, None),
        ({"lat": 52.5, "lon": 13}, Home((52.5, 13.0), 60.0)),
        ({"lat": -90, "lon": 180, "radius": "1000km"}, Home((-90.0, 180.0), 1000.0)),
        ({"lat": 0, "lon": 0, "radius": "10 mi"}, Home((0.0, 0.0), 16.09344)),
        ({"city": "Berlin", "country": "de"}, Home(None, 60.0, "Berlin", "", "DE")),
    ],
)
def test_a_home_is_read(given_home: Any, home: Home | None) -> None:
    assert read_home(given_home) == home


@pytest.mark.parametrize(
    "wrong",
    [
        [], "Berlin", {"town": "Berlin"}, {"lat": 52.5}, {"lon": 13}, {"lat": "52", "lon": 13},
        {"lat": 90.1, "lon": 0}, {"lat": 0, "lon": 180.1}, {"lat": True, "lon": 1}, {"lat": float("nan"), "lon": 1},
        {"city": 1}, {"country": "Germany"}, {"country": "D1"}, {"radius": 60}, {"radius": "60"}, {"radius": "0km"},
        {"radius": "1000.001km"}, {"radius": "-1km"},
    ],
)  # fmt: skip
def test_a_home_that_is_none_is_refused_with_a_remedy(wrong: Any) -> None:
    with pytest.raises(Invalid, match=r"^cannot use .*; (write|it knows) "):
        read_home(wrong)
