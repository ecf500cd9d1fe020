"""`heartbeat init` and `check`: a first configuration, and whether it holds."""

from __future__ import annotations

import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer

from heartbeat.cli.hints import hints
from heartbeat.cli.shell import Shell, shell
from heartbeat.cli.supervised import SYSTEM_OPTION, aim
from heartbeat.cli.validity import validated
from heartbeat.clock import utc_now
from heartbeat.errors import Refused
from heartbeat.job import Config
from heartbeat.service import find_manager
from heartbeat.service.hand import running
from heartbeat.service.planning import called, scope_of
from heartbeat.service.reading import unread
from heartbeat.service.standing import drift_of, environ_of


def register(app: typer.Typer) -> None:
    app.command()(init)
    app.command()(check)


def init(force: bool = typer.Option(False, "--force", help="Write anew; the old file is kept beside it.")) -> None:
    """Write a first configuration from what is on this machine."""
    from heartbeat.lookout import look_around
    from heartbeat.welcome import init as write
    from heartbeat.zones import host_zone

    call = shell("init")
    found = look_around(call.environ, host_zone())
    kept = write(call.home, found, utc_now(), force=force)
    data: dict[str, Any] = {"file": str(call.home.config_file), "kept": str(kept) if kept else None, **asdict(found)}
    lines = [f"wrote {call.home.config_file}" + (f"; the old one is {kept}" if kept else "")]
    lines.append("agents found: " + (", ".join(agent.kind for agent in found.agents) or "none"))
    lines.append("calendars found: " + (", ".join(calendar.path for calendar in found.calendars) or "none"))
    lines.append("next: name there who is woken ([agent]) and how you are told ([channels]), then " + _next(call))
    call.show(data, lambda: "\n".join(lines))


def check(
    file: Path = typer.Argument(None, help="A configuration other than the home's."), system: bool = SYSTEM_OPTION
) -> None:
    """Validate the configuration and every script it names; every problem at once, exit 4."""
    call = aim("check", system=True).call if system else shell("check")
    where = file.absolute() if file else call.home.config_file
    # The scripts of a configuration lie beside it.
    home = replace(call.home, config=where.parent)
    config = validated(home, environ_of(call.home, call.environ), where if file else None)
    found = hints(config, utc_now())
    if file is None:
        found += tuple(
            f"the service is not what `heartbeat install` would write now: {difference}"
            for difference in drift_of(home, config.settings, call.environ)
        )
        if (pid := unread(home)) is not None:
            reload = called("reload", home, call.environ)
            found += (f"process {pid} runs with the configuration as it was before; `{reload}` has it read this one",)
    data = {"file": str(where), "jobs": sorted(config.jobs), "agent": config.settings.agent.kind, "hints": list(found)}
    call.show(data, lambda: _all_well(config, where, found))


def _next(call: Shell) -> str:
    """The commands that come after a first configuration, as they are typed for this home."""
    verbs = ["check", "messages test CHANNEL"]
    try:
        runs = running(call.home) is not None
    except Refused:
        runs = False
    if runs:
        verbs.append("reload")
    else:
        verbs.append("install" if find_manager(scope_of(call.home), call.environ).manager else "run")
    words = [called(verb, call.home, call.environ) for verb in verbs]
    if scope_of(call.home) == "system" and verbs[-1] == "install":
        words[-1] = f"sudo {called('install', call.home, call.environ, absolute=True)} --as USER"
    return ", ".join(f"`{each}`" for each in words)


def _all_well(config: Config, where: Path, found: tuple[str, ...]) -> str:
    names = ", ".join(sorted(config.jobs)) or "none"
    lines = [f"{where}: valid" if where.exists() else f"{where}: no such file; everything has its default"]
    if found:
        lines[0] += ", but:" if where.exists() else ":"
        lines += [f"- {hint}" for hint in found]
    lines.append(f"jobs: {names}")
    agent = config.settings.agent
    if agent.kind == "none":
        lines.append("agent: none; what would wake it waits for the brief")
    else:
        lines.append(f"agent: {agent.kind}" + (f", {shlex.join(agent.command)}" if agent.command else ""))
    return "\n".join(lines)
