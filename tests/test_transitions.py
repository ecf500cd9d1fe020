"""From states to news: a lasting change is told once and soon, a flicker never, and no storm comes of anything."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.probe.health import LIVE, STATES
from heartbeat.transitions import (
    APART,
    CALM,
    RED,
    RESTLESS,
    ROUNDS,
    Memory,
    came_and_went,
    colour_of,
    due,
    held_until,
    is_news,
    look,
    with_told,
)

T0 = 1_800_000_000.0
MINUTE = 60.0
PHONE = ("phone",)


class Played:
    """A watch whose rounds a test makes, with channels that take what they are handed unless they are in *broken*."""

    def __init__(self, channels: Iterable[str] = PHONE, on: tuple[str, ...] = RED) -> None:
        self.channels, self.on = tuple(channels), on
        self.memory: Memory | None = None
        self.now = T0
        self.told: list[tuple[str, str, float]] = []
        """Channel, colour, instant."""
        self.news: list[str] = []

    def round(
        self, state: str, *, after: float = MINUTE, broken: Iterable[str] = (), since: float | None = None
    ) -> None:
        self.now += after
        before, self.memory = self.memory, look(self.memory, state, self.now, since=since, on=self.on)
        if is_news(before, self.memory):
            self.news.append(self.memory.colour)
        for channel in due(self.memory, self.channels):
            if channel not in broken:
                self.memory = with_told(self.memory, channel)
                self.told.append((channel, self.memory.colour, self.now))

    def rounds(self, *states: str) -> list[str]:
        """What was told in them, in order."""
        already = len(self.told)
        for state in states:
            self.round(state)
        return [colour for _, colour, _ in self.told[already:]]


def test_red_and_green_part_the_states_of_the_probe() -> None:
    assert {state for state in STATES if colour_of(state) == "green"} == set(LIVE)
    assert {state for state in STATES if colour_of(state) == "red"} == set(RED)


@pytest.mark.parametrize(
    ("states", "told"),
    [
        # The first look
        (["up"], []),
        (["absent"], []),
        (["degraded"], []),
        (["down"], ["red"]),
        (["stalled"], ["red"]),
        (["down", "down", "down"], ["red"]),
        # It goes down
        (["up", "down"], []),
        (["up", "down", "down"], ["red"]),
        (["up", "stalled", "down"], ["red"]),
        (["up", "flapping"], ["red"]),
        (["up", "down", "flapping"], ["red"]),
        (["absent", "down", "down"], ["red"]),
        # A restart between two rounds
        (["up", "down", "up", "down", "up", "stalled", "up"], []),
        # Again and again
        (["up", "down", "up", "down", "up", "stalled", "up", "down"], ["red"]),
        (["up", *["down", "up"] * 20], ["red"]),
        (["up", *["down", "up", "up"] * 20], ["red"]),
        (["up", *["down", "absent", "degraded", "up"] * 10], ["red"]),
        (["down", *["up", "down"] * 20], ["red"]),
        # It comes back
        (["down", "up"], ["red"]),
        (["down", "up", "up"], ["red", "green"]),
        (["down", "degraded", "up"], ["red", "green"]),
        (["down", "up", "down", "up", "down"], ["red"]),
        # What is no news
        (["up", "degraded", "degraded", "absent", "absent", "up"], []),
        (["down", "flapping", "stalled", "flapping", "down"], ["red"]),
        # Taken away
        (["up", "absent", "absent", "absent"], []),
        (["down", "absent", "absent"], ["red", "green"]),
    ],
)
def test_what_is_told_of_a_row_of_states(states: list[str], told: list[str]) -> None:
    assert Played().rounds(*states) == told


def test_the_owner_says_which_states_alarm() -> None:
    assert Played(on=("degraded",)).rounds("up", "degraded", "degraded", "down", "down") == ["red", "green"]
    assert Played(on=("down",)).rounds("up", "flapping", "stalled", "stalled") == []


def test_since_when_is_what_the_target_says_or_else_the_first_round_that_saw_it() -> None:
    watch = Played()
    watch.round("up")
    watch.round("down")
    seen_at = watch.now
    watch.round("down")
    assert watch.memory is not None
    assert (watch.memory.since, watch.memory.was) == (seen_at, "up")
    watch.round("up")
    back_at = watch.now
    watch.round("up", since=T0 + 1)
    assert (watch.memory.since, watch.memory.before, watch.memory.was) == (back_at, seen_at, "down")
    watch.round("down")
    watch.round("down", since=watch.now + 30)
    assert watch.memory.since == watch.now - 30


@pytest.mark.parametrize(
    ("since", "believed"), [(0, False), (MINUTE, False), (60 * MINUTE, True), (59 * MINUTE + 1, True)]
)
def test_nothing_was_down_long_before_it_was_last_seen_up(since: float, believed: bool) -> None:
    watch = Played()
    for _ in range(60):
        watch.round("up")
    for _ in range(2):
        watch.round("down", since=T0 + since)
    assert watch.memory is not None
    assert watch.memory.since == (T0 + since if believed else T0 + 61 * MINUTE)


def test_a_loop_of_restarts_began_before_it_was_last_seen_up() -> None:
    watch = Played()
    watch.round("up")
    watch.round("flapping", since=T0 - 5 * MINUTE)
    assert watch.memory is not None
    assert watch.memory.since == T0 - 5 * MINUTE


@pytest.mark.parametrize("since", [None, 0.0, -5.0, T0 * 1000, float("nan"), float("inf")])
def test_an_instant_that_makes_no_sense_is_not_believed(since: float | None) -> None:
    assert look(None, "down", T0, since=since).since == T0


def test_two_watches_at_the_same_moment_are_one_round() -> None:
    watch = Played()
    watch.round("up")
    watch.round("down")
    watch.round("down", after=APART / 2)
    assert watch.told == []
    watch.round("down", after=APART)
    assert [colour for _, colour, _ in watch.told] == ["red"]


def test_a_clock_that_is_set_back_stops_nothing() -> None:
    watch = Played()
    watch.round("up")
    watch.round("down")
    watch.round("down", after=-86_400)
    assert [colour for _, colour, _ in watch.told] == ["red"]
    assert watch.memory is not None
    assert watch.memory.since == watch.now


def test_what_no_channel_took_is_tried_again_and_what_one_took_is_not() -> None:
    watch = Played(("phone", "mail"))
    watch.round("up")
    watch.round("down")
    watch.round("down", broken=("phone", "mail"))
    assert watch.told == []
    watch.round("down", broken=("mail",))
    assert [channel for channel, *_ in watch.told] == ["phone"]
    watch.round("down")
    watch.round("down")
    assert [channel for channel, *_ in watch.told] == ["phone", "mail"]
    assert watch.news == ["red"]


def test_what_is_over_before_it_could_be_told_is_not_told() -> None:
    watch = Played()
    watch.round("up")
    for state in ("down", "down", "up", "up", "up"):
        watch.round(state, broken=PHONE)
    assert watch.rounds("up", "up") == []
    assert watch.news == ["red", "green"]


def test_what_waits_is_not_told_while_it_just_looks_otherwise() -> None:
    watch = Played()
    watch.round("up")
    watch.round("down")
    watch.round("down", broken=PHONE)
    assert watch.rounds("up") == []
    assert watch.rounds("down") == ["red"]


def test_a_channel_that_is_new_hears_that_it_is_down() -> None:
    watch = Played()
    watch.rounds("down", "down")
    watch.channels = ("phone", "mail")
    watch.round("down")
    assert [channel for channel, *_ in watch.told] == ["phone", "mail"]


def test_what_comes_and_goes_again_and_again_is_up_only_when_that_is_over() -> None:
    watch = Played()
    watch.round("up")
    for _ in range(20):
        watch.rounds("down", "down", "up", "up")
    assert len(watch.told) == RESTLESS + 1
    assert watch.told[-1][1] == "red"
    quiet_from = watch.now
    while watch.told[-1][1] == "red":
        watch.round("up")
    assert CALM / 2 <= watch.now - quiet_from <= CALM


def test_what_was_seen_for_a_moment_does_not_keep_what_lasts_from_being_told() -> None:
    watch = Played()
    watch.round("up")
    for _ in range(2 * RESTLESS):
        watch.rounds("down", "up")
        watch.now += CALM / (RESTLESS - 1)
    assert watch.told == []
    assert watch.rounds("down", "down", "up", "up") == ["red", "green"]


@pytest.mark.parametrize("pattern", [("down", "up"), ("down", "up", "up"), ("down", "up", "up", "up", "up")])
def test_what_is_down_every_few_rounds_for_a_day_is_told_once_and_up_when_an_hour_was_better(
    pattern: tuple[str, ...],
) -> None:
    watch = Played()
    watch.round("up")
    for _ in range(24 * 60 // len(pattern)):
        watch.rounds(*pattern)
    assert [colour for _, colour, _ in watch.told] == ["red"]
    assert watch.told[0][2] - T0 <= (RESTLESS - 1) * len(pattern) * MINUTE + 2 * MINUTE
    assert watch.memory is not None
    assert came_and_went(watch.memory)
    until = held_until(watch.memory, watch.now)
    assert until is not None
    while watch.told[-1][1] == "red":
        watch.round("up")
    assert until <= watch.now < until + MINUTE
    assert came_and_went(watch.memory)
    watch.now += CALM
    watch.rounds("down", "down")
    assert not came_and_went(watch.memory)


def test_what_is_down_a_little_too_often_for_a_day_is_told_no_more_than_twice_an_hour() -> None:
    watch = Played()
    for _ in range(24 * 60 // 19):
        watch.rounds("down", *["up"] * 18)
    assert len(watch.told) <= 48


def test_many_rounds_within_a_few_seconds_are_one_glimpse() -> None:
    watch = Played()
    watch.round("up")
    for _ in range(RESTLESS):
        watch.round("down", after=0.5)
        watch.round("up", after=0.5)
    assert watch.told == []


def test_how_long_it_is_held_is_known_from_its_last_fall_on() -> None:
    watch = Played()
    watch.round("up")
    watch.rounds("down", "down", "up", "up", "down", "down")
    assert watch.memory is not None
    assert held_until(watch.memory, watch.now) is None
    first = watch.memory.changes[0]
    watch.rounds("up", "up", "down", "down")
    second = watch.memory.changes[0]
    assert second > first
    assert held_until(watch.memory, watch.now) == second + CALM
    assert held_until(watch.memory, second + CALM) is None
    while watch.told[-1][1] == "red":
        watch.round("up")
    assert second + CALM <= watch.now < second + CALM + MINUTE
    assert held_until(watch.memory, watch.now) is None


def test_nothing_is_told_where_there_is_no_channel_and_it_is_news_all_the_same() -> None:
    watch = Played(())
    assert watch.rounds("up", "down", "down", "up", "up") == []
    assert watch.news == ["red", "green"]


states = st.sampled_from(STATES)
pauses = st.floats(0, 2 * CALM) | st.sampled_from([0.0, 1.0, APART, MINUTE, -MINUTE, -86_400.0])
channels = st.sets(st.sampled_from(["phone", "mail"]))
lives = st.lists(st.tuples(states, pauses, channels), max_size=60)


def played(life: list[tuple[str, float, set[str]]]) -> Played:
    watch = Played(("phone", "mail"))
    for state, after, broken in life:
        watch.round(state, after=after, broken=broken)
    return watch


@given(lives)
def test_no_channel_is_told_the_same_twice_and_red_comes_first(life: list[tuple[str, float, set[str]]]) -> None:
    watch = played(life)
    for channel in watch.channels:
        told = [colour for name, colour, _ in watch.told if name == channel]
        assert told == ["red", "green"] * (len(told) // 2) + ["red"] * (len(told) % 2)
    assert watch.news == [["red", "green"][number % 2] for number in range(len(watch.news))]


@given(lives, states)
def test_a_change_that_lasts_is_told_within_two_rounds_or_within_an_hour_when_it_came_and_went(
    life: list[tuple[str, float, set[str]]], state: str
) -> None:
    watch = played(life)
    lasts = int(CALM / MINUTE) + 1 if colour_of(state) == "green" else ROUNDS
    for _ in range(max(lasts, ROUNDS)):
        watch.round(state)
    assert watch.memory is not None
    assert watch.memory.colour == colour_of(state)
    assert due(watch.memory, watch.channels) == ()
    assert all(watch.memory.told.get(name, "green") == colour_of(state) for name in watch.channels)


@given(st.lists(st.tuples(states, st.floats(0, 10 * MINUTE)), max_size=200))
def test_no_storm_comes_of_any_states(life: list[tuple[str, float]]) -> None:
    watch = Played()
    for state, after in life:
        watch.round(state, after=after)
    instants = [at for *_, at in watch.told]
    assert all(sum(at <= other < at + CALM for other in instants) <= RESTLESS + 1 for at in instants)


@given(lives, states)
def test_a_state_of_one_round_is_never_told_unless_it_is_a_loop_of_restarts_or_one_of_many(
    life: list[tuple[str, float, set[str]]], state: str
) -> None:
    watch = played(life)
    if watch.memory is None or watch.memory.rounds or state == "flapping":
        return
    for _ in range(2):  # what waits is delivered
        watch.round(watch.memory.state)
    if sum(watch.now + MINUTE - at < CALM for at in watch.memory.glimpses) >= RESTLESS - 1:
        return  # the next one may be the one too many
    before = list(watch.told)
    watch.round(state)
    assert watch.told == before


@given(lives)
def test_it_remembers_no_more_than_it_needs(life: list[tuple[str, float, set[str]]]) -> None:
    memory = played(life).memory
    assert memory is None or (len(memory.changes) <= RESTLESS >= len(memory.glimpses) and len(memory.told) <= 2)


@given(st.lists(st.tuples(states, st.floats(APART, 30 * MINUTE)), max_size=120))
def test_red_is_called_for_two_rounds_or_four_glimpses_within_an_hour_and_then_is_not_green_for_that_hour(
    life: list[tuple[str, float]],
) -> None:
    watch = Played()
    rows: list[tuple[str, float]] = []
    for state, after in life:
        watch.round(state, after=after)
        rows.append((state, watch.now))
        colours = [colour_of(each) for each, _ in rows]
        glimpses = [
            at
            for number, (_, at) in enumerate(rows)
            if colours[number] == "red" and (number == 0 or colours[number - 1] == "green")
        ]
        many = sum(watch.now - at < CALM for at in glimpses) >= RESTLESS
        in_a_row = len(rows) == 1 or colours[-2:] == ["red", "red"] or state == "flapping"
        called = bool(watch.told) and watch.told[-1][1:] == ("red", watch.now)
        assert watch.memory is not None
        if called:
            assert colours[-1] == "red"
            assert in_a_row or many
        if many or (in_a_row and colours[-1] == "red"):
            assert watch.memory.colour == "red"
