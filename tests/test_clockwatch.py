"""Suspends, standstills and steps, told apart by three clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from heartbeat.clock import Reading, read_clocks
from heartbeat.clockwatch import FROZEN_AFTER, NOTICED, what_happened

NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)
MONTH = 30 * 86_400.0


def after(running: float, *, suspended: float = 0, step: float = 0) -> list[tuple[str, float]]:
    """What is noticed after so many seconds awake, asleep, and a step of the wall clock."""
    wall = NOON + timedelta(seconds=running + suspended + step)
    now = Reading(wall, 100 + running, 5000 + running + suspended)
    return [(event.kind, event.seconds) for event in what_happened(Reading(NOON, 100, 5000), now)]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (after(0), []),
        (after(15), []),
        (after(15, suspended=3600), [("suspend", 3600)]),
        (after(1, suspended=NOTICED), [("suspend", NOTICED)]),
        (after(1, suspended=NOTICED - 0.001), []),
        (after(FROZEN_AFTER - 0.001), []),
        (after(FROZEN_AFTER), [("frozen", FROZEN_AFTER)]),
        (after(120), [("frozen", 120)]),
        (after(15, step=60), [("forward", 60)]),
        (after(15, step=-60), [("back", -60)]),
        (after(15, step=MONTH), [("forward", MONTH)]),
        (after(15, step=-MONTH), [("back", -MONTH)]),
        (after(15, step=NOTICED), [("forward", NOTICED)]),
        (after(15, step=NOTICED - 0.001), []),
        (after(15, step=0.001 - NOTICED), []),
        (after(15, suspended=60, step=-3600), [("suspend", 60), ("back", -3600)]),
        (after(40, suspended=60, step=5), [("suspend", 60), ("frozen", 40), ("forward", 5)]),
    ],
)
def test_each_thing_that_happened_is_told_with_its_length(
    found: list[tuple[str, float]], expected: list[tuple[str, float]]
) -> None:
    assert found == expected


def test_what_happened_is_dated_by_the_clock_as_it_is_now_and_names_the_one_before() -> None:
    [event] = what_happened(Reading(NOON, 0, 0), Reading(NOON + timedelta(hours=1), 1, 1))
    assert event.at == NOON + timedelta(hours=1)
    assert event.detail == "the clock was set forward, after it showed 2026-06-10T12:00:00Z"


def test_two_looks_at_the_real_clocks_in_a_row_show_nothing() -> None:
    first = read_clocks()
    assert what_happened(first, read_clocks()) == []
    assert first.wall.tzinfo is UTC
