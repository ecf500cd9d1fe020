"""Artists in the titles of a venue's calendar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources.shows.titles import Titles


def names(title: str, artist: str) -> bool:
    return list(Titles([title]).naming(artist)) == [0]


@pytest.mark.parametrize(
    ("title", "artist"),
    [
        ("Air", "Air"),
        ("AIR (FR) - ausverkauft", "Air"),
        ("Moon Safari: Air", "Air"),
        ("Support + Air", "Air"),
        ("Loft presents: Big Thief", "Big Thief"),
        ("Big Thief live in Berlin", "Big Thief"),
        ("An Evening with Low", "Low"),
        ("Low \u2013 Tour 2026", "Low"),
        ("Somebody w/ Low, Air & more", "Low"),
        ("The National", "National"),
        ("National", "The National"),
        ("Earth, Wind & Fire", "Earth Wind and Fire"),
        ("Florence + The Machine", "Florence + the Machine"),
        ("BJÖRK", "Bjork"),
        ("AC/DC", "AC/DC"),
        ("Tribute to Nobody", "Tribute to Nobody"),
        ("The Jimi Hendrix Experience", "The Jimi Hendrix Experience"),
        ("Live", "Live"),
    ],
)
def test_a_title_names_the_artist(title: str, artist: str) -> None:
    assert names(title, artist)


@pytest.mark.parametrize(
    ("title", "artist"),
    [
        ("Airbourne", "Air"),
        ("Air Supply", "Air"),
        ("Queen Tribute", "Queen"),
        ("Tribute: Queen", "Queen"),
        ("One Night of Queen", "Queen"),
        ("Big Thief Tribute Night", "Big Thief"),
        ("Big Thieves", "Big Thief"),
        ("Slow Low Flow", "Low"),
        ("Red Hot Chilli Pipers", "Red Hot Chili Peppers"),
        ("", "Air"),
        ("Anything", ""),
    ],
)
def test_a_title_does_not_name_the_artist(title: str, artist: str) -> None:
    assert not names(title, artist)


@given(st.text(max_size=300), st.text(max_size=50))
def test_any_text_is_a_title_and_a_name(title: str, artist: str) -> None:
    assert list(Titles([title, title]).naming(artist)) in ([], [0, 1])
