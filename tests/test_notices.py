"""What the owner is sent about an incident, and when again: pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.model import Incident
from heartbeat.notices import lasting, notice

OPENED = datetime(2026, 6, 10, 6, tzinfo=UTC)  # a Wednesday, 8 o'clock in Berlin
BERLIN = ZoneInfo("Europe/Berlin")


def after(hours: float) -> datetime:
    return OPENED + timedelta(hours=hours)


def incident(told: int = 0, resolved_at: datetime | None = None, message: str = "exit status 1") -> Incident:
    return Incident("inc_1", "job:vip-mail", "exit_status", message, OPENED, resolved_at, told, OPENED)


def test_the_first_message_says_what_fails_since_when_and_why() -> None:
    assert notice(incident(), OPENED, BERLIN) == (
        "heartbeat: job:vip-mail is failing",
        "since 08:00: exit status 1",
        after(1),
    )


def test_one_that_waited_for_the_end_of_the_quiet_names_the_day() -> None:
    title, body, again_at = notice(incident(), after(20), BERLIN)
    assert title == "heartbeat: job:vip-mail is failing"
    assert body == "since Wed 10 Jun 08:00: exit status 1"
    assert again_at == after(24)


def test_a_later_message_says_for_how_long() -> None:
    title, body, _ = notice(incident(told=2), after(5), BERLIN)
    assert (title, body) == ("heartbeat: job:vip-mail is still failing", "for 5 h, since 08:00: exit status 1")


@pytest.mark.parametrize("told", [0, 1, 5])
def test_the_last_message_says_that_it_is_over_and_nothing_follows(told: int) -> None:
    assert notice(incident(told, resolved_at=after(3)), after(4), BERLIN) == (
        "heartbeat: job:vip-mail is well again",
        "over since 11:00, after 3 h: exit status 1",
        None,
    )


def test_it_is_said_again_after_1_4_and_12_hours_and_then_every_24() -> None:
    now, told, said = OPENED, 0, []
    for _ in range(7):
        *_, again_at = notice(incident(told), now, BERLIN)
        assert again_at is not None
        now, told = again_at, told + 1
        said.append((again_at - OPENED) / timedelta(hours=1))
    assert said == [1, 4, 12, 24, 48, 72, 96]


@pytest.mark.parametrize(
    ("minutes", "hours"), [(29.9, 1), (30, 4), (59, 4), (209, 4), (210, 12), (689.9, 12), (690, 24)]
)
def test_one_that_was_told_late_is_not_told_again_at_once(minutes: float, hours: float) -> None:
    assert notice(incident(), after(minutes / 60), BERLIN)[2] == after(hours)


@given(st.timedeltas(timedelta(days=-2), timedelta(days=4000)), st.integers(0, 9))
def test_while_it_lasts_there_is_always_a_next_time_at_most_a_day_and_half_an_hour_away(
    lasted: timedelta, told: int
) -> None:
    now = OPENED + lasted
    again_at = notice(incident(told), now, BERLIN)[2]
    assert again_at is not None
    assert again_at - now > timedelta(minutes=30)
    assert again_at - max(now, OPENED) <= timedelta(hours=24, minutes=30)


def test_what_a_script_said_stays_on_its_line_and_is_cut() -> None:
    title, body, _ = notice(incident(message="a\nb\x1b[2J\u202e" + "x" * 1000), OPENED, BERLIN)
    assert "\n" not in title + body
    assert body.startswith("since 08:00: a b [2J xxx")
    assert len(body) < 520


def test_without_a_cause_it_says_so() -> None:
    assert notice(incident(message=""), OPENED, BERLIN)[1] == "since 08:00: no cause is known"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "less than a minute"),
        (59, "less than a minute"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (48 * 3600 - 1, "47 h"),
        (48 * 3600, "2 days"),
        (400 * 86_400, "400 days"),
    ],
)
def test_how_long_is_said_as_people_say_it(seconds: int, said: str) -> None:
    assert lasting(timedelta(seconds=seconds)) == said
