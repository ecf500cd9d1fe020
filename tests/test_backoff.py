"""How long to wait before trying again."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from heartbeat.backoff import delay


@pytest.mark.parametrize(("failures", "seconds"), [(0, 15), (1, 15), (2, 30), (3, 60), (8, 1800), (10_000, 1800)])
def test_it_grows_to_half_an_hour_and_never_comes_at_the_same_moment(failures: int, seconds: int) -> None:
    drawn = {delay(failures, None) for _ in range(50)}
    assert len(drawn) > 1
    assert all(seconds <= each.total_seconds() <= seconds + 15 for each in drawn)


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [(100.0, 100), (86_400.0, 86_400), (86_401.0, 86_400), (math.inf, 86_400), (1e300, 86_400)],
)
def test_what_the_other_side_asks_for_is_kept_within_a_day(asked: float, seconds: int) -> None:
    assert delay(1, asked) == timedelta(seconds=seconds)


@pytest.mark.parametrize("asked", [0.0, -5.0, math.nan, -math.inf])
def test_what_is_no_delay_is_not_kept(asked: float) -> None:
    assert 15 <= delay(1, asked).total_seconds() <= 30
