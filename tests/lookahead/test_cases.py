"""The calendars of tests/calendars, through the command: the whole way from the configuration to what would be told."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Place

CALENDARS = Path(__file__).parents[1] / "calendars"
CASES = [json.loads(line) for line in (CALENDARS / "cases.jsonl").read_text().splitlines()]


def configure(place: Place, case: dict[str, Any]) -> None:
    path = CALENDARS / case["file"]
    kind = "vdir" if path.is_dir() else "file"
    emails = json.dumps([case["owner"]] if case["owner"] else [])
    place.configure(f"""
[owner]
zone = "{case["home_tz"]}"
emails = {emails}
[jobs.calendar-lookahead.options]
lookahead = "{case["lookahead_minutes"]}m"
sources = [ {{ {kind} = "{path}" }} ]
""")


def check(case: dict[str, Any], data: dict[str, Any]) -> None:
    told = sorted((finding["title"], utc(finding["starts_at"])) for finding in data["findings"])
    expected = sorted((event["summary"] or "(no title)", event["start"]) for event in case["expected"])
    assert told == expected, case["why"]
    assert data["verdict"] == ("wake" if expected else "quiet")
    if "expect_error" in case:
        assert data["sources"][0]["ok"] is not case["expect_error"]


def utc(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_every_case_is_told_as_expected(place: Place, case: dict[str, Any]) -> None:
    configure(place, case)
    # The second run is answered from what the first one kept.
    for _ in range(2):
        check(case, place.data("tick", "calendar-lookahead", "--dry-run", "--now", case["now"]))


@pytest.mark.parametrize(
    "name", ["058-owner-declined-one-instance.ics", "171-two-feeds-same-zone-name", "172-zone-name-with-colon.ics"]
)
def test_the_installed_command_tells_the_same(place: Place, name: str) -> None:
    (case,) = [case for case in CASES if case["file"] == name]
    configure(place, case)
    done = place.run("tick", "calendar-lookahead", "--dry-run", "--now", case["now"], "--json")
    assert (done.status, done.err) == (0, "")
    check(case, done.envelope["data"])
