"""Any program: the prompt on its standard input, its reply on standard output, exit status 0 when it accepts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from threading import Event

from heartbeat.agents._answers import REPLY_LIMIT, reply_text
from heartbeat.agents._program import Line, ProgramAgent, Ran, Spot, in_argument, startable
from heartbeat.config import Settings
from heartbeat.errors import AgentError, AgentOnHold, Problem
from heartbeat.model import Call, Captured, Reply
from heartbeat.paths import Home

__all__ = ["REPLY_LIMIT", "agent", "check"]

ON_HOLD = 75
"""The exit status (EX_TEMPFAIL of sysexits.h) that asks for time."""

_RETRY_AFTER = re.compile(r"retry-after:\s*([0-9]{1,7}(?:\.[0-9]+)?)\s*$", re.IGNORECASE)


def agent(settings: Settings, home: Home, environ: Mapping[str, str], stop: Event) -> ProgramAgent:
    """The agent that `[agent] command` describes; it starts in a folder of its own, away from the ledger."""
    return ProgramAgent("command", settings, home, environ, stop, line, read)


def check(settings: Settings, home: Home, environ: Mapping[str, str], file: str) -> Problem | None:
    """Why the program cannot be started just now."""
    return startable(settings, home, environ, file, "")


def line(call: Call, spot: Spot) -> Line:
    """The words of the owner with their placeholders filled."""
    prompt, words, env = call.prompt.encode(errors="replace"), spot.program, _wishes(call)
    if any("{prompt_file}" in word for word in words):
        file = f"{spot.scratch}/prompt.txt"
        argv = tuple(word.replace("{prompt_file}", file) for word in words)
        return Line(argv, env=env, files={"prompt.txt": prompt})
    if any("{prompt}" in word for word in words):
        remedy = "write {prompt_file} in [agent] command in place of {prompt}, or neither: then it comes on stdin"
        return Line(tuple(in_argument(word.replace("{prompt}", call.prompt), remedy) for word in words), env=env)
    return Line(words, prompt, env)


def read(ran: Ran) -> Reply:
    """Exit status 0 settles the wake, whatever was printed."""
    if ran.execution.exit_code == 0:
        return Reply(reply_text(_beginning(ran.execution.stdout).decode(errors="replace")))
    message = f"cannot wake the agent {ran.program!r}: {ran.ended}"
    if ran.execution.exit_code == ON_HOLD:
        named = _RETRY_AFTER.search(ran.last_words)
        raise AgentOnHold(message, seconds=float(named[1]) if named else None)
    raise AgentError(message, retryable=True)


def _wishes(call: Call) -> dict[str, str]:
    """What the owner prefers, for a program that cares."""
    wishes = {"HEARTBEAT_AGENT_MODEL": call.prefs.model, "HEARTBEAT_RESTRICTED": "1" if call.restricted else "0"}
    if call.prefs.tools is not None:
        wishes["HEARTBEAT_AGENT_TOOLS"] = ",".join(call.prefs.tools)
    return wishes


def _beginning(stream: Captured) -> bytes:
    # What was left out lies far behind all that is kept of a reply.
    return stream.head if stream.dropped else stream.head + stream.tail
