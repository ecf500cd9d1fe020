"""Claude Code, one turn without a person: `claude -p`, prompt on stdin, one JSON event a line on stdout."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from threading import Event

from heartbeat.agents._answers import dollars, objects, reply_text, session_name, table, text, total
from heartbeat.agents._failures import failure
from heartbeat.agents._program import Line, ProgramAgent, Ran, Spot, is_open, permitted, startable
from heartbeat.config import Settings
from heartbeat.errors import AgentError, Problem
from heartbeat.model import Call, Reply, Usage
from heartbeat.paths import Home

SAFE = ("Read", "Grep", "Glob")
"""Confined to the folder it works in, and unable to tell anybody what they saw."""

_REMEDY = "correct ANTHROPIC_API_KEY in [agent.secrets], or log in with `claude`"
_MAX_USD = 0.5
_MAX_TURNS, _MAX_TURNS_OPEN = 10, 50
_SHARE_OF_REQUEST = 0.4  # two requests, the one retry included, end before our own limit
_CAPS = {
    "error_max_turns": "used up the turns of one call; give it less to do",
    "error_max_budget_usd": "used up the money of one call; raise max_usd in [agent]",
}


def agent(settings: Settings, home: Home, environ: Mapping[str, str], stop: Event) -> ProgramAgent:
    """Claude Code as it is installed."""
    return ProgramAgent("claude", settings, home, environ, stop, line, read)


def check(settings: Settings, home: Home, environ: Mapping[str, str], file: str) -> Problem | None:
    """Why it cannot be started just now."""
    return startable(settings, home, environ, file, "claude")


def line(call: Call, spot: Spot) -> Line:
    """Its command line. The name of the session is new each time: a second use is refused."""
    argv = (
        *(*spot.program, "-p", "--output-format", "stream-json", "--verbose"),
        *_fence(call),
        *("--permission-prompts", "none", "--max-turns", str(_MAX_TURNS_OPEN if is_open(call) else _MAX_TURNS)),
        *("--max-budget-usd", f"{call.prefs.max_usd or _MAX_USD:g}", "--session-id", str(uuid.uuid4())),
        *(("--model", call.prefs.model) if call.prefs.model else ()),
    )
    request = max(1000, int(call.prefs.timeout.total_seconds() * 1000 * _SHARE_OF_REQUEST))
    env = {
        # Its own retries would go on for minutes, out of our sight.
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "API_TIMEOUT_MS": str(request),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return Line(argv, call.prompt.encode(errors="replace"), env)


def read(ran: Ran) -> Reply:
    """Exit status 0, and a result that says it is no error: any of these alone may lie."""
    result: dict[str, object] = {}
    for event in objects(ran.execution.stdout.joined()):
        if event.get("type") == "result":
            result = event
    usage, answer = _usage(result), result.get("result")
    if result.get("is_error") is False and ran.execution.exit_code == 0 and isinstance(answer, str):
        return Reply(reply_text(answer), session_name(result.get("session_id")), usage)
    kind = text(result.get("subtype"))
    if kind in _CAPS:
        raise AgentError(f"cannot wake the agent 'claude': it {_CAPS[kind]}", retryable=False, usage=usage)
    said = text(answer) or text(result.get("error")) or ("" if kind == "success" else kind)
    raise failure("claude", said, ran, remedy=_REMEDY, status=result.get("api_error_status"), usage=usage)


def _fence(call: Call) -> tuple[str, ...]:
    """What keeps it from acting on its own."""
    tools = permitted(call, SAFE)
    if not is_open(call):
        return ("--restricted", "--strict-mcp-config", "--tools", ",".join(tools))
    # A tool may come with a pattern, `Bash(git log:*)`, or from a server of the owner's, `mcp__mail__search`.
    built_in = dict.fromkeys(tool.partition("(")[0] for tool in tools if not tool.startswith("mcp__"))
    allowed = ("--allowedTools", ",".join(tools)) if tools else ()
    return ("--tools", ",".join(built_in), *allowed)


def _usage(result: Mapping[str, object]) -> Usage:
    usage = table(result.get("usage"))
    read_in = total(usage, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Usage(read_in, total(usage, "output_tokens"), dollars(result.get("total_cost_usd")))
