"""Whether systemd can hand over the credentials of a service: one that it cannot read keeps it from starting at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping

from heartbeat.errors import Invalid
from heartbeat.service.plan import Plan, Scope
from heartbeat.service.unit_text import directives

_LIMIT = 1024 * 1024
"""What systemd hands over at the most (CREDENTIALS_TOTAL_SIZE_MAX)."""


def unusable(credentials: Mapping[str, str], scope: Scope) -> Mapping[str, str]:
    """Name -> why its file cannot be handed over. One that is not there can: as an empty one, which is told later.

    In a user's manager it is read with their rights; of the machine's only root can tell.
    """
    if scope == "system" and os.geteuid() != 0:
        return {}
    reasons = {name: _why_not(path) for name, path in credentials.items()}
    left, size = {name: why for name, why in reasons.items() if why}, 0
    for name, path in credentials.items():
        if name not in left:
            size += _size(path)
            if size > _LIMIT:  # all together
                left[name] = f"cannot use {path}: it makes the credentials larger than the MiB that systemd takes"
    return left


def usable(plan: Plan) -> Mapping[str, str]:
    """Those that a unit may name."""
    left = unusable(plan.credentials, plan.scope)
    return {name: path for name, path in plan.credentials.items() if name not in left}


def left_out(plan: Plan) -> tuple[str, ...]:
    """What the owner should know of those that it may not."""
    return tuple(
        f"the credential {name!r} is left out: {why}; correct the file, then `heartbeat install`"
        for name, why in unusable(plan.credentials, plan.scope).items()
    )


def refuse_unusable(verb: str, units: Iterable[str], scope: Scope) -> None:
    """Raise Invalid when one of these units, as installed, names a credential for which it would not start."""
    named: dict[str, str] = {}
    for text in units:
        for value in directives(text).get(("Service", "LoadCredential"), ()):
            name, _, path = value.partition(":")
            named[name] = path.replace("%%", "%")
    for name, why in unusable(named, scope).items():
        raise Invalid(
            f"cannot {verb}: the credential {name!r} would keep the service from starting: {why}; "
            "correct the file, or `heartbeat install` without it"
        )


def _why_not(path: str) -> str:
    try:
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode):
            return "" if stat.S_ISSOCK(facts.st_mode) else f"cannot use {path}: it is not a file"
        if facts.st_size > _LIMIT:
            return f"cannot use {path}: it is larger than the MiB that systemd takes"
        with open(path, "rb") as file:
            file.read(1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot read {path}: {error.strerror}"
    return ""


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
