"""A meeting through several ticks of the whole beat: told once, then only when it moves or is called off."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.conftest import CONFIG, Place
from tests.lookahead.support import BERLIN, DTSTART, MINE, NOW, WEEKLY, calendar, event

LATER = "DTSTART:20260610T081000Z"
MUCH_LATER = "DTSTART:20260610T150000Z"
TOMORROW = "DTSTART:20260611T080000Z"
EARLIER = "DTSTART:20260610T070000Z"
NEXT_MONTH = "DTSTART:20260710T080000Z"
Story = Callable[..., list[str]]


@pytest.fixture
def story(place: Place) -> Story:
    """Ticks so many minutes after NOW, with these events in the calendar; what became of each finding."""
    path = place.folder / "me.ics"
    place.configure(
        f"""{CONFIG}
[jobs.calendar-lookahead]
every = "10m"
[jobs.calendar-lookahead.options]
lookahead = "30m"
sources = [ {{ file = "{path}" }} ]
""".replace('zone = "Europe/Berlin"', f'zone = "Europe/Berlin"\nemails = ["{MINE}"]')
    )

    def tick(minutes: float, *events: str) -> list[str]:
        write(path, calendar(*events))
        now = (NOW + timedelta(minutes=minutes)).isoformat()
        findings = place.data("tick", "calendar-lookahead", "--now", now)["findings"]
        return [f"{finding['action']} {finding['change']}" for finding in findings]

    return tick


def write(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)


def test_a_meeting_is_told_once_however_near_it_comes_and_is_forgotten_when_it_is_over(story: Story) -> None:
    one = event(DTSTART, "SUMMARY:Sync")
    assert story(-10, one) == ["wake new"]
    assert story(0, one) == story(14, one) == story(15, one) == story(20, one) == ["duplicate same"]
    assert story(20.5, one) == ["drop forgotten"]
    assert story(30) == []


@pytest.mark.parametrize(
    ("after", "becomes"),
    [
        pytest.param([event(DTSTART, "SUMMARY:Renamed")], ["duplicate same"], id="renamed"),
        pytest.param([event(LATER, "SUMMARY:Sync")], ["wake update"], id="moved"),
        pytest.param([event(DTSTART, "DTEND:20260610T090000Z", "SUMMARY:Sync")], ["wake update"], id="longer"),
        pytest.param([event(DTSTART, "SUMMARY:Sync", "STATUS:CANCELLED")], ["wake retraction"], id="called off"),
        pytest.param(
            [event(DTSTART, "SUMMARY:Sync", f"ATTENDEE;PARTSTAT=DECLINED:mailto:{MINE}")],
            ["wake retraction"],
            id="declined",
        ),
        pytest.param([], ["wake retraction"], id="deleted"),
        pytest.param([event(MUCH_LATER, "SUMMARY:Sync")], ["wake update"], id="moved out of sight"),
        pytest.param([event(TOMORROW, "SUMMARY:Sync")], ["wake update"], id="moved to tomorrow"),
        pytest.param([event(EARLIER, "SUMMARY:Sync")], ["wake update"], id="moved to an hour ago"),
        pytest.param([event(NEXT_MONTH, "SUMMARY:Sync")], ["wake update"], id="moved to next month"),
    ],
)
@pytest.mark.parametrize("minutes", [5, 17], ids=["before its start", "within its grace"])
def test_what_was_told_is_mended_when_the_calendar_changes(
    story: Story, after: list[str], becomes: list[str], minutes: int
) -> None:
    assert story(0, event(DTSTART, "SUMMARY:Sync")) == ["wake new"]
    assert story(minutes, *after) == becomes


def test_one_instance_of_a_series_is_called_off_and_the_others_stay(story: Story) -> None:
    off = event(f"RECURRENCE-ID;{BERLIN}:20260610T100000", DTSTART, "STATUS:CANCELLED")
    assert story(0, event(*WEEKLY)) == ["wake new"]
    assert story(5, event(*WEEKLY), off) == ["wake retraction"]
    assert story(7 * 24 * 60, event(*WEEKLY), off) == ["wake new"]


def test_a_calendar_that_breaks_calls_nothing_off(story: Story, place: Place) -> None:
    assert story(0, event(DTSTART, "SUMMARY:Sync")) == ["wake new"]
    broken = event(DTSTART, "SUMMARY:Sync")[:-20]
    assert story(5, broken) == ["duplicate same"]
    assert story(6, event(DTSTART, "SUMMARY:Sync")) == ["duplicate same"]


def test_a_meeting_that_moved_out_of_sight_is_told_again_when_it_is_near(story: Story) -> None:
    moved = event(MUCH_LATER, "SUMMARY:Sync")
    assert story(0, event(DTSTART, "SUMMARY:Sync")) == ["wake new"]
    assert story(5, moved) == ["wake update"]
    assert story(20, moved) == ["duplicate same"]
    assert story(20.5, moved) == ["drop forgotten"]
    assert story(7 * 60, moved) == ["wake new"]


@pytest.mark.parametrize("away", ["DTSTART:20260610T083500Z", MUCH_LATER], ids=["soon in sight", "far away"])
def test_a_meeting_that_moved_out_of_sight_can_still_be_called_off(story: Story, away: str) -> None:
    moved = event(away, "SUMMARY:Sync")
    assert story(0, event(DTSTART, "SUMMARY:Sync")) == ["wake new"]
    assert story(1, moved) == ["wake update"]
    assert story(19, moved) == ["duplicate same"]
    assert story(19.5) == ["wake retraction"]


def test_a_meeting_that_moved_into_sight_again_can_be_called_off_to_its_end(story: Story) -> None:
    moved = event("DTSTART:20260610T083500Z", "SUMMARY:Sync")
    assert story(0, event(DTSTART, "SUMMARY:Sync")) == ["wake new"]
    assert story(1, moved) == ["wake update"]
    assert story(40, moved) == ["duplicate same"]
    assert story(54) == ["wake retraction"]


def test_a_meeting_that_was_never_in_sight_may_move_unseen(story: Story) -> None:
    assert story(0, event(MUCH_LATER, "SUMMARY:Sync")) == []
    assert story(5, event(TOMORROW, "SUMMARY:Sync")) == []


def series(start: str, *more: str) -> str:
    return event(f"DTSTART;{BERLIN}:{start}", "SUMMARY:Weekly", "RRULE:FREQ=WEEKLY", *more)


def test_a_meeting_that_moved_to_tomorrow_is_told_again_then_although_the_machine_slept(story: Story) -> None:
    assert story(0, event(DTSTART, "SUMMARY:Sync")) == ["wake new"]
    assert story(10, event(TOMORROW, "SUMMARY:Sync")) == ["wake update"]
    assert story(24 * 60, event(TOMORROW, "SUMMARY:Sync")) == ["wake update"]
    assert story(24 * 60 + 5, event(TOMORROW, "SUMMARY:Sync")) == ["duplicate same"]


def test_what_was_told_from_the_copy_of_a_failing_calendar_is_known_to_have_moved(story: Story, place: Place) -> None:
    assert story(-60, event(DTSTART, "SUMMARY:Sync")) == []
    write(place.folder / "me.ics", "<html>login</html>")
    data = place.data("tick", "calendar-lookahead", "--now", NOW.isoformat())
    assert [finding["change"] for finding in data["findings"]] == ["new"]
    assert story(5, event(MUCH_LATER, "SUMMARY:Sync")) == ["wake update"]


def test_a_series_that_moves_as_a_whole_moves_the_instance_that_was_told(story: Story) -> None:
    assert story(0, series("20260603T100000")) == ["wake new"]
    assert story(5, series("20260603T101000")) == ["wake update"]
    assert story(10, series("20260603T101000", "LOCATION:x")) == ["duplicate same"]
    assert story(12, series("20260603T100500")) == ["wake update"]
    assert story(13) == ["wake retraction"]


def test_an_event_that_becomes_a_series_and_back_is_no_news(story: Story) -> None:
    once = event(f"DTSTART;{BERLIN}:20260610T100000", "SUMMARY:Weekly")
    assert story(0, once) == ["wake new"]
    assert story(5, series("20260610T100000")) == ["duplicate same"]
    assert story(10, once) == ["duplicate same"]


def test_a_clock_that_is_set_back_calls_nothing_off(story: Story) -> None:
    one = event(DTSTART, "SUMMARY:Sync")
    assert story(0, one) == ["wake new"]
    for minutes in (-120, -110, -20, 5):
        assert story(minutes, one) == ["duplicate same"]
    assert story(-100) == ["wake retraction"]


BOMB = event("DTSTART:20200610T080000Z", "RRULE:FREQ=MINUTELY", "SUMMARY:Bomb", uid="bomb@example.com")


def test_one_series_that_is_given_up_hides_no_change_of_the_others(story: Story) -> None:
    other = event(LATER, "SUMMARY:Other", uid="other@example.com")
    assert story(0, BOMB, event(DTSTART, "SUMMARY:Sync"), other) == ["wake new", "wake new"]
    moved = event(MUCH_LATER, "SUMMARY:Other", uid="other@example.com")
    assert sorted(story(5, BOMB, moved)) == ["wake retraction", "wake update"]


def test_a_series_that_can_no_longer_be_read_is_not_called_off(story: Story) -> None:
    assert story(0, series("20260603T100000")) == ["wake new"]
    broken = event(f"DTSTART;{BERLIN}:20260603T100000", "SUMMARY:Weekly", "RRULE:FREQ=MINUTELY")
    assert story(5, broken) == ["duplicate same"]
    assert story(10) == ["wake retraction"]
