"""Through the real ledger: whatever scans see in whatever order, the owner hears of each change once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat.sources.shows.artists import MOST_ARTISTS
from heartbeat.sources.shows.region import Home
from heartbeat.sources.shows.scopes import share
from heartbeat.sources.shows.show import Artist, Scan, Show, Status, Venue
from tests.shows.world import DAY, FAILED, HALL, PARIS, Owner, World, listed, sale, show

VENUES = tuple(Venue(f"Hall {n}", "Berlin", "", "DE", (52.5 + n / 10, 13.4), "Europe/Berlin") for n in range(3))
MISSES = 3


@dataclass(frozen=True)
class Gig:
    """One show as it is in the world, whether or not a scan sees it."""

    number: int
    day: int = 0
    status: Status = Status.SCHEDULED
    listing: int = 0
    is_listed: bool = False

    @property
    def id(self) -> str:
        return f"{self.number}-{self.listing}"

    @property
    def show(self) -> Show:
        day = DAY + timedelta(days=self.day)
        return show(self.id, day, VENUES[self.number], status=self.status)

    @property
    def version(self) -> str:
        return "postponed" if self.status is Status.POSTPONED else str(self.day)

    def after(self, act: str) -> Gig:
        if act == "announce":
            return replace(self, is_listed=True)
        changes: dict[str, dict[str, Any]] = {
            "vanish": {"is_listed": False},
            "relist": {"listing": self.listing + 1},
            "move": {"day": self.day + 1, "status": Status.MOVED},
            "move, listed anew": {"day": self.day + 1, "status": Status.MOVED, "listing": self.listing + 1},
            "cancel": {"status": Status.CANCELLED},
            "postpone": {"status": Status.POSTPONED},
            "resume": {"status": Status.MOVED},
        }
        return replace(self, **changes.get(act, {})) if self.is_listed else self


@dataclass
class Heard:
    """What the owner should know of one show."""

    version: str = ""
    """Empty: nothing."""
    missed: int = 0


ACTS = st.sampled_from(
    ["announce", "announce", "vanish", "relist", "move", "move, listed anew", "cancel", "postpone", "resume", "rest"]
)
SCANS = st.sampled_from(["whole", "whole", "whole", "failed", "cut"])
DAYS = st.lists(st.tuples(st.tuples(ACTS, ACTS, ACTS), SCANS), min_size=1, max_size=14)


def expected(shows: Sequence[Gig], seen: int, heard: dict[int, Heard], *, whole: bool, first: bool) -> list[str]:
    """The changes that the owner is to hear of; *seen* of the shows are in the listing."""
    told = []
    for one in shows:
        known = heard.setdefault(one.number, Heard())
        if one.is_listed and one.number < seen:
            known.missed = 0
            if one.status is Status.CANCELLED:
                told += ["retraction"] if known.version else []
                known.version = ""
            elif known.version != one.version:
                told += ["update"] if known.version else [] if first else ["new"]
                known.version = one.version
        elif known.version and whole:
            known.missed += 1
            if known.missed == MISSES:
                told.append("retraction")
                heard[one.number] = Heard()
    return sorted(told)


@settings(max_examples=120)
@given(DAYS)
def test_each_change_is_heard_of_once_whatever_scans_fail(days: list[tuple[tuple[str, ...], str]]) -> None:
    world, owner = World(), Owner()
    shows = [Gig(number) for number in range(3)]
    heard: dict[int, Heard] = {}
    first = True
    for acts, outcome in days:
        # In a cut scan nobody could tell a show that was listed anew for another day from one more show.
        barred = () if outcome == "whole" else ("relist", "move, listed anew")
        shows = [one.after(act) if act not in barred else one for one, act in zip(shows, acts, strict=True)]
        world.later(days=1)
        if outcome == "failed":
            assert owner.hears(world.scan(FAILED), world.now) == []
            continue
        seen, whole = (3, True) if outcome == "whole" else (1, False)
        made = world.scan(listed(*(one.show for one in shows[:seen] if one.is_listed), whole=whole))
        told = [change for change, key in owner.hears(made, world.now) if key.startswith("show:")]
        assert sorted(told) == expected(shows, seen, heard, whole=whole, first=first)
        first = first and not whole
    owner.ledger.close()


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["whole", "failed"]), st.sampled_from(["whole", "failed"])), max_size=10))
def test_with_two_sources_a_show_that_both_list_is_never_taken_back_nor_told_again(
    outcomes: list[tuple[str, ...]],
) -> None:
    world, owner = World(), Owner()
    both = [listed(show("a")), listed(show("z", venue=replace(HALL, place=None)))]
    assert owner.hears(world.scan(listed(), listed()), world.now) == []
    told = []
    for outcome in outcomes:
        world.later(days=1)
        scans = [scan if each == "whole" else FAILED for scan, each in zip(both, outcome, strict=True)]
        told += owner.hears(world.scan(*scans), world.now)
    assert [change for change, _ in told] == ["new"] * any("whole" in outcome for outcome in outcomes)
    owner.ledger.close()


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), max_size=10))
def test_a_lesser_source_that_lags_behind_moves_nothing_back(days: list[tuple[bool, bool, bool]]) -> None:
    world, owner = World(), Owner()
    day = behind = seen = DAY
    owner.hears(world.scan(listed(show("a")), listed(show("z"))), world.now)
    moves, told = 0, []
    for number, (moves_now, leader_may_answer, other_answers) in enumerate(days):
        world.later(days=1)
        # After three days without it the other one would lead.
        leader_answers = leader_may_answer or number % 3 == 0
        behind, day = day, day + timedelta(days=1) if moves_now else day
        leader = listed(show("a", day)) if leader_answers else FAILED
        told += owner.hears(world.scan(leader, listed(show("z", behind)) if other_answers else FAILED), world.now)
        if leader_answers and seen != day:
            seen, moves = day, moves + 1
    assert [change for change, _ in told] == ["update"] * moves
    owner.ledger.close()


def days(owner: Owner, world: World, *scans: Scan) -> list[list[str]]:
    """What is heard on each day."""
    heard = []
    for scan in scans:
        heard.append([change for change, _ in owner.hears(world.scan(scan), world.now)])
        world.later(days=1)
    return heard


@pytest.fixture
def owner() -> Owner:
    return Owner()


def test_what_was_announced_before_the_first_scan_is_not_told(owner: Owner) -> None:
    old, new = listed(show("a")), listed(show("a"), show("b", DAY + timedelta(days=1)))
    assert days(owner, World(), old, old, new, new) == [[], [], ["new"], []]


def test_each_artist_has_a_first_scan_of_its_own(owner: Owner) -> None:
    world, other = World(), Artist("Others")
    theirs = replace(show("o"), artist="Others")
    days(owner, world, listed(), listed())
    both = {Artist("The Band"): listed(show("a")), other: listed(theirs)}
    assert [change for change, _ in owner.hears(world.scan_all([both]), world.now)] == ["new"], (
        "theirs were there before"
    )
    both[other] = listed(theirs, replace(theirs, id="o2", day=DAY + timedelta(days=3)))
    assert [change for change, _ in owner.hears(world.scan_all([both]), world.now)] == ["new"]


def test_a_source_that_is_added_tells_of_no_old_shows(owner: Owner) -> None:
    world = World()
    days(owner, world, listed(show("a")), listed(show("a")))
    more = listed(show("z"), show("y", DAY + timedelta(days=1)))
    assert owner.hears(world.scan(listed(show("a")), more), world.now) == []


def test_a_source_that_always_fails_silences_no_other(owner: Owner) -> None:
    world = World()
    assert owner.hears(world.scan(FAILED, listed(show("a"))), world.now) == []
    made = world.scan(FAILED, listed(show("a"), show("b", DAY + timedelta(days=1))))
    assert [change for change, _ in owner.hears(made, world.now)] == ["new"]


def test_a_lost_cache_costs_at_most_one_message_a_show(owner: Owner) -> None:
    world = World()
    days(owner, world, listed(), listed(show("a")), listed(show("b")))
    for scans in ([listed(show("b"))], [listed(show("b"))] * 5):
        world.kept = {}
        heard = list(chain(*days(owner, world, *scans)))
        assert sorted(heard) in ([], ["new"], ["new", "retraction"], ["retraction"])


def test_a_tour_that_vanishes_is_doubted_for_days_and_then_taken_back_once(owner: Owner) -> None:
    tour = listed(*(show(f"t{n}", DAY + timedelta(days=n), PARIS) for n in range(6)))
    heard = days(owner, World(), listed(), tour, *[listed()] * 8)
    assert heard[1] == ["new"] * 6
    assert heard[2:6] == [[]] * 4
    assert list(chain(*heard[6:])) == ["retraction"] * 6


def test_a_show_that_is_over_is_not_taken_back(owner: Owner) -> None:
    world = World()
    days(owner, world, listed(), listed(show()))
    world.now += (DAY - world.now.date()) + timedelta(days=1)
    assert days(owner, world, *[listed()] * 5) == [[]] * 5


def test_a_sale_is_told_once_and_again_when_it_moves(owner: Owner) -> None:
    world = World()
    scans = [listed(), *[listed(show(sales=(sale(hours),))) for hours in (60, 60, 90, 90)]]
    assert days(owner, world, *scans) == [[], ["new", "new"], [], ["update"], []]


def test_a_sale_to_come_is_told_at_the_first_look_and_taken_back_with_its_show(owner: Owner) -> None:
    on, off = listed(show(sales=(sale(48),))), listed(show(status=Status.CANCELLED, sales=(sale(48),)))
    assert days(owner, World(), on, off, off) == [["new"], ["retraction", "retraction"], []]


def test_another_home_and_somebody_else_of_the_name_are_first_looks(owner: Owner) -> None:
    world = World(elsewhere=False)
    tour = [show(f"p{n}", DAY + timedelta(days=n), PARIS) for n in range(3)]
    days(owner, world, listed(*tour))
    world.home = Home(PARIS.place, 60.0, "Paris", "", "FR")
    other = [show(f"o{n}", DAY + timedelta(days=n + 50), PARIS) for n in range(20)]
    theirs = [
        replace(listed(*other, *more), identity="other")
        for more in ([], [show("new", DAY + timedelta(days=90), PARIS)])
    ]
    assert days(owner, world, listed(*tour), *theirs) == [[], [], ["new"]]


def test_the_most_that_can_be_followed_and_found_is_a_valid_gate(owner: Owner) -> None:
    world = World(elsewhere=share(MOST_ARTISTS, 2)[1])
    artists = [Artist(f"\N{PILE OF POO}{n}" * 20) for n in range(MOST_ARTISTS)]
    venue = replace(HALL, name="\N{PILE OF POO}" * 300)
    scans = {one: listed(replace(show(f"{n}", venue=venue), artist=one.name)) for n, one in enumerate(artists)}
    assert owner.hears(world.scan_all([{one: listed() for one in artists}] * 2, ["a", "b"]), world.now) == []
    made = world.scan_all([scans, scans], ["a", "b"])
    heard = owner.hears(made, world.now)
    assert len(heard) == len(made.findings)
    assert len(heard) + made.left_out == MOST_ARTISTS
    assert len(made.scopes) < 2 * MOST_ARTISTS
