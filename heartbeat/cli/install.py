"""`heartbeat install`: the daemon as a service, once its configuration holds."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import typer

from heartbeat.brief.parts import counted
from heartbeat.cli.supervised import Target, WrongUsage, aim, show
from heartbeat.cli.validity import validated
from heartbeat.errors import HeartbeatError
from heartbeat.job import load
from heartbeat.service import find_manager, usual_manager
from heartbeat.service.credentials import left_out
from heartbeat.service.planning import doubts, find_user
from heartbeat.service.reading import reload, unread
from heartbeat.service.system import prepare


def install(
    user: bool = typer.Option(False, "--user", help="For you alone, under your own manager: what happens anyway."),
    system: bool = typer.Option(
        False, "--system", help="For the whole machine, with its configuration in /etc/heartbeat."
    ),
    runs_as: str = typer.Option("", "--as", metavar="USER", help="Who the machine's service runs as."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Print every file that would be written, and do nothing."),
) -> None:
    """Install heartbeat as a service that starts with the machine and is kept running; again: bring it up to date.

    Exit 4: the configuration is not valid, and nothing was installed.
    """
    target = aim("install", system=system, user=user, runs_as_user=runs_as)
    target = target.named(_who(target, runs_as)) if target.plan.scope == "system" else target
    if not dry_run:
        target.need_root()
    validated(target.call.home, target.environ)
    if dry_run:
        _show_files(target)
        return
    manager = target.manager()
    manager.files(target.plan)  # what cannot be written into a unit is refused before a folder is made
    target.refuse_by_hand()
    target.refuse_stranger()
    did = list(prepare(target.call.home, target.plan.user)) if target.plan.scope == "system" else []
    hints = [*doubts(target.plan, target.call.environ), *_lacking(target)]
    hints += left_out(target.plan) if manager.kind == "systemd" else ()
    target.ask_for("install")
    # Before it is started: whatever comes of that, heartbeat is meant to run here from now on.
    target.mark(manager.marker(target.plan))
    try:
        did += target.have("install")
    except HeartbeatError:
        if target.standing().state == "not installed":
            target.unmark()
        raise
    did += _read_again(target)
    log = shlex.join(manager.logs(target.plan, lines=50, follow=True))
    lines = [*did, f"its log: `{target.command('logs')} -f`, which is `{log}`"]
    lines.append(f"is it well: `{target.command('status')}`")
    marker = manager.marker(target.plan)
    data = {"manager": marker.manager, "unit": marker.unit, "did": did, "log": log, "hints": hints}
    show(target, data, [*lines, *(f"but: {hint}" for hint in hints)])


def _read_again(target: Target) -> list[str]:
    """A daemon that runs with an older configuration than there is now has to read it: nobody would see that."""
    if unread(target.call.home) is None or (done := reload(target.call.home)) is None:
        return []
    return [f"its configuration is newer: process {done[0]} has read it again, {counted(done[1], 'job')}"]


def _who(target: Target, told: str) -> str:
    """Who it runs as: as told, as before, or who called sudo; root only when told."""
    guesses = (target.plan.user, target.call.environ.get("SUDO_USER", ""))
    who = told or next((guess for guess in guesses if guess not in ("", "root")), "")
    if not who:
        raise WrongUsage("name who the service runs as: --as USER (your agent acts with their rights)")
    return who


def _show_files(target: Target) -> None:
    found = find_manager(target.plan.scope, target.call.environ)
    manager = found.manager or usual_manager(target.call.environ)
    files: Mapping[Path, str] = manager.files(target.plan)
    hints = [
        *doubts(target.plan, target.call.environ),
        *(left_out(target.plan) if manager.kind == "systemd" else ()),
        *filter(None, [target.stranger()]),
        *([] if found.manager else [f"not here: {'; '.join(found.reasons)}"]),
    ]
    lines = [f"# {path}\n{text}" for path, text in files.items()]
    data = {"files": {str(path): text for path, text in files.items()}, "hints": hints}
    show(target, data, [*lines, *(f"# but: {hint}" for hint in hints)])


def _lacking(target: Target) -> Iterator[str]:
    """What this shell has, and the service has not: the configuration is read as the service will read it."""
    home = find_user(target.plan.user).pw_dir if target.plan.user else os.path.expanduser("~")
    environ = {"HOME": home, "PATH": target.plan.path, **target.plan.environment}
    with target.as_its_user():
        config = load(target.call.home, environ)
    for problem in config.unready:
        if "credential" in problem.message:
            continue  # the supervisor reads it with its own rights
        yield f"{problem.key}: the service {problem.message}"
