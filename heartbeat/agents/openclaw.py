"""OpenClaw, one turn without a person: `openclaw agent exec`, prompt on stdin, one JSON object on stdout.

What its agent may do stands only in its configuration. So heartbeat reads the one that the owner's command names,
and calls it for text of strangers only if that allows nothing but reading.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import pairwise
from threading import Event
from typing import Any

from heartbeat.agents._answers import dollars, objects, reply_text, session_name, table, text, total
from heartbeat.agents._failures import failure
from heartbeat.agents._program import Line, ProgramAgent, Ran, Spot, permitted, program_of, startable
from heartbeat.config import Settings
from heartbeat.errors import AgentError, Problem
from heartbeat.model import Call, Reply, Usage
from heartbeat.paths import Home

SAFE = ("read",)

_REMEDY = "correct the key in OpenClaw's own configuration, or in [agent.secrets]"
_WAY_OUT = (
    'write command = ["openclaw", "agent", "exec", "--config", "/path/to/a.json"], a configuration in plain JSON with '
    'tools.allow = ["read"]; or trusted = true in [agent] to let it act on what strangers wrote'
)
_OWN_TIME = timedelta(seconds=10)  # it takes so long beside the turn itself
_LARGEST = 4 * 1024 * 1024


def agent(settings: Settings, home: Home, environ: Mapping[str, str], stop: Event) -> ProgramAgent:
    """OpenClaw as it is installed."""
    return ProgramAgent("openclaw", settings, home, environ, stop, line, read)


def check(settings: Settings, home: Home, environ: Mapping[str, str], file: str) -> Problem | None:
    """Why it cannot be called just now."""
    call = Call("", "", restricted=not settings.agent.trusted, prefs=settings.agent.prefs())
    program = program_of(settings, home, environ, "openclaw")
    if fault := _fault(call, program):
        return Problem(file, "agent.command", fault, _WAY_OUT)
    return startable(settings, home, environ, file, "openclaw")


def line(call: Call, spot: Spot) -> Line:
    """Its command line, when its configuration is safe enough for the call."""
    if fault := _fault(call, spot.program):
        raise AgentError(f"{fault}; {_WAY_OUT}", retryable=False)
    seconds = max(1, int((call.prefs.timeout - _OWN_TIME).total_seconds()))
    argv = (
        *(*spot.program, *(() if "exec" in spot.program else ("agent", "exec"))),
        *("--message-file", "-", "--json", "--timeout", str(seconds), "--cwd", spot.folder),
        *(("--model", call.prefs.model) if call.prefs.model else ()),
    )
    return Line(argv, call.prompt.encode(errors="replace"))


def read(ran: Ran) -> Reply:
    """Exit status 0 and an object that says `ok`."""
    result: dict[str, Any] = {}
    for found in objects(ran.execution.stdout.joined()):
        if "ok" in found:
            result = found
    numbers = table(result.get("usage"))
    usage = Usage(
        total(numbers, "input", "cacheRead", "cacheWrite"), total(numbers, "output"), dollars(result.get("costUsd"))
    )
    answer = result.get("final")
    if result.get("ok") is True and ran.execution.exit_code == 0 and isinstance(answer, str):
        return Reply(reply_text(answer), session_name(result.get("sessionId")), usage)
    error = table(result.get("error"))
    words = [text(error.get("kind")), text(error.get("message"))]
    said = ": ".join(word for word in words if word)
    raise failure("openclaw", said, ran, remedy=_REMEDY, usage=usage)


def _fault(call: Call, program: tuple[str, ...]) -> str:
    """Why it must not be called like this; empty when it may."""
    if not call.restricted and call.prefs.tools is None:
        return ""  # the owner's own words, or trusted
    wanted, allowed = permitted(call, SAFE), _allowed(_config_of(program))
    if allowed is not None and allowed <= set(wanted):
        return ""
    names = ", ".join(wanted) or "none"
    return f"cannot keep openclaw to its tools that are allowed here ({names}): its command names no such configuration"


def _config_of(program: tuple[str, ...]) -> str:
    """The configuration that its command names; the last one counts."""
    named = ""
    for word, following in pairwise((*program, "")):
        name, _, value = word.partition("=")
        if name == "--config":
            named = value or following
    return named


def _allowed(config: str) -> frozenset[str] | None:
    """The tools that a configuration allows at most; None when that cannot be told for certain."""
    if not (os.path.isabs(config) and os.path.isfile(config)):
        return None
    try:
        with open(config, "rb") as file:
            document = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    members = list(_members(document))
    lists: list[Any] = [value for name, value in members if name in ("allow", "alsoAllow")]
    # An included file may say anything, and an empty list may mean all.
    if not table(table(document).get("tools")).get("allow") or any(name == "$include" for name, _ in members):
        return None
    if not all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists):
        return None
    return frozenset(name for names in lists for name in names)


def _members(document: object) -> Iterator[tuple[str, object]]:
    """Every member of every object in a JSON document."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield from value.items()
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
