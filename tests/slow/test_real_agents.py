"""The agents that people really use, woken by the real daemon, with a mock of their model on this machine."""

from __future__ import annotations

import contextlib
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.mock_llm import KEY, TEXT, TOKENS_IN, TOKENS_OUT, MockLlm
from tests.slow.homes import Daemon, Home, wait_for
from tests.slow.real_agents import CACHE, REAL_AGENTS, NotInstallable, RealAgent, search_path

pytestmark = pytest.mark.slow

NEWS = """#!/bin/sh
echo '{"wakeAgent": true, "findings": [{"key": "news", "title": "News of the day"}]}'
"""
GRACE = 10.0
"""Seconds beyond its deadline after which everything of an agent must be gone."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One agent, the mock it speaks to, and a home with a daemon that wakes it."""

    agent: RealAgent
    program: Path
    llm: MockLlm
    home: Home
    agent_home: Path
    """Its own HOME, away from /tmp, where Codex would not work."""

    def start(self, scenario: str, timeout: str) -> Daemon:
        section = self.agent.configure(self.program, self.agent_home, self.llm.base(scenario))
        self.home.script("news", NEWS)
        self.home.file(
            "config.toml",
            f'[owner]\nzone = "UTC"\n[environment]\npath = "{search_path()}"\n'
            f'[agent]\ntimeout = "{timeout}"\n{section}\n[jobs.news]\nevery = "1h"\n',
        )
        keys = dict.fromkeys(("ANTHROPIC_API_KEY", "CODEX_API_KEY"), KEY)
        return self.home.start(HOME=str(self.agent_home), **keys)

    def attempt(self, within: float) -> dict[str, Any]:
        """The first attempt of the wake, when it has ended."""
        ended = "FROM attempts WHERE outcome <> 'running' ORDER BY number"
        wait_for(lambda: self.home.count(f"SELECT count(*) {ended}"), within, "the end of the first attempt")
        return self.home.rows(f"SELECT * {ended}")[0]

    def wake(self) -> dict[str, Any]:
        (wake,) = self.home.rows("SELECT * FROM wakes")
        return wake

    def processes(self) -> list[str]:
        """All that lives of the agent, by its HOME, however it was started."""
        found = []
        for process in psutil.process_iter():
            # Any of them may end while we look.
            with contextlib.suppress(psutil.Error, OSError):
                is_daemon = process.pid in {daemon.process.pid for daemon in self.home.daemons}
                if process.environ().get("HOME") == str(self.agent_home) and not is_daemon:
                    found.append(" ".join(process.cmdline()))
        return found


@cache  # without a network each try takes its time
def installed(kind: str) -> Path | NotInstallable:
    try:
        return REAL_AGENTS[kind].program()
    except NotInstallable as error:
        return error


@pytest.fixture(params=REAL_AGENTS)
def stage(request: pytest.FixtureRequest, home: Home) -> Iterator[Stage]:
    agent, program = REAL_AGENTS[request.param], installed(request.param)
    if isinstance(program, NotInstallable):
        pytest.skip(f"cannot install {agent.kind}: {program}")
    folders = CACHE / "homes"
    folders.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folders, ignore_cleanup_errors=True) as folder, MockLlm().running() as llm:
        yield Stage(agent, program, llm, home, Path(folder))


def test_a_wake_is_settled_with_the_reply_and_what_it_cost(stage: Stage) -> None:
    daemon = stage.start("ok", "60s")
    attempt = stage.attempt(60)
    assert attempt["outcome"] == "accepted", attempt
    assert (attempt["tokens_in"], attempt["tokens_out"]) == (TOKENS_IN, TOKENS_OUT)
    assert attempt["session"]
    assert (stage.wake()["state"], stage.wake()["reply"]) == ("settled", TEXT)
    assert {(asked.scenario, asked.has_key) for asked in stage.llm.asked} == {("ok", True)}
    assert "News of the day" in stage.llm.asked[0].text
    assert stage.processes() == []
    assert daemon.stop() == 0


REFUSALS = {
    "err/401": ("failed", 890.0),
    "err/429/3": ("held", 0.0),
    "err/500": ("failed", 0.0),
}


@pytest.mark.parametrize("scenario", REFUSALS)
def test_a_refusal_leaves_the_wake_for_later(stage: Stage, scenario: str) -> None:
    outcome, pause = REFUSALS[scenario]
    if (stage.agent.kind, scenario) == ("codex", "err/500"):
        outcome = "held"  # it calls that high demand
    daemon = stage.start(scenario, "60s")
    attempt = stage.attempt(60)
    assert attempt["outcome"] == outcome, attempt
    assert KEY not in attempt["message"]
    assert stage.processes() == []
    assert daemon.stop() == 0
    wake = stage.wake()
    assert (wake["state"], wake["failures"]) == ("pending", int(outcome == "failed"))
    assert stage.home.count("SELECT count(*) FROM holds") == int(outcome == "held")
    assert (_instant(wake["next_attempt_at"]) - _instant(attempt["ended_at"])).total_seconds() >= pause


def test_an_agent_whose_model_never_answers_is_ended_at_its_deadline(stage: Stage) -> None:
    daemon = stage.start("hang", "8s")
    assert stage.llm.arrived.wait(30)
    attempt = stage.attempt(8 + GRACE)
    assert attempt["outcome"] == "failed", attempt
    assert (_instant(attempt["ended_at"]) - _instant(attempt["started_at"])).total_seconds() < 8 + GRACE
    assert stage.processes() == []
    assert daemon.stop() == 0
    assert (stage.wake()["state"], stage.wake()["failures"]) == ("pending", 1)


def test_a_daemon_that_is_stopped_takes_the_agent_along_and_wakes_it_again_later(stage: Stage) -> None:
    daemon = stage.start("hang", "1h")
    assert stage.llm.arrived.wait(30)
    assert stage.processes() != []
    began = time.monotonic()
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.wait(GRACE + 5) == 0
    assert time.monotonic() - began < GRACE
    assert stage.processes() == []
    assert stage.wake()["state"] == "pending"

    daemon = stage.start("ok", "60s")
    wait_for(lambda: stage.wake()["state"] == "settled", 60, "the settlement")
    assert daemon.stop() == 0
    assert stage.processes() == []


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
