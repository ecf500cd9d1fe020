"""MusicBrainz against a stand-in that keeps to its documented contract."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import heartbeat
from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry
from heartbeat.sources.shows import asking
from heartbeat.sources.shows import musicbrainz as answers
from heartbeat.sources.shows.providers import musicbrainz
from heartbeat.sources.shows.show import Artist, Outcome, Scan, Show, Status, Venue
from tests.doubles.bench import NOW, any_json, canned, ground, run, spoiled, without_pauses
from tests.doubles.musicbrainz import Happening, MusicBrainz, Musician
from tests.doubles.server import says

QUEEN = Musician("0383dadf-2a4e-4d10-a46a-e9e041da8eb3", "Queen", disambiguation="UK rock group")
NAMESAKE = Musician("79491354-3d83-40e3-9d8e-7592d58d790a", "Queen", country="FR", score=78)
OTHER = Musician("420ca290-76c5-41af-999e-564d7c71f1a7", "Queen Latifah", aliases=["Dana Owens"], score=60)
WANTED = Artist("Queen")


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    return without_pauses(monkeypatch)


@pytest.fixture
def server() -> Iterator[MusicBrainz]:
    with MusicBrainz().running() as server:
        server.data.artists = [QUEEN, OTHER]
        yield server


def scan(server: MusicBrainz, artist: Artist = WANTED, cache: Path | None = None, **more: Any) -> Scan:
    with run(cache, **more) as base:
        return musicbrainz.make(Entry("mb", "musicbrainz", server.address), base).scan(artist)


def searched(server: MusicBrainz) -> list[str]:
    return [asked.query["query"] for asked in server.asked if asked.path == "/ws/2/artist"]


# Who is meant


@pytest.mark.parametrize(
    ("artists", "name", "mbid"),
    [
        ([QUEEN, OTHER], "queen", QUEEN.id),
        ([QUEEN, OTHER], "Dana Owens", OTHER.id),
        ([OTHER, Musician("m3", "Dana Owens")], "Dana Owens", "m3"),  # a name goes before an alias
        ([QUEEN, Musician("m4", "Queen", score=49)], "Queen", QUEEN.id),
        ([QUEEN, Musician("m4", "Queen", score=50)], "Queen", ""),
        ([QUEEN, NAMESAKE], "Queen", ""),
        ([OTHER], "Queen", ""),
        ([Musician("m5", 'The "Quotes" \\')], 'the "Quotes" \\', "m5"),
    ],
)
def test_a_name_has_an_id_where_it_leaves_no_doubt(
    server: MusicBrainz, artists: list[Musician], name: str, mbid: str
) -> None:
    server.data.artists = artists
    with run(None) as base:
        found = musicbrainz.make(Entry("mb", "musicbrainz", server.address), base).identify(Artist(name))
    assert found == Artist(name, mbid)


def test_the_search_is_for_the_phrase(server: MusicBrainz) -> None:
    scan(server, Artist('AC/DC "live" \\ (x) OR *'))
    assert searched(server) == ['"AC/DC \\"live\\" \\\\ (x) OR *"']


def test_two_of_one_name_are_a_question_for_the_owner(server: MusicBrainz) -> None:
    server.data.artists = [QUEEN, NAMESAKE, OTHER]
    assert scan(server) == Scan(
        Outcome.UNRESOLVED,
        message=f"2 have this name: Queen (UK rock group, {QUEEN.id}), Queen (FR, {NAMESAKE.id});"
        " say who is meant by the MusicBrainz id",
    )


def test_an_id_from_the_owner_needs_no_search(server: MusicBrainz) -> None:
    server.data.events = [Happening("e1", NAMESAKE.id)]
    assert len(scan(server, Artist("Queen", NAMESAKE.id)).shows) == 1
    assert searched(server) == []


@pytest.mark.parametrize(("later", "times"), [(timedelta(days=90), 1), (timedelta(days=90, seconds=1), 2)])
def test_an_id_is_looked_up_again_after_ninety_days(
    server: MusicBrainz, tmp_path: Path, later: timedelta, times: int
) -> None:
    for now in (NOW, NOW + later):
        assert scan(server, cache=tmp_path, now=now).outcome is Outcome.SCANNED
    assert len(searched(server)) == times


# What a show is


def test_a_show_has_its_place(server: MusicBrainz) -> None:
    server.data.events = [Happening("e1", QUEEN.id), Happening("e2", NAMESAKE.id)]
    assert scan(server).shows == (
        Show(
            id="e1",
            artist="Queen",
            title="Somebody at Lido",
            day=date(2026, 9, 18),
            starts=time(20),
            venue=Venue("Lido", "Berlin", "", "DE", (52.499, 13.445)),
            url="https://musicbrainz.org/event/e1",
        ),
    )


@pytest.mark.parametrize(
    ("begin", "listed", "day"),
    [
        ("2026-06-08", False, None),
        ("2026-06-09", True, date(2026, 6, 9)),  # it may still be going on somewhere
        ("2026-05", False, None),
        ("2026-06", True, None),
        ("2025", False, None),
        ("2026", True, None),
        ("", True, None),
    ],
)
def test_a_date_may_be_a_month_or_a_year(server: MusicBrainz, begin: str, listed: bool, day: date | None) -> None:
    server.data.events = [Happening("e1", QUEEN.id, begin=begin)]
    assert [show.day for show in scan(server).shows] == ([day] if listed else [])


def test_cancelled_ones_and_festivals_are_told_apart(server: MusicBrainz) -> None:
    server.data.events = [
        Happening("e1", QUEEN.id, cancelled=True),
        Happening("e2", QUEEN.id, kind="Festival"),
    ]
    found = {show.id: (show.status, show.festival) for show in scan(server).shows}
    assert found == {"e1": (Status.CANCELLED, False), "e2": (Status.SCHEDULED, True)}


@pytest.mark.parametrize(
    ("events", "asked", "whole"), [(0, 1, True), (100, 1, True), (101, 2, True), (1000, 10, True), (1001, 10, False)]
)
def test_the_last_thousand_events_are_read(server: MusicBrainz, events: int, asked: int, whole: bool) -> None:
    old = [Happening(f"old{number}", QUEEN.id, begin="1999-01-01") for number in range(events - 1)]
    server.data.events = [*old, Happening("new", QUEEN.id)][:events]
    found = scan(server, Artist("Queen", QUEEN.id))
    assert [show.id for show in found.shows] == (["new"] if events else [])
    assert (len(server.asked), found.whole) == (asked, whole)


@pytest.mark.parametrize("answer", [{}, [], {"event-count": None}, {"event-count": "3"}, {"error": "x", "events": []}])
def test_an_answer_that_holds_no_list_does_not_mean_none(server: MusicBrainz, answer: Any) -> None:
    server.play = says(200, answer)
    assert scan(server, Artist("Queen", QUEEN.id)).outcome is Outcome.FAILED


@pytest.mark.parametrize("answer", [{}, {"artists": None}, {"error": "x"}])
def test_a_search_that_holds_no_list_does_not_mean_nobody(server: MusicBrainz, tmp_path: Path, answer: Any) -> None:
    server.first(says(200, answer))
    outcomes = [scan(server, cache=tmp_path).outcome for _ in range(2)]
    assert outcomes == [Outcome.FAILED, Outcome.SCANNED]


def test_what_one_source_has_looked_up_the_other_of_the_same_run_knows(server: MusicBrainz, tmp_path: Path) -> None:
    with run(tmp_path) as base:
        one, two = (musicbrainz.make(Entry("mb", "musicbrainz", server.address), base) for _ in range(2))
        assert two.identify(Artist("Nobody")).mbid == ""
        assert one.identify(WANTED) == two.identify(WANTED) == Artist("Queen", QUEEN.id)
        assert one.identify(Artist("Nobody")).mbid == ""
    assert searched(server) == ['"Nobody"', '"Queen"']


# Manners


def test_who_asks_is_said(server: MusicBrainz) -> None:
    scan(server)
    assert server.asked[0].headers["User-Agent"] == f"heartbeat/{heartbeat.__version__} ( me@example.org )"


def test_a_contact_of_its_own_goes_first(server: MusicBrainz) -> None:
    with run(None) as base:
        entry = Entry("mb", "musicbrainz", server.address, {"contact": "band@example.org"})
        musicbrainz.make(entry, base).scan(WANTED)
    assert "( band@example.org )" in server.asked[0].headers["User-Agent"]


@pytest.mark.parametrize("contact", ["", " ", "me@x\r\nEvil: 1", "me (x)@example.org", "mé@example.org"])
def test_without_a_contact_nobody_is_asked(server: MusicBrainz, contact: str) -> None:
    with run(None, contact=contact) as base, pytest.raises(SourceFailed, match=r"set \[owner\] emails, or contact"):
        musicbrainz.make(Entry("mb", "musicbrainz", server.address), base)
    assert server.asked == []


def test_a_server_without_a_scheme_is_asked_safely() -> None:
    with run(None) as base:
        assert musicbrainz.make(Entry("mb", "musicbrainz", "musicbrainz.org/"), base)._address == (
            "https://musicbrainz.org"
        )


def test_slow_down_is_heeded(server: MusicBrainz, slept: list[float]) -> None:
    server.first(says(503), says(503, Retry_After="5"))
    assert scan(server).outcome is Outcome.SCANNED
    assert slept[0] == 1.0
    assert 5.0 in slept


def test_a_server_that_wants_peace_is_left_in_peace(server: MusicBrainz) -> None:
    server.play = says(503)
    with run(None) as base:
        provider = musicbrainz.make(Entry("mb", "musicbrainz", server.address), base)
        messages = {provider.scan(Artist(f"Act {number}")).message for number in range(10)}
    assert messages == {"the service answers 503, too many requests; the rest is asked in the next run"}
    assert len(server.asked) == asking.TRIES


def test_no_more_than_one_request_a_second_is_made(server: MusicBrainz, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    sent: list[float] = []

    def asleep(seconds: float) -> None:
        clock[0] += seconds

    def noted(handler: Any) -> None:
        sent.append(clock[0])
        server.well(handler)

    server.play = noted
    with run(None) as base:
        provider = musicbrainz.make(Entry("mb", "musicbrainz", server.address), base)
        monkeypatch.setattr(asking, "monotonic", lambda: clock[0])
        monkeypatch.setattr(asking, "sleep", asleep)
        for number in range(5):
            provider.scan(Artist(f"Act {number}"))
    assert sent == [0.0, 1.0, 2.0, 3.0, 4.0]


# Whatever is in the fields


@given(any_json)
def test_any_json_is_read_as_an_event_or_a_search(value: Any) -> None:
    answers.show_of(value, "Queen", NOW.date())
    answers.candidates_of(value)


@given(
    spoiled(
        {
            "artists": [QUEEN.fields()],
            "event-count": 1,
            "event-offset": 0,
            "events": [Happening("e", QUEEN.id).fields()],
        }
    )
)
def test_an_answer_with_wrong_and_missing_fields_is_one_of_the_three_outcomes(answer: Any) -> None:
    base = ground(canned(json.dumps(answer).encode()), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "sleep", lambda _: None)
        provider = musicbrainz.make(Entry("mb", "musicbrainz", "https://musicbrainz.example"), base)
        assert provider.scan(Artist("Queen")).outcome in Outcome
