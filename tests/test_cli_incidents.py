"""`heartbeat incidents`: looking at lasting faults, and closing one by hand."""

from __future__ import annotations

import re

import pytest

from heartbeat.stores.sqlite import open_ledger
from tests.conftest import Place, at


def fault(place: Place, *subjects: str, message: str = "exit status 1") -> list[str]:
    """Open incidents; their ids."""
    ids = []
    with open_ledger(place.state / "ledger.db") as ledger:
        for number, subject in enumerate(subjects):
            opened = ledger.fault(subject, "exit_status", message, at(number))
            assert opened is not None
            ids.append(opened.id)
    return ids


def recover(place: Place, subject: str) -> None:
    with open_ledger(place.state / "ledger.db") as ledger:
        ledger.recover(subject, at(60))


def subjects(place: Place, *words: str) -> list[str]:
    return [incident["subject"] for incident in place.data("incidents", *words)["incidents"]]


def test_the_facts_of_an_incident_are_those_others_rely_on(place: Place) -> None:
    (incident_id,) = fault(place, "job:check")
    assert place.data("incidents")["incidents"] == [
        {
            "id": incident_id,
            "subject": "job:check",
            "code": "exit_status",
            "message": "exit status 1",
            "opened_at": "2026-06-10T08:00:00+00:00",
            "resolved_at": None,
            "told": 0,
            "tell_at": "2026-06-10T08:00:00+00:00",
            "faults": 0,
            "last_ok_at": None,
        }
    ]


def test_they_are_listed_newest_first_all_or_the_open_or_the_latest(place: Place) -> None:
    fault(place, "job:a", "job:b", "job:c")
    recover(place, "job:b")
    assert subjects(place) == ["job:c", "job:b", "job:a"]
    assert subjects(place, "--open") == ["job:c", "job:a"]
    assert subjects(place, "-n", "1") == ["job:c"]
    assert subjects(place, "-n", "3") == ["job:c", "job:b", "job:a"]


def test_a_person_reads_since_when_until_when_and_why(place: Place) -> None:
    fault(place, "job:a", "job:b")
    recover(place, "job:b")
    header, newest, oldest = place.call("incidents").out.splitlines()
    assert header.split() == ["ID", "SUBJECT", "SINCE", "UNTIL", "TOLD", "CAUSE"]
    assert re.fullmatch(r"inc_\S+ +job:b +2026-06-10 10:01:00 +2026-06-10 11:00:00 +no +exit status 1", newest)
    assert re.fullmatch(r"inc_\S+ +job:a +2026-06-10 10:00:00 +open +no +exit status 1", oldest)


def test_what_a_script_said_cannot_forge_a_line(place: Place) -> None:
    fault(place, "source:check/\x1b[2J\nx", message="a\nb\x1b[2J\u202e")
    out = place.call("incidents").out
    assert len(out.splitlines()) == 2
    assert "\x1b" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize(("words", "said"), [((), "there was no incident\n"), (("--open",), "no incident is open\n")])
def test_without_one_it_says_so_and_makes_nothing(place: Place, words: tuple[str, ...], said: str) -> None:
    assert place.call("incidents", *words).out == said
    assert not place.state.exists()


@pytest.mark.parametrize("by", ["id", "subject"])
def test_one_is_closed_by_hand(place: Place, by: str) -> None:
    (first, _) = fault(place, "job:a", "job:b")
    closed = place.data("incidents", "close", first if by == "id" else "job:a")
    assert (closed["id"], closed["subject"], closed["resolved_at"] is None) == (first, "job:a", False)
    assert subjects(place, "--open") == ["job:b"]
    assert "closed" in place.call("incidents", "close", "job:b").out


def test_one_that_is_over_or_unknown_is_not_found_and_the_open_ones_are_named(place: Place) -> None:
    fault(place, "job:a", "job:b")
    recover(place, "job:b")
    for name in ("job:b", "job:nosuch", "inc_1"):
        message = place.error("incidents", "close", name, status=3)
        assert message == f"cannot find the open incident {name!r}; open are: job:a"


def test_in_a_home_never_used_there_is_none_to_close(place: Place) -> None:
    assert place.error("incidents", "close", "x", status=3).endswith("open are: none")
    assert not place.state.exists()
