"""The property list of launchd's job: rendered from the shipped template, and compared with the installed one."""

from __future__ import annotations

import math
import os
import plistlib
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any
from xml.parsers.expat import ExpatError

from heartbeat.errors import Invalid, ServiceError
from heartbeat.paths import Home, share
from heartbeat.service.plan import Plan
from heartbeat.service.planning import find_user

THROTTLE = 30
"""Seconds from one start to the next, at least; as the template has it."""
_LEAST_EXIT, _SLACK = 20, 15
_ENVIRONMENT = "EnvironmentVariables"
_VERSION = "HEARTBEAT_INSTALLED_VERSION"
"""So that another version is another file: only a job that is loaded anew runs the code that is there now."""


def label_of(plan: Plan) -> str:
    """The name of the job; its file is called the same."""
    return f"local.{plan.name}"


def crash_log(home: Home) -> Path:
    """Where launchd has the daemon's stderr written: what a dying interpreter says."""
    return home.state / "launchd.err"


def exit_timeout(plan: Plan) -> int:
    """Seconds that a stop may take before launchd kills what is left."""
    return max(_LEAST_EXIT, math.ceil(plan.drain.total_seconds()) + _SLACK)


def render(plan: Plan, domain: str) -> str:
    """The file for that domain; raises Invalid for a value that no property list can hold."""
    values = _values(plan, domain)
    owner = next(key for key in ("UserName", "LimitLoadToSessionType") if key in values)
    try:
        pieces = {key: _piece(value) for key, value in values.items()}
        pieces["Owner"] = f"<key>{owner}</key>\n{pieces[owner]}"
        text = Template((share("launchd") / "heartbeat.plist").read_text()).substitute(pieces)
        read = parse(text)
    except (ValueError, ExpatError) as error:
        raise Invalid(f"cannot write a property list for {label_of(plan)}: {error}; rename what holds it") from error
    for key, value in values.items():
        # What comes back otherwise, such as a carriage return, launchd would take for another path.
        if read[key] != value:
            raise Invalid(f"cannot put {value!r} into a property list: {key} would read {read[key]!r}; rename it")
    return text


def read_plist(file: Path) -> dict[str, Any] | None:
    """What an installed property list says, None when there is none; raises ServiceError."""
    try:
        with file.open("rb") as opened:
            read = plistlib.load(opened)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ServiceError(f"cannot read {file}: {error.strerror}; correct its permissions") from error
    except Exception as error:  # plistlib raises as it likes on what is no property list
        raise ServiceError(f"cannot read {file}: it is no property list; `heartbeat install` writes it anew") from error
    if not isinstance(read, dict):
        raise ServiceError(f"cannot use {file}: it holds no keys; `heartbeat install` writes it anew")
    return read


def parse(text: str) -> dict[str, Any]:
    """What the text of a property list of ours says."""
    read: dict[str, Any] = plistlib.loads(text.encode())
    return read


def differences(installed: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Key by key and variable by variable, what the one has and what the other would."""
    found = []
    pairs = [(key, installed.get(key), wanted.get(key)) for key in [*wanted, *(installed.keys() - wanted.keys())]]
    for key, old, new in pairs:
        if key == _ENVIRONMENT and isinstance(old, dict) and isinstance(new, dict):
            names = [*new, *(old.keys() - new.keys())]
            found += [_difference(f"{key} {name}", old.get(name), new.get(name)) for name in names]
        else:
            found.append(_difference(key, old, new))
    return [difference for difference in found if difference]


def path_of(installed: Mapping[str, Any]) -> str:
    """Its PATH; an empty text when it has none."""
    environment = installed.get(_ENVIRONMENT)
    path = environment.get("PATH") if isinstance(environment, dict) else None
    return str(path or "")


def rot(installed: Mapping[str, Any]) -> list[str]:
    """What the installed file names that is no longer there."""
    found = []
    arguments = installed.get("ProgramArguments")
    program = arguments[0] if isinstance(arguments, list) and arguments else ""
    if isinstance(program, str) and program and not os.access(program, os.X_OK):
        found.append(f"the interpreter that it starts, {program}, is gone or cannot be executed")
    gone = [folder for folder in path_of(installed).split(":") if folder and not os.path.isdir(folder)]
    if gone:
        found.append(f"its PATH names folders that are gone: {', '.join(gone)}")
    return found


def _values(plan: Plan, domain: str) -> dict[str, Any]:
    """What differs from one installation to the other."""
    own = {"PATH": plan.path, "HEARTBEAT_SUPERVISOR": "launchd", _VERSION: plan.version}
    environment = {**plan.environment, **own}
    if plan.scope == "system":
        # Of a daemon's user launchd takes the rights, but not the home; the agent's own settings lie there.
        user = find_user(plan.user or "root")
        environment |= {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}
        owner = {"UserName": user.pw_name}
    else:
        owner = {"LimitLoadToSessionType": "Aqua" if domain.startswith("gui/") else "Background"}
    return {
        "Label": label_of(plan),
        "ProgramArguments": list(plan.argv),
        "ExitTimeOut": exit_timeout(plan),
        "WorkingDirectory": str(plan.home.state),
        _ENVIRONMENT: environment,
        "StandardErrorPath": str(crash_log(plan.home)),
        **owner,
    }


def _piece(value: Any) -> str:
    """One value as plistlib writes it: it escapes what has to be."""
    document = plistlib.dumps(value, sort_keys=False).decode()
    return document.partition('<plist version="1.0">\n')[2].rpartition("\n</plist>")[0]


def _difference(key: str, old: Any, new: Any) -> str:
    if type(old) is type(new) and old == new:
        return ""
    if key == f"{_ENVIRONMENT} {_VERSION}":
        return f"it was installed by version {old}; this is {new}"
    if old is None:
        return f"{key} is missing; it would be {new!r}"
    if new is None:
        return f"{key} is {old!r}; it would not be there"
    return f"{key} is {old!r}; it would be {new!r}"
