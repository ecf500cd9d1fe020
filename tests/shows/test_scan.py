"""Asking all sources: one that is broken, slow or wrongly configured costs only itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry
from heartbeat.sources.shows.guard import doubted
from heartbeat.sources.shows.kept import Kept, from_json, to_json
from heartbeat.sources.shows.scan import Asked, Kind, ask_all, entries_of, find_kinds
from heartbeat.sources.shows.scopes import MOST, Question, share
from heartbeat.sources.shows.show import Artist, Outcome, Scan, Venue
from tests.doubles.bench import any_json, run
from tests.shows.world import DAY, FAILED, HALL, listed, show

ARTISTS = [Artist("One"), Artist("Two"), Artist("Three")]


class Fake:
    """A provider that does what the test says."""

    def __init__(self, name: str, act: Callable[[Artist], Scan]) -> None:
        self.name, self._act = name, act

    def scan(self, artist: Artist) -> Scan:
        return self._act(artist)


def kinds(**acts: Callable[[Artist], Scan]) -> dict[str, Kind]:
    """Kinds whose only provider does as is said."""

    def kind(act: Callable[[Artist], Scan]) -> Any:
        return SimpleNamespace(SETTINGS=(), make=lambda entry, ground: Fake(entry.name, act))

    return {name: cast("Kind", kind(act)) for name, act in acts.items()}


def ask(known: dict[str, Kind], cache: Path | None = None, artists: Sequence[Artist] = ARTISTS) -> list[Asked]:
    with run(cache) as ground:
        return ask_all([Entry(name, name, "x") for name in known], artists, known, ground)


def breaks(_: Artist) -> Scan:
    raise ValueError("secret-canary")


def test_every_file_of_the_folder_is_a_kind() -> None:
    assert {"ticketmaster", "bandsintown", "musicbrainz", "listenbrainz", "venue"} <= set(find_kinds())


def test_a_broken_provider_hides_no_other() -> None:
    broken, good = ask(kinds(broken=breaks, good=lambda _: listed(show())))
    assert {scan.outcome for scan in broken.scans.values()} == {Outcome.FAILED}
    assert "secret-canary" not in repr(broken)
    assert all(scan.shows for scan in good.scans.values())


def test_settings_that_cannot_be_used_cost_only_their_source() -> None:
    def refuse(entry: Entry, ground: object) -> Any:
        raise SourceFailed("cannot use it: no")

    known = {"bad": cast("Kind", SimpleNamespace(SETTINGS=(), make=refuse)), **kinds(good=lambda _: listed())}
    bad, good = ask(known)
    assert (bad.fault, bad.scans, len(good.scans)) == ("cannot use it: no", {}, 3)


def test_entries_that_are_none_are_faults_that_name_what_is_known() -> None:
    known = find_kinds()
    (entry,) = entries_of([{"ticketmastr": "x"}], known)
    assert "ticketmaster" in entry.fault
    with run(None) as ground:
        (asked,) = ask_all([entry], ARTISTS, known, ground)
    assert asked.fault == entry.fault


def test_those_who_were_not_reached_are_asked_first_in_the_next_run(tmp_path: Path) -> None:
    order: list[str] = []

    def act(artist: Artist) -> Scan:
        order.append(artist.name)
        return listed() if len(order) == 1 else replace(FAILED, tried=False)

    ask(kinds(a=act), tmp_path)
    ask(kinds(a=act), tmp_path)
    assert order == ["One", "Two", "Three", "Two", "Three", "One"]


def test_an_artist_who_always_fails_is_not_the_first_for_ever(tmp_path: Path) -> None:
    order: list[str] = []

    def act(artist: Artist) -> Scan:
        """The second is the last for whom there is time; One fails always."""
        order.append(artist.name)
        number = len(order) % 3
        return replace(FAILED, tried=False) if number == 0 else FAILED if artist.name == "One" else listed()

    for _ in range(2):
        ask(kinds(a=act), tmp_path)
    assert order == ["One", "Two", "Three", "Three", "One", "Two"]


def test_one_source_takes_no_more_than_its_share_of_the_time() -> None:
    deadlines = []

    def make(entry: Entry, ground: Any) -> Any:
        deadlines.append(ground.deadline)
        return Fake(entry.name, lambda _: listed())

    known = {name: cast("Kind", SimpleNamespace(SETTINGS=(), make=make)) for name in "ab"}
    with run(None, seconds=1_000) as ground:
        start = monotonic()
        ask_all([Entry(name, name, "x") for name in "ab"], [], known, ground)
    assert deadlines[0] == pytest.approx(start + 500, abs=100)
    assert deadlines[1] == pytest.approx(start + 1_000, abs=100)


def test_an_id_that_another_source_knows_resolves_a_name() -> None:
    def act(artist: Artist) -> Scan:
        return listed(show()) if artist.mbid else Scan(Outcome.UNRESOLVED)

    known = kinds(a=act)
    knowing = Fake("b", lambda _: listed())
    knowing.identify = lambda artist: replace(artist, mbid="id")  # type: ignore[attr-defined]
    known["b"] = cast("Kind", SimpleNamespace(SETTINGS=(), make=lambda entry, ground: knowing))
    first, _ = ask(known)
    assert {scan.outcome for scan in first.scans.values()} == {Outcome.SCANNED}
    assert list(first.scans) == ARTISTS


@given(st.text(min_size=1, max_size=150), st.text(min_size=1, max_size=150))
def test_a_scope_is_short_plain_and_its_own(source: str, ident: str) -> None:
    asked = Question(source, ident)
    near, far = asked.scope(near=True), asked.scope(near=False)
    assert near != far
    assert asked.scope(near=False) != Question(source, f"{ident} elsewhere").scope(near=True)
    for scope in (near, far):
        assert len(scope) <= 70
        assert scope.isascii()
        assert scope.isprintable()
    for other in (Question(source, ident + "x"), Question(source, ident, "id"), Question(source, ident, home="Berlin")):
        assert near != other.scope(near=True)
    assert far == Question(source, ident, home="Berlin").scope(near=False), "elsewhere is not asked about a home"


@pytest.mark.parametrize(
    ("artists", "sources", "most", "room"),
    [
        (0, 0, 0, True),
        (2_000, 1, 2_000, True),
        (2_000, 2, 2_000, False),
        (1_250, 2, 1_250, True),
        (1_251, 2, 1_251, False),
        (2_000, 3, MOST // 3, False),
    ],
)
def test_scopes_stay_below_their_limit(artists: int, sources: int, most: int, room: bool) -> None:
    assert share(artists, sources) == (most, room)


KEPT = Kept("show:1", ("tm:a",), "tm", DAY, HALL, "token", "2026-09-12|token", sources=("tm",), sales={"public": "x"})


def test_what_is_remembered_is_read_back() -> None:
    undated = replace(
        KEPT, key="show:2", day=None, venue=Venue(), near=True, gone={"tm": "2026-06-10"}, heard=DAY, postponed=True
    )
    assert from_json(json.loads(json.dumps(to_json([KEPT, undated])))) == (KEPT, undated)


@given(any_json)
def test_a_spoilt_memory_is_forgotten(value: Any) -> None:
    for spoilt in (value, [value], [{**to_json([KEPT])[0], "day": value, "venue": value, "gone": value, "ids": value}]):
        for kept in from_json(spoilt):
            assert kept.key
            doubted({"a": [kept]}, "tm", datetime(2026, 6, 10, tzinfo=UTC))


def test_a_loss_without_a_date_is_no_doubt() -> None:
    lost = [replace(KEPT, sources=(), gone={"tm": day}) for day in ("", "soon", "2026-06-07", "2026-06-08")]
    now = datetime(2026, 6, 10, tzinfo=UTC)
    assert doubted({"a": lost * 4}, "tm", now) == {"a"}
    assert doubted({"a": lost[:3] * 4}, "tm", now) == frozenset()
