"""The agent: whether it can be called, which version it is, whether it asked for time, and how it failed last."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

from heartbeat.agents import check_agent
from heartbeat.ask import ask
from heartbeat.clock import to_seconds
from heartbeat.doctor._answer import Answer, fail, ok, skip, warn
from heartbeat.doctor._case import Case
from heartbeat.doctor._ledger import Look, opened, why_not
from heartbeat.errors import ConfigError, HeartbeatError, Problem
from heartbeat.inside import agent_program
from heartbeat.job.environment import child_environment
from heartbeat.text import one_line

SECONDS = 6.0
_TO_ANSWER, _TO_CONNECT = 4.0, 2.0
_PRESETS = ("claude", "codex", "hermes", "openclaw")
"""A command of the owner's may do anything when it is asked for its version."""


def look(case: Case) -> Iterator[Answer]:
    """Nothing is asked of a model."""
    agent = case.settings.agent
    if agent.kind == "none":
        yield ok("there is none: what would wake it waits for the brief")
        return
    problem = _problem(case)
    if problem is not None:
        yield fail(problem.message, problem.remedy, problem.key)
    elif agent.kind == "http":
        yield _server(agent.url)
    else:
        yield _program(case)
    yield from _past(case)


def _problem(case: Case) -> Problem | None:
    try:
        return check_agent(case.settings, case.home, case.environ, str(case.home.config_file))
    except ConfigError as error:
        return error.problems[0]


def _program(case: Case) -> Answer:
    settings = case.settings
    env = child_environment(settings, case.home, case.environ, env=settings.agent.env, secrets={}, key="agent")
    program = agent_program(settings, case.home, case.environ)
    found = shutil.which(program, path=env["PATH"]) or program
    if settings.agent.kind not in _PRESETS:
        return ok(f"{found} is there; which version it is, only its owner knows how to ask")
    answer = ask([found, "--version"], env, seconds=_TO_ANSWER)
    by_hand = f"run `{found} --version` by hand to see why"
    if answer.status is None:
        return fail(answer.fault, by_hand, "version")
    said = one_line(answer.text, 100)
    if answer.status:
        return fail(f"`{found} --version` ends with {answer.status}: {said}", by_hand, "version")
    return ok(f"{found}, version {said}", "version")


def _server(url: str) -> Answer:
    """Only whether somebody listens: a request could cost money."""
    parts = urlsplit(url)
    if not parts.hostname:  # as it is left of one that cannot be used
        return skip("its url is not valid; see the answer to the question configuration", "server")
    place = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    shown = f"{place[0]}:{place[1]}"
    try:
        with closing(socket.create_connection(place, _TO_CONNECT)):
            return ok(f"{shown} takes connections", "server")
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        return fail(f"cannot connect to {shown}: {why}", "start its server, or correct url in [agent]", "server")


def _past(case: Case) -> Iterator[Answer]:
    try:
        with opened(case.home.ledger_file) as ledger:
            for hold in ledger.past(case.now).holds.values():
                if hold.until > case.now:
                    seen = f"{hold.agent} asked for time until {to_seconds(hold.until)}: {hold.reason}"
                    yield warn(seen, "`heartbeat wakes release` has it called at once", "hold")
            yield from _failure(ledger)
    except HeartbeatError as error:
        yield skip(why_not(error), "past")


def _failure(ledger: Look) -> Iterator[Answer]:
    last = next((wake for wake in ledger.wakes(limit=20) if wake.attempts and wake.state != "cancelled"), None)
    if last is None:
        return
    if last.state == "settled":
        yield ok(f"it accepted the last wake, {last.id}", "last call")
    elif last.error:
        seen = f"the last call failed, for {last.id}: {last.error}"
        yield warn(seen, f"`heartbeat why {last.id}`; `heartbeat wakes retry {last.id}` when it is mended", "last call")
