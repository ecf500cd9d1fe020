"""The calendars of macOS through a stand-in for `icalBuddy`: its text is read, and no title forges an event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources import SourceFailed
from heartbeat.sources.calendars import icalbuddy
from heartbeat.sources.calendars.asking import Listed
from heartbeat.sources.calendars.icalbuddy import Marks
from tests.calendar_sources.asking import asking, entry, install, is_clean, path_with, see, starts

MARKS = Marks("E" * 24, "P" * 24)


class Mac:
    """The calendars that the stand-in shows."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "events.json"

    def has(self, *events: dict[str, Any], **more: Any) -> None:
        self.place.write_text(json.dumps({"events": events, **more}))


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mac:
    made = Mac(tmp_path)
    monkeypatch.setenv("PATH", path_with(install(tmp_path, "icalBuddy", "icalbuddy.py")))
    monkeypatch.setenv("ICALBUDDY_EVENTS", str(made.place))
    return made


def happens(start: str, end: str, title: str = "Meeting", **more: Any) -> dict[str, Any]:
    return {"title": title, "uid": f"uid of {title}", "start": start, "end": end, **more}


TEN = happens("2026-06-10T10:00:00+02:00", "2026-06-10T10:30:00+02:00")
ELEVEN = happens("2026-06-10T11:00:00+02:00", "2026-06-10T11:00:00+02:00", "Point", calendar="Work")


def read(place: str = "all", **settings: Any) -> Listed:
    content = icalbuddy.read(entry("icalbuddy", place, **settings), asking())
    assert isinstance(content, Listed)
    return content


def test_meetings_are_shown(mac: Mac) -> None:
    mac.has(TEN, ELEVEN)
    assert starts(see(entry("icalbuddy", "all"))) == [("Meeting", "08:00"), ("Point", "09:00")]


@pytest.mark.parametrize(
    ("event", "start", "end", "all_day"),
    [
        (TEN, "10 08:00", "10 08:30", False),
        (ELEVEN, "10 09:00", None, False),
        (happens("2026-06-10T23:00:00+02:00", "2026-06-11T01:00:00+02:00"), "10 21:00", "10 23:00", False),
        (happens("2026-06-10T00:00:00+02:00", "2026-06-11T00:00:00+02:00", all_day=True), "09 22:00", "10 22:00", True),
        (happens("2026-06-09T00:00:00+02:00", "2026-06-12T00:00:00+02:00", all_day=True), "08 22:00", "11 22:00", True),
        (happens("2026-06-10T04:00:00-04:00", "2026-06-10T05:00:00-04:00"), "10 08:00", "10 09:00", False),
    ],
)  # fmt: skip
def test_its_dates_are_read(mac: Mac, event: dict[str, Any], start: str, end: str | None, all_day: bool) -> None:
    mac.has(event)
    content = icalbuddy.read(entry("icalbuddy", "all"), asking(hours=48))
    assert isinstance(content, Listed)
    (one,) = content.occurrences
    assert (f"{one.start:%d %H:%M}", one.all_day) == (start, all_day)
    assert (f"{one.end:%d %H:%M}" if one.end else None) == end


@pytest.mark.parametrize("word", [" um ", " ", " kl. ", "、", " à "])
def test_its_dates_are_read_in_every_language(mac: Mac, word: str) -> None:
    night = happens("2026-06-10T23:00:00+02:00", "2026-06-11T01:00:00+02:00", "Night")
    mac.has(TEN, night, at=word)
    content = icalbuddy.read(entry("icalbuddy", "all"), asking(hours=24))
    assert isinstance(content, Listed)
    assert [f"{one.start:%H:%M} {one.end:%H:%M}" for one in content.occurrences] == ["08:00 08:30", "21:00 23:00"]


def test_the_hour_that_comes_twice_is_told_apart(mac: Mac) -> None:
    first = happens("2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00")
    mac.has(first)
    content = icalbuddy.read(entry("icalbuddy", "all"), asking(hours=24 * 150))
    assert isinstance(content, Listed)
    (one,) = content.occurrences
    assert f"{one.start:%H:%M} {one.end:%H:%M}" == "00:30 01:30"


def test_an_event_without_a_title_keeps_its_uid(mac: Mac) -> None:
    mac.has({**TEN, "title": ""})
    (one,) = read().occurrences
    assert (one.title, one.uid, one.slot) == ("", "uid of Meeting", "20260610T080000Z")


def test_calendars_are_chosen_by_name(mac: Mac) -> None:
    mac.has(TEN, ELEVEN)
    assert [one.title for one in read("Work").occurrences] == ["Point"]
    assert len(read("Work", calendars=["Home"]).occurrences) == 2
    assert len(read("Work", calendars=["all"]).occurrences) == 2
    with pytest.raises(SourceFailed, match="cannot name a calendar with a comma"):
        read("Work, Home")


def test_the_owners_configuration_file_changes_nothing(mac: Mac) -> None:
    mac.has(TEN, config={"-df": "%d.%m.", "-b": "* ", "-ps": "|, |"})
    assert len(read().occurrences) == 1


def test_a_missing_permission_is_a_failure_with_its_remedy(mac: Mac) -> None:
    mac.has(TEN, refused=True)
    with pytest.raises(SourceFailed, match="System Settings, Privacy & Security, Calendars"):
        read()


def test_an_empty_day_is_an_empty_day(mac: Mac) -> None:
    mac.has()
    content = read()
    assert (content.occurrences, content.whole) == ((), True)


def test_any_other_end_is_a_failure(mac: Mac) -> None:
    mac.has(TEN, status=3)
    with pytest.raises(SourceFailed, match="icalBuddy ends with status 3; run it by hand"):
        read()


def test_without_icalbuddy_the_failure_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceFailed, match="cannot start icalBuddy: no such program in PATH"):
        read()


@pytest.mark.parametrize("text", ["* Meeting\n    today at 10:00\n", "USAGE: icalBuddy [options] <command>", "error\n"])
def test_text_that_is_not_as_asked_for_is_a_failure(text: str) -> None:
    with pytest.raises(SourceFailed, match="it ignores the formats asked for"):
        icalbuddy.parse(text, MARKS, asking())


BLOCK = f"{MARKS.event}2026-06-10 at 10:00:00 +0200{MARKS.part}uid{MARKS.part}"


@pytest.mark.parametrize(
    "when",
    ["", "today", "2026-13-01", "2026-06-10 at 25:00:00 +0200", "2026-06-10 at 10:00:00 +9999", "soon - later",
     "0001-01-01 at 00:00:00 +1400"],
)  # fmt: skip
def test_a_broken_event_costs_only_itself(when: str) -> None:
    bad = f"{MARKS.event}{when}{MARKS.part}uid{MARKS.part}x\n"
    content = icalbuddy.parse(bad + BLOCK + "Good\n", MARKS, asking())
    assert [one.title for one in content.occurrences] == ["Good"]
    assert (content.whole, content.warnings) == (False, ("an event without a usable start was left out",))
    with pytest.raises(SourceFailed, match="no event in it has a date as asked for"):
        icalbuddy.parse(bad, MARKS, asking())


@given(st.text())
def test_no_title_forges_an_event_or_moves_one(title: str) -> None:
    content = icalbuddy.parse(f"{BLOCK}{title}\n{BLOCK}Good\n", MARKS, asking())
    assert len(content.occurrences) == 2
    assert len({one.start for one in content.occurrences}) == 1
    assert is_clean(content.occurrences[0].title)


def test_the_marks_differ_in_every_run_and_hostile_titles_stay_titles(mac: Mac) -> None:
    forged = "• Pay Eve\n    2026-06-10 at 10:05:00 +0200\n|• x|, EEEE\\n"
    mac.has({**TEN, "title": forged}, ELEVEN)
    titles = [one.title for one in read().occurrences]
    assert len(titles) == 2
    assert titles[0].startswith("• Pay Eve 2026-06-10")
