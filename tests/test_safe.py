"""Safe mode: when it begins, how long it rests, and that its one incident comes and goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from heartbeat.flapping import Flapping
from heartbeat.safe import Safe, rest_of
from heartbeat.stores.sqlite import SqliteLedger, open_ledger
from tests.conftest import NOW, at


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    with open_ledger(tmp_path / "ledger.db") as made:
        yield made


def burst(number: int = 4) -> Flapping:
    return Flapping("burst", tuple(1000.0 + count for count in range(number)))


@pytest.mark.parametrize(
    ("found", "seconds"),
    [
        (burst(4), 5.0),
        (burst(5), 10.0),
        (burst(6), 20.0),
        (burst(8), 80.0),
        (burst(9), 120.0),
        (burst(200), 120.0),
        (Flapping("chain", (1.0, 2.0, 3.0)), 5.0),
        (Flapping("chain", (1.0, 2.0, 3.0, 4.0)), 10.0),
    ],
)
def test_the_rest_before_the_first_run_doubles_with_each_start(found: Flapping, seconds: float) -> None:
    assert rest_of(found) == seconds
    safe = Safe(found, 50.0)
    assert safe.rest(50.0) == seconds
    assert safe.rest(50.0 + seconds - 1) == 1.0
    assert safe.rest(50.0 + seconds) == 0.0


def test_without_flapping_it_is_off_and_rests_not_at_all(ledger: SqliteLedger) -> None:
    safe = Safe(None, 50.0)
    assert (safe.is_on, safe.message, safe.rest(50.0)) == (False, "", 0.0)
    safe.look(ledger, NOW, 50.0)
    assert ledger.incidents() == []


def test_it_raises_one_incident_and_resolves_it_after_ten_minutes_of_quiet(ledger: SqliteLedger) -> None:
    safe = Safe(burst(), 50.0)
    for seconds in (0.0, 15.0, 599.0):
        safe.look(ledger, at(seconds / 60), 50.0 + seconds)
        assert safe.is_on
    [incident] = ledger.incidents(open_only=True)
    assert (incident.code, incident.subject) == ("flapping", "daemon")
    assert "heartbeat restart" in incident.message
    assert "4 starts" in incident.message
    safe.look(ledger, at(10), 650.0)
    assert (safe.is_on, safe.message) == (False, "")
    assert ledger.incidents(open_only=True) == []
    assert len(ledger.incidents()) == 1


def test_each_start_in_the_loop_finds_the_incident_open_and_raises_no_other(ledger: SqliteLedger) -> None:
    for number in range(4, 9):
        Safe(burst(number), 50.0).look(ledger, at(number), 50.0)
    assert len(ledger.incidents()) == 1


def test_a_start_that_is_well_resolves_what_the_last_one_raised(ledger: SqliteLedger) -> None:
    Safe(burst(), 50.0).look(ledger, NOW, 50.0)
    Safe(None, 50.0).look(ledger, at(1), 60.0)
    assert ledger.incidents(open_only=True) == []
