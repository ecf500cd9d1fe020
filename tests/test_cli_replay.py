"""`heartbeat replay` over a real ledger: what differs under another configuration, and that nothing is touched."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from heartbeat.beat import rules_for
from heartbeat.clock import utc_now
from heartbeat.decide import decide_again
from heartbeat.model import Reply
from tests.conftest import CONFIG, NOW, Bench, Place, at

SINCE = ("--since", "2026-06-10T00:00:00Z", "--until", "2026-06-11T00:00:00Z")
QUIET = '[quiet]\nwindows = [{ start = "09:55", end = "11:30" }]\n'  # Berlin; NOW is 10:00 there


@pytest.fixture
def lived(place: Place, bench: Bench) -> Place:
    """Three runs, told at 10:00, 10:10 (with one for the brief) and 11:40."""
    for minutes, *findings in ((0, {}), (10, {"key": "b"}, {"key": "c", "urgency": "low"}), (100, {"key": "d"})):
        place.finds(*findings)
        for wake_id in bench.tick(minutes).wakes:
            bench.ledger.begin_wake(wake_id, "1:1", at(minutes))
            bench.ledger.settle_wake(wake_id, Reply(), (), at(minutes))
    return place


def try_out(place: Place, more: str, name: str = "try.toml") -> Path:
    """Another configuration beside the present one."""
    return place.file(name, (CONFIG + more).replace("{home}", str(place.folder)))


def fates(changes: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [
        (each["key"], each["was"]["end"], f"{each['would']['end']} {each['would']['at'][11:16]}") for each in changes
    ]


def test_the_present_rules_change_nothing(lived: Place) -> None:
    data = lived.data("replay", *SINCE)
    assert (data["runs"], data["findings"], data["changes"], data["held"]) == (3, 4, [], [])
    assert data["was"] == data["would"]
    assert data["was"] == {
        "wakes": 3,
        "notices": 0,
        "held": 0,
        "brief": 1,
        "dropped": 0,
        "interruptions_per_day": 3.0,
        "busiest_hour": {"since": NOW.isoformat(), "interruptions": 2},
    }
    text = lived.call("replay", *SINCE).out
    assert "3 runs, 4 findings" in text
    assert "nothing would have been otherwise" in text


def test_another_configuration_shows_what_would_have_been_otherwise(lived: Place) -> None:
    file = try_out(lived, QUIET)
    data = lived.data("replay", *SINCE, "--config", str(file))
    assert fates(data["changes"]) == [("0", "wake", "wake 09:30"), ("b", "wake", "wake 09:30")]
    first = data["changes"][0]
    assert first == {
        "at": NOW.isoformat(),
        "job": "check",
        "key": "0",
        "finding_id": first["finding_id"],
        "title": "Thing 0",
        "urgency": "normal",
        "was": {"end": "wake", "at": NOW.isoformat(), "held": False, "rule": "wake", "reason": first["was"]["reason"]},
        "would": {
            "end": "wake",
            "at": at(90).isoformat(),
            "held": True,
            "rule": "quiet_hours",
            "reason": "quiet hours until 11:30",
        },
    }
    assert (data["was"]["wakes"], data["would"]["wakes"], data["would"]["held"]) == (3, 2, 2)


def test_each_difference_is_a_line_for_people_in_the_owners_zone(lived: Place) -> None:
    lines = lived.call("replay", *SINCE, "--config", str(try_out(lived, QUIET))).out.splitlines()
    assert [re.split(r"\s{2,}", line) for line in lines if "Thing" in line] == [
        ["2026-06-10 10:00:00", "check", "Thing 0", "wake", "-> held, wake 11:30", "quiet hours until 11:30"],
        ["2026-06-10 10:10:00", "check", "Thing 0", "wake", "-> held, wake 11:30", "quiet hours until 11:30"],
    ]
    assert re.split(r"\s{2,}", next(line for line in lines if line.startswith("would be"))) == [
        *("would be", "2", "0", "2", "1", "0", "2.0", "2 from 2026-06-10 11:30:00")
    ]


def test_what_was_held_is_compared_with_what_became_of_it(place: Place, bench: Bench) -> None:
    place.configure(CONFIG + QUIET)
    place.finds({})
    bench.tick(0)
    house = bench.house()
    bench.ledger.decide_held(
        lambda held, past: decide_again(held, past, lambda job: rules_for(house, job), at(90)), at(90)
    )
    assert place.data("replay", *SINCE)["changes"] == []
    (change,) = place.data("replay", *SINCE, "--config", str(try_out(place, "")))["changes"]
    assert (change["was"]["end"], change["was"]["held"], change["was"]["at"]) == ("wake", True, at(90).isoformat())
    assert (change["would"]["end"], change["would"]["held"], change["would"]["at"]) == ("wake", False, NOW.isoformat())
    line = next(line for line in place.call("replay", *SINCE, "--config", "try.toml").err.splitlines())
    assert "try.toml" in line  # from another folder it is not there


def test_what_is_held_at_the_end_is_listed(place: Place, bench: Bench) -> None:
    place.configure(CONFIG + QUIET)
    place.finds({})
    bench.tick(0)
    data = place.data("replay", "--since", "2026-06-10T00:00:00Z", "--until", at(60).isoformat())
    assert [(each["key"], each["would"]["end"]) for each in data["held"]] == [("0", "held")]
    text = place.call("replay", "--since", "2026-06-10T00:00:00Z", "--until", at(60).isoformat()).out
    assert "still held at the end:" in text


def test_a_job_that_is_not_there_any_more_tells_nothing(lived: Place) -> None:
    file = lived.file("none.toml", "[agent]\nkind = 'none'\n[jobs.check]\nevery = '1h'\nenabled = false\n")
    data = lived.data("replay", *SINCE, "--config", str(file))
    assert {each["would"]["rule"] for each in data["changes"]} == {"job"}
    assert data["would"]["wakes"] == 0
    assert "These jobs do not run under these rules: check." in data["notes"]


def test_a_duration_counts_back_from_now(place: Place) -> None:
    place.finds({})
    place.data("tick", "check")
    data = place.data("replay", "--since", "1h")
    assert (data["runs"], data["was"]["wakes"]) == (1, 1)
    assert any(note.startswith("Agents are taken to accept") for note in data["notes"])


def test_what_was_not_recorded_is_said(lived: Place) -> None:
    notes = lived.data("replay", *SINCE)["notes"]
    assert notes[0].startswith("Nothing is recorded before 2026-06-10T08:00:00+00:00")


def test_replay_changes_nothing_and_starts_nothing(lived: Place, bench: Bench) -> None:
    def dump() -> list[str]:
        with bench.ledger._database.outside() as db:
            return list(db.iterdump())

    before, files = dump(), sorted(map(str, lived.folder.rglob("*")))
    calls, runs = len(lived.agent_calls), (lived.folder / "runs.log").read_text()
    lived.call("replay", *SINCE, "--config", str(try_out(lived, QUIET, "config.toml")))
    assert (dump(), len(lived.agent_calls), (lived.folder / "runs.log").read_text()) == (before, calls, runs)
    assert sorted(map(str, lived.folder.rglob("*"))) == files


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--since", "2099-01-01T00:00:00Z"], 4, "--since: cannot use 2099-01-01T00:00:00Z: it lies in the fut"),
        (["--since", "2026-06-10"], 4, "--since: cannot use '2026-06-10': it has no offset"),
        (["--since", "yesterday"], 4, "--since: cannot use 'yesterday': it is no date"),
        (["--since", "999999w"], 4, "--since: cannot go back 999999w: it is too long"),
        (["--since", "999999999w"], 4, "--since: cannot go back 999999999w: it is too long"),
        (["--since", "1d", "--until", "2026-06-10T00:00:00Z"], 4, "nothing lies between"),
        (["--since", "1d", "--until", "soon"], 4, "--until: cannot use 'soon'"),
        (["--since", "0001-01-01T00:00:00Z"], 3, "cannot replay: nothing is recorded since 0001-01-01"),
        (["--since", "7d"], 3, "cannot replay: nothing is recorded since"),
    ],
)
def test_what_cannot_be_replayed_is_refused(place: Place, words: list[str], status: int, message: str) -> None:
    done = place.call("replay", *words)
    assert (done.status, done.out) == (status, "")
    assert message in done.err


def test_since_must_be_given(place: Place) -> None:
    assert place.call("replay").status == 2


def test_every_problem_of_another_configuration_is_told(place: Place) -> None:
    file = place.file("wrong.toml", "[budget]\nmin_gap = 3\nper_hour = 'six'\n[jobs.nothing]\nevery = '1h'\n")
    error = place.error("replay", "--since", "1d", "--config", str(file), status=4)
    assert all(word in error for word in ("budget.min_gap", "budget.per_hour", "jobs.nothing"))
    assert place.error("replay", "--since", "1d", "--config", str(place.folder / "no.toml"), status=4)


def test_an_instant_until_after_now_is_now(place: Place) -> None:
    place.finds({})
    place.data("tick", "check")
    later = (utc_now() + timedelta(days=3)).isoformat()
    data = place.data("replay", "--since", "1h", "--until", later)
    assert data["until"] < later
    # Of an hour a day's number would be made up.
    assert (data["was"]["wakes"], data["was"]["interruptions_per_day"]) == (1, None)
