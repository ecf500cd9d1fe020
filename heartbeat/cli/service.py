"""`heartbeat uninstall`, `start`, `stop`, `restart`, `reload`, `status`, `logs`: the service that `install` made."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import typer

from heartbeat.brief.parts import counted
from heartbeat.cli.install import install
from heartbeat.cli.supervised import SYSTEM_OPTION, Target, WrongUsage, aim, show
from heartbeat.errors import NotFound, Refused, ServiceError
from heartbeat.marker import read_marker
from heartbeat.service.detached import detach, missing
from heartbeat.service.hand import end, running
from heartbeat.service.plan import Standing
from heartbeat.service.reading import reload as read_again
from heartbeat.service.traces import forget


def register(app: typer.Typer) -> None:
    for verb in (install, uninstall, start, stop, restart, reload, status, logs):
        app.command()(verb)


def uninstall(system: bool = SYSTEM_OPTION) -> None:
    """Take the service away; configuration and ledger stay."""
    target = aim("uninstall", system=system)
    target.need_root()
    did: tuple[str, ...] = ()
    if target.is_installed():
        target.ask_for("stop")
        did = (*target.have("uninstall"),)
    left = target.marker.unit if target.marker and not target.is_its(target.marker) else ""
    if not left:
        target.unmark()
    home = target.call.home
    own = [folder for folder in (home.config, home.state, home.cache) if folder.exists()]
    folders = [str(folder) for folder in dict.fromkeys(own) if not set(folder.parents) & set(own)]
    lines = list(did) or [_not_installed(target)]
    if not left and (gone := _forget(target)):
        lines.append(f"removed what it left in {home.state} as evidence: {', '.join(gone)}")
    lines += [f"{left} was installed from this folder under another name, and is left as it is"] if left else []
    with suppress(Refused):  # whoever has the lock, the service is gone
        if (pid := target.by_hand()) is not None:
            lines.append(f"process {pid} goes on, which is not the service's; `{target.command('stop')}` ends it")
    if folders:
        lines.append(f"configuration and ledger stay; `rm -r {shlex.join(folders)}` removes them")
    show(target, {"did": list(did), "kept": folders}, lines)


def start(system: bool = SYSTEM_OPTION) -> None:
    """Start the service that is installed, or leave in the background again what was left there before."""
    target = aim("start", system=system).kept()
    if _was_detached(target):
        _start_detached(target)
        return
    _have_begun(_installed(target), "start")


def stop(system: bool = SYSTEM_OPTION) -> None:
    """Stop the daemon, whoever started it, and wait until it has ended; the service comes back with the next boot."""
    target = aim("stop", system=system).kept()
    did: list[str] = []
    if target.is_installed():
        target.need_root()
        target.ask_for("stop")
        did += target.have("stop")
    if target.by_hand() is not None:
        target.ask_for("stop")
        if pid := end(target.call.home, target.plan.drain):
            did.append(f"stopped process {pid}")
    show(target, {"did": did}, did or [_nothing_to_stop(target)])


def restart(system: bool = SYSTEM_OPTION) -> None:
    """Stop the daemon and start it anew; a configuration that is not valid leaves it as it is."""
    target = aim("restart", system=system).kept()
    if _was_detached(target):
        target.check()
        target.ask_for("restart")
        end(target.call.home, target.plan.drain)
        _start_detached(target)
        return
    _have_begun(_installed(target), "restart")


def _have_begun(target: Target, verb: str) -> None:
    """Have the supervisor start it, or start it anew: whatever would keep it from running is found before."""
    target.check()
    target.refuse_credentials()
    target.refuse_by_hand()
    target.ask_for(verb)
    did = target.have(verb)
    show(target, {"did": list(did)}, did)


def reload(system: bool = SYSTEM_OPTION) -> None:
    """Have the daemon read its configuration again, and wait until it has; one that is not valid changes nothing.

    Exit 4: the configuration is not valid. Exit 3: no daemon runs.
    """
    target = aim("reload", system=system)
    target.check()
    done = read_again(target.call.home)
    if done is None:
        raise NotFound("cannot reload: heartbeat does not run; it reads its configuration when it starts")
    pid, jobs = done
    did = [f"process {pid} has read its configuration: {counted(jobs, 'job')}"]
    show(target, {"did": did, "pid": pid, "jobs": jobs}, did)


def status(system: bool = SYSTEM_OPTION) -> None:
    """What the supervisor says, and what the evidence shows. Exit 0: it runs; 3: not installed; 1: anything else."""
    from heartbeat.probe import examine
    from heartbeat.probe.forms import as_text

    target = aim("status", system=system).kept()
    standing, health = target.standing(), examine(str(target.call.home.state))
    problems = [{"code": code, "message": message} for code, message in health.problems]
    told = {"state": health.state, "summary": health.summary, "pid": health.pid, "problems": problems}
    marker = target.marker
    service = {"manager": marker.manager, "unit": marker.unit, "domain": marker.domain} if marker else {}
    data = {"service": {**service, **asdict(standing)}, "health": told}
    is_alone = standing.state != "running" and health.pid is not None and health.state != "down"
    lines = [_in_words(target, standing)]
    lines += [f"process {health.pid} runs without a supervisor"] if is_alone else []
    show(target, data, [*lines, target.spoken(f"health: {as_text((health,))}")])
    is_up = standing.state == "running" or (is_alone and health.state in ("up", "degraded"))
    raise typer.Exit(0 if is_up else 3 if standing.state == "not installed" and not is_alone else 1)


def logs(
    lines: int = typer.Option(50, "-n", "--lines", min=0, max=1_000_000, help="How many of the latest lines."),
    follow: bool = typer.Option(False, "-f", "--follow", help="Go on as lines are written, until Ctrl-C."),
    system: bool = SYSTEM_OPTION,
) -> None:
    """Show the log of the service, or of a daemon that was detached."""
    target = aim("logs", system=system).kept()
    command = _log_command(target, lines, follow=follow)
    if not target.call.as_json:
        sys.stdout.flush()
        try:
            os.execvp(command[0], command)  # noqa: S606 - the manager's own program, without a shell
        except OSError as error:
            raise ServiceError(f"cannot run {command[0]}: {error.strerror}; install it, or correct PATH") from error
    if follow:
        raise WrongUsage("--json shows what there is, and cannot follow; leave one of them out")
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


def _installed(target: Target) -> Target:
    verb = target.call.command
    if not target.is_installed():
        if (pid := target.by_hand()) is not None:
            raise Refused(f"cannot {verb} process {pid}: no supervisor keeps it; stop it, then {target.instead()}")
        also = f" ({other})" if (other := target.stranger()) else ""
        raise NotFound(f"cannot {verb}: heartbeat is not installed as a service here{also}; {target.instead()}")
    target.need_root()
    return target


def _not_installed(target: Target) -> str:
    other = target.stranger()
    return f"{target.plan.name} is not installed as a service" + (f"; {other}, and stays as it is" if other else "")


def _nothing_to_stop(target: Target) -> str:
    other = target.stranger()
    return "nothing to do: heartbeat does not run" + (f"; {other}, and goes on" if other else "")


def _forget(target: Target) -> tuple[str, ...]:
    try:
        return forget(target.call.home)
    except ServiceError as error:  # what matters is done, and the rest is told
        print(f"heartbeat: {error}", file=sys.stderr)
        return ()


def _start_detached(target: Target) -> None:
    home, environ, verb = target.call.home, target.call.environ, target.call.command
    if found := running(home):
        show(target, {"did": []}, [f"process {found[0]} runs already, in the background"])
        return
    detached = detach(home, environ, verb=verb)
    show(target, {"did": [f"started process {detached.pid}"]}, [missing(detached, home, environ)])


def _was_detached(target: Target) -> bool:
    if target.is_installed():
        return False
    try:
        marker = read_marker(target.call.home.marker_file)
    except (OSError, ValueError):
        return False
    return marker is not None and marker.manager == "none"


def _in_words(target: Target, standing: Standing) -> str:
    facts: list[Any] = [standing.detail]
    facts += [f"process {standing.pid}"] if standing.pid else []
    if standing.restarts:
        facts.append(f"restarted {counted(standing.restarts, 'time')}")
    if target.plan.is_owners:
        facts.append("a unit of your own")
    elif standing.enabled is not None and standing.state != "not installed":
        is_there = standing.state in ("running", "starting")
        by_itself = "comes up by itself" if is_there else "comes up again with the next boot or login"
        facts.append(by_itself if standing.enabled else "does not come up by itself")
    told = ", ".join(fact for fact in facts if fact)
    return f"{target.plan.name}: {standing.state}" + (f" ({told})" if told else "")
