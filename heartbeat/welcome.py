"""`heartbeat init`: a first configuration, made of what was found on this machine."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from heartbeat.clock import to_text
from heartbeat.errors import HeartbeatError, Refused
from heartbeat.lookout import DEFAULT_PATH, Found, FoundAgent, FoundCalendar
from heartbeat.paths import Home


@dataclass(frozen=True, slots=True)
class _Recipe:
    """What the owner should know of an agent that was found."""

    notes: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    """Words of its command that only the owner can complete."""
    safe: bool = True
    """Whether it can be called as it is found, kept from acting on what strangers wrote in a finding."""


_RECIPES = {
    "claude": _Recipe(
        (
            "Claude Code, one turn, unable to act on what strangers wrote; docs/agents.md says how it is called.",
            "Logged in with an API key? Add: secrets = { ANTHROPIC_API_KEY = { file = '~/.anthropic-key' } }",
        )
    ),
    "codex": _Recipe(
        (
            "Codex, one turn, without tools; docs/agents.md says how it is called.",
            "It does not say what it costs. Add its prices: prices = [1.25, 10.0] (dollars for a million tokens)",
        )
    ),
    "hermes": _Recipe(
        ("Hermes, one turn. It takes the prompt only as an argument, which other users of this machine can see.",)
    ),
    "openclaw": _Recipe(
        (
            "OpenClaw, one turn. Unless its configuration allows it nothing but to read it runs any shell command it",
            "is talked into, so this is left for you to turn on: write that file first (docs/agents.md).",
        ),
        ("agent", "exec", "--config", "/path/to/restricted.json"),
        safe=False,
    ),
}


def init(home: Home, found: Found, now: datetime, *, force: bool = False) -> Path | None:
    """Write the first configuration; returns where an older one was kept. Refused when there is one, unless *force*."""
    target = home.config_file
    try:
        for folder in (home.config, home.jobs):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            written.unlink(missing_ok=True)
            _write_new(written, first_config(found).encode())
            kept = _keep_old(target, now) if force else None
            if not force:
                # Takes the name. An empty configuration is a valid one, should we die before it is filled.
                _write_new(target, b"")
            os.replace(written, target)
        except FileExistsError as error:
            message = f"cannot write {target}: it exists; edit it, or keep a copy and start anew with --force"
            raise Refused(message) from error
        finally:
            written.unlink(missing_ok=True)
    except OSError as error:
        message = f"cannot write {target}: {error.strerror}; choose another --home or correct the permissions"
        raise HeartbeatError(message) from error
    return kept


def first_config(found: Found) -> str:
    """The text of a first configuration."""
    parts = [_head(found.zone), _agents(found.agents), _calendars(found.calendars), _TAIL]
    return "\n".join(parts)


def _head(zone: str) -> str:
    known = "this machine's" if zone else "this machine's is not known"
    return f"""\
# The configuration of heartbeat. Every key has a default; a line that begins with '#' is an example.
# After a change: `heartbeat check`, then `heartbeat reload` for a daemon that runs.

[owner]
zone = {_quoted(zone or "UTC")}  # {known}; write the one you live in
#emails = ["me@example.org"]
"""


def _agents(agents: tuple[FoundAgent, ...]) -> str:
    chosen = next((agent for agent in agents if _RECIPES[agent.kind].safe), None)
    if chosen:
        text = "# Who is woken.\n" + _agent(chosen)
    else:
        text = "# Who is woken. No agent is ready to use: until there is one, everything goes to the brief.\n"
        text += '[agent]\nkind = "none"\n'
    for other in agents:
        if other != chosen:
            text += f"\n# {other.kind} was found too. To use it, put this in place of the section above:\n"
            text += _commented(_agent(other))
    if not agents:
        text += "\n# Any command will do; it gets the prompt on stdin. Put this in place of the section above:\n"
        text += '#[agent]\n#kind = "command"\n#command = ["/usr/local/bin/my-agent", "--flag"]\n'
    return text


def _agent(agent: FoundAgent) -> str:
    recipe = _RECIPES[agent.kind]
    command = ", ".join(_quoted(word) for word in (agent.program, *recipe.arguments))
    lines = ["[agent]", *(f"# {note}" for note in recipe.notes), f'kind = "{agent.kind}"', f"command = [{command}]"]
    if agent.folders:
        lines.append(f"env = {{ PATH = {_quoted(':'.join((*agent.folders, *DEFAULT_PATH)))} }}")
    return "\n".join(lines) + "\n"


def _calendars(calendars: tuple[FoundCalendar, ...]) -> str:
    if not calendars:
        return "# No calendar file was found. To be told of meetings that are near, name yours:\n" + _commented(
            _calendar_job((FoundCalendar("file", "~/calendar.ics"),))
        )
    return "# Meetings that are near.\n" + _calendar_job(calendars)


def _calendar_job(calendars: tuple[FoundCalendar, ...]) -> str:
    sources = "".join(f"  {{ {calendar.kind} = {_quoted(calendar.path)} }},\n" for calendar in calendars)
    return (
        '[jobs.calendar-lookahead]\nevery = "10m"\n'
        f'[jobs.calendar-lookahead.options]\nlookahead = "90m"\nsources = [\n{sources}]\n'
    )


_TAIL = """\
# How you are told: a file, a phone, a bubble, any command; config/default.toml has them all.
#[channels.diary]
#kind = "file"
#path = "~/heartbeat.md"

# Nothing but what is critical is told then.
#[quiet]
#windows = [{ start = "23:00", end = "07:00" }]

# What was not told before.
#[brief]
#at = "08:00"

# What you put in the queue yourself: `heartbeat queue add --message "Call Rae" --due 09:00`
[jobs.due-queue]
every = "1m"
#notify = true  # straight to your channels, without an agent

# A script of your own. It ends by printing {"wakeAgent": true} or {"wakeAgent": false}.
#[jobs.my-check]
#script = "jobs/my-check.sh"  # beside this file
#cron = "*/15 * * * *"
"""


def _commented(text: str) -> str:
    return "".join("#" + line for line in text.splitlines(keepends=True))


def _quoted(text: str) -> str:
    """A TOML string of a printable text."""
    return json.dumps(text, ensure_ascii=False)


def _write_new(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _keep_old(target: Path, now: datetime) -> Path | None:
    if not target.exists():
        return None
    kept = target.with_name(f"{target.name}.bak-{to_text(now).replace(':', '')}")
    _write_new(kept, target.read_bytes())
    return kept
