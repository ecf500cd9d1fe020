"""Codex, one turn without a person: `codex exec`, prompt on stdin, one JSON event a line on stdout."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from threading import Event

from heartbeat.agents._answers import dollars, objects, reply_text, session_name, table, text, total
from heartbeat.agents._failures import failure
from heartbeat.agents._program import Line, ProgramAgent, Ran, Spot, is_open, permitted, startable
from heartbeat.config import Settings
from heartbeat.errors import AgentError, Problem
from heartbeat.model import Call, Reply, Usage
from heartbeat.paths import Home

TOOLS = ("shell", "write", "web_search")
"""What the owner may allow. None of it is safe: even a read-only shell reads every file of the user's."""

_REMEDY = "correct CODEX_API_KEY in [agent.secrets], or log in with `codex login`"
_MILLION = 1_000_000


def agent(settings: Settings, home: Home, environ: Mapping[str, str], stop: Event) -> ProgramAgent:
    """Codex as it is installed."""
    return ProgramAgent("codex", settings, home, environ, stop, line, partial(read, prices=settings.agent.prices))


def check(settings: Settings, home: Home, environ: Mapping[str, str], file: str) -> Problem | None:
    """Why it cannot be started just now."""
    if unknown := _unknown(settings.agent.tools):
        return Problem(file, "agent.tools", *unknown)
    return startable(settings, home, environ, file, "codex")


def line(call: Call, spot: Spot) -> Line:
    """Its command line."""
    if unknown := _unknown(call.prefs.tools):
        raise AgentError("; ".join(unknown), retryable=False)
    tools = permitted(call, ())
    argv = (
        *(*spot.program, "exec", "--json", "--ephemeral", "--skip-git-repo-check", "-C", spot.folder),
        *("-s", "workspace-write" if "write" in tools else "read-only"),
        # Its configuration may start programs and servers of the owner's.
        *(() if is_open(call) else ("--ignore-user-config", "--ignore-rules")),
        *("-c", 'shell_environment_policy.inherit="core"', "-c", "analytics.enabled=false"),
        *("-c", "check_for_update_on_startup=false"),
        *(() if "web_search" in tools else ("-c", "web_search=disabled")),
        *("--disable", "plugins", "--disable", "remote_plugin", "--disable", "apps"),
        *(() if "shell" in tools else ("--disable", "shell_tool")),
        *(("-m", call.prefs.model) if call.prefs.model else ()),
        *("-o", spot.answer, "-"),
    )
    return Line(argv, call.prompt.encode(errors="replace"))


def read(ran: Ran, prices: tuple[float, float] | None = None) -> Reply:
    """Exit status 0 and a completed turn."""
    session = said = answer = ""
    completed: Mapping[str, object] | None = None
    for event in objects(ran.execution.stdout.joined()):
        item = table(event.get("item"))
        match event.get("type"):
            case "thread.started":
                session = session_name(event.get("thread_id"))
            case "item.completed" if item.get("type") == "agent_message":
                answer = text(item.get("text"))
            case "turn.completed":
                completed = event
            case "turn.failed":
                completed, said = None, text(table(event.get("error")).get("message"))
            case "error":
                said = text(event.get("message"))
    usage = _usage(table((completed or {}).get("usage")), prices)
    if completed is not None and ran.execution.exit_code == 0:
        return Reply(reply_text(answer if ran.answer is None else ran.answer), session, usage)
    raise failure("codex", said, ran, remedy=_REMEDY, usage=usage)


def _unknown(tools: tuple[str, ...] | None) -> tuple[str, str] | None:
    """What is wrong with the tools, and the remedy."""
    unknown = [tool for tool in tools or () if tool not in TOOLS]
    return (f"cannot give codex the tool {unknown[0]!r}", f"write some of {', '.join(TOOLS)}") if unknown else None


def _usage(usage: Mapping[str, object], prices: tuple[float, float] | None) -> Usage:
    # What it had in its cache is among its input tokens.
    read_in, written = total(usage, "input_tokens"), total(usage, "output_tokens")
    if prices is None or read_in is None or written is None:
        return Usage(read_in, written)
    return Usage(read_in, written, dollars((read_in * prices[0] + written * prices[1]) / _MILLION))
