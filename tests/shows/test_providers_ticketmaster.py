"""Ticketmaster against a stand-in that keeps to its documented contract."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given

from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry
from heartbeat.sources.shows import asking, discovery, fields
from heartbeat.sources.shows.geohash import geohash
from heartbeat.sources.shows.providers import ticketmaster
from heartbeat.sources.shows.scan import Kind, ask_all
from heartbeat.sources.shows.show import Artist, Outcome, Sale, Scan, Show, Status, Venue
from tests.doubles.bench import HOME, NOW, any_json, canned, ground, run, spoiled, without_pauses
from tests.doubles.server import Answer, Handler, says
from tests.doubles.ticketmaster import Act, Gig, Hall, Ticketmaster, decoded

KEY = "canary-3f9c"
WANTED = Artist("Queen")
TRIBUTE_WANTED = Artist("Queen Tribute")
QUEEN = Act("K8vZ9171", "Queen", mbid="0383dadf-2a4e-4d10-a46a-e9e041da8eb3")
TRIBUTE = Act("K8vZ9172", "Queen Tribute")
NAMESAKE = Act("K8vZ9173", "QUEEN", genre="Hip-Hop", mbid="79491354-3d83-40e3-9d8e-7592d58d790a")
PLAY = Act("K8vZ9174", "Queen", music=False)


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    return without_pauses(monkeypatch)


@pytest.fixture
def server() -> Iterator[Ticketmaster]:
    with Ticketmaster(KEY).running() as server:
        server.acts = [QUEEN, TRIBUTE]
        yield server


def entry(server: Ticketmaster) -> Entry:
    return Entry("tm", "ticketmaster", KEY, {"address": server.base})


def scans(server: Ticketmaster, cache: Path | None, *artists: Artist, now: datetime = NOW) -> list[Scan]:
    """What one run says of each."""
    with run(cache, now) as base:
        provider = ticketmaster.make(entry(server), base)
        return [provider.scan(artist) for artist in artists]


def scan(server: Ticketmaster, artist: Artist = WANTED, cache: Path | None = None, **more: Any) -> Scan:
    (found,) = scans(server, cache, artist, **more)
    return found


def only(server: Ticketmaster, gig: Gig) -> Show:
    server.gigs = [gig]
    (show,) = scan(server).shows
    return show


def paths(server: Ticketmaster) -> list[str]:
    return [asked.path.rpartition("/")[2] for asked in server.asked]


# Who is meant


def test_an_artist_is_looked_up_once_and_then_asked_for_by_id(server: Ticketmaster, tmp_path: Path) -> None:
    server.gigs = [Gig("e1", [QUEEN]), Gig("e2", [TRIBUTE], name="Queen Tribute Night")]
    for _ in range(2):
        assert [show.id for show in scan(server, cache=tmp_path).shows] == ["e1"]
    assert paths(server) == ["attractions.json", "events.json", "events.json"]
    assert {**server.asked[-1].query, "apikey": ""} == {
        "attractionId": QUEEN.id,
        "locale": "*",
        "includeTBA": "yes",
        "includeTBD": "yes",
        "includeTest": "no",
        "source": "ticketmaster,universe,frontgate",
        "sort": "date,asc",
        "size": "200",
        "page": "0",
        "apikey": "",
    }


@pytest.mark.parametrize(
    ("acts", "artist"),
    [
        ([QUEEN, TRIBUTE], Artist("Queen")),
        ([QUEEN, TRIBUTE, PLAY], Artist("Queen")),
        ([QUEEN, NAMESAKE], Artist("Queen", QUEEN.mbid)),
        ([NAMESAKE, QUEEN], Artist("queen", QUEEN.mbid.upper())),
        ([Act(QUEEN.id, "Queen", mbid=QUEEN.mbid, music=False)], Artist("Queen", QUEEN.mbid)),
        ([Act(QUEEN.id, "Queen + Adam Lambert", mbid=QUEEN.mbid), TRIBUTE], Artist("Queen", QUEEN.mbid)),
        ([Act(QUEEN.id, "Queen"), NAMESAKE], Artist("Queen", QUEEN.mbid)),
        ([PLAY, Act(QUEEN.id, "Queen")], Artist("Queen", QUEEN.mbid)),
    ],
)
def test_the_one_who_is_meant_is_found(server: Ticketmaster, acts: list[Act], artist: Artist) -> None:
    server.acts, server.gigs = acts, [Gig("e1", [QUEEN]), Gig("e2", [NAMESAKE]), Gig("e3", [PLAY])]
    assert [show.id for show in scan(server, artist).shows] == ["e1"]


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [
        ("Beyoncé", "beyonce", True),
        ("The Cure", "Cure", True),
        ("The The", "the the", True),
        ("Simon & Garfunkel", "Simon and Garfunkel", True),
        ("AC/DC", "AC DC", True),
        ("!!!", "!!!", True),
        ("!!!", "???", False),
        ("Red Hot Chili Pipers", "Red Hot Chili Peppers", False),
        ("Queen Tribute", "Queen", False),
        ("Кино", "Кино", True),
    ],
)
def test_names_are_the_same_but_for_what_people_leave_out(found: str, wanted: str, same: bool) -> None:
    identity = discovery.pick([discovery.Attraction("a", found, "Rock", (), True)], Artist(wanted))
    assert (identity.id == "a") is same


def test_two_of_one_name_are_a_question_for_the_owner(server: Ticketmaster) -> None:
    server.acts = [QUEEN, NAMESAKE, PLAY]
    found = scan(server)
    assert found.outcome is Outcome.UNRESOLVED
    assert found.message == (
        f"2 have this name: Queen (Rock, MusicBrainz id {QUEEN.mbid}), QUEEN (Hip-Hop, MusicBrainz id {NAMESAKE.mbid});"
        " say who is meant by the MusicBrainz id"
    )
    assert paths(server) == ["attractions.json"]


def test_somebody_known_to_be_another_one_is_not_taken(server: Ticketmaster) -> None:
    server.acts = [NAMESAKE]
    found = scan(server, Artist("Queen", QUEEN.mbid))
    assert found.outcome is Outcome.UNRESOLVED
    assert "nobody of this name" in found.message


def test_nobody_of_the_name_says_who_is_near_it(server: Ticketmaster) -> None:
    server.acts = [TRIBUTE]
    assert "near it are Queen Tribute (Rock, id K8vZ9172)" in scan(server).message


@pytest.mark.parametrize(("later", "looked_up"), [(timedelta(days=30), 1), (timedelta(days=30, seconds=1), 2)])
def test_an_id_is_looked_up_again_after_thirty_days(
    server: Ticketmaster, tmp_path: Path, later: timedelta, looked_up: int
) -> None:
    for now in (NOW, NOW + later):
        scan(server, cache=tmp_path, now=now)
    assert paths(server).count("attractions.json") == looked_up


@pytest.mark.parametrize(("later", "looked_up"), [(timedelta(days=7), 1), (timedelta(days=7, seconds=1), 2)])
def test_a_name_nobody_has_is_looked_up_again_after_a_week(
    server: Ticketmaster, tmp_path: Path, later: timedelta, looked_up: int
) -> None:
    server.acts = []
    for now in (NOW, NOW + later):
        assert "nobody of this name" in scan(server, cache=tmp_path, now=now).message
    assert paths(server).count("attractions.json") == looked_up


def test_an_id_from_the_owner_settles_it_at_once(server: Ticketmaster, tmp_path: Path) -> None:
    server.acts, server.gigs = [QUEEN, NAMESAKE], [Gig("e1", [QUEEN])]
    assert scan(server, cache=tmp_path).outcome is Outcome.UNRESOLVED
    assert len(scan(server, Artist("Queen", QUEEN.mbid), cache=tmp_path).shows) == 1


def test_a_failure_to_look_up_is_not_remembered(server: Ticketmaster, tmp_path: Path) -> None:
    server.play = says(500)
    assert scan(server, cache=tmp_path).outcome is Outcome.FAILED
    server.play = server.well
    assert scan(server, cache=tmp_path).outcome is Outcome.SCANNED


def test_a_broken_memory_costs_only_the_memory(server: Ticketmaster, tmp_path: Path) -> None:
    scan(server, cache=tmp_path)
    files = list((tmp_path / "shows").iterdir())
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]
    for content in (b"", b"[]", b"\xff", b'{"id  queen": 3}', b'{"id  queen": {"at": "2026-06-10", "value": 1}}'):
        for file in files:
            file.write_bytes(content)
        assert scan(server, cache=tmp_path).outcome is Outcome.SCANNED


# What a show is


def test_a_show_has_its_venue_its_sales_and_its_link(server: Ticketmaster) -> None:
    presale = {"name": "Fan\u202e club", "startDateTime": "2026-06-11T08:00:00Z", "endDateTime": "2026-06-12T08:00:00Z"}
    show = only(server, Gig("e1", [QUEEN], name="Queen \x1b[31mlive\n", sales={"presales": [presale]}))
    assert show == Show(
        id="e1",
        artist="Queen",
        title="Queen [31mlive",
        day=date(2026, 9, 18),
        starts=time(20),
        venue=Venue("Lido", "Berlin", "BE", "DE", (52.499, 13.445), "Europe/Berlin"),
        sales=(
            Sale("public", datetime(2026, 6, 12, 8, tzinfo=UTC)),
            Sale("Fan club", datetime(2026, 6, 11, 8, tzinfo=UTC)),
        ),
        url="https://www.ticketmaster.de/event/e1",
    )


@pytest.mark.parametrize(
    ("start", "day", "starts"),
    [
        ({"dateTime": "2026-09-19T03:00:00Z"}, date(2026, 9, 18), time(20)),
        ({"timeTBA": True}, date(2026, 9, 18), None),
        ({"noSpecificTime": True}, date(2026, 9, 18), None),
        ({"localTime": None}, date(2026, 9, 18), None),
        ({"dateTBA": True}, None, None),
        ({"dateTBD": True}, None, None),
        ({"localDate": "2999-12-31"}, None, time(20)),
    ],
)
def test_the_date_is_the_one_on_the_venues_calendar(
    server: Ticketmaster, start: dict[str, Any], day: date | None, starts: time | None
) -> None:
    show = only(server, Gig("e1", [QUEEN], start=start))
    assert (show.day, show.starts) == (day, starts)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("onsale", Status.SCHEDULED),
        ("offsale", Status.SCHEDULED),
        ("canceled", Status.CANCELLED),
        ("cancelled", Status.CANCELLED),
        ("Canceled", Status.CANCELLED),
        ("postponed", Status.POSTPONED),
        ("rescheduled", Status.MOVED),
        ("something new", Status.SCHEDULED),
    ],
)
def test_a_status_means_what_it_says_of_the_show(server: Ticketmaster, code: str, status: Status) -> None:
    assert only(server, Gig("e1", [QUEEN], status=code)).status is status


@pytest.mark.parametrize(
    "public",
    [
        {"startDateTime": "1900-01-01T06:00:00Z", "startTBD": False},
        {"startDateTime": "1999-12-31T23:59:59Z", "startTBD": False},
        {"startDateTime": "2026-06-12T08:00:00Z", "startTBD": True},
        {"startDateTime": "2026-06-12T08:00:00", "startTBD": False},
        {},
        None,
    ],
)
def test_a_placeholder_is_no_beginning_of_sales(server: Ticketmaster, public: Any) -> None:
    assert only(server, Gig("e1", [QUEEN], sales={"public": public, "presales": [{"name": "x"}]})).sales == ()


@pytest.mark.parametrize(("others", "festival"), [(4, False), (5, True)])
def test_many_on_one_bill_are_a_festival(server: Ticketmaster, others: int, festival: bool) -> None:
    bill = [QUEEN, *(Act(f"x{number}", f"Act {number}") for number in range(others))]
    assert only(server, Gig("e1", bill)).festival is festival


@pytest.mark.parametrize("kind", [{"subType": {"name": "Festival"}}, {"type": {"name": "Festival"}}])
def test_what_is_filed_as_a_festival_is_one(server: Ticketmaster, kind: dict[str, Any]) -> None:
    assert only(server, Gig("e1", [QUEEN], more={"classifications": [kind]})).festival


def test_listings_in_other_languages_and_undated_ones_are_found(server: Ticketmaster) -> None:
    server.gigs = [Gig("e1", [QUEEN], foreign=True), Gig("e2", [QUEEN], start={"dateTBA": True})]
    assert {show.id for show in scan(server).shows} == {"e1", "e2"}


@pytest.mark.parametrize(
    "gig",
    [
        Gig("e1", [QUEEN], source="tmr"),
        Gig("e1", [QUEEN], more={"source": {"id": "tmr", "name": "Ticketmaster Resale"}}),
        Gig("e1", [QUEEN], more={"source": "TMR"}),
        Gig("e1", [QUEEN], test=True),
        Gig("e1", [QUEEN], test=True, more={"leaks": True}),
        Gig("e1", [QUEEN], day="2026-06-08"),
        Gig("e1", [QUEEN], more={"_embedded": {"attractions": [TRIBUTE.fields()]}}),
        Gig("e1", [QUEEN], more={"_embedded": {}}),
    ],
)
def test_resale_tests_the_past_and_shows_of_others_are_left_out(server: Ticketmaster, gig: Gig) -> None:
    server.gigs = [gig]
    assert scan(server) == Scan(Outcome.SCANNED, identity=QUEEN.id)


@pytest.mark.parametrize(
    "gig", [Gig("e1", [QUEEN], day="2026-06-09"), Gig("e1", [QUEEN], day="2026-05-01", status="postponed")]
)
def test_what_may_still_come_is_kept(server: Ticketmaster, gig: Gig) -> None:
    assert only(server, gig).id == "e1"


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "http://user:pw@x.example/", "https://x.example/a b", "https://x/\u202e", 7, "http://["],
)
def test_a_link_that_cannot_be_shown_is_none(server: Ticketmaster, url: Any) -> None:
    assert only(server, Gig("e1", [QUEEN], more={"url": url})).url == ""


def test_a_place_at_nothing_and_a_zone_nobody_knows_are_unknown(server: Ticketmaster) -> None:
    venue = only(server, Gig("e1", [QUEEN], hall=Hall(latitude=0, longitude=0, zone="../etc/passwd"))).venue
    assert (venue.place, venue.zone) == (None, "")


# Pages


@pytest.mark.parametrize(
    ("listed", "asked", "whole"), [(0, 1, True), (200, 1, True), (201, 2, True), (1000, 5, True), (1001, 5, False)]
)
def test_all_pages_are_read_that_can_be_asked_for(server: Ticketmaster, listed: int, asked: int, whole: bool) -> None:
    server.gigs = [Gig(f"e{number}", [QUEEN]) for number in range(listed)]
    found = scan(server)
    assert (found.outcome, len(found.shows), found.whole) == (Outcome.SCANNED, min(listed, 1000), whole)
    assert paths(server).count("events.json") == asked
    assert ("only 1000 of the listed events" in found.message) is not whole


def test_an_event_that_a_shifted_page_hid_makes_the_scan_no_whole_one(server: Ticketmaster) -> None:
    server.gigs = [Gig(f"e{number:03}", [QUEEN]) for number in range(250)]

    def shifts(handler: Any) -> None:
        if handler.asked.query.get("page") == "1":
            server.gigs.insert(0, Gig("e-1", [QUEEN]))
        server.well(handler)

    server.play = shifts
    assert scan(server).whole is False


def test_an_event_without_an_id_is_left_out_and_cuts_nothing_off(server: Ticketmaster) -> None:
    server.gigs = [Gig("e1", [QUEEN]), Gig("e2", [QUEEN], more={"id": None})]
    found = scan(server)
    assert (len(found.shows), found.whole, found.identity) == (1, True, QUEEN.id)


def test_artists_who_always_fail_silence_no_other(server: Ticketmaster, tmp_path: Path) -> None:
    acts = [Act(f"K{number}", f"Act {number}") for number in range(30)]
    server.acts, server.gigs = acts, [Gig(act.id, [act]) for act in acts]
    bad = {act.id for act in acts[3:20]}

    def play(handler: Handler) -> None:
        fails = handler.asked.query.get("attractionId") in bad
        handler.send(Answer(b"oops", 500) if fails else server.answer(handler.asked))

    server.play = play
    known, heard = {"ticketmaster": cast("Kind", ticketmaster)}, set()
    for day in range(6):
        with run(tmp_path, NOW + timedelta(days=day)) as base:
            (asked,) = ask_all([entry(server)], [Artist(act.name) for act in acts], known, base)
        heard |= {artist.name for artist, scan in asked.scans.items() if scan.outcome is Outcome.SCANNED}
    assert heard == {act.name for act in acts if act.id not in bad}


def test_a_page_that_fails_fails_the_scan(server: Ticketmaster) -> None:
    server.gigs = [Gig(f"e{number}", [QUEEN]) for number in range(201)]
    server.first(server.well, server.well, says(400))
    assert scan(server).outcome is Outcome.FAILED


# Limits


def test_the_daily_quota_is_counted_over_runs(
    server: Ticketmaster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ticketmaster, "A_DAY", 205)
    outcomes = [scan(server, cache=tmp_path) for _ in range(5)]
    assert [found.outcome for found in outcomes] == [Outcome.SCANNED] * 4 + [Outcome.FAILED]
    assert outcomes[-1].message == "the daily quota is used up; it goes on at 02:00 on 2026-06-11"
    assert len(server.asked) == 5
    midnight = NOW.replace(hour=0) + timedelta(days=1)
    assert scan(server, cache=tmp_path, now=midnight - timedelta(seconds=1)).outcome is Outcome.FAILED
    assert scan(server, cache=tmp_path, now=midnight).outcome is Outcome.SCANNED


@pytest.mark.parametrize(("available", "outcome"), [(201, Outcome.SCANNED), (200, Outcome.FAILED)])
def test_what_the_server_has_counted_is_what_counts(
    server: Ticketmaster, tmp_path: Path, available: int, outcome: Outcome
) -> None:
    reset = NOW + timedelta(hours=3)
    scan(server, cache=tmp_path)
    server.limits = {
        "Rate-Limit": "5000",
        "Rate-Limit-Available": f"{available}",
        "Rate-Limit-Over": "0",
        "Rate-Limit-Reset": f"{reset.timestamp() * 1000:.0f}",
    }
    scan(server, cache=tmp_path)
    found = scan(server, cache=tmp_path)
    assert found.outcome is outcome
    if outcome is Outcome.FAILED:
        assert "it goes on at 13:00 on 2026-06-10" in found.message
        assert scan(server, cache=tmp_path, now=reset).outcome is Outcome.SCANNED


@pytest.mark.parametrize(
    "limits",
    [
        {"Rate-Limit": "5", "Rate-Limit-Available": "0"},
        {"Rate-Limit": "5000", "Rate-Limit-Available": "-1"},
        {"Rate-Limit": "many", "Rate-Limit-Available": "0"},
        {"Rate-Limit-Available": "0"},
        {"Rate-Limit": "5000", "Rate-Limit-Available": "9999", "Rate-Limit-Reset": "99999999999999"},
    ],
)
def test_strange_limits_stop_nobody(server: Ticketmaster, tmp_path: Path, limits: dict[str, str]) -> None:
    server.limits = limits
    assert [scan(server, cache=tmp_path).outcome for _ in range(2)] == [Outcome.SCANNED] * 2


def test_a_short_pause_that_was_asked_for_is_made(server: Ticketmaster, slept: list[float]) -> None:
    server.gigs = [Gig("e1", [QUEEN])]
    server.first(says(429, Retry_After="7"))
    assert len(scan(server).shows) == 1
    assert 7.0 in slept


@pytest.mark.parametrize(("pause", "outcome"), [("30", Outcome.SCANNED), ("31", Outcome.FAILED)])
def test_a_long_pause_ends_the_asking(server: Ticketmaster, pause: str, outcome: Outcome) -> None:
    server.first(says(429, Retry_After=pause))
    first, second = scans(server, None, Artist("Queen"), Artist("Queen Tribute"))
    assert (first.outcome, second.outcome) == (outcome, outcome)
    if outcome is Outcome.FAILED:
        assert first.message == second.message
        assert "wants a pause of 31 s" in first.message
        assert len(server.asked) == 1


def test_a_pause_that_the_run_has_no_time_for_is_not_made(server: Ticketmaster) -> None:
    server.play = says(429, Retry_After="20")
    with run(None, seconds=10) as base:
        found = ticketmaster.make(entry(server), base).scan(Artist("Queen"))
    assert found.message == "the time of this run is used up; the rest is asked in the next run"


def test_a_server_that_is_busy_for_ever_is_asked_three_times_for_all(server: Ticketmaster) -> None:
    server.play = says(429)
    found = scans(server, None, *(Artist(f"Act {number}") for number in range(20)))
    assert {scan.message for scan in found} == {
        "the service answers 429, too many requests; the rest is asked in the next run"
    }
    assert len(server.asked) == 3


def test_a_refused_key_is_tried_once_for_all(server: Ticketmaster) -> None:
    server.key = "another"
    found = scans(server, None, *(Artist(f"Act {number}") for number in range(20)))
    assert {scan.message for scan in found} == {
        "the service answers 401, access is refused; check the key, or whether it was ended"
    }
    assert len(server.asked) == 1


def test_a_server_that_is_down_is_given_up_after_two_artists(server: Ticketmaster) -> None:
    server.play = says(500)
    found = scans(server, None, *(Artist(f"Act {number}") for number in range(20)))
    assert {scan.message for scan in found} == {"cannot fetch: the server answers 500; it may be over later"}
    assert len(server.asked) == asking.TRIES + asking.FAILURES - 1
    assert [scan.tried for scan in found] == [True] * asking.FAILURES + [False] * (20 - asking.FAILURES)


@pytest.mark.parametrize(
    "answer", [{}, [], {"page": {}}, {"page": {"totalElements": "1"}}, {"page": {"totalElements": 1}}, {"errors": []}]
)
def test_an_answer_that_holds_no_list_does_not_mean_nobody(server: Ticketmaster, answer: Any) -> None:
    server.play = says(200, answer)
    found = scans(server, None, *(Artist(f"Act {number}") for number in range(20)))
    assert {(scan.outcome, scan.message) for scan in found} == {
        (Outcome.FAILED, "cannot use the answer: what was asked for is not in it; it may be over later")
    }
    assert len(server.asked) == asking.FAILURES


def test_a_list_without_its_events_is_no_whole_one(server: Ticketmaster) -> None:
    server.first(server.well, says(200, {"page": {"totalElements": 3}}))
    found = scan(server)
    assert (found.outcome, found.whole) == (Outcome.SCANNED, False)


def test_failures_that_are_not_in_a_row_end_nothing(server: Ticketmaster) -> None:
    down = [says(500)] * asking.TRIES
    server.first(*down, server.well, server.well, *down)
    outcomes = [found.outcome for found in scans(server, None, WANTED, WANTED, TRIBUTE_WANTED, WANTED)]
    assert outcomes == [Outcome.FAILED, Outcome.SCANNED, Outcome.FAILED, Outcome.SCANNED]


@pytest.mark.parametrize("zone", ["Europe", "../etc/passwd", "/etc/localtime", "Mars/Base", "", "a\x00b", "x" * 5000])
def test_a_zone_that_is_none_is_unknown(zone: str) -> None:
    assert fields.zone({"timezone": zone}, "timezone") == ""


def test_one_artist_that_fails_costs_no_other(server: Ticketmaster) -> None:
    server.first(says(400))
    outcomes = [found.outcome for found in scans(server, None, Artist("Queen"), Artist("Queen Tribute"))]
    assert outcomes == [Outcome.FAILED, Outcome.SCANNED]


def test_when_the_time_is_up_nobody_is_asked(server: Ticketmaster) -> None:
    with run(None, seconds=asking.LEAST_SECONDS - 0.1) as base:
        found = ticketmaster.make(entry(server), base).scan(Artist("Queen"))
    assert found == Scan(
        Outcome.FAILED, message="the time of this run is used up; the rest is asked in the next run", tried=False
    )
    assert server.asked == []


def test_no_more_than_four_requests_a_second_are_made(server: Ticketmaster, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    sent: list[float] = []

    def asleep(seconds: float) -> None:
        clock[0] += seconds

    def noted(handler: Any) -> None:
        sent.append(clock[0])
        server.well(handler)

    server.play = noted
    with run(None) as base:  # two sources with the same host share the pace
        one, two = ticketmaster.make(entry(server), base), ticketmaster.make(entry(server), base)
        monkeypatch.setattr(asking, "monotonic", lambda: clock[0])
        monkeypatch.setattr(asking, "sleep", asleep)
        for number in range(10):
            one.scan(Artist(f"Act {number}"))
            two.scan(Artist(f"Act {number}"))
    assert sent == [number * 0.25 for number in range(20)]


# Around home


def test_what_is_around_home_comes_once_for_each_who_plays(server: Ticketmaster) -> None:
    server.gigs = [
        Gig("e1", [QUEEN, TRIBUTE]),
        Gig("e2", [TRIBUTE], hall=Hall("Gruenspan", "Hamburg", "DE", 53.55, 9.96)),
        Gig("e3", [QUEEN], start={"dateTBA": True}),
        Gig("e4", [QUEEN], day="2026-10-01"),
    ]
    with run(None) as base:
        provider = ticketmaster.make(entry(server), base)
        near = provider.nearby(HOME, 50, date(2026, 9, 30))
        far = provider.nearby(HOME, 500, date(2026, 10, 1))
    assert near is not None
    assert [(show.id, show.artist) for show in near] == [("e1", "Queen"), ("e1", "Queen Tribute"), ("e3", "Queen")]
    assert {show.id for show in far or ()} == {"e1", "e2", "e3", "e4"}
    assert server.asked[0].query["classificationName"] == "music"


def test_without_an_answer_nobody_knows_what_is_around_home(server: Ticketmaster) -> None:
    server.play = says(500)
    with run(None) as base:
        assert ticketmaster.make(entry(server), base).nearby(HOME, 50, date(2026, 9, 30)) is None


@pytest.mark.parametrize(
    ("place", "cell"),
    [
        ((57.64911, 10.40744), "u4pruydqqvj"),  # the example of the method's inventor
        ((-25.382708, -49.265506), "6gkzwgjzn82"),
        ((90.0, 180.0), "zzzzzzzzzzz"),
        ((-90.0, -180.0), "00000000000"),
    ],
)
def test_a_place_has_its_known_geohash(place: tuple[float, float], cell: str) -> None:
    assert geohash(place, 11) == cell
    assert decoded(geohash(place)) == pytest.approx(place, abs=1e-4)


# Settings and secrets


@pytest.mark.parametrize("key", ["", " ", "two words", "bell\x07", "schlüssel"])
def test_a_key_that_is_no_word_is_refused_without_being_shown(key: str) -> None:
    with run(None) as base, pytest.raises(SourceFailed, match="cannot use the API key") as refused:
        ticketmaster.make(Entry("tm", "ticketmaster", key), base)
    assert not key.strip() or key not in str(refused.value)


def test_a_key_that_the_server_echoes_is_shown_to_nobody(server: Ticketmaster, tmp_path: Path) -> None:
    gig = Gig("e1", [QUEEN], name=f"Queen {KEY}", more={"url": f"https://x.example/?apikey={KEY}"})
    server.acts, server.gigs = [QUEEN], [gig]
    found = scan(server, cache=tmp_path)
    assert len(found.shows) == 1
    assert KEY not in repr(found)


def test_a_key_that_is_echoed_in_other_letters_of_json_is_shown_to_nobody(server: Ticketmaster) -> None:
    escaped = "".join(f"\\u{ord(c):04x}" for c in KEY)
    server.acts, server.gigs = [QUEEN], [Gig("e1", [QUEEN], name="Queen THE-KEY")]

    def play(handler: Handler) -> None:
        whole = server.answer(handler.asked)
        handler.send(Answer(json.dumps(whole.body).replace("THE-KEY", escaped).encode(), whole.status))

    server.play = play
    found = scan(server)
    assert [show.title for show in found.shows] == ["Queen -"]


# Whatever is in the fields


@given(any_json)
def test_any_json_is_read_as_an_event(value: Any) -> None:
    discovery.show_of(value, "Queen")
    discovery.attraction_of(value)
    discovery.names_of(value)


@given(
    spoiled(Gig("e1", [QUEEN], sales={"presales": [{"name": "x", "startDateTime": "2026-06-11T08:00:00Z"}]}).fields())
)
def test_an_event_with_wrong_and_missing_fields_is_a_show_or_none(value: Any) -> None:
    show = discovery.show_of(value, "Queen")
    if show is not None:
        assert show.id
        assert show.title.isprintable()
        assert all(sale.starts_at.year >= 2000 for sale in show.sales)


@given(
    spoiled(
        {
            "page": {"size": 200, "totalElements": 1, "totalPages": 1, "number": 0},
            "_embedded": {"attractions": [QUEEN.fields()], "events": [Gig("e1", [QUEEN]).fields()]},
        }
    )
)
def test_an_answer_with_wrong_and_missing_fields_is_one_of_the_three_outcomes(answer: Any) -> None:
    base = ground(canned(json.dumps(answer).encode()), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ticketmaster, "PACE", 0.0)
        provider = ticketmaster.make(Entry("tm", "ticketmaster", KEY), base)
        assert provider.scan(Artist("Queen")).outcome in Outcome
        provider.nearby(HOME, 50, date(2026, 9, 30))
