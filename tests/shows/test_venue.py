"""A venue's own calendar as a source of shows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, time
from typing import Any

import pytest

from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry
from heartbeat.sources.shows.providers import venue
from heartbeat.sources.shows.show import Artist, Outcome, Scan, Status, Venue
from tests.doubles.bench import run
from tests.doubles.server import Double, says

AIR = Artist("Air")
SETTINGS = {"city": "Berlin", "country": "de", "lat": 52.499, "lon": 13.445}


@pytest.fixture
def server() -> Iterator[Double]:
    with Double().running() as server:
        yield server


def event(*lines: str, uid: str = "1", title: str = "Air") -> str:
    return "\n".join(["BEGIN:VEVENT", f"UID:{uid}", f"SUMMARY:{title}", *lines, "END:VEVENT"])


def calendar(*events: str) -> bytes:
    return "\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *events, "END:VCALENDAR", ""]).replace("\n", "\r\n").encode()


def scan(server: Double, body: bytes, artist: Artist = AIR, **settings: Any) -> Scan:
    server.play = says(200, body)
    with run(None) as ground:
        provider = venue.make(Entry("Lido", "venue", f"{server.address}/x.ics", {**SETTINGS, **settings}), ground)
        first = provider.scan(artist)
        assert provider.scan(artist) == first
    assert len(server.asked) == 1, "one calendar, one request"
    return first


def test_an_event_becomes_a_show(server: Double) -> None:
    found = scan(server, calendar(event("DTSTART;TZID=Europe/Berlin:20260918T193000", title="Tour 2026: AIR")))
    (show,) = found.shows
    assert (found.outcome, found.whole) == (Outcome.SCANNED, True)
    assert (show.artist, show.title, show.day, show.starts) == (
        "Air",
        "Tour 2026: AIR",
        date(2026, 9, 18),
        time(19, 30),
    )
    assert show.venue == Venue("Lido", "Berlin", "", "DE", (52.499, 13.445))
    assert (show.status, show.sales, show.url) == (Status.SCHEDULED, (), "")


@pytest.mark.parametrize(
    ("start", "zone", "day", "starts"),
    [
        ("DTSTART:20260918T193000", "America/New_York", date(2026, 9, 18), time(19, 30)),
        ("DTSTART:20260919T013000Z", "America/New_York", date(2026, 9, 18), time(21, 30)),
        ("DTSTART;VALUE=DATE:20260918", "America/New_York", date(2026, 9, 18), None),
        ("DTSTART:20260918T223000Z", "", date(2026, 9, 19), time(0, 30)),
    ],
)
def test_the_day_is_that_of_the_venue(server: Double, start: str, zone: str, day: date, starts: time | None) -> None:
    (show,) = scan(server, calendar(event(start)), zone=zone).shows
    assert (show.day, show.starts) == (day, starts)


def test_a_series_is_a_show_each_time_and_over_events_are_left_out(server: Double) -> None:
    rule = event("DTSTART;TZID=Europe/Berlin:20260603T200000", "RRULE:FREQ=WEEKLY;COUNT=4")
    shows = scan(server, calendar(rule)).shows
    assert [show.day for show in shows] == [date(2026, 6, day) for day in (10, 17, 24)]
    assert len({show.id for show in shows}) == 3


def test_a_moved_event_keeps_its_id_and_a_cancelled_one_says_so(server: Double) -> None:
    (before,) = scan(server, calendar(event("DTSTART:20260918T180000Z"))).shows
    server.asked.clear()
    (moved,) = scan(server, calendar(event("DTSTART:20261018T180000Z", "STATUS:CANCELLED"))).shows
    assert (moved.id, moved.status) == (before.id, Status.CANCELLED)


def test_ids_of_two_venues_are_not_mixed_up(server: Double) -> None:
    server.play = says(200, calendar(event("DTSTART:20260918T180000Z")))
    with run(None) as ground:
        made = [venue.make(Entry(name, "venue", server.address), ground) for name in ("Lido", "Arena")]
        first, second = (provider.scan(AIR).shows[0].id for provider in made)
    assert first != second


def test_nobody_named_is_no_show_and_no_failure(server: Double) -> None:
    found = scan(server, calendar(event("DTSTART:20260918T180000Z", title="Air Supply")))
    assert (found.outcome, found.shows, found.whole) == (Outcome.SCANNED, (), True)


def test_a_calendar_that_is_cut_off_is_not_whole(server: Double) -> None:
    whole = calendar(event("DTSTART:20260918T180000Z"), event("DTSTART:20260919T180000Z", uid="2"))
    found = scan(server, whole[: whole.rindex(b"UID:2")])
    assert (len(found.shows), found.whole) == (1, False)


@pytest.mark.parametrize("body", [b"", b"<html>log in</html>", b"BEGIN:VCARD\r\n"])
def test_what_is_no_calendar_is_a_failure(server: Double, body: bytes) -> None:
    found = scan(server, body)
    assert (found.outcome, found.whole) == (Outcome.FAILED, False)
    assert found.message.startswith("cannot use the answer")


@pytest.mark.parametrize(("count", "whole"), [(venue.MOST_SHOWS, True), (venue.MOST_SHOWS + 1, False)])
def test_the_shows_of_one_artist_are_bounded(server: Double, count: int, whole: bool) -> None:
    rule = event("DTSTART:20260611T180000Z", f"RRULE:FREQ=DAILY;COUNT={count}")
    found = scan(server, calendar(rule))
    assert (len(found.shows), found.whole) == (venue.MOST_SHOWS, whole)


def test_when_the_time_is_used_up_nobody_is_asked(server: Double) -> None:
    with run(None, seconds=0.1) as ground:
        found = venue.make(Entry("Lido", "venue", server.address), ground).scan(AIR)
    assert (found.outcome, server.asked) == (Outcome.FAILED, [])


@pytest.mark.parametrize(
    "wrong",
    [{"lat": 91, "lon": 0}, {"lat": 52}, {"lat": 0, "lon": 0}, {"country": "Germany"}, {"zone": "Berlin"}, {"city": 7}],
)
def test_settings_that_cannot_be_used_are_refused(wrong: dict[str, Any]) -> None:
    with run(None) as ground, pytest.raises(SourceFailed, match=r"^cannot use "):
        venue.make(Entry("Lido", "venue", "https://x.example/a.ics", wrong), ground)
