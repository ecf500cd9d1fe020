"""`heartbeat quiet` and `heartbeat zone`: what the owner says for the time being."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from heartbeat.cli import quiet as quiet_verbs
from heartbeat.stores.sqlite import open_ledger
from tests.conftest import CONFIG, Place

NOW = datetime(2026, 6, 10, 10, tzinfo=UTC)
"""Noon in Berlin."""
WINDOW = CONFIG + '[quiet]\nwindows = [{ start = "23:30", end = "07:00" }]\n'
NOTHING_SAID = {"quiet_until": None, "loud_until": None, "zone": None}


class Clock:
    """What the verbs take as now."""

    now: datetime = NOW

    def local(self, text: str) -> None:
        self.now = datetime.fromisoformat(text + "+02:00").astimezone(UTC)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(quiet_verbs, "utc_now", lambda: clock.now)
    return clock


@pytest.fixture
def night(place: Place) -> Place:
    place.configure(WINDOW)
    return place


def said(place: Place, *words: str) -> Any:
    return place.data(*words)["override"]


# What holds


def test_without_windows_it_is_never_quiet_and_nothing_is_written(place: Place) -> None:
    assert place.data("quiet") == {
        "quiet": False,
        "until": None,
        "reason": "no window is configured",
        "zone": "Europe/Berlin",
        "override": NOTHING_SAID,
    }
    assert place.call("quiet").out == "not quiet: no window is configured\n"
    assert not place.state.exists()


def test_in_a_window_it_is_quiet_to_its_end(night: Place, clock: Clock) -> None:
    assert night.data("quiet")["quiet"] is False
    clock.local("2026-06-10T23:30")
    found = night.data("quiet")
    assert (found["quiet"], found["until"]) == (True, "2026-06-11T07:00:00+02:00")
    assert night.call("quiet").out == "quiet until 2026-06-11 07:00:00: by the windows of the configuration\n"


def test_a_configuration_with_a_fault_says_so_instead_of_guessing(place: Place) -> None:
    place.configure(CONFIG + "[quiet]\nwindows = 5\n")
    assert "quiet.windows" in place.error("quiet", status=4)


# Quiet until

UNTIL = [
    ("2026-06-10T16:00+04:00", "2026-06-10T14:00:00+02:00"),
    ("2026-06-10T12:00:00.000001+02:00", "2026-06-10T12:00:00.000001+02:00"),
    ("2h", "2026-06-10T14:00:00+02:00"),
    ("1d12h", "2026-06-12T00:00:00+02:00"),
    ("366d", "2027-06-11T12:00:00+02:00"),
    ("12:01", "2026-06-10T12:01:00+02:00"),
    ("12:00", "2026-06-11T12:00:00+02:00"),
    ("9:00", "2026-06-11T09:00:00+02:00"),
    ("00:00", "2026-06-11T00:00:00+02:00"),
]


@pytest.mark.parametrize(("moment", "until"), UNTIL)
def test_quiet_until_an_instant_a_time_of_day_or_so_long(place: Place, moment: str, until: str) -> None:
    data = place.data("quiet", "until", moment)
    override = {**NOTHING_SAID, "quiet_until": until}
    assert data == {"quiet": True, "until": until, "zone": "Europe/Berlin", "override": override}
    assert place.data("quiet")["until"] == until
    assert place.data("quiet")["reason"].startswith("you said that it is quiet until 202")


def test_the_ledger_keeps_it(place: Place) -> None:
    assert place.call("quiet", "until", "2h").out == "quiet until 2026-06-10 14:00:00\n"
    with open_ledger(place.state / "ledger.db") as ledger:
        assert ledger.overrides(NOW).quiet_until == NOW + timedelta(hours=2)
        assert ledger.overrides(NOW + timedelta(hours=2)).quiet_until is None


BAD = [
    ("2026-06-10T11:59+02:00", "it is past"),
    ("2026-06-10T12:00+02:00", "it is past"),
    ("0s", "it is past"),
    ("366d1s", "more than 366 days ahead"),
    ("999999w", "it ends after the year 9999"),
    ("2199-01-01T00:00Z", "more than 366 days ahead"),
    ("2026-06-10T14:00", "write 2026-06-10T14:00:00+02:00"),
    ("2026-06-10", "it has no time of the day"),
    ("24:00", "a time of day such as 09:00"),
    ("12:60", "a time of day such as 09:00"),
    ("tomorrow", "how long, such as 2h"),
    ("", "how long, such as 2h"),
    ("2 h", "how long, such as 2h"),
]


@pytest.mark.parametrize(("moment", "words"), BAD)
@pytest.mark.parametrize("verb", [("quiet", "until"), ("quiet", "off"), ("zone", "Europe/Rome", "--until")])
def test_a_moment_that_is_none_is_refused_and_nothing_is_written(
    place: Place, verb: tuple[str, ...], moment: str, words: str
) -> None:
    message = place.error(*verb, moment, status=4)
    assert repr(moment) in message
    assert words in message
    assert not place.state.exists()


def test_a_time_of_day_is_that_of_the_clock_where_the_owner_is(place: Place) -> None:
    place.data("zone", "Asia/Tokyo")
    assert place.data("quiet", "until", "19:30")["until"] == "2026-06-10T19:30:00+09:00"


@pytest.mark.parametrize(
    ("now", "time", "until"),
    [
        ("2026-03-29T00:30:00+01:00", "02:30", "2026-03-29T03:00:00+02:00"),  # the clock skips it
        ("2026-10-25T01:00:00+02:00", "02:30", "2026-10-25T02:30:00+02:00"),
        ("2026-10-25T02:30:00+02:00", "02:30", "2026-10-25T02:30:00+01:00"),  # it comes again
    ],
)
def test_the_next_passage_of_a_time_of_day_where_the_clock_is_changed(
    place: Place, clock: Clock, now: str, time: str, until: str
) -> None:
    clock.now = datetime.fromisoformat(now).astimezone(UTC)
    assert place.data("quiet", "until", time)["until"] == until


# Off, and back


def test_off_ends_the_quiet_that_holds_for_as_long_as_it_would(night: Place, clock: Clock) -> None:
    clock.local("2026-06-10T23:45")
    data = night.data("quiet", "off")
    assert (data["quiet"], data["until"]) == (False, None)
    assert data["override"]["loud_until"] == "2026-06-11T07:00:00+02:00"
    shown = night.data("quiet")
    assert shown["quiet"] is False
    assert shown["reason"] == "you said that there are no quiet hours until 2026-06-11 07:00:00"
    clock.local("2026-06-11T23:45")
    assert night.data("quiet")["quiet"] is True


def test_off_ends_what_until_said_and_until_what_off_said(place: Place) -> None:
    place.data("quiet", "until", "2h")
    assert said(place, "quiet", "off") == {**NOTHING_SAID, "loud_until": "2026-06-10T14:00:00+02:00"}
    assert said(place, "quiet", "until", "1h") == {**NOTHING_SAID, "quiet_until": "2026-06-10T13:00:00+02:00"}
    assert place.data("quiet")["quiet"] is True


def test_off_may_be_said_ahead_with_an_end(night: Place, clock: Clock) -> None:
    assert night.call("quiet", "off", "20h").out == "no quiet hours until 2026-06-11 08:00:00\n"
    clock.local("2026-06-10T23:45")
    assert night.data("quiet")["quiet"] is False


def test_off_without_an_end_is_refused_when_it_is_not_quiet(night: Place) -> None:
    assert "it is not quiet now" in night.error("quiet", "off", status=5)
    assert not night.state.exists()


@pytest.mark.parametrize("verb", ["until", "off"])
def test_clear_takes_back_either(place: Place, verb: str) -> None:
    place.data("quiet", verb, "2h")
    data = place.data("quiet", "clear")
    assert (data["cleared"], data["override"]) == (True, NOTHING_SAID)
    assert place.data("quiet", "clear")["cleared"] is False
    assert place.call("quiet", "clear").out == "there was nothing to take back\n"


def test_with_a_broken_configuration_it_can_still_be_made_quiet(place: Place) -> None:
    place.configure(CONFIG + "[quiet]\nwindows = 5\n")
    assert said(place, "quiet", "until", "2h")["quiet_until"] is not None
    # Not a time of day: in a zone that is only guessed it means another instant.
    place.configure("[owner]\nzone = 'Mars/Base'\n")
    assert "owner.zone" in place.error("quiet", "until", "09:00", status=4)


def test_an_unknown_word_is_a_usage_error(place: Place) -> None:
    assert "quiet --help" in place.error("quiet", "please", status=2)


# Zone


def test_the_zone_is_the_owners_until_said_otherwise_and_after_home(night: Place, clock: Clock) -> None:
    assert night.data("zone") == {"zone": "Europe/Berlin", "home": "Europe/Berlin", "away": False}
    assert night.data("zone", "Asia/Tokyo") == {"zone": "Asia/Tokyo", "home": "Europe/Berlin", "away": True}
    assert night.call("zone").out == "Asia/Tokyo (at home: Europe/Berlin)\n"
    clock.local("2026-06-10T17:00")  # midnight in Tokyo
    assert night.data("quiet")["until"] == "2026-06-11T07:00:00+09:00"
    assert night.data("zone", "home")["away"] is False
    assert night.call("zone").out == "Europe/Berlin (at home)\n"
    assert night.data("quiet")["quiet"] is False


def test_the_zone_may_have_an_end(place: Place, clock: Clock) -> None:
    assert place.data("zone", "Europe/London", "--until", "2h")["zone"] == "Europe/London"
    clock.now += timedelta(hours=2)
    assert place.data("zone")["zone"] == "Europe/Berlin"


def test_clear_leaves_the_zone(place: Place) -> None:
    place.data("zone", "Asia/Tokyo")
    assert said(place, "quiet", "clear")["zone"] == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("Europe/Room", "did you mean 'Europe/Rome'?"), ("+02:00", "Europe/Berlin"), ("../etc/passwd", ""), ("", "")],
)
def test_an_unknown_zone_is_refused_with_a_suggestion(place: Place, name: str, hint: str) -> None:
    message = place.error("zone", name, status=4)
    assert "as a time zone" in message
    assert hint in message
    assert not place.state.exists()


@pytest.mark.parametrize("words", [("--until", "2h"), ("home", "--until", "2h")])
def test_an_end_needs_a_zone(place: Place, words: tuple[str, ...]) -> None:
    assert "--until needs a zone" in place.error("zone", *words, status=2)
