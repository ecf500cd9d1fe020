"""Bandsintown, ListenBrainz and Last.fm against stand-ins that keep to their documented contracts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from heartbeat.sources.entries import Entry
from heartbeat.sources.shows import asking
from heartbeat.sources.shows.likeness import Like, best, some_of
from heartbeat.sources.shows.providers import bandsintown, lastfm, listenbrainz
from heartbeat.sources.shows.show import Artist, Outcome, Sale, Scan, Show, Venue
from tests.doubles.bench import NOW, any_json, canned, ground, run, spoiled, without_pauses
from tests.doubles.others import Bandsintown, LastFm, ListenBrainz, concert
from tests.doubles.server import says

APP_ID = "the-app-id"
KEY = "canary-77aa"
QUEEN = Artist("Queen", "0383dadf")
ABBA = Artist("ABBA", "d87e52c5")


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    return without_pauses(monkeypatch)


@pytest.fixture
def bands() -> Iterator[Bandsintown]:
    with Bandsintown(APP_ID).running() as server:
        yield server


@pytest.fixture
def brainz() -> Iterator[ListenBrainz]:
    with ListenBrainz().running() as server:
        yield server


@pytest.fixture
def last() -> Iterator[LastFm]:
    with LastFm(KEY).running() as server:
        yield server


# Bandsintown


def scan(server: Bandsintown, *artists: Artist, cache: Path | None = None) -> list[Scan]:
    with run(cache) as base:
        provider = bandsintown.make(Entry("bit", "bandsintown", APP_ID, {"address": server.address}), base)
        return [provider.scan(artist) for artist in artists]


def test_bandsintown_shows_have_the_venues_own_time_and_no_app_id(bands: Bandsintown, tmp_path: Path) -> None:
    bands.events["Queen"] = [concert(7, "Queen", on_sale_datetime="2026-06-12T10:00:00+02:00")]
    (found,) = scan(bands, QUEEN, cache=tmp_path)
    assert found.shows == (
        Show(
            id="7",
            artist="Queen",
            title="Queen",
            day=date(2026, 9, 18),
            starts=time(20),
            venue=Venue("Lido", "Berlin", place=(52.499, 13.445)),
            sales=(Sale("public", datetime(2026, 6, 12, 8, tzinfo=UTC)),),
            url="https://www.bandsintown.com/e/7",
        ),
    )
    assert list(tmp_path.iterdir()) == []  # nothing of it may be kept


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("AC/DC", "/artists/AC%252FDC/events"),
        ("Who?", "/artists/Who%253F/events"),
        ("Sigur Rós", "/artists/Sigur%20R%C3%B3s/events"),
        ("../artists/x#&=", "/artists/..%252Fartists%252Fx%23%26%3D/events"),
        ("100%", "/artists/100%25/events"),
    ],
)
def test_a_name_in_a_path_is_escaped(bands: Bandsintown, name: str, path: str) -> None:
    bands.events[name] = []
    (found,) = scan(bands, Artist(name))
    assert bands.asked[0].path == path
    assert found == Scan(Outcome.SCANNED)


@pytest.mark.parametrize(
    "event",
    [concert(1, "Red Hot Chili Pipers"), concert(1, "Queen", artist={"mbid": "another"})],
)
def test_shows_of_somebody_else_are_not_theirs(bands: Bandsintown, event: dict[str, Any]) -> None:
    bands.events["Queen"] = [event]
    (found,) = scan(bands, QUEEN)
    assert (found.outcome, found.shows) == (Outcome.UNRESOLVED, ())


def test_nobody_nothing_and_no_access_are_three_things(bands: Bandsintown) -> None:
    bands.events["Queen"] = []
    nothing, nobody = scan(bands, QUEEN, ABBA)
    assert (nothing, nobody.outcome) == (Scan(Outcome.SCANNED, identity="0383dadf"), Outcome.UNRESOLVED)
    bands.app_id = "another"
    bands.asked.clear()
    refused = scan(bands, QUEEN, ABBA, QUEEN)
    assert {found.message for found in refused} == {
        "the service answers 403, access is refused; check the key, or whether it was ended"
    }
    assert {found.outcome for found in refused} == {Outcome.FAILED}
    assert len(bands.asked) == 1


@given(spoiled([concert(1, "Queen", artist={"mbid": "0383dadf"})]) | any_json)
def test_whatever_bandsintown_answers_is_one_of_the_three_outcomes(answer: Any) -> None:
    provider = bandsintown.make(Entry("bit", "bandsintown", APP_ID), ground(canned(json.dumps(answer).encode()), None))
    assert provider.scan(QUEEN).outcome in Outcome


# ListenBrainz


def resembling(server: ListenBrainz, *artists: Artist, algorithm: str = listenbrainz.ALGORITHM) -> Any:
    with run(None) as base:
        entry = Entry("lb", "listenbrainz", server.address, {"algorithm": algorithm})
        return listenbrainz.make(entry, base).similar(artists)


def test_those_who_resemble_most_of_the_followed_come_first(brainz: ListenBrainz) -> None:
    brainz.alike[QUEEN.mbid] = [("ABBA", ABBA.mbid, 9000), ("Kiss", "k", 8000), ("Toto", "t", 5000)]
    brainz.alike[ABBA.mbid] = [("Toto", "t", 20), ("Roxette", "r", 10)]
    assert resembling(brainz, QUEEN, ABBA) == [Artist("Toto", "t"), Artist("Kiss", "k"), Artist("Roxette", "r")]


def test_only_those_with_an_id_are_asked_about(brainz: ListenBrainz) -> None:
    assert resembling(brainz, Artist("Queen")) is None
    assert brainz.asked == []
    assert resembling(brainz, QUEEN) == []


def test_a_refused_algorithm_is_no_answer(brainz: ListenBrainz) -> None:
    assert resembling(brainz, QUEEN, algorithm="best") is None


@pytest.mark.parametrize(("followed", "asked"), [(25, 25), (26, 25)])
def test_no_more_than_twenty_five_are_asked_about(brainz: ListenBrainz, followed: int, asked: int) -> None:
    resembling(brainz, *(Artist(f"Act {number}", f"m{number}") for number in range(followed)))
    assert len({question.query["artist_mbids"] for question in brainz.asked}) == len(brainz.asked) == asked


@given(any_json | spoiled([{"artist_mbid": "m", "name": "Kiss", "score": 3}]))
def test_whatever_listenbrainz_answers_is_a_list_or_none(answer: Any) -> None:
    base = ground(canned(json.dumps(answer).encode()), None)
    found = listenbrainz.make(Entry("lb", "listenbrainz", "labs.example"), base).similar([QUEEN])
    assert found is None or all(artist.name for artist in found)


# Last.fm


def alike(server: LastFm, *artists: Artist) -> Any:
    with run(None) as base:
        return lastfm.make(Entry("fm", "lastfm", KEY, {"address": server.address + "/2.0/"}), base).similar(artists)


def test_last_fm_is_asked_by_id_or_by_name(last: LastFm) -> None:
    last.alike = {QUEEN.mbid: [("Kiss", "k", "1")], "ABBA": [("Roxette", "", "0.5")]}
    assert alike(last, QUEEN, Artist("ABBA")) == [Artist("Kiss", "k"), Artist("Roxette")]


def test_somebody_unknown_to_last_fm_costs_no_other(last: LastFm) -> None:
    last.alike = {ABBA.mbid: [("Roxette", "r", "1")]}
    assert alike(last, QUEEN, ABBA) == [Artist("Roxette", "r")]


@pytest.mark.parametrize("error", [4, 10, 26, 29])
def test_an_error_in_the_body_that_stays_ends_the_asking(last: LastFm, error: int) -> None:
    last.error = error
    assert alike(last, QUEEN, ABBA, QUEEN) is None
    assert len(last.asked) == 1


@pytest.mark.parametrize("error", [6, 8, 11, 16])
def test_any_other_error_is_about_one_artist(last: LastFm, error: int) -> None:
    last.error = error
    assert alike(last, QUEEN, ABBA) is None
    assert len(last.asked) == 2


@given(any_json | spoiled({"similarartists": {"artist": [{"name": "Kiss", "mbid": "k", "match": "1"}]}, "error": 0}))
def test_whatever_last_fm_answers_is_a_list_or_none(answer: Any) -> None:
    base = ground(canned(json.dumps(answer).encode()), None)
    found = lastfm.make(Entry("fm", "lastfm", KEY), base).similar([QUEEN])
    assert found is None or all(artist.name for artist in found)


@pytest.mark.parametrize("module", [listenbrainz, lastfm])
def test_who_lists_no_shows_says_nothing_of_them(module: Any) -> None:
    found = module.make(Entry("x", "x", "labs.example"), ground(canned(b""), None)).scan(QUEEN)
    assert (found.outcome, found.shows, found.whole) == (Outcome.SCANNED, (), False)


# Likeness


def test_nobody_followed_is_proposed_and_no_more_than_a_hundred() -> None:
    followed = [QUEEN, Artist("The Cure")]
    likes = [Like(Artist(f"Act {number:03}"), 200.0 - number) for number in range(101)]
    found = best([[Like(Artist("CURE"), 999.0), Like(Artist("Other", QUEEN.mbid), 999.0), *likes]], followed)
    assert [artist.name for artist in found] == [f"Act {number:03}" for number in range(100)]


def test_in_some_weeks_everybody_is_asked_about() -> None:
    artists = [Artist(f"Act {number}") for number in range(60)]
    weeks = [some_of(artists, NOW + timedelta(weeks=week)) for week in range(3)]
    assert {len(week) for week in weeks} == {25}
    assert {artist for week in weeks for artist in week} == set(artists)
    assert some_of([], NOW) == []


def test_scores_of_nothing_count_for_nothing() -> None:
    assert best([[Like(Artist("A"), 0.0)], [Like(Artist("B"), -1.0)], []], []) == []


def test_a_service_that_stops_is_asked_no_more(brainz: ListenBrainz) -> None:
    brainz.play = says(500)
    assert resembling(brainz, *(Artist(f"Act {number}", f"m{number}") for number in range(9))) is None
    assert len(brainz.asked) == asking.TRIES + asking.FAILURES - 1
