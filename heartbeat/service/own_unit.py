"""A unit of systemd that the owner wrote themselves, found by the daemon it keeps: there is no marker to name it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from heartbeat.errors import ServiceError
from heartbeat.service.plan import Scope
from heartbeat.service.systemctl import BOOTED, RUNTIME, Systemctl

PROC = Path("/proc")
_OF_A_USER = re.compile(r"user@[0-9]+[.]service")


def find_own_unit(
    pid: int, environ: Mapping[str, str], *, proc: Path = PROC, booted: Path = BOOTED, runtime: Path = RUNTIME
) -> tuple[str, Scope] | None:
    """Name (without `.service`) and scope of the service whose main process this is; None when there is none.

    A process that a service merely started, such as a terminal's, is in its group but not its main one.
    """
    groups = _groups(proc / str(pid) / "cgroup")
    if not groups or not groups[-1].endswith(".service"):
        return None
    scope: Scope = "user" if any(map(_OF_A_USER.fullmatch, groups[:-1])) else "system"
    ctl = Systemctl(scope, environ, booted, runtime)
    try:
        is_its = not ctl.why_not() and ctl.facts(groups[-1])["MainPID"] == str(pid)
    except ServiceError:
        return None
    return (groups[-1].removesuffix(".service"), scope) if is_its else None


def _groups(file: Path) -> list[str]:
    """The control groups that a process is in, from the outermost: of the one hierarchy, or of systemd's own."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    paths = [
        path for number, names, path in (f"{line}::".split(":", 2) for line in lines) if _is_systemds(number, names)
    ]
    return [part for part in (paths[0].removesuffix("::") if paths else "").split("/") if part]


def _is_systemds(number: str, names: str) -> bool:
    return names == "name=systemd" or (number, names) == ("0", "")
