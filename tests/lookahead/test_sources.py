"""Where the script looks, how it is told so, and what a source that fails costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from heartbeat.errors import Invalid
from heartbeat.model import Source
from heartbeat.sources import files
from tests.lookahead.support import DTSTART, GOOD, NOW, SCRIPT, Tell, calendar, environment, event, tell


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is empty"),
        (b" \r\n", "it is empty"),
        (b"<!DOCTYPE html><p>Please log in</p>", "it holds no calendar"),
        (b"<p>BEGIN:VCALENDAR</p>", "it holds no calendar"),
    ],
)
def test_what_is_no_calendar_is_a_failure_and_never_an_empty_day(told: Tell, content: bytes, why: str) -> None:
    source = told(content).source
    assert not source.ok
    assert why in source.message


# Sources


def test_without_sources_the_gate_is_quiet_and_says_what_to_do() -> None:
    assert "add one to the option sources" in tell({}).reason


def test_a_failing_source_never_hides_the_others(tmp_path: Path) -> None:
    good = tmp_path / "good.ics"
    good.write_text(calendar(GOOD))
    sources = [
        {"file": str(tmp_path / "none.ics")},
        {"file": str(good)},
        {"vdir": str(tmp_path / "none")},
        {"carldav": "x"},
    ]
    told = tell({"sources": sources})
    assert [finding.title for finding in told.findings] == ["Good one"]
    assert [source.ok for source in told.sources] == [False, True, False, False]
    assert told.reason == "1 event within 1h30m; 3 of 4 sources failed"


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({}, "write exactly one of caldav, file, gws, icalbuddy, url, vdir"),
        ({"file": "a", "url": "https://x"}, "it has 'file', 'url'; write exactly one of"),
        ({"file": ""}, "its file is empty"),
        ({"file": 3}, "write text, or a secret such as"),
        ({"file": "a", "fre": True}, "did you mean 'free'?"),
        ({"file": "a", "user": "b"}, "file knows name, all_day"),
        ("a.ics", "it is no table; write one of"),
        ({"url": "ftp://x"}, "write it like https://host/path"),
        ({"url": "https://"}, "write it like https://host/path"),
        ({"url": "http://[::1"}, "write it like https://host/path"),
        ({"url": {"env": "UNSET_VARIABLE"}}, "cannot find the variable UNSET_VARIABLE"),
        ({"file": "a", "name": 3}, "its name is no text"),
        ({"file": "a", "free": "yes"}, "cannot use free = 'yes'; write true or false"),
        ({"file": "a", "min_attendees": -1}, "cannot use min_attendees = -1"),
    ],
    ids=repr,
)
def test_an_entry_that_cannot_be_used_costs_only_itself_and_says_how_to_write_it(
    tmp_path: Path, entry: object, why: str
) -> None:
    (tmp_path / "me.ics").write_text(calendar(GOOD))
    gate = tell({"sources": [entry, {"file": str(tmp_path / "me.ics")}]})
    assert [source.ok for source in gate.sources] == [False, True]
    assert why in gate.sources[0].message
    assert len(gate.findings) == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"min_attendees": -1}, "cannot use min_attendees = -1; write a number from 0 to 1000"),
        ({"min_attendees": 1001}, "cannot use min_attendees = 1001"),
        ({"min_attendees": True}, "cannot use min_attendees = True"),
        ({"free": 1}, "cannot use free = 1; write true or false"),
        ({"lookahead": "soon"}, "cannot use lookahead = 'soon'; write a duration"),
        ({"lookahead": "0m"}, "cannot use lookahead = '0m'"),
        ({"lookahead": "31d1s"}, "up to 4w3d"),
        ({"lookahead": 90}, "cannot use lookahead = 90"),
        ({"all_day": "yes"}, "cannot use all_day = 'yes'; write true or false"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(Invalid, match=why):
        tell(options)


def test_a_lookahead_of_31_days_is_the_longest(told: Tell) -> None:
    assert len(told(calendar(GOOD), lookahead="31d").events) == 1


def test_a_wrong_option_ends_the_script_with_one_line_and_no_gate() -> None:
    bad = environment({"lookahead": "soon"})
    done = subprocess.run([SCRIPT], env=bad, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("cannot use lookahead = 'soon'")


def test_by_hand_the_script_needs_no_environment(tmp_path: Path) -> None:
    bare = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    done = subprocess.run([SCRIPT], env=bare, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert json.loads(done.stdout)["wakeAgent"] is False
    assert "token" not in json.loads(done.stdout)


def test_sources_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "me.ics").write_text(calendar(event(DTSTART, f"SUMMARY:{folder}", uid=folder)))
    sources = [{"file": str(tmp_path / folder / "me.ics")} for folder in ("a", "b")]
    told = tell({"sources": sources})
    assert [source.name for source in told.sources] == ["me.ics", "me.ics 2"]
    assert len({finding.key for finding in told.findings}) == 2


def test_a_name_is_taken_for_the_source_and_its_key(tmp_path: Path) -> None:
    path = tmp_path / "me.ics"
    path.write_text(calendar(GOOD))
    (finding,) = tell({"sources": [{"file": str(path), "name": "Work"}]}).findings
    assert (finding.source, finding.key.partition(":")[0]) == ("Work", "Work")


def test_a_home_and_a_relative_path_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "me.ics").write_text(calendar(GOOD))
    monkeypatch.setenv("HEARTBEAT_HOME", str(tmp_path))
    assert len(tell({"sources": [{"file": "me.ics"}]}).findings) == 1


def test_a_variable_can_hold_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "me.ics").write_text(calendar(GOOD))
    monkeypatch.setenv("MY_CALENDAR", str(tmp_path / "me.ics"))
    assert len(tell({"sources": [{"file": {"env": "MY_CALENDAR"}}]}).findings) == 1


def test_a_folder_is_one_calendar_without_its_hidden_and_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.ics").write_text(calendar(GOOD))
    for name in (".b.ics", "c.ics.tmp", "color", "displayname"):
        (tmp_path / name).write_text(calendar(event(DTSTART, uid=name)))
    told = tell({"sources": [{"vdir": f"{tmp_path}/"}]})
    assert [finding.title for finding in told.findings] == ["Good one"]
    assert told.sources[0] == Source(tmp_path.name, True, 1, "")


def test_a_broken_file_of_a_folder_costs_only_itself(tmp_path: Path) -> None:
    (tmp_path / "a.ics").write_text(calendar(GOOD))
    (tmp_path / "b.ics").write_text("")
    (tmp_path / "c.ics").mkdir()
    os.mkfifo(tmp_path / "d.ics")
    told = tell({"sources": [{"vdir": str(tmp_path)}]})
    assert len(told.findings) == 1
    assert told.sources[0].ok
    assert "cannot use 'b.ics': it is empty" in told.sources[0].message
    assert "(and 2 more files)" in told.sources[0].message


def test_an_empty_folder_is_an_empty_calendar(tmp_path: Path) -> None:
    assert tell({"sources": [{"vdir": str(tmp_path)}]}).sources[0].ok


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("kind", ["file", "vdir"])
def test_a_source_of_the_size_allowed_is_read_and_no_larger_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, extra: int
) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 1024 * 1024)
    text = calendar(GOOD).encode()
    rest = 1024 * 1024 - len(text) + extra
    if kind == "file":
        (tmp_path / "me.ics").write_bytes(b"X" * (rest - 2) + b"\r\n" + text)
    else:
        other = calendar().encode()
        (tmp_path / "me.ics").write_bytes(text)
        (tmp_path / "other.ics").write_bytes(b"X" * (rest - 2 - len(other)) + b"\r\n" + other)
    (source,) = tell({"sources": [{kind: str(tmp_path / "me.ics" if kind == "file" else tmp_path)}]}).sources
    assert source.ok is (extra == 0)
    assert extra == 0 or "over 1 MiB" in source.message


def test_50_mib_are_read_of_a_file() -> None:
    assert files.MAX_BYTES == 50 * 1024 * 1024


# One meeting in several sources


def two(tmp_path: Path, first: str, second: str) -> dict[str, Any]:
    """Options with two calendars."""
    for name, content in (("work", first), ("team", second)):
        (tmp_path / f"{name}.ics").write_text(content)
    return {"sources": [{"file": str(tmp_path / f"{name}.ics"), "name": name} for name in ("work", "team")]}


SYNC = event(DTSTART, "SUMMARY:Sync")


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        pytest.param([SYNC], [SYNC], ["work"], id="the same"),
        pytest.param([event(DTSTART, "SUMMARY:New name")], [SYNC], ["work"], id="one that is renamed"),
        pytest.param([event("DTSTART:20260610T081500Z", "SUMMARY:Sync")], [SYNC], ["work"], id="one that is moved"),
        pytest.param([event("DTSTART:20260611T080000Z", "SUMMARY:Sync")], [SYNC], [], id="one that is moved away"),
        pytest.param([event(DTSTART, "SUMMARY:Sync", "STATUS:CANCELLED")], [SYNC], [], id="one that is called off"),
        pytest.param([], [SYNC], ["team"], id="one that only the second holds"),
        pytest.param(
            [event(DTSTART, "SUMMARY:Lunch")], [event("DTSTART:20260610T083000Z", "SUMMARY:Call")], ["work", "team"],
            id="two that share no more than a UID",
        ),
    ],
)  # fmt: skip
def test_a_meeting_in_two_sources_is_told_once_and_as_the_first_one_says(
    tmp_path: Path, first: list[str], second: list[str], told: list[str]
) -> None:
    gate = tell(two(tmp_path, calendar(*first), calendar(*second)))
    assert [finding.source for finding in gate.findings] == told
    assert [source.items for source in gate.sources] == [told.count("work"), told.count("team")]


def test_what_a_source_does_not_tell_of_by_choice_another_may(tmp_path: Path) -> None:
    options = two(tmp_path, calendar(SYNC), calendar(SYNC))
    options["sources"][0]["min_attendees"] = 2
    assert [finding.source for finding in tell(options).findings] == ["team"]


def test_a_source_that_fails_or_is_added_later_takes_no_meeting_over(tmp_path: Path) -> None:
    """A meeting that moved from one key to another would be told as called off, and as a new one."""
    cache = tmp_path / "cache"
    options = two(tmp_path, calendar(SYNC), calendar(SYNC))
    (tmp_path / "work.ics").unlink()
    (first,) = tell(options, cache=cache).findings
    (tmp_path / "work.ics").write_text(calendar(SYNC))
    (second,) = tell(options, NOW.replace(minute=46), cache=cache).findings
    (tmp_path / "team.ics").unlink()
    (third,) = tell(options, NOW.replace(minute=47), cache=cache).findings
    assert first.source == "team"
    assert first.key == second.key == third.key
