"""What a timing is called in the ledger, and how it is read from there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.schedule import EVERY_DAY, At, Cron, Every, Timing, Window, identity_of, timing_of
from tests.schedule.walks import BERLIN, DAY, HOUR, NOON, SECOND, ZULU, crons

EACH = [
    Timing((Every(DAY),), BERLIN),
    Timing((Every(HOUR),), BERLIN),
    Timing((Every(DAY), Every(HOUR)), BERLIN),
    Timing((Cron("0 9 * * *"),), BERLIN),
    Timing((Cron("0 9 * * *"),), ZULU),
    Timing((At(NOON),), BERLIN),
    Timing((Every(DAY),), BERLIN, 7 * SECOND),
    Timing((Every(DAY),), BERLIN, between=(Window(1, 2),)),
    Timing((Every(DAY),), ZULU, between=(Window(1, 2),)),
    Timing((Every(DAY),), BERLIN, days=frozenset({0})),
    Timing((Every(DAY),), BERLIN, until=NOON),
]


def test_equal_timings_have_one_identity_and_others_another() -> None:
    assert len({identity_of(timing) for timing in EACH}) == len(EACH)
    elapsed = Timing((Every(DAY),), BERLIN)
    assert identity_of(elapsed) == identity_of(replace(elapsed, zone=ZULU)), "elapsed time knows no zone"


schedules = st.one_of(
    st.integers(1, 10**6).map(lambda seconds: Every(seconds * SECOND)),
    crons.map(Cron),
    st.integers(0, 10**9).map(lambda seconds: At(NOON + seconds * SECOND)),
)
timings = st.builds(
    Timing,
    st.lists(schedules, min_size=1, max_size=4).map(tuple),
    st.sampled_from([BERLIN, ZULU]),
    shift=st.integers(0, 86_399).map(lambda seconds: seconds * SECOND),
    between=st.lists(st.builds(Window, st.integers(0, 1439), st.integers(0, 1440)), max_size=3).map(tuple),
    days=st.sets(st.integers(0, 6), min_size=1).map(frozenset) | st.just(EVERY_DAY),
    until=st.none() | st.just(NOON),
)


@given(timings)
def test_what_an_identity_is_read_as_has_that_identity(timing: Timing) -> None:
    read = timing_of(identity_of(timing))
    assert read is not None
    assert identity_of(read) == identity_of(timing)
    assert replace(read, zone=timing.zone) == timing


@pytest.mark.parametrize("text", ["", "off", "every", "every soon", "at noon", "cron * * * * *; zone Nowhere/Here"])
def test_a_text_that_is_no_identity_is_none(text: str) -> None:
    assert timing_of(text) is None
