"""What becomes of due instants, as a person asks for it: `slots`, `clock`, `why JOB@INSTANT`, and what is overdue."""

from __future__ import annotations

from datetime import datetime

import pytest

from heartbeat.cli.shell import enter
from heartbeat.model import ClockEvent, Fate, Run, SlotState
from heartbeat.stores.sqlite import open_ledger
from tests.conftest import CONFIG, NOW, Place, at

REASON = "coalesced into 2026-06-10T08:50:00Z"
SHOWN = "coalesced into 2026-06-10T10:50:00+02:00"


@pytest.fixture
def told(place: Place) -> Place:
    """A job with a run, two slots coalesced, a stretch that was missed, and a clock that was set in between."""
    with open_ledger(place.state / "ledger.db") as ledger:
        ledger.enlist([("check", "every 600s")], NOW)
        ledger.claim(Run("run_1", "check", "schedule", NOW, NOW), "1:1")
        ledger.abandon("run_1", "heartbeat's process ended before the run did", at(1))
        fates = [Fate(SlotState.SKIPPED, at(minute), at(minute), REASON) for minute in (10, 20)]
        stretch = Fate(SlotState.MISSED, at(60), at(600), "too late: more than 1m after its instant", count=None)
        odd = Fate(SlotState.SKIPPED, at(40.003), at(40.003), "not at a whole second")
        ledger.pass_over([("check", fate) for fate in (*fates, odd, stretch)], at(601))
        ledger.note_clock(ClockEvent(at(601), "suspend", 33_000.0, "the machine was suspended"))
    return place


def test_slots_are_listed_newest_first_with_their_fates(told: Place) -> None:
    found = told.data("slots", "check")["slots"]
    assert [(slot["slot_at"], slot["state"], slot["run_id"], slot["attempts"]) for slot in found] == [
        ("2026-06-10T09:00:00+00:00", "missed", None, 0),
        ("2026-06-10T08:40:00.180000+00:00", "skipped", None, 0),
        ("2026-06-10T08:20:00+00:00", "skipped", None, 0),
        ("2026-06-10T08:10:00+00:00", "skipped", None, 0),
        ("2026-06-10T08:00:00+00:00", "interrupted", "run_1", 1),
    ]
    assert (found[0]["last_at"], found[0]["count"]) == ("2026-06-10T18:00:00+00:00", None)
    assert len(told.data("slots", "-n", "1")["slots"]) == 1
    assert [slot["state"] for slot in told.data("slots", "--state", "skipped")["slots"]] == ["skipped"] * 3
    lines = told.call("slots").out.splitlines()
    assert lines[0].split() == ["JOB", "SLOT", "STATE", "RUN", "REASON"]
    assert "2026-06-10 11:00:00 to 2026-06-10 20:00:00 (many)" in lines[1]
    assert lines[3].endswith(SHOWN)


VERBS = ["slots", "clock", "jobs", "next check", "runs", "ledger list", "wakes list", "messages list", "incidents"]


@pytest.mark.parametrize("verb", [*VERBS, "queue list", "quiet"])
def test_whoever_is_away_reads_every_time_in_one_zone_that_is_named(told: Place, verb: str) -> None:
    words = verb.split()
    assert "times are in" not in told.call(*words).out
    told.data("zone", "Asia/Tokyo")
    assert told.call(*words).out.endswith("times are in Asia/Tokyo\n")
    assert "times are in" not in told.call(*words, "--json").out


def test_the_times_of_whoever_is_away_are_those_there_and_why_takes_and_gives_them(told: Place) -> None:
    told.data("zone", "Asia/Tokyo")
    assert "2026-06-10 17:10:00" in told.call("slots").out
    (step, *_) = told.data("why", "check@2026-06-10 17:10:00")["steps"]
    assert step["reason"].endswith("coalesced into 2026-06-10T17:50:00+09:00")


def test_times_are_those_at_home_when_the_ledger_cannot_be_read(place: Place) -> None:
    place.data("zone", "Asia/Tokyo")
    with (place.state / "ledger.db").open("r+b") as file:
        file.write(b"junk" * 64)
    assert enter(str(place.folder), as_json=False).here().key == "Europe/Berlin"


def test_an_interval_that_the_daemon_has_not_read_comes_at_once_and_has_no_instant_that_moves(place: Place) -> None:
    note = "the daemon has not read this yet"
    assert place.data("next", "check")["next"] == [{"job": "check", "at": None, "note": note}]
    (job,) = place.data("jobs")["jobs"]
    assert (job["at_once"], job["next_at"], job["is_read"]) == (True, None, False)
    assert f"at once ({note})" in place.call("jobs").out
    assert place.call("next").out.splitlines()[1].split() == ["at", "once", "check", *note.split()]


def test_what_else_than_an_interval_a_new_job_has_is_told_with_its_instant(place: Place) -> None:
    place.configure(CONFIG.replace('every = "10m"', 'schedule = ["every 10m", "at 2099-06-10T08:00:00Z"]'))
    assert [entry["at"] for entry in place.data("next", "check")["next"]] == [None, "2099-06-10T10:00:00+02:00"]


@pytest.mark.parametrize(
    ("instant", "said"),
    [
        ("2026-06-10T08:10:00Z", [("due", "skipped", SHOWN)]),
        ("2026-06-10T10:10:00+02:00", [("due", "skipped", SHOWN)]),
        ("2026-06-10 10:10:00", [("due", "skipped", SHOWN)]),
        ("2026-06-10 10:40:00", [("due", "skipped", "not at a whole second")]),
        (
            "2026-06-10T12:00:00Z",
            [
                ("due", "missed", "too late"),
                ("stretch", "shared", "a row of slots that ended alike"),
                ("clock", "suspend", "33000 s"),
            ],
        ),
        (
            "2026-06-10T08:00:00Z",
            [
                ("due", "interrupted", "heartbeat's process ended"),
                ("claim", "schedule", "the slot"),
                ("run", "interrupted", ""),
            ],
        ),
    ],
)
def test_why_tells_what_became_of_a_due_instant(told: Place, instant: str, said: list[tuple[str, str, str]]) -> None:
    found = told.data("why", f"check@{instant}")
    assert found["kind"] == "slot"
    steps = [(step["rule"], step["outcome"]) for step in found["steps"]]
    for rule, outcome, words in said:
        assert (rule, outcome) in steps
        assert words in found["steps"][steps.index((rule, outcome))]["reason"]


def test_what_happened_to_the_clock_is_listed(told: Place) -> None:
    [event] = told.data("clock")["events"]
    assert (event["kind"], event["seconds"], event["detail"]) == ("suspend", 33_000.0, "the machine was suspended")
    assert "33000.0  the machine was suspended" in told.call("clock").out


def test_a_job_that_should_have_run_is_shown_as_overdue(told: Place) -> None:
    [job] = told.data("jobs")["jobs"]
    assert job["overdue_since"] == "2026-06-10T18:10:00+00:00"
    assert datetime.fromisoformat(job["next_at"]) > datetime.now().astimezone()
    assert "(overdue since 2026-06-10 20:10:00)" in told.call("jobs").out


def test_a_paused_job_is_overdue_too_but_has_no_next_run_and_next_says_why(told: Place) -> None:
    told.configure(CONFIG.replace('"10m"', '"10m"\npaused = true'))
    [job] = told.data("jobs")["jobs"]
    assert (job["paused"], job["next_at"]) == (True, None)
    assert {entry["note"] for entry in told.data("next", "check")["next"]} == {"paused"}
    assert "paused" in told.call("jobs").out


def test_another_schedule_begins_anew_and_nothing_of_it_is_overdue(told: Place) -> None:
    told.configure(CONFIG.replace('every = "10m"', 'cron = "0 9 * * *"'))
    assert told.data("jobs")["jobs"][0]["overdue_since"] is None
