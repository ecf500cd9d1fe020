"""Which job is to be looked at when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.agenda import Agenda, stagger

NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_jobs_are_taken_in_the_order_of_their_instants_and_once() -> None:
    agenda = Agenda()
    for job, seconds in (("late", 9), ("first", 1), ("second", 5)):
        agenda.put(job, at(seconds))
    assert agenda.next_at() == at(1)
    assert agenda.take(at(5)) == [(at(1), "first"), (at(5), "second")]
    assert (agenda.take(at(5)), agenda.next_at(), len(agenda)) == ([], at(9), 1)


def test_a_job_has_one_instant_the_latest_that_was_said() -> None:
    agenda = Agenda()
    agenda.put("job", at(1))
    agenda.put("job", at(7))
    assert (agenda.next_at(), agenda.take(at(6))) == (at(7), [])
    agenda.put("job", None)
    assert (agenda.next_at(), agenda.take(at(99)), len(agenda)) == (None, [], 0)


@pytest.mark.parametrize(("planned", "hastened", "expected"), [(None, 5, 5), (9, 5, 5), (2, 5, 2)])
def test_a_job_can_be_hastened_and_never_delayed(planned: int | None, hastened: int, expected: int) -> None:
    agenda = Agenda()
    agenda.put("job", None if planned is None else at(planned))
    agenda.hasten("job", at(hastened))
    assert agenda.take(at(100)) == [(at(expected), "job")]


def test_nothing_is_left_of_what_was_cleared() -> None:
    agenda = Agenda()
    agenda.put("job", at(1))
    agenda.clear()
    assert (agenda.next_at(), len(agenda)) == (None, 0)


orders = st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | st.integers(0, 50)), max_size=60)


@given(orders=orders, until=st.integers(0, 60))
def test_what_is_taken_is_what_a_plain_dictionary_holds(orders: list[tuple[str, int | None]], until: int) -> None:
    agenda, plain = Agenda(), dict[str, int]()
    for job, seconds in orders:
        agenda.put(job, None if seconds is None else at(seconds))
        plain.pop(job, None)
        if seconds is not None:
            plain[job] = seconds
    due = {job: seconds for job, seconds in plain.items() if seconds <= until}
    assert sorted(agenda.take(at(until))) == sorted((at(seconds), job) for job, seconds in due.items())
    assert len(agenda) == len(plain) - len(due)


@pytest.mark.parametrize(
    ("count", "apart"), [(1, 0), (2, 1), (40, 1), (60, 1), (61, 60 / 61), (120, 0.5), (6000, 0.01)]
)
def test_late_jobs_begin_a_second_apart_and_all_within_a_minute(count: int, apart: float) -> None:
    spread = stagger([str(number) for number in range(count)], NOON)
    assert [job for job, _ in spread] == [str(number) for number in range(count)]
    assert spread[0][1] == NOON
    assert spread[-1][1] <= at(60)
    gaps = {(later - earlier).total_seconds() for (_, earlier), (_, later) in pairwise(spread)}
    assert all(abs(gap - apart) < 0.001 for gap in gaps)


def test_nobody_is_spread_when_nobody_is_late() -> None:
    assert stagger([], NOON) == []
