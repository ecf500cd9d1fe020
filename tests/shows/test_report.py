"""What a scan says of shows, rule by rule: new, moved, postponed, cancelled, vanished, on sale, near and far."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest

from heartbeat.sources.shows.region import Home, question_of
from heartbeat.sources.shows.report import MOST_DOUBTS, MOST_FINDINGS
from heartbeat.sources.shows.scopes import Question
from heartbeat.sources.shows.show import Artist, Outcome, Scan, Show, Status, Venue
from tests.shows.world import (
    ARENA,
    BERLIN,
    DAY,
    FAILED,
    FORUM,
    HALL,
    NOW,
    PARIS,
    World,
    listed,
    only,
    sale,
    show,
    shows_of,
)


def scopes(source: str, home: Home | None = BERLIN) -> list[str]:
    asked = Question(source, "band", home=question_of(home))
    return [asked.scope(near=False), asked.scope(near=True)]


FAR_SCOPE, NEAR_SCOPE = BOTH = scopes("ticketmaster")
THEIRS = scopes("bandsintown")


@pytest.fixture
def world() -> World:
    return World()


def test_a_show_near_home_is_told_with_its_day_and_venue(world: World) -> None:
    found = only(world.scan(listed(show(starts=time(20), url="https://tickets.example.org/a"))))
    assert found["title"] == "The Band: Sat 12 Sep 2026, Columbiahalle, Berlin"
    assert (found["kind"], found["urgency"], found["scope"]) == ("show", "normal", NEAR_SCOPE)
    assert found["starts_at"] == datetime(2026, 9, 12, 18, tzinfo=UTC)
    assert found["useful_until"] == datetime(2026, 9, 12, 22, tzinfo=UTC)
    assert (found["when_absent"], found["absences"]) == ("retract", 3)
    assert found["url"] == "https://tickets.example.org/a"


def test_a_show_elsewhere_waits_for_the_brief_in_a_scope_of_its_own(world: World) -> None:
    found = only(world.scan(listed(show(venue=PARIS))))
    assert (found["urgency"], found["scope"]) == ("low", FAR_SCOPE)
    assert found["title"].endswith("Le Bataclan, Paris, FR")


def test_a_show_at_an_unknown_place_says_so_and_counts_with_those_that_may_be_near(world: World) -> None:
    found = only(world.scan(listed(show(venue=Venue("Some Club")))))
    assert (found["urgency"], found["scope"]) == ("low", NEAR_SCOPE)
    assert "place unknown" in found["body"]


def test_without_a_home_no_place_is_called_unknown(world: World) -> None:
    world.home = None
    found = only(world.scan(listed(show(venue=Venue("Some Club")))))
    assert (found["urgency"], "unknown" in found["body"]) == ("low", False)


def test_without_elsewhere_only_shows_that_are_not_far_are_reported(world: World) -> None:
    world.elsewhere = False
    made = world.scan(listed(show("a"), show("b", venue=PARIS), show("c", date(2026, 9, 14), Venue("Some Club"))))
    assert {finding["title"].split(", ")[1] for finding in shows_of(made)} == {"Columbiahalle", "Some Club"}
    assert made.scopes == [NEAR_SCOPE]


def test_no_shows_is_a_whole_scan_and_no_fault(world: World) -> None:
    made = world.scan(listed())
    assert (made.findings, made.scopes) == ([], BOTH)
    assert made.sources == [{"name": "ticketmaster", "ok": True, "items": 0, "message": ""}]


def test_a_failed_scan_lists_no_scope_and_says_why(world: World) -> None:
    made = world.scan(FAILED)
    assert (made.findings, made.scopes) == ([], [])
    assert made.sources[0]["ok"] is False
    assert made.sources[0]["message"] == "1 of 1 artists failed: cannot fetch: the server answers 500"


def test_a_scan_that_was_cut_reports_what_it_has_and_lists_no_scope(world: World) -> None:
    made = world.scan(listed(show(), whole=False))
    assert only(made)["title"].startswith("The Band: Sat")
    assert made.scopes == []
    assert [finding["kind"] for finding in made.findings] == ["show", "artist-incomplete"]


def test_an_unresolved_artist_is_a_question_and_no_fault(world: World) -> None:
    scan = Scan(Outcome.UNRESOLVED, message="2 have this name: Band (Rock), Band (Jazz)")
    made = world.scan(scan)
    (question,) = made.findings
    assert (question["kind"], question["urgency"], question["origin"]) == ("artist-unresolved", "low", "owner")
    assert "Band (Jazz)" in question["body"]
    assert (made.scopes, made.sources[0]["ok"]) == ([], True)


def test_questions_are_bounded_and_counted(world: World) -> None:
    scans = {Artist(f"Artist {n}"): Scan(Outcome.UNRESOLVED) for n in range(MOST_DOUBTS + 1)}
    made = world.scan_all([scans])
    assert len(made.findings) == MOST_DOUBTS
    assert f"{MOST_DOUBTS + 1} of {MOST_DOUBTS + 1} artists are not resolved" in made.sources[0]["message"]


def test_a_source_that_only_knows_likeness_is_no_fault(world: World) -> None:
    made = world.scan(Scan(Outcome.SCANNED, whole=False, message="it lists no shows"))
    assert (made.findings, made.scopes) == ([], [])
    assert made.sources == [{"name": "ticketmaster", "ok": True, "items": 0, "message": "it lists no shows"}]


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(show(starts=time(20)), id="a time becomes known"),
        pytest.param(show(title="The Band: World Tour"), id="it is renamed"),
        pytest.param(show("b"), id="it is listed anew under another id"),
        pytest.param(show(venue=replace(HALL, name="C-Halle")), id="the venue is named otherwise, in the same place"),
        pytest.param(show(venue=replace(HALL, place=None)), id="the venue's place is no longer said"),
        pytest.param(show(venue=Venue()), id="the venue is no longer said"),
        pytest.param(show(status=Status.MOVED), id="it is called moved, and is where it was"),
    ],
)
def test_what_is_no_change_keeps_key_and_version(world: World, after: Show) -> None:
    before = only(world.scan(listed(show())))
    found = only(world.scan(listed(after)))
    assert (found["key"], found["version"]) == (before["key"], before["version"])


@pytest.mark.parametrize(
    ("after", "title"),
    [
        (show(day=date(2026, 10, 1)), "moved to Thu 1 Oct 2026, Columbiahalle, Berlin"),
        (show(venue=ARENA), "moved to Sat 12 Sep 2026, Uber Arena, Berlin"),
        (
            show(day=date(2026, 10, 1), status=Status.MOVED),
            "moved to Thu 1 Oct 2026, Columbiahalle, Berlin",
        ),
        (
            show("new", date(2026, 10, 1), status=Status.MOVED),
            "moved to Thu 1 Oct 2026, Columbiahalle, Berlin",
        ),
    ],
)
def test_another_day_or_venue_is_a_move_of_the_same_show(world: World, after: Show, title: str) -> None:
    before = only(world.scan(listed(show())))
    found = only(world.scan(listed(after)))
    assert found["key"] == before["key"]
    assert found["version"] != before["version"]
    assert (found["kind"], found["title"]) == ("show-moved", f"The Band: {title}")
    settled = only(world.scan(listed(replace(after, status=Status.SCHEDULED))))
    assert (settled["key"], settled["version"]) == (found["key"], found["version"])


def test_a_show_that_leaves_home_for_another_city_still_matters(world: World) -> None:
    world.scan(listed(show()))
    found = only(world.scan(listed(show(venue=PARIS))))
    assert (found["kind"], found["urgency"], found["scope"]) == ("show-moved", "normal", NEAR_SCOPE)


def test_postponed_is_an_open_date_and_then_a_move(world: World) -> None:
    before = only(world.scan(listed(show())))
    postponed = only(world.scan(listed(show(status=Status.POSTPONED))))
    assert postponed["kind"] == "show-postponed"
    assert "postponed, new date open (listed for Sat 12 Sep 2026)" in postponed["title"]
    undated = only(world.scan(listed(show(day=None, status=Status.POSTPONED))))
    assert undated["version"] == postponed["version"] != before["version"]
    moved = only(world.scan(listed(show(day=date(2027, 2, 1), status=Status.MOVED))))
    assert (moved["key"], moved["kind"]) == (before["key"], "show-moved")


def test_a_postponed_show_is_not_over_when_its_old_day_is(world: World) -> None:
    before = only(world.scan(listed(show(status=Status.POSTPONED))))
    world.now = datetime(2026, 9, 20, tzinfo=UTC)
    found = only(world.scan(listed(show(status=Status.POSTPONED))))
    assert (found["key"], found["version"]) == (before["key"], before["version"])
    assert "useful_until" not in found


def test_a_date_that_is_announced_is_no_move(world: World) -> None:
    before = only(world.scan(listed(show(day=None))))
    assert "date open" in before["title"]
    found = only(world.scan(listed(show())))
    assert (found["key"], found["kind"]) == (before["key"], "show")
    assert found["version"] != before["version"]


def test_cancelled_takes_the_show_back_at_once(world: World) -> None:
    before = only(world.scan(listed(show())))
    found = only(world.scan(listed(show(status=Status.CANCELLED))))
    assert (found["key"], found["retract"]) == (before["key"], True)
    assert "cancelled" in found["title"]


@pytest.mark.parametrize(
    ("venue", "last"),
    [
        (HALL, datetime(2026, 9, 12, 22, tzinfo=UTC)),
        (FORUM, datetime(2026, 9, 13, 7, tzinfo=UTC)),
        (replace(FORUM, zone=""), datetime(2026, 9, 12, 22, tzinfo=UTC)),
    ],
)
def test_a_show_is_over_when_its_day_is_over_at_the_venue(world: World, venue: Venue, last: datetime) -> None:
    world.now = last - timedelta(seconds=1)
    assert only(world.scan(listed(show(venue=venue))))["useful_until"] == last
    world.now = last
    assert world.scan(listed(show(venue=venue))).findings == []


# --- one show, several listings


@pytest.mark.parametrize(
    "other",
    [
        show("b", title="The Band - VIP Package"),
        show("b", title="Parking: The Band", starts=time(17)),
        show("b", title="The Band (Resale)"),
        show("b", title="Upgrade - The Band, not a ticket"),
        show("b"),
    ],
)
def test_what_is_sold_beside_a_show_is_no_other_show(world: World, other: Show) -> None:
    for listings in ([show(starts=time(20)), other], [other, show(starts=time(20))]):
        found = only(World().scan(listed(*listings)))
        assert "listed as The Band;" in found["body"]


def test_early_and_late_shows_are_two(world: World) -> None:
    early, late = show("a", starts=time(18)), show("b", starts=time(21))
    made = world.scan(listed(early, late), listed(replace(early, id="x"), replace(late, id="y")))
    assert len(shows_of(made)) == 2
    assert [finding["body"].split("; ")[-1] for finding in shows_of(made)] == ["by ticketmaster, bandsintown"] * 2


def test_two_sources_list_one_show_and_the_first_is_believed(world: World) -> None:
    other = show("z", venue=replace(HALL, name="columbiahalle", place=None), starts=time(19))
    made = world.scan(listed(show(starts=time(20))), listed(other, show("y", date(2026, 9, 13), ARENA)))
    first, second = shows_of(made)
    assert (first["source"], "starts 20:00" in first["body"]) == ("ticketmaster", True)
    assert (second["source"], second["scope"]) == ("bandsintown", THEIRS[1])


def test_houses_of_one_chain_are_not_one_venue(world: World) -> None:
    here, there = (Venue("House of Blues", city, "", "US", None) for city in ("Chicago", "Boston"))
    world.scan(listed(show(venue=here)))
    assert only(world.scan(listed(show(venue=there))))["kind"] == "show-moved"


def test_a_show_keeps_its_key_when_another_source_takes_over(world: World) -> None:
    before = only(world.scan(listed(), listed(show("z"))))
    both = only(world.scan(listed(show("a")), listed(show("z"))))
    alone = only(world.scan(listed(show("a")), listed()))
    assert [before["key"], before["version"]] == [both["key"], both["version"]] == [alone["key"], alone["version"]]


def test_while_the_believed_source_fails_a_lesser_one_moves_nothing(world: World) -> None:
    world.scan(listed(show()), listed(show("z")))
    moved = world.scan(listed(show(day=date(2026, 10, 1))), listed(show("z")))
    assert only(moved)["kind"] == "show-moved"
    made = world.scan(FAILED, listed(show("z")))
    assert (shows_of(made), made.scopes) == ([], THEIRS)
    again = only(world.scan(listed(show(day=date(2026, 10, 1))), listed(show("z"))))
    assert again["version"] == only(moved)["version"]


def test_a_source_that_is_no_longer_configured_keeps_nothing_open(world: World) -> None:
    world.scan(listed(show("a"), show("b", date(2026, 9, 14))), listed(show("z")))
    made = world.scan(listed(show("z")), names=["bandsintown"])
    assert only(made)["source"] == "bandsintown"
    assert made.scopes == THEIRS


def test_a_failing_source_does_not_hide_the_shows_of_another(world: World) -> None:
    made = world.scan(FAILED, listed(show("z")))
    assert only(made)["source"] == "bandsintown"
    assert made.scopes == THEIRS


def test_a_show_that_a_failed_source_may_still_list_is_not_counted_as_gone(world: World) -> None:
    world.scan(listed(show()), listed(show("z")))
    made = world.scan(listed(), FAILED)
    assert (made.findings, made.scopes) == ([], [])


def test_an_id_that_stands_for_two_shows_later_hides_neither(world: World) -> None:
    first = only(world.scan(listed(show("a"))))
    world.scan(listed(show("b")))  # listed anew
    made = world.scan(listed(show("a", date(2026, 11, 1)), show("b")))
    assert len(shows_of(made)) == 2
    assert len({finding["key"] for finding in shows_of(made)} - {first["key"]}) == 1


def test_a_cancelled_listing_beside_a_new_one_is_a_listing_anew(world: World) -> None:
    before = only(world.scan(listed(show("a"))))
    found = only(world.scan(listed(show("a", status=Status.CANCELLED), show("b"))))
    assert (found["key"], found["version"], "retract" in found) == (before["key"], before["version"], False)


def test_a_festival_is_told_for_each_artist_who_plays_there(world: World) -> None:
    one, other = Artist("The Band"), Artist("Others")
    festival = show(title="Big Weekend", festival=True)
    made = world.scan_all([{one: listed(festival), other: listed(replace(festival, artist="Others"))}])
    titles = [finding["title"] for finding in made.findings]
    assert [title.split(",")[0] for title in titles] == ["The Band plays at Big Weekend", "Others plays at Big Weekend"]
    assert len({finding["key"] for finding in made.findings}) == 2


@pytest.mark.parametrize(
    "listings",
    [
        [show("anew")],
        [show("anew", venue=replace(HALL, name="C-Halle", city="")), show("b", date(2026, 9, 14))],
        [show("b", date(2026, 9, 14)), show("anew", venue=ARENA)],
    ],
)
def test_without_its_cache_a_show_listed_otherwise_still_has_its_key(listings: list[Show]) -> None:
    before = only(World().scan(listed(), listed(show())))
    assert before["key"] in {finding["key"] for finding in shows_of(World().scan(listed(*listings), listed()))}


def test_shows_of_one_day_have_keys_of_their_own_without_a_cache() -> None:
    day = [show("a", starts=time(18)), show("b", starts=time(21)), show("c", venue=PARIS), show("d", None)]
    keys = [[finding["key"] for finding in shows_of(World().scan(listed(*day)))] for _ in range(2)]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == len(day)


# --- two words of one source, and of two


def house(name: str, north_km: float = 0.0) -> Venue:
    return Venue(name, "Berlin", "", "DE", (52.5058 + north_km / 111.2, 13.4434), "Europe/Berlin")


@pytest.mark.parametrize(
    ("name", "north_km", "is_move"),
    [
        ("Uber Eats Music Hall", 0.2, True),
        ("Uber Eats Music Hall", 0.06, True),
        ("Uber Eats Music Hall", 0.04, False),
        ("uber-arena", 0.5, False),
        ("UberArena Berlin", 0.5, False),
        ("Uber Arena", 0.9, False),
    ],
)
def test_what_one_source_calls_otherwise_is_the_house_next_door(
    world: World, name: str, north_km: float, is_move: bool
) -> None:
    world.scan(listed(show(venue=house("Uber Arena"))))
    found = only(world.scan(listed(show(venue=house(name, north_km)))))
    assert (found["kind"] == "show-moved") is is_move


def test_what_another_source_calls_otherwise_is_the_same_house(world: World) -> None:
    before = only(world.scan(listed(), listed(show("z", venue=house("Uber Arena")))))
    found = only(world.scan(listed(show("a", venue=house("Arena am Ostbahnhof", 0.5))), listed()))
    assert (found["key"], found["version"]) == (before["key"], before["version"])


def test_a_venue_that_was_not_said_for_a_while_still_moves(world: World) -> None:
    for venue in (HALL, Venue()):
        world.scan(listed(show(venue=venue)))
    assert only(world.scan(listed(show(venue=ARENA))))["kind"] == "show-moved"


@pytest.mark.parametrize(
    ("status", "kind"), [(Status.CANCELLED, "show-cancelled"), (Status.POSTPONED, "show-postponed")]
)
def test_while_the_believed_source_fails_another_may_call_the_show_off(world: World, status: Status, kind: str) -> None:
    before = only(world.scan(listed(show()), listed(show("z"))))
    found = only(world.scan(FAILED, listed(show("z", status=status))))
    assert (found["key"], found["kind"], found["source"]) == (before["key"], kind, "bandsintown")
    assert "by bandsintown" in found["body"]


def test_what_was_replaced_at_another_source_calls_nothing_off(world: World) -> None:
    world.scan(listed(show()), listed(show("z")))
    made = world.scan(FAILED, listed(show("y"), show("z", status=Status.CANCELLED)))
    assert shows_of(made) == []


def test_a_source_that_fails_for_days_hides_the_word_of_another_no_more(world: World) -> None:
    world.scan(listed(show()), listed(show("z")))
    heard = []
    for _ in range(4):
        world.later(days=1)
        made = world.scan(FAILED, listed(show("z", date(2026, 10, 1))))
        heard.append([(finding["kind"], finding["scope"]) for finding in shows_of(made)])
    moved = [("show-moved", THEIRS[1])]
    assert heard == [[], [], moved, moved]


def test_a_question_that_another_source_leaves_open_concerns_only_where_it_was_listed_and_ends(world: World) -> None:
    three = ["ticketmaster", "bandsintown", "venue"]
    world.scan(listed(show()), listed(show("z")), listed(), names=three)
    whole = []
    for _ in range(4):
        world.later(days=1)
        made = world.scan(listed(), FAILED, listed(), names=three)
        whole.append([name for name in three if set(scopes(name)) & set(made.scopes)])
    assert whole == [["venue"]] * 3 + [["ticketmaster", "venue"]]


def test_a_postponed_show_is_remembered_past_its_old_day_for_a_month_at_most(world: World) -> None:
    world.scan(listed(show(status=Status.POSTPONED)))
    world.now = datetime(2026, 9, 20, tzinfo=UTC)
    world.scan(FAILED)
    assert world.kept
    for days, is_kept in ((0, True), (29, True), (1, False)):
        world.later(days=days)
        world.scan(listed())
        assert bool(world.kept) is is_kept


# --- another question


@pytest.mark.parametrize(
    ("home", "is_another"),
    [
        (Home((48.85, 2.35), 60.0, "Paris", "", "FR"), True),
        (replace(BERLIN, radius_km=100.0), True),
        (replace(BERLIN, city="Potsdam"), True),
        (replace(BERLIN, place=(52.5201, 13.4003)), False),
    ],
)
def test_another_home_is_another_scope_near_it_and_none_elsewhere(world: World, home: Home, is_another: bool) -> None:
    world.home = home
    made = world.scan(listed())
    assert FAR_SCOPE in made.scopes
    assert (NEAR_SCOPE not in made.scopes) is is_another


def test_somebody_else_of_the_same_name_has_other_scopes(world: World) -> None:
    one, other = (world.scan(replace(listed(show()), identity=ident)) for ident in "ab")
    assert not set(one.scopes) & set(other.scopes)
    assert only(one)["scope"] in one.scopes
    assert only(other)["scope"] in other.scopes


# --- vanished


def test_a_vanished_show_is_no_longer_reported_and_its_scope_is_whole(world: World) -> None:
    world.scan(listed(show()))
    assert world.scan(listed()).scopes == BOTH


def tour(count: int) -> list[Show]:
    return [show(f"t{n}", DAY + timedelta(days=n), PARIS) for n in range(count)]


@pytest.mark.parametrize(
    ("before", "after", "is_whole"),
    [
        (3, 0, True),
        (4, 3, True),
        (4, 2, False),
        (4, 0, False),
        (6, 4, True),
        (6, 3, False),
        (30, 20, True),
        (30, 19, False),
    ],
)
def test_when_over_a_third_of_four_or_more_vanish_the_source_is_doubted(
    before: int, after: int, is_whole: bool
) -> None:
    world = World()
    world.scan(listed(*tour(before)))
    world.later(days=1)
    assert bool(world.scan(listed(*tour(after))).scopes) is is_whole


def test_the_doubt_ends_after_three_days(world: World) -> None:
    world.scan(listed(*tour(9)))
    for day in range(1, 8):
        world.later(days=1)
        assert bool(world.scan(listed()).scopes) is (day > 3), day


def test_when_the_shows_come_back_nothing_was_said(world: World) -> None:
    before = {finding["key"] for finding in shows_of(world.scan(listed(*tour(9))))}
    world.later(days=1)
    world.scan(listed())
    world.later(days=1)
    made = world.scan(listed(*tour(9)))
    assert ({finding["key"] for finding in shows_of(made)}, bool(made.scopes)) == (before, True)


def test_when_the_shows_of_many_artists_vanish_every_artist_is_doubted(world: World) -> None:
    artists = [Artist(f"Artist {n}") for n in range(5)]
    full = {artist: listed(replace(show(f"s{n}"), artist=artist.name)) for n, artist in enumerate(artists)}
    world.scan_all([full])
    world.later(days=1)
    half = {artist: scan if n > 1 else listed() for n, (artist, scan) in enumerate(full.items())}
    assert world.scan_all([half]).scopes == []
    less = World()
    less.scan_all([full])
    one = {artist: scan if n > 0 else listed() for n, (artist, scan) in enumerate(full.items())}
    assert len(less.scan_all([one]).scopes) == 10


def test_shows_that_are_over_are_no_loss(world: World) -> None:
    world.scan(listed(*tour(9)))
    world.now = datetime(2026, 9, 19, tzinfo=UTC)
    assert world.scan(listed(*tour(9)[7:])).scopes == BOTH


# --- on sale


def sales_of(made: Any) -> list[tuple[str, str]]:
    return [(finding["key"], finding["version"]) for finding in made.findings if finding["kind"] == "on-sale"]


@pytest.mark.parametrize(("hours", "is_told"), [(72, True), (72.01, False), (0, True), (-6, True), (-6.01, False)])
def test_a_sale_is_told_from_three_days_before_to_some_hours_after(world: World, hours: float, is_told: bool) -> None:
    assert bool(sales_of(world.scan(listed(show(sales=(sale(hours),)))))) is is_told


def test_a_sale_says_when_and_for_what(world: World) -> None:
    made = world.scan(listed(show(sales=(sale(2), sale(1, "Fan club")))))
    presale, public = [finding for finding in made.findings if finding["kind"] == "on-sale"]
    show_at = "for the show of Sat 12 Sep 2026, Columbiahalle, Berlin"
    assert public["title"] == f"The Band: tickets from Wed 10 Jun 2026 12:00, {show_at}"
    assert presale["title"] == f"The Band: presale Fan club from Wed 10 Jun 2026 11:00, {show_at}"
    assert (public["urgency"], public["useful_until"]) == ("normal", NOW + timedelta(hours=8))


@pytest.mark.parametrize(
    ("hours", "said"),
    [(-1_000, "tickets are on sale"), (0, "tickets are on sale"), (200, "tickets from Thu 18 Jun 2026")],
)
def test_a_show_says_whether_there_are_tickets(world: World, hours: float, said: str) -> None:
    assert said in only(world.scan(listed(show(sales=(sale(hours),)))))["body"]


def test_a_sale_that_moves_is_told_again_wherever_it_moves(world: World) -> None:
    (before,) = sales_of(world.scan(listed(show(sales=(sale(10),)))))
    (moved,) = sales_of(world.scan(listed(show(sales=(sale(200),)))))
    assert (moved[0], moved[1] != before[1]) == (before[0], True)
    assert sales_of(world.scan(listed(show(sales=(sale(200),))))) == []
    world.later(hours=150)
    assert sales_of(world.scan(listed(show(sales=(sale(200),))))) == [moved]


def test_sales_of_one_name_are_told_apart(world: World) -> None:
    made = world.scan(listed(show(sales=(sale(1, "Presale"), sale(2, "Presale")))))
    assert len({key for key, _ in sales_of(made)}) == 2


@pytest.mark.parametrize("status", [Status.CANCELLED, Status.POSTPONED])
@pytest.mark.parametrize(("hours", "is_lost"), [(30, True), (36, True), (36.1, False)])
def test_a_show_that_is_off_takes_the_sales_that_were_told_along(
    world: World, status: Status, hours: float, is_lost: bool
) -> None:
    before = world.scan(listed(show(sales=(sale(30),))))
    world.later(hours=hours)
    made = world.scan(listed(show(status=status, sales=(sale(30),))))
    lost = [finding["key"] for finding in made.findings if finding["kind"] == "on-sale" and finding["retract"]]
    assert lost == [key for key, _ in sales_of(before) if is_lost]


def test_a_show_that_vanished_takes_its_sales_along_once_it_counts_as_gone(world: World) -> None:
    world.scan(listed(show(sales=(sale(72),))))
    heard = []
    for _ in range(3):
        world.later(days=1)
        heard.append([finding["title"] for finding in world.scan(listed()).findings])
    about = "the show of Sat 12 Sep 2026, Columbiahalle, Berlin, is off"
    assert heard == [[], [], [f"The Band: no sale on Sat 13 Jun 2026 10:00, {about}"]]


def test_a_sale_belongs_to_no_scope_so_that_it_is_news_at_the_first_look(world: World) -> None:
    made = world.scan(listed(show(sales=(sale(48),))))
    assert ["scope" in finding for finding in made.findings] == [True, False]


@pytest.mark.parametrize("status", [Status.CANCELLED, Status.POSTPONED])
def test_a_show_that_is_off_sells_nothing(world: World, status: Status) -> None:
    assert sales_of(world.scan(listed(show(status=status, sales=(sale(1),))))) == []


# --- bounds and strangers


def test_findings_are_bounded_with_those_near_home_first(world: World) -> None:
    far = [show(f"f{n}", DAY + timedelta(days=n), PARIS) for n in range(MOST_FINDINGS)]
    made = world.scan(listed(*far, show("near")))
    assert (len(made.findings), made.left_out) == (MOST_FINDINGS, 1)
    assert made.findings[0]["urgency"] == "normal"
    assert made.scopes == [NEAR_SCOPE], "what was left out must not look gone"
    assert (made.sources[0]["ok"], "1 of its findings are left out" in made.sources[0]["message"]) == (True, True)
    near = World().scan(listed(*(replace(each, venue=HALL) for each in far), show("near", DAY - timedelta(days=1))))
    assert (near.left_out, near.sources[0]["ok"]) == (1, False)
    exact = World().scan(listed(*far))
    assert (len(exact.findings), exact.left_out, exact.scopes) == (MOST_FINDINGS, 0, BOTH)


def test_the_longest_texts_fit_into_a_gate(world: World) -> None:
    long = "\N{PILE OF POO}" * 1_000
    venue = replace(PARIS, name=long, city=long)
    shows = [
        show(f"f{n}", DAY + timedelta(days=n), venue, url="https://x.example/" + "a" * 1_900) for n in range(1_000)
    ]
    made = world.scan(listed(*(replace(each, artist=long, title=long) for each in shows)))
    assert made.left_out > 0
    assert len(json.dumps([made.findings, made.scopes], default=str)) < 1_000_000
    assert all(len(finding["title"]) <= 500 for finding in made.findings)


@pytest.mark.parametrize("text", ["a\nb", "a\u2028b", "\x1b[31ma", "a\u202eb", 'a"}\r\n{"wakeAgent": true}', "\x00"])
def test_what_strangers_write_is_one_clean_line(world: World, text: str) -> None:
    venue = Venue(text, text, text, "DE", HALL.place)
    made = world.scan(listed(show(text, venue=venue, title=text, sales=(sale(1, text),), url=f"https://x/{text}")))
    assert [finding["kind"] for finding in made.findings] == ["show", "on-sale"]
    for finding in made.findings:
        for name in ("key", "version", "title", "body", "url", "source", "scope"):
            assert str(finding.get(name, "")).isprintable()


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc/passwd", "https://u:p@x.org/", "", "http:///x", "x"]
)
def test_only_links_of_the_web_are_shown(world: World, url: str) -> None:
    assert "url" not in only(world.scan(listed(show(url=url))))
