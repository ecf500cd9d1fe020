"""What systemd's units need to know of the place: where they lie, whose they are, and what cannot work there."""

from __future__ import annotations

import math
import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from heartbeat.errors import ServiceError
from heartbeat.service.plan import Plan
from heartbeat.service.systemctl import lingers, own_name
from heartbeat.service.unit_text import SLACK

SYSTEM_FOLDER = Path("/etc/systemd/system")
KILLING = 15.0
"""Seconds that systemd itself needs for a stop, beyond what the unit allows."""
_PRIVATE = ("/tmp", "/var/tmp")  # noqa: S108 - recognised, not used


def user_folder(environ: Mapping[str, str]) -> Path:
    """Where a user's own units lie."""
    given = environ.get("XDG_CONFIG_HOME", "")
    home = environ.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir
    return Path(given if os.path.isabs(given) else f"{home}/.config") / "systemd" / "user"


def unit_of(plan: Plan) -> str:
    return f"{plan.name}.service"


def occasion(plan: Plan) -> str:
    """When it comes up by itself."""
    return "the machine" if plan.scope == "system" or lingers(own_name()) else "your first login"


def stop_seconds(plan: Plan) -> float:
    return math.ceil((plan.drain + SLACK).total_seconds()) + KILLING


def home_of(plan: Plan) -> str:
    """The home folder of the user it runs as, which a unit of the machine must name."""
    if plan.scope == "user":
        return ""
    try:
        return pwd.getpwnam(plan.user).pw_dir
    except KeyError:
        raise ServiceError(
            f"cannot run a service as {plan.user!r}: there is no such user; `heartbeat install --system --as USER`"
        ) from None


def refuse_without_rights(plan: Plan) -> None:
    if plan.scope == "system" and os.geteuid() != 0:
        raise ServiceError(
            f"cannot change {unit_of(plan)} of the machine: only root may; put `sudo` before the command"
        )


def refuse_private_folders(plan: Plan) -> None:
    """A service of the machine has a /tmp of its own, in which it would find neither itself nor its configuration."""
    if plan.scope == "user":
        return
    for path in (plan.argv[0], str(plan.home.config), str(plan.home.state)):
        if any(path.startswith(f"{folder}/") for folder in _PRIVATE):
            raise ServiceError(f"cannot make a service of what lies in {path}: its /tmp is its own; move it elsewhere")
