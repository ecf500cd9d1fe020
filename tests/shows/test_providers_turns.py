"""Whose turn it is when a run has no time for all."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from heartbeat.sources.shows.show import Artist
from heartbeat.sources.shows.turns import Turns
from tests.doubles.bench import NOW, canned, ground

ARTISTS = [Artist(name) for name in ("A", "B", "C", "D", "E")]


def names(artists: list[Artist]) -> str:
    return "".join(artist.name for artist in artists)


@pytest.mark.parametrize("remembers", [True, False])
def test_whoever_was_left_out_goes_first_in_the_next_run(tmp_path: Path, remembers: bool) -> None:
    seen = []
    for day in range(4):
        base = ground(canned(b""), tmp_path if remembers else None, NOW + timedelta(days=day))
        turns = Turns(base, "tm")
        order = turns.order(ARTISTS)
        for artist in order[:2]:  # there is time for no more
            turns.done(artist)
        seen.append(names(order))
    assert seen == (["ABCDE", "CDEAB", "EABCD", "BCDAE"] if remembers else ["ABCDE"] * 4)


def test_each_source_has_its_own_turns(tmp_path: Path) -> None:
    base = ground(canned(b""), tmp_path)
    Turns(base, "tm").done(ARTISTS[0])
    assert names(Turns(base, "tm").order(ARTISTS)) == "BCDEA"
    assert names(Turns(base, "other").order(ARTISTS)) == "ABCDE"


def test_a_turn_in_the_future_was_written_by_a_wrong_clock(tmp_path: Path) -> None:
    Turns(ground(canned(b""), tmp_path, NOW + timedelta(days=400)), "tm").done(ARTISTS[0])
    assert names(Turns(ground(canned(b""), tmp_path), "tm").order(ARTISTS)) == "ABCDE"
