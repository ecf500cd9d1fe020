"""The programs that a configuration needs: who needs each, and where it will be looked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heartbeat.config.secret import expand
from heartbeat.doctor._case import Case
from heartbeat.inside import agent_program
from heartbeat.job import Config, Job
from heartbeat.named import secrets_named

_KINDS = {"gws": "gws", "icalbuddy": "icalBuddy", "gmail": "gws", "notmuch": "notmuch"}
"""Kinds of sources that are read by a program, and its usual name."""
_HEAD = 512


@dataclass(frozen=True, slots=True)
class Needed:
    """One program, found by its name on a PATH."""

    program: str
    who: str
    path: str
    """The PATH on which it will be looked for."""


def needed(case: Case) -> list[Needed]:
    """Every program that is looked for by its name, each once for each PATH."""
    config = case.config
    found = list(_of_agent(case)) + (list(_of_jobs(config)) + list(_of_channels(case)) if config else [])
    if config is not None:
        own = case.settings.search_path({})
        words = (secret.command[0] for secret in secrets_named(config) if secret.command)
        found += [Needed(word, "a secret", own) for word in words]
    once = {(each.program, each.path): each for each in reversed(found) if each.program}
    return list(reversed(once.values()))


def _of_agent(case: Case) -> Iterator[Needed]:
    program = agent_program(case.settings, case.home, case.environ)
    yield Needed(program, "the agent", case.settings.search_path(case.settings.agent.env))


def _of_channels(case: Case) -> Iterator[Needed]:
    usual = "osascript" if case.platform == "darwin" else "notify-send"
    for name, channel in case.settings.channels.items():
        program = channel.command[0] if channel.command else usual if channel.kind == "desktop" else ""
        if "/" in program:
            program = str(expand(program, case.home.config, case.environ))
        yield Needed(program, f"the channel {name}", case.settings.search_path(channel.env))


def _of_jobs(config: Config) -> Iterator[Needed]:
    for job in config.jobs.values():
        path = config.settings.search_path(dict(job.env))
        yield Needed(_interpreter(job), f"the job {job.name}", path)
        for program in _of_sources(job.options.get("sources")):
            yield Needed(program, f"a source of the job {job.name}", path)


def _of_sources(sources: Any) -> Iterator[str]:
    for table in sources if isinstance(sources, list) else ():
        for kind in _KINDS.keys() & table.keys() if isinstance(table, dict) else ():
            program = table.get("program", _KINDS[kind])
            yield program if isinstance(program, str) else ""


def _interpreter(job: Job) -> str:
    """What the first line of a script names, by name or by path; empty for one that our own Python runs."""
    if job.argv[0] == sys.executable:
        return ""
    words = _first_words(job.script)
    if os.path.basename(words[0] if words else "") != "env":
        return words[0] if words else ""
    return next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")


def _first_words(script: Path) -> list[str]:
    with suppress(OSError):
        descriptor = os.open(script, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            line = (file.read(_HEAD) or b"").split(b"\n", 1)[0]
        return line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []
    return []
