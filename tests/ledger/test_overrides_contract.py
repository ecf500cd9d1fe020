"""The contract of what the owner says for the time being: quiet, loud, another zone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from heartbeat.errors import Invalid
from heartbeat.model import Overrides
from heartbeat.ports import TRUSTED
from heartbeat.stores.memory import open_memory
from heartbeat.stores.sqlite import SqliteLedger
from tests.ledger.telling import at

MOMENT, DAY = timedelta(microseconds=1), timedelta(days=1)


@pytest.fixture
def ledger() -> Iterator[SqliteLedger]:
    with open_memory() as made:
        yield made


def test_nothing_is_overridden_unless_the_owner_says_so(ledger: SqliteLedger) -> None:
    assert ledger.overrides(at(0)) == Overrides()
    assert ledger.past(at(0)).overrides == Overrides()


@pytest.mark.parametrize(
    ("name", "value", "until", "holds"),
    [
        ("quiet", "", at(60), Overrides(quiet_until=at(60))),
        ("loud", "", at(60), Overrides(loud_until=at(60))),
        ("zone", "Asia/Tokyo", at(60), Overrides(zone="Asia/Tokyo")),
        ("zone", "Asia/Tokyo", None, Overrides(zone="Asia/Tokyo")),
    ],
)
def test_what_is_said_holds_until_its_end(
    ledger: SqliteLedger, name: str, value: str, until: datetime | None, holds: Overrides
) -> None:
    ledger.override(name, value, until, at(0))
    assert ledger.overrides(at(0)) == holds
    assert ledger.past(at(0)).overrides == holds
    assert ledger.overrides(at(60) - MOMENT) == holds
    assert ledger.overrides(at(60)) == (holds if until is None else Overrides())


@pytest.mark.parametrize(("first", "second"), [("quiet", "loud"), ("loud", "quiet")])
def test_quiet_and_loud_end_each_other_and_not_the_zone(ledger: SqliteLedger, first: str, second: str) -> None:
    ledger.override("zone", "Asia/Tokyo", None, at(0))
    ledger.override(first, "", at(60), at(0))
    ledger.override(second, "", at(30), at(1))
    held = ledger.overrides(at(2))
    assert {"quiet": held.quiet_until, "loud": held.loud_until} == {first: None, second: at(30)}
    assert held.zone == "Asia/Tokyo"
    assert not ledger.take_back(first)
    assert ledger.take_back(second)
    assert not ledger.take_back(second)
    assert ledger.overrides(at(2)) == Overrides(zone="Asia/Tokyo")


def test_what_is_said_again_takes_the_place_of_what_was_said(ledger: SqliteLedger) -> None:
    ledger.override("quiet", "", at(60), at(0))
    ledger.override("quiet", "", at(30), at(1))
    assert ledger.overrides(at(2)).quiet_until == at(30)


@pytest.mark.parametrize("name", ["quiet", "loud"])
def test_quiet_said_under_a_clock_that_was_ahead_does_not_count(ledger: SqliteLedger, name: str) -> None:
    ledger.override(name, "", at(9999), at(0) + TRUSTED)
    assert ledger.overrides(at(0)) != Overrides()
    assert ledger.overrides(at(0) - MOMENT) == Overrides()


def test_a_zone_said_under_a_clock_that_was_ahead_counts(ledger: SqliteLedger) -> None:
    ledger.override("zone", "Asia/Tokyo", None, at(9999))
    assert ledger.overrides(at(0)).zone == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("name", "value", "until", "problem"),
    [
        ("quiet", "", None, "cannot be quiet without an end; say until when"),
        ("loud", "", None, "cannot be loud without an end; say until when"),
        ("zone", "", None, "cannot use '' as the zone"),
        ("silent", "", at(1), "cannot override 'silent'; what can be overridden is quiet, loud, zone"),
    ],
)
def test_what_means_nothing_is_refused_and_changes_nothing(
    ledger: SqliteLedger, name: str, value: str, until: datetime | None, problem: str
) -> None:
    ledger.override("loud", "", at(60), at(0))
    with pytest.raises(Invalid, match=problem):
        ledger.override(name, value, until, at(0))
    assert ledger.overrides(at(0)) == Overrides(loud_until=at(60))


def test_an_unknown_name_cannot_be_taken_back(ledger: SqliteLedger) -> None:
    with pytest.raises(Invalid, match="cannot override 'silent'"):
        ledger.take_back("silent")


def test_pruning_forgets_what_is_long_over(ledger: SqliteLedger) -> None:
    ledger.override("quiet", "", at(1), at(0))
    ledger.override("zone", "Asia/Tokyo", None, at(0))
    ledger.hold_agent("claude", at(1), "rate limit", at(0))
    ledger.hold_agent("codex", at(0) + 9 * DAY, "rate limit", at(0))
    early = ledger.prune(at(1) + DAY, DAY, 10)
    assert (early["overrides"], early["holds"]) == (0, 0)
    late = ledger.prune(at(1.01) + DAY, DAY, 10)
    assert (late["overrides"], late["holds"]) == (1, 1)
    assert ledger.overrides(at(0)) == Overrides(zone="Asia/Tokyo")
    assert list(ledger.past(at(0)).holds) == ["codex"]
