"""What holds the ledger against arithmetic: it must see what is wrong with the fates of a job, and nothing else."""

from __future__ import annotations

import pytest

from tests.slow.due import Due, any_of, each_time, every, instant, multiples, once_a_day, show
from tests.slow.guarantees import Fates, Phase, faults

MINUTE = "2026-06-10T08:00:"
ANCHOR = instant(f"{MINUTE}01Z")


def at(second: int) -> int:
    return instant(f"{MINUTE}{second:02}Z")


def alone(*seconds: int) -> list[Fates]:
    return [Fates(at(second), at(second), 1, "ran") for second in seconds]


def stretch(first: int, last: int, count: int | None) -> Fates:
    return Fates(at(first), at(last), count, "skipped")


GOOD = {
    "a row for each": alone(5, 10, 15, 20),
    "a stretch": [*alone(5), stretch(10, 15, 2), *alone(20)],
    "a stretch that was not counted": [stretch(5, 20, None)],
}
BAD = {
    "nothing at all": ([], "was due and has no fate"),
    "one is missing": (alone(5, 10, 20), "was due and has no fate: 2026-06-10T08:00:15"),
    "the first is missing": (alone(10, 15, 20), "was due and has no fate: 2026-06-10T08:00:05"),
    "the last is missing": (alone(5, 10, 15), "was due and has no fate: 2026-06-10T08:00:20"),
    "one that was not due": (alone(5, 10, 12, 15, 20), "does not stand for slots"),
    "one before the anchor": (alone(0, 5, 10, 15, 20), "does not stand for slots"),
    "one that the schedule has not come to": (alone(5, 10, 15, 20, 25), "there is a fate of 2026-06-10T08:00:25"),
    "a stretch that ends where nothing is due": ([stretch(5, 19, None), *alone(20)], "does not stand for slots"),
    "a stretch that begins where nothing is due": ([*alone(5), stretch(9, 20, None)], "does not stand for slots"),
    "a stretch that is counted wrongly": ([stretch(5, 20, 3)], "does not stand for slots"),
    "one alone and in a stretch": ([stretch(5, 15, 3), *alone(10, 20)], "have slots in common"),
    "one in two stretches": ([stretch(5, 15, 3), stretch(15, 20, 2)], "have slots in common"),
}


@pytest.mark.parametrize("name", GOOD)
def test_exactly_one_fate_for_each_slot_is_no_fault(name: str) -> None:
    assert list(faults(GOOD[name], multiples(5), [Phase(ANCHOR, at(20))])) == []


@pytest.mark.parametrize("name", BAD)
def test_any_other_number_of_fates_is_a_fault(name: str) -> None:
    rows, fault = BAD[name]
    found = list(faults(rows, multiples(5), [Phase(ANCHOR, at(20))]))
    assert found
    assert all(fault in each for each in found), found


def test_after_a_clock_was_set_back_slots_of_both_phases_count() -> None:
    phases = [Phase(at(1), at(21)), Phase(at(8), at(23))]
    rows = [*alone(1, 6, 11, 13, 16, 18, 21, 23)]
    assert list(faults(rows, every(5), phases)) == []
    assert list(faults(rows, every(5), phases[1:])) != []
    assert list(faults(alone(1, 6, 11, 16, 21, 23), every(5), phases)) != []


DUE: dict[str, tuple[Due, str, str, list[str]]] = {
    "a period": (every(40), "2026-06-10T08:00:01Z", "2026-06-10T08:01:30Z", ["08:00:01", "08:00:41", "08:01:21"]),
    "a list": (
        any_of(multiples(15), multiples(20)),
        "2026-06-10T08:00:01Z",
        "2026-06-10T08:01:00Z",
        ["08:00:15", "08:00:20", "08:00:30", "08:00:40", "08:00:45", "08:01:00"],
    ),
    "a gap": (
        once_a_day("Europe/Berlin", "02:10", "02:20"),
        "2026-03-29T00:30:00Z",
        "2026-03-30T00:15:00Z",
        ["01:00:00", "00:10:00"],
    ),
    "an overlap": (
        once_a_day("Europe/Berlin", "02:30"),
        "2026-10-25T00:00:00Z",
        "2026-10-26T02:00:00Z",
        ["00:30:00", "01:30:00"],
    ),
    "each pass of an overlap": (
        each_time("Europe/Berlin", (30,)),
        "2026-10-25T00:00:00Z",
        "2026-10-25T02:00:00Z",
        ["00:30:00", "01:30:00"],
    ),
}


@pytest.mark.parametrize("name", DUE)
def test_what_is_due_is_known_without_heartbeats_help(name: str) -> None:
    due, begin, end, expected = DUE[name]
    assert [show(slot)[11:19] for slot in due(instant(begin), instant(end))] == expected
