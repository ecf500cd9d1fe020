"""Bringing a unit of systemd up and down, and what is said when it does not come."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from heartbeat.ask import Answer
from heartbeat.errors import Refused, ServiceError
from heartbeat.marker import read_intent
from heartbeat.service import unit_files
from heartbeat.service.plan import Plan
from heartbeat.service.results import in_words
from heartbeat.service.systemctl import Systemctl
from heartbeat.service.systemd_site import KILLING, stop_seconds, unit_of

_PATIENCE = 120.0
"""Seconds for which a start is waited for; it goes on all the same."""


def bring_up(plan: Plan, ctl: Systemctl, verb: str) -> list[str]:
    """Start or restart it, and wait until it says that it is ready."""
    unit, since = unit_of(plan), time.time()
    # What ran into the start limit would be refused, though its owner asks for it.
    ctl.ask("reset-failed", unit, seconds=KILLING)
    answer = ctl.ask(verb, unit, seconds=_PATIENCE + (stop_seconds(plan) if verb == "restart" else 0))
    facts = ctl.facts(unit)
    if answer.status == 0 and facts["ActiveState"] == "active":
        return [f"{verb}ed {unit}: process {facts['MainPID']}"]
    if answer.status is None and facts["ActiveState"] == "activating" and facts["SubState"] != "auto-restart":
        return [f"{unit} is still starting after {_PATIENCE:g} s; `heartbeat status` says how far it is"]
    if _was_stopped(plan, answer, since):
        raise Refused(f"cannot {verb} {unit}: it was stopped meanwhile; once that is done, `heartbeat start`")
    if reason := refused_settings(ctl, unit, facts):
        raise ServiceError(f"cannot {verb} {unit}: {reason}")
    what, remedy = in_words(facts["Result"], facts["ExecMainStatus"])
    lines = ctl.last_lines(unit) or " ".join(answer.text.split()) or answer.fault
    raise ServiceError(f"cannot {verb} {unit}: {what}; {remedy}. Its last lines:\n{lines}")


def take_down(plan: Plan, ctl: Systemctl) -> list[str]:
    """Stop it, and wait until it has ended."""
    unit = unit_of(plan)
    before = ctl.facts(unit)["ActiveState"]
    answer = ctl.ask("stop", unit, seconds=stop_seconds(plan))
    after = ctl.facts(unit)["ActiveState"]
    if after not in ("inactive", "failed"):
        reason = answer.fault or " ".join(answer.text.split()) or f"it is {after}"
        raise ServiceError(f"cannot stop {unit}: {reason}; `heartbeat logs` shows what it is at")
    return [] if before == after else [f"stopped {unit}"]


def refused_settings(ctl: Systemctl, unit: str, facts: Mapping[str, str]) -> str:
    """That systemd does not take what a unit or a drop-in says; an empty text when it does."""
    if facts["LoadState"] not in ("bad-setting", "error"):
        return ""
    files = ", ".join(facts["DropInPaths"].split()) or facts["FragmentPath"] or "its file"
    return (
        f"systemd refuses its settings ({facts['LoadState']}); correct {files} "
        f"(`systemd-analyze {ctl.option}verify {unit}` names the line), then `systemctl {ctl.option}daemon-reload`"
    )


def write_units(ctl: Systemctl, unit: Path, files: Mapping[Path, str]) -> tuple[Path, ...]:
    """Write those that differ, and have them read; which they were. What was not there before is taken back otherwise.

    Raises ServiceError.
    """
    _refuse_unread_folder(ctl, unit.parent)
    new = [path for path in files if not os.path.lexists(path)]
    try:
        changed = unit_files.write_changed(files)
        if changed or ctl.facts(unit.name)["NeedDaemonReload"] == "yes":
            ctl.tell("daemon-reload")
        _refuse_other_file(unit, ctl.facts(unit.name)["FragmentPath"])
    except ServiceError:
        _take_back(new)
        raise
    return changed


def _was_stopped(plan: Plan, answer: Answer, since: float) -> bool:
    """Whether the owner asked for a stop while this call waited; systemd says "Job for UNIT canceled." then."""
    word, _ = read_intent(plan.home.intent_file, time.time())
    try:
        asked_at = os.stat(plan.home.intent_file).st_mtime
    except OSError:
        asked_at = 0.0
    return "canceled" in answer.text or (word == "stop" and asked_at >= since)


def _refuse_unread_folder(ctl: Systemctl, folder: Path) -> None:
    """Before anything is written: a shell's XDG_CONFIG_HOME need not be the one that the user manager has."""
    if (read := ctl.folders()) and os.path.realpath(folder) not in map(os.path.realpath, read):
        raise ServiceError(
            f"cannot install {folder}: systemd does not read that folder; set XDG_CONFIG_HOME as the user manager "
            f"has it (`systemctl {ctl.option}show-environment`), or leave it unset"
        )


def _refuse_other_file(file: Path, read: str) -> None:
    if os.path.realpath(read) != os.path.realpath(file):
        instead = f"it has {read}" if read else "it finds none"
        raise ServiceError(
            f"cannot install {file.name}: systemd does not read {file}; {instead}. "
            "Remove what stands in its way, or set XDG_CONFIG_HOME as the user manager has it"
        )


def _take_back(new: Sequence[Path]) -> None:
    for path in new:
        path.unlink(missing_ok=True)
    for folder in dict.fromkeys(path.parent for path in new):
        unit_files.remove_empty_folders(folder)
