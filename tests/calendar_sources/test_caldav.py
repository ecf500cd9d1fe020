"""CalDAV against a real server, Radicale: what is found and shown, what a failure costs, and that nothing leaks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import tenacity

from heartbeat.sources import SourceFailed, fetch
from heartbeat.sources.calendars import caldav
from heartbeat.sources.calendars.asking import Ics, Unchanged
from heartbeat.sources.entries import Entry
from heartbeat.sources.expansion import Span, expand
from tests.caldav_servers import PASSWORD, USER, Radicale, radicale
from tests.calendar_sources.asking import NOW, asking, entry, event, ics, see, starts

CASES_FOLDER = Path(__file__).parents[1] / "calendars"
CASES = [json.loads(line) for line in (CASES_FOLDER / "cases.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def running() -> Iterator[Radicale]:
    with radicale() as server:
        yield server


@pytest.fixture
def server(running: Radicale) -> Iterator[Radicale]:
    yield running
    running.clear()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The method of each request that goes out."""
    methods: list[str] = []
    fetch_all = fetch.Fetcher.fetch_all

    def note(self: fetch.Fetcher, requests: Mapping[str, fetch.Request], seconds: float = 20.0) -> Any:
        methods.extend(request.method for request in requests.values())
        return fetch_all(self, requests, seconds)

    monkeypatch.setattr(fetch.Fetcher, "fetch_all", note)
    return methods


def mine(place: str, **more: Any) -> Entry:
    return entry("caldav", place, **{"user": USER, "password": PASSWORD, **more})


def read(place: str, known: str = "", **more: Any) -> Ics:
    content = caldav.read(mine(place, **more), asking(known=known))
    assert isinstance(content, Ics)
    return content


def uids(contents: Sequence[bytes]) -> list[str]:
    lines = b"\n".join(contents).decode().splitlines()
    return sorted(line.removeprefix("UID:") for line in lines if line.startswith("UID:"))


# Finding calendars


def test_calendars_are_found_from_the_server_the_home_or_one_of_them(server: Radicale) -> None:
    work = server.calendar("Work", ics(event("a")))
    server.calendar("Home", ics(event("b")))
    server.calendar("Tasks", kind="VTODO")
    for place in (server.root, server.root.rstrip("/"), server.home, server.home.rstrip("/")):
        assert uids(read(place).contents) == ["a", "b"]
    for place in (work, work.rstrip("/")):
        assert uids(read(place).contents) == ["a"]


def test_user_and_password_may_stand_in_the_address(server: Radicale) -> None:
    server.calendar("Work", ics(event("a")))
    address = server.root.replace("//", f"//{USER}:{PASSWORD}@")
    content = caldav.read(entry("caldav", address), asking())
    assert isinstance(content, Ics)
    assert uids(content.contents) == ["a"]


def test_calendars_are_chosen_by_name_and_a_missing_one_is_reported(server: Radicale) -> None:
    server.calendar("Work", ics(event("a")))
    server.calendar("Home", ics(event("b")))
    assert uids(read(server.root, calendars=["work"]).contents) == ["a"]
    partly = read(server.root, calendars=["Work", "Gone"])
    assert uids(partly.contents) == ["a"]
    assert partly.faults == ("cannot find the calendar 'Gone'; the server has 'Home', 'Work'",)
    with pytest.raises(SourceFailed, match="cannot find the calendar 'Gone'"):
        read(server.root, calendars=["Gone"])


@pytest.mark.parametrize("names", ["Work", [""], [3], {"env": "X"}])
def test_names_that_cannot_be_used_say_how_to_write_them(names: object) -> None:
    with pytest.raises(SourceFailed, match="cannot use calendars; write a list of names"):
        caldav.read(mine("https://example.org/", calendars=names), asking())


def test_a_server_without_a_calendar_for_events_is_a_failure(server: Radicale) -> None:
    tasks = server.calendar("Tasks", kind="VTODO")
    for place in (server.root, tasks):
        with pytest.raises(SourceFailed, match="cannot find a calendar there"):
            read(place)


def test_a_calendar_without_events_in_the_span_is_an_empty_day(server: Radicale) -> None:
    work = server.calendar("Work", ics(event("old", "20200101T080000Z")))
    assert read(work).contents == ()
    assert see(mine(work)).rows == []


# What is shown


def test_only_what_matters_of_1500_items_is_sent(server: Radicale) -> None:
    work = server.calendar("Work")
    everything = [
        event(f"e{number}", f"2027{number % 12 + 1:02}{number % 28 + 1:02}T080000Z") for number in range(1498)
    ]
    everything += [event("soon"), event("weekly", "20200101T080000Z", "RRULE:FREQ=DAILY")]
    assert server.call("PUT", work, ics(*everything)) == 201
    assert uids(read(work).contents) == ["soon", "weekly"]
    assert starts(see(mine(work))) == [("soon", "08:00"), ("weekly", "08:00")]


@pytest.mark.parametrize(
    ("zone", "wall"), [("Europe/Berlin", "10"), ("America/Los_Angeles", "01"), ("Pacific/Auckland", "20")]
)
def test_a_floating_time_is_meant_in_the_owners_zone(server: Radicale, zone: str, wall: str) -> None:
    work = server.calendar("Work", ics(event("floating", f"20260610T{wall}0000")))
    assert starts(see(mine(work), home=ZoneInfo(zone))) == [("floating", "08:00")]


SERIES = ";TZID=Europe/Berlin:20260601T100000"
DAILY = "RRULE:FREQ=DAILY"


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        pytest.param([event("s", SERIES, DAILY)], [("s", "08:00")], id="series"),
        pytest.param(
            [
                event("s", SERIES, DAILY),
                event("s", ";TZID=Europe/Berlin:20260610T103000", "RECURRENCE-ID;TZID=Europe/Berlin:20260610T100000"),
            ],
            [("s", "08:30")],
            id="override",
        ),
        pytest.param(
            [
                event("s", SERIES, DAILY),
                event(
                    "s",
                    ";TZID=Europe/Berlin:20260605T110000",
                    "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20260605T100000",
                ),
            ],
            [("s", "09:00")],
            id="this and future",
        ),
        pytest.param(
            [event("s", SERIES, DAILY, "EXDATE;TZID=Europe/Berlin:20260610T100000")], [], id="excluded"
        ),
        pytest.param([event("day", ";VALUE=DATE:20260610")], [], id="all-day"),
    ],
)  # fmt: skip
def test_series_are_expanded_here(server: Radicale, events: list[str], shown: list[tuple[str, str]]) -> None:
    work = server.calendar("Work", ics(*events))
    assert starts(see(mine(work))) == shown


def test_a_deleted_event_is_gone_and_a_moved_one_has_its_new_start(server: Radicale, tmp_path: Path) -> None:
    work = server.calendar("Work", ics(event("a")), ics(event("b")))
    assert starts(see(mine(server.root), tmp_path)) == [("a", "08:00"), ("b", "08:00")]
    server.call("DELETE", f"{work}0.ics")
    server.call("PUT", f"{work}1.ics", ics(event("b", "20260610T083000Z")))
    assert starts(see(mine(server.root), tmp_path)) == [("b", "08:30")]


def test_what_has_not_changed_costs_one_question(server: Radicale, asked: list[str]) -> None:
    work = server.calendar("Work", ics(event("a")))
    for place in (server.root, server.home, work):
        first = read(place)
        asked.clear()
        again = caldav.read(mine(place), asking(known=first.fingerprint))
        assert (again, asked) == (Unchanged(first.fingerprint), ["PROPFIND"])
    server.call("PUT", f"{work}new.ics", ics(event("new")))
    assert uids(read(server.root, first.fingerprint).contents) == ["a", "new"]


def test_a_change_outside_the_span_changes_nothing(server: Radicale) -> None:
    work = server.calendar("Work", ics(event("a")))
    first = read(work)
    server.call("PUT", f"{work}far.ics", ics(event("far", "20290101T080000Z")))
    second = caldav.read(mine(work), asking(known=first.fingerprint))
    assert isinstance(second, Unchanged)
    assert second.fingerprint not in ("", first.fingerprint)
    assert caldav.read(mine(work), asking(known=second.fingerprint)) == second


@pytest.mark.parametrize(
    "known", ["x", "[]", "{}", '{"at": 3, "versions": "", "digest": ""}', '{"at": [["//x/", "1"]]}']
)
def test_what_is_known_may_be_damaged(server: Radicale, known: str) -> None:
    server.calendar("Work", ics(event("a")))
    assert uids(read(server.root, known).contents) == ["a"]


def test_calendars_that_have_moved_are_found_again(server: Radicale) -> None:
    server.calendar("Work", ics(event("a")))
    first = read(server.root)
    elsewhere = json.dumps({**json.loads(first.fingerprint), "at": [["./elsewhere/", "1"]]})
    assert caldav.read(mine(server.root), asking(known=elsewhere)) == Unchanged(first.fingerprint)


# Failures


@pytest.mark.parametrize(
    ("secrets", "why"),
    [
        ({"password": "wrong"}, "answers 401, it wants other credentials"),
        ({"user": "bob"}, "answers 401"),
        ({"user": "", "password": ""}, "answers 401"),
        ({"password": {"env": "NOT_SET"}}, "cannot find the variable NOT_SET"),
        ({"token": "wrong"}, "answers 401"),
    ],
)
def test_a_wrong_password_is_a_failure(server: Radicale, secrets: dict[str, Any], why: str) -> None:
    server.calendar("Work", ics(event("a")))
    with pytest.raises(SourceFailed, match=why):
        read(server.root, **secrets)


@pytest.mark.parametrize("path", ["nobody/", f"{USER}/gone/", "a/b/c/d/"])
def test_a_wrong_address_is_a_failure_and_never_the_other_calendars(server: Radicale, path: str) -> None:
    server.calendar("Work", ics(event("a")))
    with pytest.raises(SourceFailed, match="cannot f"):
        read(server.root + path)


def test_a_calendar_that_vanishes_is_reported_and_its_events_stay_a_while(server: Radicale, tmp_path: Path) -> None:
    server.calendar("Work", ics(event("a")))
    gone = server.calendar("Home", ics(event("b")))
    both = mine(server.root, calendars=["Work", "Home"])
    assert starts(see(both, tmp_path)) == [("a", "08:00"), ("b", "08:00")]
    assert server.call("DELETE", gone) == 200
    seen = see(both, tmp_path, NOW + timedelta(minutes=1))
    assert starts(seen) == [("a", "08:00"), ("b", "08:00")]
    assert not seen.whole
    assert "cannot find the calendar 'Home'" in " ".join(seen.warnings)


def test_a_server_that_is_killed_leaves_the_last_good_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_growing", tenacity.wait_none())
    with radicale() as server:
        server.calendar("Work", ics(event("a")))
        assert starts(see(mine(server.root), tmp_path)) == [("a", "08:00")]
        server.stop()
        seen = see(mine(server.root), tmp_path, NOW + timedelta(minutes=10))
    assert starts(seen) == [("a", "08:00")]
    assert "its copy from 10m ago was read" in seen.fault
    assert str(server.port) not in seen.fault


def test_no_secret_is_written_or_told(
    server: Radicale, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    server.calendar("Work", ics(event("a")))
    said = [str(see(mine(place, password=word), tmp_path)) for place, word in [
        (server.root, PASSWORD), (server.root, f"{PASSWORD}x"), (f"{server.root}{PASSWORD}/", PASSWORD)
    ]]  # fmt: skip
    said += [caplog.text, *capfd.readouterr()]
    kept = [path.read_bytes().decode() + path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    assert not [text for text in said + kept if PASSWORD in text]


# The same answers as from a file


NOT_KEPT = {
    "027-negative-count.ics": "Radicale finds no instance of such a rule",
    "085-x-wr-timezone-floating.ics": "X-WR-TIMEZONE belongs to the file, of which a server keeps only the events",
}


def expanded(contents: Sequence[bytes], case: Mapping[str, Any]) -> list[tuple[str, datetime]]:
    now = datetime.fromisoformat(case["now"]).astimezone(UTC)
    until = now + timedelta(minutes=case["lookahead_minutes"])
    owner = (case["owner"].lower(),) if case["owner"] else ()
    found = expand(contents, Span(now, until, ZoneInfo(case["home_tz"]), owner))
    return [(one.title, one.start) for one in found.occurrences if not (one.all_day or one.cancelled or one.declined)]


def test_a_calendar_says_on_a_server_what_it_says_in_a_file(server: Radicale) -> None:
    kept, different = 0, []
    for number, case in enumerate(CASES):
        path = CASES_FOLDER / case["file"]
        if not path.is_file() or case["file"] in NOT_KEPT:
            continue
        address = server.calendar(f"case{number}")
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        if server.call("PUT", address, text) >= 400:
            continue  # the server refuses what is broken
        now = datetime.fromisoformat(case["now"]).astimezone(UTC)
        ask = replace(asking(), now=now, since=now, until=now + timedelta(minutes=case["lookahead_minutes"]))
        content = caldav.read(mine(address), ask)
        assert isinstance(content, Ics)
        kept += 1
        by_server, by_file = expanded(content.contents, case), expanded([path.read_bytes()], case)
        if by_server != by_file:
            different.append((case["file"], by_server, by_file))
    assert kept >= 30
    assert different == []
