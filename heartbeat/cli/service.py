"""`heartbeat uninstall`, `start`, `stop`, `restart`, `status`, `logs`: the service that `install` made."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import typer

from heartbeat.cli.install import install
from heartbeat.cli.supervised import SYSTEM_OPTION, Target, aim, show
from heartbeat.errors import NotFound, Refused, ServiceError
from heartbeat.marker import read_marker
from heartbeat.service.detached import detach, missing
from heartbeat.service.hand import end
from heartbeat.service.plan import Standing


def register(app: typer.Typer) -> None:
    for verb in (install, uninstall, start, stop, restart, status, logs):
        app.command()(verb)


def uninstall(system: bool = SYSTEM_OPTION) -> None:
    """Take the service away; configuration and ledger stay."""
    target = aim("uninstall", system=system)
    target.need_root()
    did: tuple[str, ...] = ()
    if target.is_installed():
        target.ask_for("stop")
        did = target.manager().uninstall(target.plan)
    target.unmark()
    home = target.call.home
    own = [folder for folder in (home.config, home.state, home.cache) if folder.exists()]
    folders = [str(folder) for folder in dict.fromkeys(own) if not set(folder.parents) & set(own)]
    lines = list(did) or [f"{target.plan.name} is not installed as a service"]
    with suppress(Refused):  # whoever has the lock, the service is gone
        if (pid := target.by_hand()) is not None:
            lines.append(f"process {pid} goes on, which is not the service's; `{target.command('stop')}` ends it")
    if folders:
        lines.append(f"configuration and ledger stay; `rm -r {shlex.join(folders)}` removes them")
    show(target, {"did": list(did), "kept": folders}, lines)


def start(system: bool = SYSTEM_OPTION) -> None:
    """Start the service that is installed."""
    target = _installed("start", system=system)
    target.check()
    target.refuse_by_hand()
    target.ask_for("start")
    did = target.manager().start(target.plan)
    show(target, {"did": list(did)}, did)


def stop(system: bool = SYSTEM_OPTION) -> None:
    """Stop the daemon, whoever started it, and wait until it has ended; the service comes back with the next boot."""
    target = aim("stop", system=system)
    did: list[str] = []
    if target.is_installed():
        target.need_root()
        target.ask_for("stop")
        did += target.manager().stop(target.plan)
    if target.by_hand() is not None:
        target.ask_for("stop")
        if pid := end(target.call.home, target.plan.drain):
            did.append(f"stopped process {pid}")
    show(target, {"did": did}, did or ["nothing to do: heartbeat does not run"])


def restart(system: bool = SYSTEM_OPTION) -> None:
    """Stop the daemon and start it anew; a configuration that is not valid leaves it as it is."""
    target = aim("restart", system=system)
    if not target.is_installed() and _was_detached(target):
        target.check()
        target.ask_for("restart")
        end(target.call.home, target.plan.drain)
        detached = detach(target.call.home, target.call.environ, word="restart")
        show(
            target,
            {"did": [f"started process {detached.pid}"]},
            [missing(detached, target.call.home, target.call.environ)],
        )
        return
    target = _installed("restart", system=system)
    target.check()
    target.refuse_by_hand()
    target.ask_for("restart")
    did = target.manager().restart(target.plan)
    show(target, {"did": list(did)}, did)


def status(system: bool = SYSTEM_OPTION) -> None:
    """What the supervisor says, and what the evidence shows. Exit 0: it runs; 3: not installed; 1: anything else."""
    from heartbeat.probe import examine
    from heartbeat.probe.forms import as_text

    target = aim("status", system=system)
    standing, health = target.standing(), examine(str(target.call.home.state))
    problems = [{"code": code, "message": message} for code, message in health.problems]
    told = {"state": health.state, "summary": health.summary, "pid": health.pid, "problems": problems}
    marker = target.marker
    service = {"manager": marker.manager, "unit": marker.unit, "domain": marker.domain} if marker else {}
    data = {"service": {**service, **asdict(standing)}, "health": told}
    is_alone = standing.state != "running" and health.state in ("up", "degraded")
    lines = [_in_words(target, standing)]
    lines += [f"process {health.pid} runs without a supervisor"] if is_alone else []
    show(target, data, [*lines, f"health: {as_text((health,))}"])
    is_up = standing.state == "running" or is_alone
    raise typer.Exit(0 if is_up else 3 if standing.state == "not installed" else 1)


def logs(
    lines: int = typer.Option(50, "-n", "--lines", min=0, max=1_000_000, help="How many of the latest lines."),
    follow: bool = typer.Option(False, "-f", "--follow", help="Go on as lines are written, until Ctrl-C."),
    system: bool = SYSTEM_OPTION,
) -> None:
    """Show the log of the service, or of a daemon that was detached."""
    target = aim("logs", system=system)
    command = _log_command(target, lines, follow=follow)
    if not target.call.as_json:
        sys.stdout.flush()
        try:
            os.execvp(command[0], command)  # noqa: S606 - the manager's own program, without a shell
        except OSError as error:
            raise ServiceError(f"cannot run {command[0]}: {error.strerror}; install it, or correct PATH") from error
    if follow:
        raise typer.BadParameter("--json shows what there is, and cannot follow; leave one of them out")
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise ServiceError(f"cannot run {command[0]}: {error}; install it, or correct PATH") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise ServiceError(f"cannot read the log: {command[0]} ended with status {done.returncode}; {said}")
    data = {"command": list(command), "lines": done.stdout.decode(errors="replace").splitlines()}
    show(target, data, ())


def _log_command(target: Target, lines: int, *, follow: bool) -> tuple[str, ...]:
    file = target.call.home.log_file
    if target.is_installed():
        return target.manager().logs(target.plan, lines=lines, follow=follow)
    if not file.exists():
        raise NotFound(
            f"cannot find a log: heartbeat is not installed as a service, and there is no {file}; {target.instead()}"
        )
    return ("tail", "-n", str(lines), *(["-F"] if follow else []), str(file))


def _installed(verb: str, *, system: bool) -> Target:
    target = aim(verb, system=system)
    if not target.is_installed():
        if (pid := target.by_hand()) is not None:
            raise Refused(f"cannot {verb} process {pid}: no supervisor keeps it; stop it, then {target.instead()}")
        raise NotFound(f"cannot {verb}: heartbeat is not installed as a service here; {target.instead()}")
    target.need_root()
    return target


def _was_detached(target: Target) -> bool:
    try:
        marker = read_marker(target.call.home.marker_file)
    except (OSError, ValueError):
        return False
    return marker is not None and marker.manager == "none"


def _in_words(target: Target, standing: Standing) -> str:
    facts: list[Any] = [standing.detail]
    facts += [f"process {standing.pid}"] if standing.pid else []
    facts += [f"restarted {standing.restarts} times"] if standing.restarts else []
    if standing.enabled is not None:
        facts.append("comes up by itself" if standing.enabled else "does not come up by itself")
    told = ", ".join(fact for fact in facts if fact)
    return f"{target.plan.name}: {standing.state}" + (f" ({told})" if told else "")
