"""Who keeps another daemon running, and who keeps restarting it: what the supervisors of this machine say.

Standard library only.
"""

from __future__ import annotations

import os
import sys

from heartbeat.probe.supervisor import Supervised, ask_supervisor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heartbeat.probe.watched import Target

    Problems = tuple[tuple[str, str], ...]

MANAGER = "launchd" if sys.platform == "darwin" else "systemd"


def ask_about(target: Target) -> tuple[Supervised, ...]:
    """What each manager that may have the target's unit says of it; nothing from those that do not know it."""
    name = _name_with(MANAGER, target)
    answers = [ask_supervisor(MANAGER, name, domain) for domain in _domains(target)] if name else []
    return tuple(answer for answer in answers if answer is not None)


def is_supervised(target: Target) -> bool:
    """Whether the section says by which name the supervisor of this machine has it."""
    return bool(_name_with(MANAGER, target))


def restarters_of(target: Target, pid: int | None) -> tuple[Problems, Problems]:
    """What restarts the target, whose live process is *pid*, and what could not be looked at: (code, message) each."""
    from heartbeat.probe.restarters import Subject, find_restarters  # here: only a thorough look searches for them
    from heartbeat.probe.restarters.subject import NAMED, UNNAMED

    subject = Subject(
        units=[target.unit] if target.unit else [],
        labels=[target.label] if target.label else [],
        scope=target.scope,
        user=_name_of(_owner(target)),
        restarters=target.restarters,
        commands=target.commands,
        home=target.home,
        is_default=target.is_usual,
        pid=pid,
        pid_files=[path for path in target.pid_file if "*" not in path],
        kept=NAMED if _name_with(MANAGER, target) else UNNAMED,
    )
    found = find_restarters(subject)
    return tuple(restarter.problem for restarter in found.restarters), found.faults


def _name_with(manager: str, target: Target) -> str:
    return target.label if manager == "launchd" else target.unit


def _domains(target: Target) -> list[str]:
    """The user's own and the system's, unless the section says which: both kinds of unit are in use."""
    owner = _owner(target)
    users = ["user" if owner == os.getuid() else f"user:{owner}"]
    if MANAGER == "launchd":
        users = [f"gui/{owner}", f"user/{owner}"]
    return [*(users if target.scope != "system" else []), *(["system"] if target.scope != "user" else [])]


def _owner(target: Target) -> int:
    try:
        return os.stat(target.home).st_uid
    except OSError:  # no home, or none that can be seen
        return os.getuid()


def _name_of(uid: int) -> str:
    import pwd  # here: as above

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
