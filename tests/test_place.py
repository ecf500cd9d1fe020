"""The place script: a visit is told once, what is not known is no news, and a position is written nowhere."""

from __future__ import annotations

import json
import math
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.beat import Ticked, tick
from heartbeat.model import Action, Verdict
from heartbeat.sources import SourceFailed
from heartbeat.sources.place import (
    SILENCE,
    SKEW,
    STAY,
    Area,
    Fix,
    check_time,
    is_at,
    metres,
    read_areas,
    read_fix,
)
from tests.conftest import NOW, Bench, Place, at

LAT, LON = 52.527431, 13.405377
ROUND = 2 * math.pi * 6_371_009.0
OFFICE = Area("Office", LAT, LON, 150.0)
PLACES = f'[ {{ name = "Office", lat = {LAT}, lon = {LON}, radius = "150m", says = "Ask for the badge?" }} ]'
CONFIG = f"""
[owner]
zone = "Europe/Berlin"
[agent]
kind = "command"
command = ["{{home}}/agent.sh"]
[jobs.place]
[jobs.place.options]
file = "phone/place.json"
places = {PLACES}
"""


def north(distance: float, accuracy: float = 0.0) -> Fix:
    """A position so many metres north of the office."""
    return Fix(LAT + 360 * distance / ROUND, LON, NOW, accuracy)


def fault_of(content: bytes) -> str:
    with pytest.raises(SourceFailed) as caught:
        read_fix(content)
    return str(caught.value)


# Reading


@pytest.mark.parametrize(
    ("text", "accuracy"),
    [
        ('{"lat": 52.5, "lon": -13.25, "at": "2026-06-10T08:00:00Z"}', 0.0),
        (
            '{"lat": 52.5, "lon": -13.25, "at": "2026-06-10T10:00:00+02:00", "accuracy": 20.5, "name": "x", "y": []}',
            20.5,
        ),
        ('{"lat": "52.5", "lon": "-13.25", "at": "2026-06-10T08:00:00Z", "accuracy": "20"}', 20.0),
        ('\ufeff \n{"lat": 52.5, "lon": -13.25, "at": "2026-06-10T08:00:00Z"}\r\n', 0.0),
        ("52.5,-13.25,2026-06-10T08:00:00Z", 0.0),
        (" 52.5 , -13.25 , 2026-06-10T08:00:00Z \n", 0.0),
    ],
)
def test_a_position_is_read_as_json_and_as_a_line(text: str, accuracy: float) -> None:
    assert read_fix(text.encode()) == Fix(52.5, -13.25, NOW, accuracy)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "garbled or half written"),
        (b"\0" * 100, "garbled or half written"),
        (b'{"lat": 52.5, "lon": 13.2, "at": "2026-06-10T0', "garbled or half written"),
        (b'{"lat": 52.5, "lon": 13.2, "at": "2026-06-10T08:00:00Z"}{', "garbled or half written"),
        (b'{"a":' * 20_000, "garbled or half written"),
        (b'{"lat": ' + b"9" * 5000 + b"}", "garbled or half written"),
        (b"\xff\xfe{\0}\0", "garbled or half written"),
        (b"52,5,13,2,2026-06-10T08:00:00Z", "garbled or half written"),
        (b"52.5,13.2", "garbled or half written"),
        (b"[]", "garbled or half written"),
        (b"{}", "no number of degrees"),
        (b'{"lat": 52.5, "at": "2026-06-10T08:00:00Z"}', "no number of degrees"),
        (b'{"lat": NaN, "lon": 13.2, "at": "2026-06-10T08:00:00Z"}', "no number of degrees"),
        (b'{"lat": true, "lon": 13.2, "at": "2026-06-10T08:00:00Z"}', "no number of degrees"),
        (b'{"lat": 90.001, "lon": 13.2, "at": "2026-06-10T08:00:00Z"}', "no number of degrees"),
        (b'{"lat": 52.5, "lon": -180.001, "at": "2026-06-10T08:00:00Z"}', "no number of degrees"),
        (b'{"lat": ' + b"9" * 4000 + b', "lon": 1, "at": "2026-06-10T08:00:00Z"}', "no number of degrees"),
        (b"nan,13.2,2026-06-10T08:00:00Z", "no number of degrees"),
        (b'{"lat": 52.5, "lon": 13.2}', "its time is missing"),
        (b'{"lat": 52.5, "lon": 13.2, "at": 1781078400}', "its time is missing"),
        (b"52.5,13.2,2026-06-10T08:00", "has no offset"),
        (b"52.5,13.2,2026-06-10T08:00:00+0", "has no offset"),
        (b'{"lat": 52.5, "lon": 13.2, "at": "2026-06-10T08:00:00Z", "accuracy": -1}', "did not know"),
        (b'{"lat": 52.5, "lon": 13.2, "at": "2026-06-10T08:00:00Z", "accuracy": "far"}', "did not know"),
        (b'{"lat": 52.5, "lon": 13.2, "at": "2026-06-10T08:00:00Z", "accuracy": Infinity}', "did not know"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_position_is_told_without_its_content(content: bytes, message: str) -> None:
    told = fault_of(content)
    assert told.startswith("cannot ")
    assert message in told
    assert "52.5" not in told
    assert "13.2" not in told


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_a_position_or_a_failed_source(content: bytes) -> None:
    try:
        fix = read_fix(content)
    except SourceFailed:
        return
    assert abs(fix.lat) <= 90
    assert abs(fix.lon) <= 180


@pytest.mark.parametrize("at_degrees", [(90, 180), (-90, -180), (0, 0)])
def test_the_ends_of_the_earth_are_positions(at_degrees: tuple[int, int]) -> None:
    lat, lon = at_degrees
    assert read_fix(f"{lat},{lon},2026-06-10T08:00:00Z".encode()) == Fix(lat, lon, NOW)


@pytest.mark.parametrize(
    ("age", "message"),
    [
        (-SKEW, ""),
        (-SKEW - timedelta(seconds=1), "its time is in the future; set the clock"),
        (timedelta(0), ""),
        (SILENCE, ""),
        (SILENCE + timedelta(seconds=1), "it is 1w old; see why the phone writes no more"),
        (timedelta(days=900), "it is 128w4d old"),
    ],
)
def test_a_position_of_a_wrong_clock_or_of_long_ago_is_a_fault(age: timedelta, message: str) -> None:
    fix = Fix(0, 0, NOW - age)
    if not message:
        check_time(fix, NOW)
        return
    with pytest.raises(SourceFailed, match=message):
        check_time(fix, NOW)


@pytest.mark.parametrize("instant", ["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00"])
def test_an_instant_at_the_end_of_the_calendar_is_only_not_of_now(instant: str) -> None:
    with pytest.raises(SourceFailed):
        check_time(Fix(0, 0, datetime.fromisoformat(instant)), NOW)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "it has no name"),
        ({"name": ""}, "it has no name"),
        ({"name": 3}, "it has no name"),
        ({"says": []}, "says is no text"),
        ({"lat": "x"}, "lat or lon"),
        ({"lon": 181}, "lat or lon"),
        ({"radius": "19m"}, "write 20m to 50km"),
        ({"radius": "50.001km"}, "write 20m to 50km"),
        ({"radius": 150}, "write 20m to 50km"),
        ({"radius": "150"}, "write 20m to 50km"),
        ({"raduis": "150m"}, "'raduis'"),
    ],
)
def test_a_place_that_cannot_be_used_costs_only_itself(table: dict[str, Any], message: str) -> None:
    good = {"name": "Office", "lat": 52.5, "lon": 13.4, "radius": "150m"}
    bad = {**good, "name": "Bar", **table} if table else {}
    areas = read_areas([bad, good, "Home", good])
    assert [area.name for area in areas] == ["place 1", "Office", "place 3", "place 4"]
    assert message in areas[0].fault
    assert areas[1] == Area("Office", 52.5, 13.4, 150.0)
    assert "it is no table" in areas[2].fault
    assert "another 'Office'" in areas[3].fault
    assert not any("52.5" in area.fault.replace("52.52", "") for area in areas)


@pytest.mark.parametrize(("text", "length"), [("20m", 20), ("1.5km", 1500), ("50km", 50_000)])
def test_a_radius_is_metres_or_kilometres(text: str, length: float) -> None:
    (area,) = read_areas([{"name": "x", "lat": "1", "lon": 2, "radius": text}])
    assert (area.radius, area.fault) == (length, "")


# Being there


@pytest.mark.parametrize(
    ("ends", "length"),
    [
        ((52.5200, 13.4050, 52.5200, 13.4050), 0),
        ((0, 0, 0, 1), ROUND / 360),
        ((0, 179.5, 0, -179.5), ROUND / 360),
        ((90, 0, 90, 135), 0),
        ((0, 0, 0, 180), ROUND / 2),
        ((90, 0, -90, 0), ROUND / 2),
        ((52.5200, 13.4050, 48.8566, 2.3522), 877_500),
    ],
)
def test_the_way_between_two_points(ends: tuple[float, float, float, float], length: float) -> None:
    assert metres(*ends) == pytest.approx(length, rel=0.001, abs=0.01)


@pytest.mark.parametrize(
    ("away", "accuracy", "first", "staying"),
    [
        (0, 0, True, True),
        (149.9, 0, True, True),
        (150.1, 0, False, True),
        (224.9, 0, False, True),
        (225.1, 0, False, False),
        (0, 250, True, True),
        (0, 250.1, False, True),
        (400, 176, False, True),
        (400, 174, False, False),
        (5000, 500, False, False),
    ],
)
def test_one_is_there_when_that_is_sure_and_until_it_is_sure_that_one_left(
    away: float, accuracy: float, first: bool, staying: bool
) -> None:
    fix = north(away, accuracy)
    assert (is_at(OFFICE, fix, was_at=False), is_at(OFFICE, fix, was_at=True)) == (first, staying)


# Through the whole beat


class Phone:
    """A phone that writes its place, and heartbeat looking at it."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        bench.place.configure(CONFIG)

    def writes(self, minutes: float, away: float = 0.0, accuracy: float = 10.0) -> None:
        fix = north(away, accuracy)
        told = {"lat": fix.lat, "lon": fix.lon, "at": at(minutes).isoformat(), "accuracy": accuracy}
        self.bench.place.file("phone/place.json", json.dumps(told))

    def ticks(self, minutes: float) -> Ticked:
        self.bench.now = at(minutes)
        house = self.bench.house()
        ticked = tick(house, house.config.jobs["place"], None, self.bench.now)
        assert ticked.judgement is not None
        assert ticked.judgement.verdict in (Verdict.WAKE, Verdict.QUIET), ticked.judgement
        return ticked

    def told(self, minutes: float) -> list[Action]:
        return [decision.action for decision in self.ticks(minutes).plan.decisions]

    def source(self, minutes: float) -> tuple[bool, str]:
        judgement = self.ticks(minutes).judgement
        assert judgement is not None
        assert judgement.gate is not None
        (source,) = judgement.gate.sources
        return source.ok, source.message


@pytest.fixture
def phone(bench: Bench) -> Phone:
    return Phone(bench)


def test_a_visit_is_told_once_and_the_next_one_again(phone: Phone) -> None:
    for minutes, away, expected in (
        (0, 5000, []),
        (10, 20, [Action.WAKE]),
        (20, 40, [Action.DUPLICATE]),
        (30, 160, [Action.DUPLICATE]),  # positions waver
        (40, 140, [Action.DUPLICATE]),
        (50, 5000, [Action.DROP]),  # forgotten
        (60, 160, []),
        (70, 20, [Action.WAKE]),
    ):
        phone.writes(minutes, away)
        assert phone.told(minutes) == expected, minutes


def test_the_owners_words_are_told_as_a_proposal_of_the_owners(phone: Phone) -> None:
    phone.writes(0)
    (decision,) = phone.ticks(0).plan.decisions
    finding = decision.finding
    assert (finding.key, finding.title, finding.body) == ("place:Office", "Ask for the badge?", "at Office")
    assert (finding.origin, finding.source, finding.url) == ("owner", "phone", "")


def test_a_file_that_comes_late_or_not_at_all_does_not_end_a_visit(phone: Phone) -> None:
    phone.writes(0)
    assert phone.told(0) == [Action.WAKE]
    assert phone.source(31) == (True, "the phone last wrote 31m ago")
    (phone.bench.place.folder / "phone/place.json").write_text('{"lat": 52.')
    assert phone.source(40)[0] is False
    (phone.bench.place.folder / "phone/place.json").unlink()
    assert phone.source(50) == (
        False,
        "cannot find 'place.json'; let the phone write it, or correct the option file",
    )
    phone.writes(60)
    assert phone.told(60) == [Action.DUPLICATE]


def test_an_old_position_begins_no_visit(phone: Phone) -> None:
    phone.writes(0)
    assert phone.told(31) == []
    phone.writes(31)
    assert phone.told(61) == [Action.WAKE]


def test_a_shortcut_that_writes_on_arrival_only_is_told_each_day_and_is_no_fault(phone: Phone) -> None:
    stay, day = STAY / timedelta(minutes=1), 24 * 60
    for morning in (0, day, 3 * day):
        phone.writes(morning)
        assert phone.told(morning) == [Action.WAKE]
        assert phone.told(morning + stay) == [Action.DUPLICATE]
        assert phone.told(morning + stay + 1) == [Action.DROP]  # forgotten
        assert phone.source(morning + stay + 2) == (True, "the phone last wrote 6h2m ago")


def test_a_phone_that_writes_no_more_becomes_a_fault(phone: Phone) -> None:
    phone.writes(0)
    silence = SILENCE / timedelta(minutes=1)
    assert phone.source(silence)[0] is True
    assert phone.source(silence + 1)[0] is False


def test_a_cache_that_was_emptied_costs_nothing_while_positions_are_sure(phone: Phone) -> None:
    phone.writes(0)
    assert phone.told(0) == [Action.WAKE]
    note = phone.bench.place.folder / "cache/jobs/place/at.json"
    assert json.loads(note.read_text()) == {"at": ["Office"], "newest": "2026-06-10T08:00:00.000000Z"}
    assert note.stat().st_mode & 0o077 == 0
    for damage in ("", "[", '{"a": 1}', '{"at": 3, "newest": "2026-06-10T08:00:00Z"}', "3", "[[]]", "[" * 20_000):
        note.write_text(damage)
        phone.writes(1)
        assert phone.told(1) == [Action.DUPLICATE]


def test_an_older_file_that_comes_back_neither_ends_nor_begins_a_visit(phone: Phone) -> None:
    for minutes, written, away, expected in (
        (0, 0, 20, [Action.WAKE]),
        (10, 10, 20, [Action.DUPLICATE]),
        (11, 5, 5000, [Action.DUPLICATE]),  # a conflict of the synced folder
        (20, 20, 5000, [Action.DROP]),
        (21, 10, 20, []),
        (22, 22, 5000, []),
        (23, 23, 20, [Action.WAKE]),
    ):
        phone.writes(written, away)
        assert phone.told(minutes) == expected, minutes


def test_an_older_file_keeps_a_visit_no_longer_than_none(phone: Phone) -> None:
    stay = STAY / timedelta(minutes=1)
    phone.writes(0)
    assert phone.told(0) == [Action.WAKE]
    phone.writes(-1)
    assert phone.told(stay) == [Action.DUPLICATE]
    assert phone.told(stay + 1) == [Action.DROP]


def test_a_note_of_a_time_to_come_makes_no_position_an_older_one(phone: Phone) -> None:
    phone.writes(600, 5000)
    assert phone.told(600) == []
    phone.writes(0)
    assert phone.told(0) == [Action.WAKE]


def test_a_dry_run_does_not_begin_a_visit(phone: Phone) -> None:
    phone.writes(0, 20)
    rehearsed = phone.bench.place.data("tick", "place", "--dry-run", "--now", NOW.isoformat())
    assert [finding["action"] for finding in rehearsed["findings"]] == ["wake"]
    phone.writes(1, 160)
    assert phone.told(1) == []


def test_a_position_of_a_wrong_clock_is_refused(phone: Phone) -> None:
    phone.writes(6)
    assert phone.source(0) == (
        False,
        "cannot use the place: its time is in the future; set the clock of the phone, or of this host",
    )


def test_where_one_is_is_written_nowhere_and_printed_nowhere(phone: Phone) -> None:
    place = phone.bench.place
    outside = place.folder.parent / "phone"
    outside.mkdir()
    # The owner's own places stand in the configuration; the positions of the phone, these here, nowhere.
    fix = north(90)
    position = outside / "place.json"
    place.configure(CONFIG.replace("phone/place.json", str(position)))
    told = ""
    for lat, at_instant in ((fix.lat, NOW), (fix.lat, NOW - timedelta(days=1)), (10.987654, NOW), (95.987654, NOW)):
        position.write_text(json.dumps({"lat": lat, "lon": LON, "at": at_instant.isoformat()}))
        phone.ticks(0)
        told += place.call("tick", "place", "--dry-run", "--json", "--now", NOW.isoformat()).out
    for words in (["runs"], ["ledger", "list"], ["ledger", "export"], ["brief"], ["wakes", "list"]):
        told += place.call(*words).out + place.call(*words, "--json").out
    assert "Ask for the badge?" in told
    assert "at no known place" in told
    kept = {
        path: path.read_bytes() for path in place.folder.rglob("*") if path.is_file() and path.name != "config.toml"
    }
    for number in (f"{fix.lat:.3f}", f"{LAT:.3f}", f"{LON:.3f}", "10.98", "95.98"):
        assert number not in told
        assert [path for path, content in kept.items() if number.encode() in content] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "none is configured; list yours in the option places"),
        (f"places = {PLACES}", "no file is configured; name what it writes in the option file"),
        ('file = "x"', "none is configured; list yours in the option places"),
    ],
)
def test_without_a_file_or_places_it_is_quiet_and_says_why(place: Place, options: str, message: str) -> None:
    place.configure(f"[jobs.place]\n[jobs.place.options]\n{options}\n")
    told = place.data("tick", "place", "--dry-run")
    assert (told["verdict"], told["findings"]) == ("quiet", [])
    (source,) = told["sources"]
    assert (source["name"], source["ok"]) == ("phone", False)
    assert message in source["message"]


def test_a_faulty_place_is_a_failed_source_beside_the_others(place: Place) -> None:
    faulty = PLACES.replace("[ {", '[ { name = "Bar", lat = 1, lon = 2, radius = "wide" }, {')
    place.configure(CONFIG.replace(PLACES, faulty))
    place.file("phone/place.json", f"{LAT},{LON},{NOW.isoformat()}")
    told = place.data("tick", "place", "--dry-run", "--now", NOW.isoformat())
    assert [finding["key"] for finding in told["findings"]] == ["place:Office"]
    assert [(source["name"], source["ok"]) for source in told["sources"]] == [("phone", True), ("place 1", False)]


@pytest.mark.parametrize("kind", ["folder", "fifo", "large", "unreadable", "nul"])
def test_what_is_no_file_of_a_phone_is_a_failed_source(place: Place, kind: str) -> None:
    path = place.folder / "thing"
    match kind:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "large":
            path.write_bytes(b" " * 65_537)
        case "unreadable":
            path.symlink_to(path)
    name = "thing\\u0000" if kind == "nul" else "thing"
    place.configure(CONFIG.replace("phone/place.json", name))
    told = place.data("tick", "place", "--dry-run")
    assert told["verdict"] == "quiet"
    assert told["sources"][0]["ok"] is False
    assert told["sources"][0]["message"].startswith("cannot ")


def test_a_file_of_64_kib_is_read(place: Place) -> None:
    place.configure(CONFIG)
    line = f"{LAT},{LON},{NOW.isoformat()}"
    place.file("phone/place.json", line + " " * (65_536 - len(line)))
    told = place.data("tick", "place", "--dry-run", "--now", NOW.isoformat())
    assert told["sources"][0]["ok"] is True


@pytest.mark.parametrize(
    ("age", "fits"), [("1m", True), ("1d", True), ("59s", False), ("1d1s", False), ("soon", False)]
)
def test_the_age_is_bounded(place: Place, tmp_path: Path, age: str, fits: bool) -> None:
    place.configure(f'{CONFIG}max_age = "{age}"\n')
    place.file("phone/place.json", f"{LAT},{LON},{NOW.isoformat()}")
    told = place.data("tick", "place", "--dry-run", "--now", NOW.isoformat())
    assert told["verdict"] == ("wake" if fits else "failed")
