"""The service under launchd: an agent of the user, or a daemon of the machine.

`stop` takes the job out of launchd: one that is only asked to end may be started again, after a crash while it ends or
because launchd was waiting for the throttle. It stays down until `start`, or until a login or boot loads its file.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from heartbeat.errors import NotFound, ServiceError
from heartbeat.marker import Marker
from heartbeat.service.acting import acting_for
from heartbeat.service.launchctl import Launchctl, Loaded
from heartbeat.service.launchd_site import KIND, Site, cannot, domains, is_within
from heartbeat.service.plan import Plan, Scope, Standing
from heartbeat.service.planning import path_due
from heartbeat.service.plist import crash_log, differences, label_of, parse, path_of, read_plist, render, rot

_PROGRAM = "/bin/launchctl"


class Launchd:
    """Speaks through launchctl; *program*, or HEARTBEAT_LAUNCHCTL, puts another in its place."""

    kind = KIND
    system = "darwin"

    def __init__(
        self,
        program: str = "",
        *,
        environ: Mapping[str, str] = os.environ,
        daemons: Path = Path("/Library/LaunchDaemons"),
        tempo: float = 1.0,
    ) -> None:
        self._given = program or environ.get("HEARTBEAT_LAUNCHCTL", "")
        self._launchctl = Launchctl(self._given or _PROGRAM, tempo)
        self._home = Path(environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)
        self._daemons = daemons

    def why_not(self, scope: Scope) -> str:
        """What keeps this host from it; empty when nothing does."""
        program = self._given or _PROGRAM
        if not self._given and sys.platform != "darwin":
            return "there is no launchd: this is not macOS"
        if not os.access(program, os.X_OK):
            return f"there is no launchctl at {program}"
        try:
            is_reached = any(self._launchctl.has_domain(domain) for domain in domains(scope))
        except ServiceError as error:
            return str(error)
        return "" if is_reached else f"launchd has no domain for user {os.getuid()}: log in at the screen once"

    def files(self, plan: Plan) -> Mapping[Path, str]:
        site = self._site(plan)
        return {site.file: render(plan, site.domain_here())}

    def marker(self, plan: Plan) -> Marker:
        return _marker(plan, self._site(plan).domain())

    def install(self, plan: Plan) -> tuple[str, ...]:
        site = self._site(plan)
        domain = site.domain_here()
        target, text = site.target(domain), render(plan, domain)
        moved = tuple(site.take_out_all("install", but=domain))
        job = self._launchctl.loaded(target)
        is_same = _text(site.file) == text and (job is None or job.path == str(site.file))
        site.mark(_marker(plan, domain))
        if is_same and job and job.pid:
            return (*moved, f"nothing to do: {target} is installed and runs as process {job.pid}", *site.advice())
        if not is_same and job:
            # Before the file is written: else, were we killed here, the job of the old one would pass for the new.
            # And only a job that is loaded anew may run an interpreter that was replaced.
            site.refuse_from_within("install", job)
            self._launchctl.take_out(target, site.patience())
        site.write(text)
        return (*moved, f"wrote {site.file}", site.up(domain), *site.advice())

    def uninstall(self, plan: Plan) -> tuple[str, ...]:
        site = self._site(plan)
        done = list(site.take_out_all("uninstall"))
        # Never `disable`: it would outlive all of this, and forbid the next installation to start.
        for path in (site.file, crash_log(plan.home), plan.home.marker_file):
            if path.exists():
                try:
                    _remove(path)
                except ServiceError as error:
                    if path == site.file:
                        raise
                    done.append(str(error))  # what stands in the state keeps nothing alive
                else:
                    done.append(f"removed {path}")
        return tuple(done) or (f"nothing to do: {label_of(plan)} is not installed",)

    def start(self, plan: Plan) -> tuple[str, ...]:
        site = self._installed("start", plan)
        domain = site.domain()
        job = self._launchctl.loaded(site.target(domain))
        if job and job.pid:
            return (f"nothing to do: {site.target(domain)} runs as process {job.pid}",)
        return (site.up(domain),)

    def stop(self, plan: Plan) -> tuple[str, ...]:
        site = self._site(plan)
        target = site.target(site.domain())
        if self._launchctl.loaded(target) is None:
            return (f"nothing to do: {target} does not run",)
        self._launchctl.take_out(target, site.patience())
        comes = "boot" if plan.scope == "system" else "login"
        return (f"stopped {target}; it stays down until `heartbeat start`, or until the next {comes}",)

    def restart(self, plan: Plan) -> tuple[str, ...]:
        site = self._installed("restart", plan)
        domain = site.domain()
        target = site.target(domain)
        job = self._launchctl.loaded(target)
        # `kickstart -k` kills at once, whatever runs. It is left for whoever does not end when asked, and for an agent
        # that restarts the service it was started by: that is ended in between, and only launchd can do the rest.
        if job and job.pid and (is_within(job.pid) or not self._launchctl.end(target, job.pid, site.patience())):
            self._launchctl.replace(target)
        return (site.up(domain),)

    def status(self, plan: Plan) -> Standing:
        site = self._site(plan)
        target = site.target(site.domain())
        job, is_there = self._launchctl.loaded(target), site.file.exists()
        is_disabled = self._launchctl.is_disabled(target)
        note = "; disabled, so it will not come up by itself" if is_disabled else ""
        if job is None and not is_there:
            return Standing("not installed")
        if job is None:
            return Standing("stopped", f"not loaded{note}", enabled=not is_disabled)
        restarts = max(0, job.runs - 1) if job.runs is not None else None
        return Standing(_state(job), job.line + note, job.pid, restarts, enabled=is_there and not is_disabled)

    def logs(self, plan: Plan, *, lines: int, follow: bool) -> tuple[str, ...]:
        # -F: the log is rotated, and the next one is another file.
        return ("tail", "-n", str(lines), *(["-F"] if follow else []), str(plan.home.log_file))

    def drift(self, plan: Plan) -> tuple[str, ...]:
        site = self._site(plan)
        domain = site.domain()
        try:
            installed = read_plist(site.file)
        except ServiceError as error:
            return (str(error),)
        if installed is None:
            return () if site.marked is None else (f"{site.file} is gone; `heartbeat install` writes it anew",)
        due = replace(plan, path=path_due(path_of(installed), plan.path))
        found = differences(installed, parse(render(due, domain))) + rot(installed)
        target = site.target(domain)
        job = self._launchctl.loaded(target)
        if job and job.path != str(site.file):
            found.append(f"launchd has {target} from another file, {job.path}")
        if self._launchctl.is_disabled(target):
            found.append(f"{target} is disabled, and will not come up by itself; `heartbeat start` enables it")
        return tuple(f"{site.file}: {difference}" for difference in found)

    def _site(self, plan: Plan) -> Site:
        return Site(plan, self._launchctl, self._home, self._daemons)

    def _installed(self, verb: str, plan: Plan) -> Site:
        site = self._site(plan)
        if not site.file.exists():
            raise NotFound(f"cannot {verb} {label_of(plan)}: there is no {site.file}; `heartbeat install` writes it")
        return site


def _marker(plan: Plan, domain: str) -> Marker:
    return Marker(KIND, label_of(plan), domain, plan.version)


def _state(job: Loaded) -> Literal["running", "starting", "stopped", "failed"]:
    if job.pid is not None:
        return "running"
    if job.state not in ("not running", "exited", "unknown"):
        return "starting"  # "spawn scheduled", "xpcproxy"
    return "stopped" if job.ended in ("", "0") else "failed"


def _text(file: Path) -> str | None:
    """None: not there, or nothing that we could have written."""
    try:
        return file.read_text()
    except (OSError, ValueError):
        return None


def _remove(path: Path) -> None:
    try:
        with acting_for(path.parent):
            path.unlink(missing_ok=True)
    except OSError as error:
        raise ServiceError(cannot("remove", path, error)) from error
