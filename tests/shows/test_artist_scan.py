"""The script itself: the installed command over services that run on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Place
from tests.doubles.server import Answer, Asked, Double, says
from tests.doubles.ticketmaster import Act, Gig, Hall, Ticketmaster

KEY = "canary-77aa-key"
QUEEN = Act("K1", "Queen", mbid="0383dadf-2a4e-4d10-a46a-e9e041da8eb3")
AIR = Act("K2", "Air")
NOW = "2026-06-10T08:00:00Z"
LONG_AGO = {"public": {"startDateTime": "1900-01-01T08:00:00Z", "startTBD": False}}
CONFIG = """
[owner]
zone = "Europe/Berlin"
emails = ["me@example.org"]

[agent]
kind = "command"
command = ["{home}/agent.sh"]

[jobs.artist-scan]
[jobs.artist-scan.options]
"""


@pytest.fixture
def server() -> Iterator[Ticketmaster]:
    with Ticketmaster(KEY).running() as server:
        server.acts = [QUEEN, AIR]
        yield server


def configure(place: Place, *sources: str, artists: str = '["Queen", "Air"]', more: str = "sweep = false") -> None:
    home = 'home = { lat = 52.52, lon = 13.40, city = "Berlin", country = "DE" }'
    lines = [CONFIG, f"artists = {artists}", f"sources = [{', '.join(sources)}]", home, more]
    place.configure("\n".join(lines))


def ticketmaster(server: Ticketmaster) -> str:
    return f'{{ ticketmaster = "{KEY}", address = "{server.base}" }}'


def tick(place: Place, day: int = 10, *words: str) -> dict[str, Any]:
    """One run on a day of June, and what it led to."""
    data: dict[str, Any] = place.data("tick", "artist-scan", "--now", f"2026-06-{day:02}T08:00:00Z", *words)
    assert KEY not in json.dumps(data)
    return data


def told(data: dict[str, Any]) -> list[tuple[str, str]]:
    """What becomes of each finding that is no duplicate, with its title."""
    return [(one["action"], one["title"]) for one in data["findings"] if one["action"] not in ("duplicate", "drop")]


def states(data: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    return {source["name"]: (source["ok"], source["message"]) for source in data["sources"]}


def test_a_dry_run_says_what_is_there(place: Place, server: Ticketmaster) -> None:
    server.gigs = [
        Gig("g1", [QUEEN], sales=LONG_AGO),
        Gig("g2", [AIR], hall=Hall("Zenith", "Paris", "FR", 48.89, 2.39), sales=LONG_AGO),
    ]
    configure(place, ticketmaster(server))
    data = tick(place, 10, "--dry-run")
    assert data["verdict"] == "wake"
    assert [finding["title"] for finding in data["findings"]] == [
        "Queen: Fri 18 Sep 2026, Lido, Berlin",
        "Air: Fri 18 Sep 2026, Zenith, Paris, FR",
    ]
    assert states(data) == {"artists": (True, ""), "ticketmaster": (True, "")}
    assert tick(place, 10)["wake_id"] is None, "the first scan is where everything begins"


def test_the_installed_command_reads_the_key_from_its_environment(place: Place, server: Ticketmaster) -> None:
    server.gigs = [Gig("g1", [QUEEN], sales=LONG_AGO)]
    configure(place, f'{{ ticketmaster = {{ env = "TM_KEY" }}, address = "{server.base}" }}')
    words = ("tick", "artist-scan", "--now", NOW, "--dry-run", "--json")
    done = place.run(*words, env={"TM_KEY": KEY})
    assert [found["title"] for found in done.envelope["data"]["findings"]] == ["Queen: Fri 18 Sep 2026, Lido, Berlin"]
    assert KEY not in done.out + done.err
    missing = place.run(*words)
    assert "TM_KEY" in missing.out


def test_new_moved_cancelled_and_vanished_through_recorded_ticks(place: Place, server: Ticketmaster) -> None:
    configure(place, ticketmaster(server))
    old = Gig("g1", [QUEEN], sales=LONG_AGO)
    server.gigs = [old]
    assert told(tick(place, 10)) == []
    new = Gig("g2", [AIR], day="2026-10-02", sales=LONG_AGO)
    server.gigs = [old, new]
    assert told(tick(place, 11)) == [("wake", "Air: Fri 2 Oct 2026, Lido, Berlin")]
    assert told(tick(place, 12)) == []
    moved = Gig("g2", [AIR], day="2026-11-06", status="rescheduled", sales=LONG_AGO)
    server.gigs = [old, moved]
    assert told(tick(place, 13)) == [
        ("wake", "Air: moved to Fri 6 Nov 2026, Lido, Berlin"),
    ]
    server.play = says(500, b"oops")
    failed = tick(place, 14)
    ok, message = states(failed)["ticketmaster"]
    assert (told(failed), ok) == ([], False)
    assert message.endswith("; what it listed 1d ago still stands")
    server.play = server.well
    server.gigs = [old, Gig("g3", [AIR], day="2026-11-06", sales=LONG_AGO)]  # listed anew
    assert told(tick(place, 15)) == []
    server.gigs = [old, Gig("g3", [AIR], day="2026-11-06", status="cancelled", sales=LONG_AGO)]
    assert [title for _, title in told(tick(place, 16))] == ["Air: cancelled, Fri 6 Nov 2026, Lido, Berlin"]
    server.gigs = []
    assert [told(tick(place, day)) for day in (17, 18)] == [[], []]
    assert [title for _, title in told(tick(place, 19))] == ["Queen: Fri 18 Sep 2026, Lido, Berlin"]
    assert told(tick(place, 20)) == []


def test_a_sale_is_told_three_days_before(place: Place, server: Ticketmaster) -> None:
    configure(place, ticketmaster(server))
    sales = {"public": {"startDateTime": "2026-06-20T08:00:00Z", "startTBD": False}}
    server.gigs = [Gig("g1", [QUEEN], sales=sales)]
    heard = [told(tick(place, day)) for day in (10, 16, 17, 18)]
    title = "Queen: tickets from Sat 20 Jun 2026 10:00, for the show of Fri 18 Sep 2026, Lido, Berlin"
    assert heard == [[], [], [("wake", title)], []]


def test_a_wrong_key_is_one_failed_source_and_no_news(place: Place, server: Ticketmaster) -> None:
    server.key = "another"
    configure(place, ticketmaster(server))
    data = tick(place)
    ok, message = states(data)["ticketmaster"]
    assert (ok, data["findings"]) == (False, [])
    assert message.startswith("2 of 2 artists failed: the service answers 401")


def test_an_unknown_artist_is_asked_about_in_the_brief(place: Place, server: Ticketmaster) -> None:
    configure(place, ticketmaster(server), artists='["Queen", "Nobody Of That Name"]')
    data = tick(place)
    assert told(data) == [("brief", "Nobody Of That Name: ticketmaster cannot tell who is meant")]
    assert states(data)["ticketmaster"] == (True, "1 of 2 artists are not resolved")
    assert told(tick(place, 11)) == []


def test_a_lost_list_is_a_failed_source(place: Place, server: Ticketmaster) -> None:
    configure(place, ticketmaster(server), artists='["Queen"]', more='artists_from = ["music.md"]')
    server.gigs = [Gig("g1", [AIR], sales=LONG_AGO)]
    assert states(tick(place, 10))["artists"][0] is False
    place.file("music.md", "| # | Artist |\n|---|---|\n| 1 | Air |\n")
    assert states(tick(place, 11))["artists"] == (True, "")


def test_without_any_source_the_agent_is_asked_once_a_week(place: Place) -> None:
    configure(place, more="sweep = true")
    (first,) = told(tick(place, 10))
    assert first == ("wake", "Search the web for shows near Berlin of the followed artists")
    assert [told(tick(place, day)) for day in (11, 14)] == [[], []]
    assert len(told(tick(place, 15))) == 1


@pytest.mark.parametrize("more", ["sweep = false", "discovery = false"])
def test_whoever_wants_no_sweep_is_not_asked(place: Place, more: str) -> None:
    configure(place, more=more)
    data = tick(place)
    assert data["findings"] == []
    assert states(data)["shows"][0] is False


class Likes(Double):
    """ListenBrainz, as far as it is needed: everybody is like Air."""

    def answer(self, asked: Asked) -> Answer:
        return Answer([{"artist_mbid": "cb67438a-7f50-4f2b-a6f1-2bb2729fd538", "name": "Air", "score": 100}])


def test_once_a_week_those_who_are_alike_and_near_are_in_the_brief(place: Place, server: Ticketmaster) -> None:
    far = Hall("Zenith", "Paris", "FR", 48.89, 2.39)
    server.gigs = [
        Gig("g1", [AIR], day="2026-06-20", sales=LONG_AGO),
        Gig("g2", [AIR], day="2026-06-21", hall=far, sales=LONG_AGO),
        Gig("g3", [Act("K3", "Others")], day="2026-06-20", sales=LONG_AGO),
    ]
    with Likes().running() as likes:
        queen = f'[{{ name = "Queen", mbid = "{QUEEN.mbid}" }}]'
        sources = (ticketmaster(server), f'{{ listenbrainz = "{likes.address}" }}')
        configure(place, *sources, artists=queen, more="sweep = true")
        assert told(tick(place, 10)) == [("brief", "Like those you follow: Air, Sat 20 Jun 2026, Lido, Berlin")]
        assert told(tick(place, 11)) == []
        before = len(likes.asked)
        server.gigs.append(Gig("g4", [AIR], day="2026-06-25", sales=LONG_AGO))
        assert told(tick(place, 15)) == [("brief", "Like those you follow: Air, Thu 25 Jun 2026, Lido, Berlin")]
        assert len(likes.asked) > before


CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VEVENT
UID:1@lido
DTSTART;TZID=Europe/Berlin:20260918T200000
SUMMARY:Loft presents: AIR + support
END:VEVENT
BEGIN:VEVENT
UID:2@lido
DTSTART;TZID=Europe/Berlin:20260919T200000
SUMMARY:Air Supply
END:VEVENT
BEGIN:VEVENT
UID:3@lido
DTSTART;VALUE=DATE:20260920
SUMMARY:Queen
STATUS:CANCELLED
END:VEVENT
END:VCALENDAR
"""


def test_a_venue_calendar_is_a_source_of_its_own(place: Place) -> None:
    server = Double()
    server.play = says(200, CALENDAR.replace("\n", "\r\n").encode())
    with server.running() as venue:
        address = f"{venue.address}/secret-canary.ics"
        settings = 'name = "Lido", city = "Berlin", country = "DE", lat = 52.499, lon = 13.445'
        configure(place, f'{{ venue = "{address}", {settings} }}')
        data = tick(place, 10, "--dry-run")
    assert len(venue.asked) == 1, "one calendar is asked once for all artists"
    shown = {finding["title"]: finding["kind"] for finding in data["findings"]}
    assert shown == {
        "Air: Fri 18 Sep 2026, Lido, Berlin": "show",
        "Queen: cancelled, Sun 20 Sep 2026, Lido, Berlin": "show-cancelled",
    }
    assert "secret-canary" not in json.dumps(data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("home = { lat = 1 }", "cannot use home.lat"),
        ('on_sale_within = "soon"', "cannot use on_sale_within"),
        ('on_sale_within = "32d"', "cannot use on_sale_within"),
    ],
)
def test_an_option_that_cannot_be_used_is_said(place: Place, options: str, message: str) -> None:
    place.configure(f"{CONFIG}{options}\n")
    data = tick(place, 10, "--dry-run")
    assert data["verdict"] == "failed"
    assert message in json.dumps(data)
