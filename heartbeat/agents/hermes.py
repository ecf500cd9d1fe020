"""Hermes, one turn without a person: `hermes -z`, prompt as an argument, the truth in a usage file."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event

from heartbeat.agents._answers import dollars, objects, reply_text, session_name, text, total
from heartbeat.agents._failures import failure
from heartbeat.agents._program import Line, ProgramAgent, Ran, Spot, in_argument, is_open, permitted, startable
from heartbeat.config import Settings
from heartbeat.errors import Problem
from heartbeat.model import Call, Reply, Usage
from heartbeat.paths import Home

SAFE = ("todo",)
"""`-z` approves whatever a tool does: only toolsets without files, programs and network are safe."""

_READERS = frozenset({"file", "terminal"})
"""Toolsets that can read a prompt from a file."""
_REMEDY = "correct the key in Hermes' own configuration (`hermes setup`), or in [agent.secrets]"
_TOO_LONG = 'make the job\'s findings fewer; or let it read a file: tools with "file", and trusted = true in [agent]'


def agent(settings: Settings, home: Home, environ: Mapping[str, str], stop: Event) -> ProgramAgent:
    """Hermes as it is installed."""
    return ProgramAgent("hermes", settings, home, environ, stop, line, read)


def check(settings: Settings, home: Home, environ: Mapping[str, str], file: str) -> Problem | None:
    """Why it cannot be started just now."""
    return startable(settings, home, environ, file, "hermes")


def line(call: Call, spot: Spot) -> Line:
    """Its command line; the prompt is in a file whenever it may read one, since anybody can see arguments."""
    # Without a list it would have them all.
    tools = permitted(call, SAFE) or SAFE
    files = {}
    if _READERS.isdisjoint(tools):
        prompt = in_argument(call.prompt, _TOO_LONG)
    else:
        file = f"{spot.scratch}/prompt.txt"
        files = {"prompt.txt": call.prompt.encode(errors="replace")}
        prompt = f"Read the whole file {file} and do what it says, as if it stood here."
    argv = (
        # A text that begins with a dash would be taken for an option.
        *(*spot.program, "-z", f" {prompt}" if prompt.startswith("-") else prompt),
        *("-t", ",".join(tools), *(() if is_open(call) else ("--ignore-rules",))),
        *("--usage-file", spot.answer, *(("-m", call.prefs.model) if call.prefs.model else ())),
    )
    return Line(argv, files=files)


def read(ran: Ran) -> Reply:
    """A usage file that says it completed and did not fail: its exit status is 0 with an error for an answer, too."""
    printed = reply_text(ran.execution.stdout.joined().decode(errors="replace"))
    report = next(objects((ran.answer or "").encode()), {})
    # What it had in its cache is not among its input tokens.
    read_in = total(report, "input_tokens", "cache_read_tokens", "cache_write_tokens")
    usage = Usage(read_in, total(report, "output_tokens"), dollars(report.get("estimated_cost_usd")))
    done = report.get("failed") is False and report.get("completed") is True
    if done and ran.execution.exit_code == 0:
        return Reply(printed, session_name(report.get("session_id")), usage)
    # Of a run that says it failed the text is the error; of any other it may be half an answer.
    said = text(report.get("failure")) or (printed if report.get("failed") is True else "")
    raise failure("hermes", said, ran, remedy=_REMEDY, usage=usage)
