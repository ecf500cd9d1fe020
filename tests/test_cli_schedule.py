"""`heartbeat schedule explain`: what an expression means, its next instants, and what the next clock changes do."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from heartbeat.cli.schedule import explained
from tests.conftest import Place

CASES = [json.loads(line) for line in (Path(__file__).parent / "schedule" / "cron.jsonl").read_text().splitlines()]
FROM = ("--from", "2026-06-10T08:00:00+02:00")
NINE = "at 09:00 on Monday to Friday, Europe/Berlin"
LORD_HOWE = ("--zone", "Australia/Lord_Howe")


def explain(place: Place, *words: str) -> Any:
    return place.data("schedule", "explain", *words)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_known_cases_hold_through_the_verb(case: dict[str, Any]) -> None:
    data = explained(case["expr"], ZoneInfo(case["tz"]), datetime.fromisoformat(case["start"]), len(case["expected"]))
    assert [slot.isoformat() for slot in data["next"]] == case["expected"]


def test_the_facts_are_the_meaning_the_next_instants_and_the_changes_of_the_clock(place: Place) -> None:
    assert explain(place, "30 2 * * *", "--from", "2026-03-28T00:00:00Z", "-n", "3") == {
        "means": "at 02:30 every day, Europe/Berlin",
        "next": ["2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"],
        "clock_changes": [
            {"at": "2026-03-29T03:00:00+02:00", "effect": "02:30 does not exist then: it runs at 03:00"},
            {"at": "2026-10-25T02:00:00+01:00", "effect": "02:30 comes twice then: it runs the first time only"},
        ],
    }


def test_people_see_the_days_of_the_week_too(place: Place) -> None:
    done = place.call("schedule", "explain", "0 9 * * 1-5", *FROM, "-n", "2")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        NINE,
        "",
        "next",
        "  Wed 2026-06-10 09:00:00+02:00",
        "  Thu 2026-06-11 09:00:00+02:00",
        "",
        "changes of the clock in Europe/Berlin",
        "  Sun 2026-10-25 02:00:00+01:00  nothing: no slot lies between 02:00 and 03:00",
        "  Sun 2027-03-28 03:00:00+02:00  nothing: no slot lies between 02:00 and 03:00",
    ]


def test_a_clock_that_is_never_changed_and_a_schedule_that_has_ended_are_said_to_be_so(place: Place) -> None:
    done = place.call("schedule", "explain", "at 2026-06-10T07:00:00+02:00", *FROM, "--zone", "UTC")
    assert done.out.splitlines() == [
        "at 2026-06-10 05:00:00+00:00, once",
        "",
        "next",
        "  never",
        "",
        "changes of the clock in UTC",
        "  none within 400 days",
    ]


def test_five_instants_are_shown_unless_another_number_is_asked_for(place: Place) -> None:
    assert [len(explain(place, "@daily", *words)["next"]) for words in ((), ("-n", "1"), ("-n", "1000"))] == [
        5,
        1,
        1000,
    ]
    for number in ("0", "1001", "x"):
        assert "-n" in place.error("schedule", "explain", "@daily", "-n", number, status=2)


def test_an_interval_counts_from_the_instant_asked_for(place: Place) -> None:
    data = explain(place, "every 90m", *FROM, "-n", "2")
    assert data["means"] == (
        "every 1 hour and 30 minutes of elapsed time, counted from when heartbeat first saw the job"
    )
    assert data["next"] == ["2026-06-10T09:30:00+02:00", "2026-06-10T11:00:00+02:00"]
    assert [change["effect"] for change in data["clock_changes"]] == ["nothing: it counts elapsed time"] * 2


def test_the_words_of_a_phrase_need_no_quotes(place: Place) -> None:
    bare = explain(place, "weekdays", "at", "9", *FROM, "-n", "1")
    assert bare == explain(place, "weekdays at 9", *FROM, "-n", "1")
    assert (bare["means"], bare["next"]) == (NINE, ["2026-06-10T09:00:00+02:00"])


def test_several_schedules_are_one_list_of_instants(place: Place) -> None:
    data = explain(place, "0 9 * * 1-5; at 2026-06-10T08:30:00+02:00", *FROM, "-n", "2")
    assert data["means"] == f"{NINE}; and at 2026-06-10 08:30:00+02:00, once"
    assert data["next"] == ["2026-06-10T08:30:00+02:00", "2026-06-10T09:00:00+02:00"]


def test_the_zone_is_the_owners_unless_another_is_asked_for(place: Place) -> None:
    assert explain(place, "@daily", *FROM)["means"].endswith("Europe/Berlin")
    data = explain(place, "@daily", *FROM, *LORD_HOWE, "-n", "1")
    assert (data["means"], data["next"]) == ("at 00:00 every day, Australia/Lord_Howe", ["2026-06-11T00:00:00+10:30"])


@pytest.mark.parametrize(
    ("config", "zone"),
    [
        (None, "UTC"),
        ("", "UTC"),
        ("[[[", "UTC"),
        ('[owner]\nzone = "Mars/Olympus"', "UTC"),
        ('[owner]\nzone = "Asia/Tokyo"\n[jobs.x]\ncron = "never"', "Asia/Tokyo"),
    ],
)
def test_without_a_configuration_that_can_be_read_the_zone_is_the_hosts(
    place: Place, config: str | None, zone: str
) -> None:
    (place.folder / "config.toml").unlink()
    if config is not None:
        place.configure(config)
    assert explain(place, "@daily", *FROM)["means"] == f"at 00:00 every day, {zone}"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("0 0 30 2 *", "such a date never comes"),
        ("60 * * * *", "out of range"),
        ("* * * *", "* * * *"),
        ("", "''"),
        ("@daily;", "''"),
        ("whenever I like", "whenever"),
        ("at 2026-06-10T08:00:00", "2026-06-10t08:00:00"),
    ],
)
def test_an_expression_that_is_refused_is_invalid_input_with_the_reason(
    place: Place, expression: str, reason: str
) -> None:
    message = place.error("schedule", "explain", expression, status=4)
    assert message.startswith("cannot ")
    assert reason in message.lower()


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("Europe/Berln", "did you mean 'Europe/Berlin'?"),
        ("+02:00", "write an IANA zone"),
        ("", "write an IANA zone"),
        ("../etc/passwd", "write an IANA zone"),
    ],
)
def test_a_zone_that_is_none_is_refused_and_quoted(place: Place, zone: str, hint: str) -> None:
    message = place.error("schedule", "explain", "@daily", "--zone", zone, status=4)
    assert message.startswith(f"--zone: cannot use {zone!r}")
    assert hint in message


@pytest.mark.parametrize("start", ["tomorrow", "2026-06-10T08:00:00", ""])
def test_an_instant_that_is_none_is_refused_and_quoted(place: Place, start: str) -> None:
    message = place.error("schedule", "explain", "@daily", "--from", start, status=4)
    assert message.startswith(f"--from: cannot use {start!r}")


def test_without_an_expression_the_call_is_wrong_usage(place: Place) -> None:
    assert "EXPR" in place.error("schedule", "explain", status=2)


@pytest.mark.parametrize("expression", ["0 0 29 2 *", "@daily", "every 1w", "* * * * * *", "at 2199-12-31T23:59:59Z"])
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/New_York"])
@pytest.mark.parametrize("start", ["0001-01-01T00:00:00Z", "9990-01-01T00:00:00Z", "9999-12-31T23:58:58Z"])
def test_the_ends_of_the_calendar_are_no_obstacle(place: Place, expression: str, zone: str, start: str) -> None:
    for words in ((), ("--json",)):
        done = place.call("schedule", "explain", expression, "--zone", zone, "--from", start, "-n", "50", *words)
        assert (done.status, done.err) == (0, "")


def test_a_configuration_that_cannot_be_read_is_said_and_the_clock_of_the_machine_is_taken(place: Place) -> None:
    place.configure("x =")
    done = place.call("schedule", "explain", "@daily")
    assert (done.status, done.err.count("\n")) == (0, 1)
    assert "cannot read the owner's zone" in done.err
    assert "by the clock of the machine, UTC" in done.err
