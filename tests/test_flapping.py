"""Starts that follow one another: what is a burst, what is a slow chain, and what is neither."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.flapping import Flapping, find_flapping

NOW = 1_780_000_000.0
INF, NAN = float("inf"), float("nan")


def kind_of(*ages: float) -> str:
    found = find_flapping((NOW - age for age in ages), NOW)
    return found.kind if found else ""


@pytest.mark.parametrize(
    ("ages", "kind"),
    [
        ((), ""),
        ((0,), ""),
        ((300, 0), ""),
        # A burst: four within ten minutes
        ((600, 400, 200, 0), "burst"),
        ((600, 590, 10, 0), "burst"),
        ((601, 599, 10, 0), ""),
        ((3, 2, 1, 0), "burst"),
        # A chain: three, each at most five minutes after the one before, the last at most as long ago
        ((600, 300, 0), "chain"),
        ((900, 600, 300), "chain"),
        ((901, 600, 300), ""),
        ((900, 600, 301), ""),
        ((601, 300, 0), ""),
        ((600, 299, 0), ""),
        ((2, 1, 0), "chain"),
        ((960, 720, 480, 240), "chain"),  # every four minutes
        ((1_800, 1_500, 1_200), ""),  # over since twenty minutes
        ((9_000, 8_000, 250, 100), ""),
        # What is to come proves nothing, and neither does nonsense
        ((-1, -2, -3, -4), ""),
        ((-100, 200, 100), ""),
        ((-100, 300, 200, 100), "chain"),
        ((NAN, NAN, NAN, NAN), ""),
        ((INF, INF, INF, INF), ""),
        ((NOW, NOW, NOW, NOW), ""),
        # In whatever order they are told
        ((0, 600, 300), "chain"),
        ((200, 0, 600, 400), "burst"),
    ],
)
def test_what_flaps_and_what_does_not(ages: tuple[float, ...], kind: str) -> None:
    assert kind_of(*ages) == kind


def test_it_began_with_the_first_start_and_says_how_many_there_were() -> None:
    burst = find_flapping([NOW - 599, NOW - 30, NOW - 20, NOW - 10], NOW)
    assert burst is not None
    assert (burst.since, burst.count) == (NOW - 599, 4)
    assert burst.message == "4 starts within 10 minutes that nobody asked for"
    chain = find_flapping([NOW - 4_800 + 240 * number for number in range(21)], NOW)
    assert chain is not None
    assert (chain.since, chain.count) == (NOW - 4_800, 21)
    assert chain.message == "21 starts in a row that nobody asked for, about 240 s apart"


def test_a_supervisors_count_is_told_as_such() -> None:
    assert "9 restarts by the supervisor" in Flapping("counter", (NOW,), 9).message


@given(st.floats(1, 300), st.integers(3, 50), st.floats(0, 300))
def test_any_steady_loop_with_gaps_of_five_minutes_at_most_is_found(gap: float, count: int, since: float) -> None:
    assert find_flapping([NOW - since - gap * number for number in range(count)], NOW)


@given(st.floats(301, 10_000), st.integers(1, 50), st.floats(0, 10_000))
def test_a_loop_with_longer_gaps_is_none(gap: float, count: int, since: float) -> None:
    assert find_flapping([NOW - since - gap * number for number in range(count)], NOW) is None


@given(st.lists(st.floats(), max_size=8))
def test_whatever_the_instants_are_only_past_ones_count(instants: list[float]) -> None:
    found = find_flapping(instants, NOW)
    past = [at for at in instants if 0 < at <= NOW]
    assert found == find_flapping(past, NOW)
    assert found is None or set(found.starts) <= set(past)
