"""Instants as text, and ids made from them."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.clock import from_text, new_id, to_text, utc_now

offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.datetimes(timezones=offsets).filter(lambda instant: 1 < instant.year < 9999)
NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)


@given(instants)
def test_an_instant_comes_back_from_its_text(instant: datetime) -> None:
    assert from_text(to_text(instant)) == instant
    assert len(to_text(instant)) == len("2026-06-10T08:00:00.000000Z")


@given(instants, instants)
def test_the_order_of_texts_is_the_order_of_instants(one: datetime, other: datetime) -> None:
    assert (to_text(one) < to_text(other)) == (one < other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-06-10T08:00:00+02:00", "2026-06-10T06:00:00.000000Z"),
        ("2026-06-10T08:00:00Z", "2026-06-10T08:00:00.000000Z"),
        ("2026-06-10 08:00-00:30", "2026-06-10T08:30:00.000000Z"),
        ("2026-06-10T08:00:00.5+00:00", "2026-06-10T08:00:00.500000Z"),
        ("0999-01-01T00:00:00Z", "0999-01-01T00:00:00.000000Z"),
    ],
)
def test_a_text_with_an_offset_is_read(text: str, expected: str) -> None:
    assert to_text(from_text(text)) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2026-06-10T08:00:00", "no offset"),
        ("2026-06-10", "no offset"),
        ("", "no date and time"),
        ("soon", "no date and time"),
        ("2026-02-30T08:00:00Z", "no date and time"),
        ("2026-06-10T08:00:00+25:00", "no date and time"),
        ("2026-06-10T08:00:00Z\n", "no date and time"),
        ("0001-01-01T00:00:00+14:00", "no date and time"),
        ("9999-12-31T23:59:59-14:00", "no date and time"),
        ("\ud800", "no date and time"),
        ("\u0662026-06-10T08:00:00Z", "no date and time"),
    ],
)
def test_any_other_text_is_refused_with_the_reason_and_an_example(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=rf"^cannot use .*{reason}.*write it like") as refused:
        from_text(text)
    assert repr(text) in str(refused.value)


def test_an_instant_without_an_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="no offset"):
        to_text(datetime(2026, 6, 10, 8))  # noqa: DTZ001 - what is refused


def test_now_is_aware_and_in_utc() -> None:
    assert utc_now().utcoffset() == timedelta()
    assert abs(utc_now() - datetime.now(UTC)) < timedelta(minutes=1)


def test_ids_of_one_instant_are_all_different() -> None:
    assert len({new_id("run", NOW) for _ in range(5_000)}) == 5_000


def test_ids_are_ordered_by_the_millisecond() -> None:
    steps = [timedelta(milliseconds=1), timedelta(seconds=1), timedelta(days=1), timedelta(days=30_000)]
    ids = [new_id("fnd", NOW - step) for step in reversed(steps[:3])]
    ids += [new_id("fnd", NOW + step) for step in (timedelta(), *steps)]
    assert all(earlier < later for earlier, later in pairwise(ids))


def test_an_id_says_its_kind_and_is_easy_to_read_aloud() -> None:
    kind, letters = new_id("wake", NOW).split("_")
    assert kind == "wake"
    assert len(letters) == 18
    assert set(letters) <= set("0123456789abcdefghjkmnpqrstvwxyz")


def test_the_text_does_not_depend_on_the_zone_of_the_process() -> None:
    code = (
        "from heartbeat.clock import *; from datetime import datetime\n"
        "at = from_text('2026-07-01T08:00:00+02:00'); print(to_text(at), at, new_id('r', at)[:11])"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "TZ": zone}, capture_output=True, check=True
        ).stdout
        for zone in ("UTC", "America/New_York", "Pacific/Chatham")
    }
    assert len(answers) == 1
