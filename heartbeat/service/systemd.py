"""heartbeat as a unit of systemd, in the user's own manager or in the machine's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from heartbeat.errors import NotFound, ServiceError
from heartbeat.marker import Marker
from heartbeat.service import unit_files
from heartbeat.service.credentials import usable
from heartbeat.service.ownership import refuse_stranger, stranger
from heartbeat.service.plan import Plan, Scope, Standing
from heartbeat.service.planning import path_due
from heartbeat.service.results import in_words
from heartbeat.service.systemctl import BOOTED, RUNTIME, Systemctl, lingers, own_name
from heartbeat.service.systemd_site import (
    KILLING,
    SYSTEM_FOLDER,
    home_of,
    occasion,
    refuse_private_folders,
    refuse_without_rights,
    unit_of,
    user_folder,
)
from heartbeat.service.systemd_steps import bring_up, refused_settings, take_down, write_units
from heartbeat.service.unit_text import alarm_text, service_text

_STATES = {"active": "running", "reloading": "running", "activating": "starting", "failed": "failed"}


class Systemd:
    """Implements Manager; see there. *booted* and *runtime* are where systemd shows that it runs, and for whom."""

    kind: str = "systemd"
    system = "linux"

    def __init__(
        self, environ: Mapping[str, str] | None = None, booted: Path = BOOTED, runtime: Path = RUNTIME
    ) -> None:
        self._environ = os.environ if environ is None else environ
        self._booted = booted
        self._runtime = runtime

    def why_not(self, scope: Scope) -> str:
        """Why services of that scope cannot be managed here; an empty text when they can."""
        return self._ctl(scope).why_not()

    def files(self, plan: Plan) -> Mapping[Path, str]:
        folder, plan = self._folder(plan.scope), replace(plan, credentials=usable(plan))
        return {
            folder / unit_of(plan): service_text(plan, home_of(plan)),
            folder / f"{plan.name}-alarm@.service": alarm_text(plan),
        }

    def marker(self, plan: Plan) -> Marker:
        return Marker(self.kind, unit_of(plan), plan.scope, plan.version)

    def install(self, plan: Plan) -> tuple[str, ...]:
        ctl, unit, files = self._usable(plan, change=True), unit_of(plan), self.files(plan)
        refuse_private_folders(plan)
        facts, file = ctl.facts(unit), self._file(plan)
        refuse_stranger("install", plan, file, facts)
        if self._is_masked(plan, facts):
            raise ServiceError(
                f"cannot install {unit}: it is masked; `systemctl {ctl.option}unmask {unit}`, then again"
            )
        changed = write_units(ctl, file, files)
        facts = ctl.facts(unit)
        done = [f"wrote {path}" for path in changed]
        if facts["UnitFileState"] != "enabled":
            ctl.tell("enable", unit)
            done.append(f"enabled {unit}: it comes up with {occasion(plan)}")
        is_running = facts["ActiveState"] == "active"
        if not is_running or any(path.name == unit for path in changed):
            done += bring_up(plan, ctl, "restart" if is_running else "start")
        return (*(done or [f"{unit} is installed as it should be, and running"]), *self.notes(plan))

    def uninstall(self, plan: Plan) -> tuple[str, ...]:
        ctl, unit, folder, done = self._ctl(plan.scope), unit_of(plan), self._folder(plan.scope), []
        refuse_without_rights(plan)
        reason = ctl.why_not()
        facts = {} if reason else ctl.facts(unit)
        refuse_stranger("uninstall", plan, self._file(plan), facts)
        is_running = facts.get("ActiveState", "inactive") not in ("inactive", "failed")
        if not is_running and self._is_masked(plan, facts) and not (folder / f"{plan.name}-alarm@.service").exists():
            return (f"{unit} was not installed; that it is masked stays as it is",)
        if is_running or facts.get("LoadState", "not-found") != "not-found":
            done += take_down(plan, ctl)
            ctl.ask("disable", unit, seconds=KILLING)  # refused for a unit that is masked; the link goes below
        gone = unit_files.remove(dict.fromkeys((folder / unit, folder / f"{plan.name}-alarm@.service"), ""))
        done += [f"removed {path}" for path in gone]
        if not reason:
            ctl.tell("daemon-reload")
            # A unit that failed is remembered, with the counts of its restarts, beyond its file.
            ctl.ask("reset-failed", unit, f"{plan.name}-alarm@{unit}.service", seconds=KILLING)
        left = folder / f"{unit}.d"
        if left.is_dir():
            done.append(f"left your own drop-ins in {left}")
        if plan.scope == "user":
            unit_files.remove_empty_folders(folder)
        return tuple(done) or (f"{unit} was not installed",)

    def start(self, plan: Plan) -> tuple[str, ...]:
        ctl = self._installed(plan)
        if ctl.facts(unit_of(plan))["ActiveState"] == "active":
            return (f"{unit_of(plan)} runs already",)
        return tuple(bring_up(plan, ctl, "start"))

    def stop(self, plan: Plan) -> tuple[str, ...]:
        ctl, unit = self._usable(plan, change=True), unit_of(plan)
        facts = ctl.facts(unit)
        refuse_stranger("stop", plan, self._file(plan), facts)
        if facts["ActiveState"] == "inactive":  # what runs can be stopped, also when it is masked or its file is gone
            self._installed(plan)
        return tuple(take_down(plan, ctl)) or (f"{unit} was not running",)

    def restart(self, plan: Plan) -> tuple[str, ...]:
        return tuple(bring_up(plan, self._installed(plan), "restart"))

    def status(self, plan: Plan) -> Standing:
        ctl = self._ctl(plan.scope)
        if reason := ctl.why_not():
            return Standing("unknown", reason)
        facts = ctl.facts(unit_of(plan))
        if facts["LoadState"] == "not-found" and facts["ActiveState"] == "inactive":
            return Standing("not installed")
        if reason := stranger(plan, self._file(plan), facts):
            return Standing("not installed", reason)
        # Of a daemon that is gone systemd keeps what it said last.
        said = facts.get("StatusText", "") if facts["MainPID"] not in ("", "0") else ""
        words = [f"{facts['ActiveState']} ({facts['SubState']})", said]
        if facts["Result"] != "success":
            words.append(in_words(facts["Result"], facts["ExecMainStatus"])[0])
        if self._is_masked(plan, facts):
            words.append("masked: it cannot be started")
        words.append(refused_settings(ctl, unit_of(plan), facts))
        pid, restarts = facts["MainPID"], facts["NRestarts"]
        return Standing(
            _STATES.get(facts["ActiveState"], "stopped"),  # type: ignore[arg-type] # the values are of that type
            "; ".join(filter(None, words)),
            pid=int(pid) if pid.isdigit() and pid != "0" else None,
            restarts=int(restarts) if restarts.isdigit() else None,
            enabled=facts["UnitFileState"] == "enabled",
        )

    def logs(self, plan: Plan, *, lines: int, follow: bool) -> tuple[str, ...]:
        unit = unit_of(plan)
        argv = self._ctl(plan.scope).journal(unit, f"{plan.name}-alarm@{unit}.service")
        # Who can read it need not be told each time how others could.
        quiet = ["--quiet"] if self._ctl(plan.scope).last_lines(unit) else []
        return (*argv, *quiet, f"--lines={lines}", *(["--follow"] if follow else []))

    def drift(self, plan: Plan) -> tuple[str, ...]:
        there = unit_files.path_there(self._file(plan))
        files = self.files(replace(plan, path=path_due(there, plan.path)))
        if not any(os.path.lexists(path) for path in files):
            return ()
        ctl, unit = self._ctl(plan.scope), unit_of(plan)
        facts = {} if ctl.why_not() else ctl.facts(unit)
        if self._is_masked(plan, facts):
            return (f"{unit} is masked, so it cannot be started; `systemctl {ctl.option}unmask {unit}`",)
        found = [each for path, text in files.items() for each in unit_files.differences(path, text)]
        if unit_files.path_there(alarm := list(files)[-1]) == there:  # the service's: told once
            found = [each for each in found if not each.startswith(f"{alarm}: Service Environment PATH:")]
        if facts and facts["UnitFileState"] != "enabled":
            found.append(f"{unit} is not enabled: it does not come up with {occasion(plan)}")
        if facts.get("NeedDaemonReload") == "yes":
            remedy = f"`systemctl {ctl.option}daemon-reload`, then `heartbeat restart`"
            if found:
                remedy = "`heartbeat install` writes it anew and has it read"
            found.append(f"{unit} was changed on disk, and systemd has not read it yet; {remedy}")
        return tuple(found)

    def notes(self, plan: Plan) -> tuple[str, ...]:
        """What is no fault, but the owner should know: their own drop-ins, and whether it runs without a login."""
        ctl, found = self._ctl(plan.scope), []
        if not ctl.why_not():
            dropped = ctl.facts(unit_of(plan))["DropInPaths"].split()
            found += [f"{path} is a drop-in of your own, which heartbeat leaves alone" for path in dropped]
        name = own_name()
        if plan.scope == "user" and not lingers(name):
            found.append(
                f"without lingering it runs only while you are logged in; "
                f"`loginctl enable-linger {name}` lets it start with the machine"
            )
        return tuple(found)

    def _ctl(self, scope: Scope) -> Systemctl:
        return Systemctl(scope, self._environ, self._booted, self._runtime)

    def _folder(self, scope: Scope) -> Path:
        return SYSTEM_FOLDER if scope == "system" else user_folder(self._environ)

    def _file(self, plan: Plan) -> Path:
        return self._folder(plan.scope) / unit_of(plan)

    def _usable(self, plan: Plan, *, change: bool) -> Systemctl:
        ctl = self._ctl(plan.scope)
        if reason := ctl.why_not():
            raise ServiceError(f"cannot use systemd: {reason}")
        if change:
            refuse_without_rights(plan)
        return ctl

    def _installed(self, plan: Plan) -> Systemctl:
        ctl, unit = self._usable(plan, change=True), unit_of(plan)
        facts = ctl.facts(unit)
        refuse_stranger("use", plan, self._file(plan), facts)
        if facts["LoadState"] == "not-found":
            raise NotFound(f"cannot find the service {unit}: systemd knows no such unit; `heartbeat install` writes it")
        if self._is_masked(plan, facts):
            raise ServiceError(f"cannot use {unit}: it is masked; `systemctl {ctl.option}unmask {unit}`, then again")
        return ctl

    def _is_masked(self, plan: Plan, facts: Mapping[str, str]) -> bool:
        return facts.get("LoadState") == "masked" or os.path.realpath(self._file(plan)) == os.devnull
