"""heartbeat as a unit of systemd, in the user's own manager or in the machine's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from heartbeat.errors import ServiceError
from heartbeat.marker import Marker
from heartbeat.service import unit_files
from heartbeat.service.plan import Plan, Scope, Standing
from heartbeat.service.results import in_words
from heartbeat.service.systemctl import BOOTED, RUNTIME, Systemctl, lingers, own_name
from heartbeat.service.systemd_site import (
    KILLING,
    SYSTEM_FOLDER,
    home_of,
    occasion,
    refuse_private_folders,
    refuse_without_rights,
    stop_seconds,
    unit_of,
    user_folder,
)
from heartbeat.service.unit_text import alarm_text, service_text

_PATIENCE = 120.0
"""Seconds for which a start is waited for; it goes on all the same."""
_STATES = {"active": "running", "reloading": "running", "activating": "starting", "failed": "failed"}


class Systemd:
    """Implements Manager; see there. *booted* and *runtime* are where systemd shows that it runs, and for whom."""

    kind: str = "systemd"

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
        folder = self._folder(plan.scope)
        return {
            folder / unit_of(plan): service_text(plan, home_of(plan)),
            folder / f"{plan.name}-alarm@.service": alarm_text(plan),
        }

    def marker(self, plan: Plan) -> Marker:
        return Marker(self.kind, unit_of(plan), plan.scope, plan.version)

    def install(self, plan: Plan) -> tuple[str, ...]:
        ctl, unit, files = self._usable(plan, change=True), unit_of(plan), self.files(plan)
        refuse_private_folders(plan)
        if self._is_masked(plan, ctl.facts(unit)):
            raise ServiceError(
                f"cannot install {unit}: it is masked; `systemctl {ctl.option}unmask {unit}`, then again"
            )
        changed = unit_files.write_changed(files)
        if changed or ctl.facts(unit)["NeedDaemonReload"] == "yes":
            ctl.tell("daemon-reload")
        facts = ctl.facts(unit)
        self._refuse_other_file(plan, facts)
        done = [f"wrote {path}" for path in changed]
        if facts["UnitFileState"] != "enabled":
            ctl.tell("enable", unit)
            done.append(f"enabled {unit}: it comes up with {occasion(plan)}")
        is_running = facts["ActiveState"] == "active"
        if not is_running or any(path.name == unit for path in changed):
            done += self._bring_up(plan, ctl, "restart" if is_running else "start")
        return (*(done or [f"{unit} is installed as it should be, and running"]), *self.notes(plan))

    def uninstall(self, plan: Plan) -> tuple[str, ...]:
        ctl, unit, folder, done = self._ctl(plan.scope), unit_of(plan), self._folder(plan.scope), []
        refuse_without_rights(plan)
        reason = ctl.why_not()
        if not reason and ctl.facts(unit)["LoadState"] != "not-found":
            done += self._end(plan, ctl)
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
        return tuple(self._bring_up(plan, ctl, "start"))

    def stop(self, plan: Plan) -> tuple[str, ...]:
        return tuple(self._end(plan, self._installed(plan))) or (f"{unit_of(plan)} was not running",)

    def restart(self, plan: Plan) -> tuple[str, ...]:
        return tuple(self._bring_up(plan, self._installed(plan), "restart"))

    def status(self, plan: Plan) -> Standing:
        ctl = self._ctl(plan.scope)
        if reason := ctl.why_not():
            return Standing("unknown", reason)
        facts = ctl.facts(unit_of(plan))
        if facts["LoadState"] == "not-found" and facts["ActiveState"] == "inactive":
            return Standing("not installed")
        words = [f"{facts['ActiveState']} ({facts['SubState']})", facts.get("StatusText", "")]
        if facts["Result"] != "success":
            words.append(in_words(facts["Result"], facts["ExecMainStatus"])[0])
        if self._is_masked(plan, facts):
            words.append("masked: it cannot be started")
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
        return (*argv, f"--lines={lines}", *(["--follow"] if follow else []))

    def drift(self, plan: Plan) -> tuple[str, ...]:
        files = self.files(plan)
        if not any(os.path.lexists(path) for path in files):
            return ()
        ctl, unit = self._ctl(plan.scope), unit_of(plan)
        facts = {} if ctl.why_not() else ctl.facts(unit)
        if self._is_masked(plan, facts):
            return (f"{unit} is masked, so it cannot be started; `systemctl {ctl.option}unmask {unit}`",)
        found = [each for path, text in files.items() for each in unit_files.differences(path, text)]
        if facts and facts["UnitFileState"] != "enabled":
            found.append(f"{unit} is not enabled: it does not come up with {occasion(plan)}")
        if facts.get("NeedDaemonReload") == "yes":
            reload = f"`systemctl {ctl.option}daemon-reload`"
            found.append(
                f"{unit} was changed on disk, and systemd has not read it yet; {reload}, then `heartbeat restart`"
            )
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
        if facts["LoadState"] == "not-found":
            raise ServiceError(f"cannot find the service {unit}: it is not installed; `heartbeat install` does that")
        if self._is_masked(plan, facts):
            raise ServiceError(f"cannot use {unit}: it is masked; `systemctl {ctl.option}unmask {unit}`, then again")
        return ctl

    def _is_masked(self, plan: Plan, facts: Mapping[str, str]) -> bool:
        file = self._folder(plan.scope) / unit_of(plan)
        return facts.get("LoadState") == "masked" or os.path.realpath(file) == os.devnull

    def _refuse_other_file(self, plan: Plan, facts: Mapping[str, str]) -> None:
        file, read = self._folder(plan.scope) / unit_of(plan), facts["FragmentPath"]
        if os.path.realpath(read) != os.path.realpath(file):
            instead = f"it has {read}" if read else "it finds none"
            raise ServiceError(
                f"cannot install {unit_of(plan)}: systemd does not read {file}; {instead}. "
                "Remove what stands in its way, or set XDG_CONFIG_HOME as the user manager has it"
            )

    def _bring_up(self, plan: Plan, ctl: Systemctl, verb: str) -> list[str]:
        """Start or restart it, and wait until it says that it is ready."""
        unit = unit_of(plan)
        # What ran into the start limit would be refused, though its owner asks for it.
        ctl.ask("reset-failed", unit, seconds=KILLING)
        answer = ctl.ask(verb, unit, seconds=_PATIENCE + (stop_seconds(plan) if verb == "restart" else 0))
        facts = ctl.facts(unit)
        if answer.status == 0 and facts["ActiveState"] == "active":
            return [f"{verb}ed {unit}: process {facts['MainPID']}"]
        if answer.status is None and facts["ActiveState"] == "activating" and facts["SubState"] != "auto-restart":
            return [f"{unit} is still starting after {_PATIENCE:g} s; `heartbeat status` says how far it is"]
        what, remedy = in_words(facts["Result"], facts["ExecMainStatus"])
        lines = ctl.last_lines(unit) or " ".join(answer.text.split()) or answer.fault
        raise ServiceError(f"cannot {verb} {unit}: {what}; {remedy}. Its last lines:\n{lines}")

    def _end(self, plan: Plan, ctl: Systemctl) -> list[str]:
        unit = unit_of(plan)
        before = ctl.facts(unit)["ActiveState"]
        answer = ctl.ask("stop", unit, seconds=stop_seconds(plan))
        after = ctl.facts(unit)["ActiveState"]
        if after not in ("inactive", "failed"):
            reason = answer.fault or " ".join(answer.text.split()) or f"it is {after}"
            raise ServiceError(f"cannot stop {unit}: {reason}; `heartbeat logs` shows what it is at")
        return [] if before == after else [f"stopped {unit}"]
