"""Whose a unit is: ours is the file that we wrote, for these folders; another's of the same name is not touched."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from heartbeat.errors import Refused
from heartbeat.service.plan import Plan
from heartbeat.service.unit_files import read
from heartbeat.service.unit_text import directives

_MARK = "X-Heartbeat-Version="
_FOLDERS = ("HEARTBEAT_HOME", "HEARTBEAT_STATE_DIR")


def stranger(plan: Plan, file: Path, facts: Mapping[str, str]) -> str:
    """Who else has the name of this service's unit; an empty text when nobody has.

    *file* is where ours lies, *facts* what the manager knows of the name.
    """
    if plan.is_owners:
        return ""
    if plan.is_owners:
        return ""
    used = facts.get("FragmentPath", "")
    if used and os.path.realpath(used) not in (os.path.realpath(file), os.devnull):
        if _is_ours(Path(used)):
            return _of_other_folders(plan, Path(used))
        return f"{used} is a service of this name that is not heartbeat's"
    text = read(file)
    if not text:  # nothing there, or a mask
        return ""
    return _of_other_folders(plan, file) if _MARK in text else f"{file} was not written by `heartbeat install`"


def refuse_stranger(verb: str, plan: Plan, file: Path, facts: Mapping[str, str]) -> None:
    """Raise Refused when the name is another's."""
    if reason := stranger(plan, file, facts):
        raise Refused(
            f"cannot {verb} {file.name}: {reason}; `heartbeat --home DIR`, with a folder of its own, has another name"
        )


def _is_ours(file: Path) -> bool:
    return _MARK in (read(file) or "")


def _of_other_folders(plan: Plan, file: Path) -> str:
    """That a unit of ours is for another installation: two shells may differ in XDG_STATE_HOME, say."""
    said = directives(read(file) or "")
    for name in _FOLDERS:
        wanted = plan.environment.get(name, "")
        there = _value(said.get(("Service", f"Environment {name}"), ("",))[-1])
        if wanted and there and os.path.realpath(there) != os.path.realpath(wanted):
            return f"{file} is of another installation, with {name}={there} instead of {wanted}"
    return ""


def _value(line: str) -> str:
    try:
        return shlex.split(line)[0].partition("=")[2].replace("%%", "%")
    except (ValueError, IndexError):
        return ""
