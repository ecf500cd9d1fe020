"""Troubles: said once, over once, and gone with the job they were about."""

from __future__ import annotations

import logging

import pytest

from heartbeat.errors import ConfigError, Problem
from heartbeat.troubles import Troubles


def test_a_trouble_is_logged_when_it_is_news_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    troubles = Troubles()
    with caplog.at_level(logging.INFO, "heartbeat"):
        for _ in range(3):
            troubles.report("ledger", OSError("the disk is full"))
        assert troubles.all() == (("ledger_trouble", "the disk is full"),)
        for _ in range(3):
            troubles.over("ledger")
    assert [record.getMessage().split()[0] for record in caplog.records] == ["trouble", "trouble_over"]
    assert troubles.all() == ()


@pytest.mark.parametrize(("seconds", "message", "count"), [(59.9, "full", 1), (60.0, "full", 2), (59.9, "locked", 2)])
def test_a_trouble_that_is_back_at_once_is_no_news(
    caplog: pytest.LogCaptureFixture, seconds: float, message: str, count: int
) -> None:
    now = 0.0
    troubles = Troubles(lambda: now)
    troubles.report("slots", OSError("full"))
    troubles.over("slots")
    now = seconds
    troubles.report("slots", OSError(message))
    assert len([record for record in caplog.records if record.getMessage().startswith("trouble ")]) == count
    assert troubles.all() == (("slots_trouble", message),)


def test_troubles_of_jobs_that_are_gone_are_forgotten() -> None:
    troubles = Troubles()
    for place in ("run:old", "run:kept", "outbox"):
        troubles.report(place, ValueError(place))
    troubles.keep(["run:kept", "job:kept"])
    assert [message for _, message in troubles.all()] == ["run:kept", "outbox"]


def test_several_problems_of_one_error_stay_apart_on_one_line() -> None:
    problems = (Problem("config.toml", "a", "is wrong", "mend it"), Problem("config.toml", "b", "is too", "drop it"))
    troubles = Troubles()
    troubles.report("configuration", ConfigError(problems))
    first, second = map(str, problems)
    assert troubles.all() == (("configuration_trouble", f"{first}; {second}"),)
