"""Once a week: shows near home of artists like the followed ones, from sources or from the agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from heartbeat.sources.shows.notes import Notes
from heartbeat.sources.shows.region import Home
from heartbeat.sources.shows.show import Artist, Provider, Scan, Show, Status
from heartbeat.sources.shows.weekly import MOST, Week, discover, sweep_finding
from tests.shows.world import BAND, BERLIN, FAILED, HALL, PARIS, show

SUNDAY = datetime(2026, 6, 14, 21, tzinfo=UTC)
LIKE = tuple(Artist(f"Like {n}") for n in range(20))


@dataclass
class Fake:
    """A source that knows who is alike, or what is on, or neither."""

    name: str
    likes: Sequence[Artist] | None = None
    shows: Sequence[Show] | None = None
    asked: int = 0

    def scan(self, artist: Artist) -> Scan:
        return FAILED

    def similar(self, artists: Sequence[Artist]) -> Sequence[Artist] | None:
        self.asked += 1
        return self.likes

    def nearby(self, home: tuple[float, float], radius_km: float, until: date) -> Sequence[Show] | None:
        return self.shows


def at(artist: str, day: int = 20, **more: object) -> Show:
    return replace(show(f"{artist}{day}", date(2026, 6, day)), artist=artist, **more)  # type: ignore[arg-type]


def week(now: datetime = SUNDAY, home: Home = BERLIN) -> Week:
    return Week(now, ZoneInfo("Europe/Berlin"), home, (BAND,))


def found(notes: Notes, *providers: Provider, now: datetime = SUNDAY, home: Home = BERLIN) -> tuple[list[str], bool]:
    findings, able = discover(week(now, home), lambda: providers, lambda artist: artist, notes)
    return [finding["title"].removeprefix("Like those you follow: ") for finding in findings], able


def fresh(folder: Path, now: datetime = SUNDAY) -> Notes:
    return Notes(str(folder), "weekly", "", now)


def test_who_is_alike_and_near_is_found_best_first(tmp_path: Path) -> None:
    shows = [
        at("Like 3"),
        at("LIKE 1"),
        at("The Band"),
        at("Nobody"),
        at("Like 2", status=Status.CANCELLED),
        at("Like 4", venue=PARIS),
        at("Like 5", 1),
        at("Like 1"),
    ]
    titles, able = found(fresh(tmp_path), Fake("a", LIKE), Fake("b", None, shows))
    at_hall = f"Sat 20 Jun 2026, {HALL.name}, Berlin"
    assert (titles, able) == ([f"LIKE 1, {at_hall}", f"Like 3, {at_hall}"], True)


def test_ideas_are_bounded(tmp_path: Path) -> None:
    titles, _ = found(fresh(tmp_path), Fake("a", LIKE, [at(artist.name) for artist in LIKE]))
    assert len(titles) == MOST
    assert titles[0].startswith("Like 0,")


def test_a_week_is_asked_about_once(tmp_path: Path) -> None:
    fake = Fake("a", LIKE, [at("Like 1")])
    assert [len(found(fresh(tmp_path), fake)[0]) for _ in range(2)] == [1, 0]
    assert fake.asked == 1
    monday = SUNDAY + timedelta(hours=2)  # in Berlin
    assert len(found(fresh(tmp_path, monday), fake, now=monday)[0]) == 1


@pytest.mark.parametrize("providers", [(), (Fake("a"),), (Fake("a", LIKE),), (Fake("a", None, [at("Like 1")]),)])
def test_what_no_source_can_tell_is_left_to_the_agent(tmp_path: Path, providers: tuple[Fake, ...]) -> None:
    assert found(fresh(tmp_path), *providers) == ([], False)


def test_a_home_without_coordinates_is_left_to_the_agent(tmp_path: Path) -> None:
    city = Home(city="Berlin")
    assert found(fresh(tmp_path), Fake("a", LIKE, [at("Like 1")]), home=city) == ([], False)


def test_a_source_that_fails_this_week_is_no_reason_to_ask_the_agent(tmp_path: Path) -> None:
    found(fresh(tmp_path), Fake("a", LIKE, []))
    later = SUNDAY + timedelta(days=7)
    assert found(fresh(tmp_path, later), Fake("a"), now=later) == ([], True)
    much_later = SUNDAY + timedelta(days=36)
    assert found(fresh(tmp_path, much_later), Fake("a"), now=much_later) == ([], False)


@pytest.mark.parametrize(
    ("now", "name", "end"),
    [
        (SUNDAY, "2026-W24", datetime(2026, 6, 14, 22, tzinfo=UTC)),
        (SUNDAY + timedelta(hours=1), "2026-W25", datetime(2026, 6, 21, 22, tzinfo=UTC)),
        (datetime(2026, 12, 31, 12, tzinfo=UTC), "2026-W53", datetime(2027, 1, 3, 23, tzinfo=UTC)),
    ],
)
def test_a_week_is_that_of_the_owner(now: datetime, name: str, end: datetime) -> None:
    finding = sweep_finding(week(now), sources=False)
    assert finding["key"] == f"sweep:{name}"
    assert finding["useful_until"] == end


def test_the_request_to_the_agent_says_why_and_for_whom() -> None:
    finding = sweep_finding(week(), sources=False)
    assert (finding["origin"], finding["urgency"], finding["kind"]) == ("owner", "normal", "sweep")
    assert "no source of shows is configured" in finding["body"]
    assert finding["body"].endswith("Followed: The Band")
    assert "no configured source can tell" in sweep_finding(week(), sources=True)["body"]


def test_the_request_fits_whoever_is_followed() -> None:
    artists = [Artist("a" * 150) for _ in range(2_000)]
    body = sweep_finding(replace(week(), artists=artists), sources=False)["body"]
    assert len(body) <= 4_000
    assert body.endswith("and 1981 more")
