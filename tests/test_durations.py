"""Durations as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.durations import DurationTooLong, parse_duration, show_duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0s", timedelta()),
        ("1s", timedelta(seconds=1)),
        ("90m", timedelta(minutes=90)),
        ("1h30m", timedelta(minutes=90)),
        ("007d", timedelta(days=7)),
        ("2w", timedelta(days=14)),
        ("1w1d1h1m1s", timedelta(days=8, hours=1, minutes=1, seconds=1)),
        ("5m1h", timedelta(minutes=65)),
        ("1h1h", timedelta(hours=2)),
        ("999999w", timedelta(weeks=999_999)),
        ("999999w" * 5, timedelta(weeks=999_999 * 5)),
    ],
)
def test_a_duration_is_the_sum_of_its_parts(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "10",
            "m",
            "h1",
            "1.5h",
            "1,5h",
            "-1h",
            "+1h",
            "1 h",
            " 1h",
            "1h ",
            "1h 30m",
            "1h\n",
            "\n1h",
            "1h30",
        ),
        *(
            "1H",
            "1min",
            "1 hour",
            "1y",
            "1ms",
            "1_0s",
            "0x1s",
            "1e3s",
            "\u0663h",
            "\uff11h",
            "1\u0068\u0301",
            "P1D",
            "nan",
        ),
        *("1000000w", "1000000s", "1s" * 6, "9" * 5_000 + "s", "1h\0", "\ud800"),
    ],
)
def test_anything_else_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(ValueError, match=r"^cannot read .* such as '90m'") as refused:
        parse_duration(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("text", ["1000000w", "9" * 5_000 + "s", "1s" * 6])
def test_what_is_too_long_is_told_as_that(text: str) -> None:
    with pytest.raises(DurationTooLong, match=": it is too long; write"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (timedelta(), "0s"),
        (timedelta(milliseconds=999), "0s"),
        (timedelta(seconds=59.9), "59s"),
        (timedelta(seconds=60), "1m"),
        (timedelta(seconds=5400), "1h30m"),
        (timedelta(hours=24), "1d"),
        (timedelta(days=7), "1w"),
        (timedelta(days=8, seconds=61), "1w1d1m1s"),
        (timedelta(weeks=999_999, days=6, hours=23, minutes=59, seconds=59), "999999w6d23h59m59s"),
        (timedelta(days=999_999, hours=23, minutes=59, seconds=59, microseconds=999_999), "142857w23h59m59s"),
    ],
)
def test_a_duration_is_shown_as_short_as_it_can_be_read(duration: timedelta, expected: str) -> None:
    assert show_duration(duration) == expected


@given(st.timedeltas(timedelta(), timedelta(weeks=1_000_000) - timedelta.resolution))
def test_what_is_shown_is_read_back_to_the_second(duration: timedelta) -> None:
    assert parse_duration(show_duration(duration)) == duration - timedelta(microseconds=duration.microseconds)


@given(st.lists(st.tuples(st.integers(0, 999_999), st.sampled_from("wdhms")), min_size=1, max_size=5))
def test_every_documented_form_is_read_and_shown_in_seconds(parts: list[tuple[int, str]]) -> None:
    seconds = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
    duration = parse_duration("".join(f"{number}{unit}" for number, unit in parts))
    assert duration == timedelta(seconds=sum(number * seconds[unit] for number, unit in parts))
    assert show_duration(duration)[-1] in "wdhms"
