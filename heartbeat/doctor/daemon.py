"""What the daemon has otherwise than this shell: its version, its interpreter, its home, its limits."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from heartbeat import __version__
from heartbeat.config.secret import home_folder
from heartbeat.doctor._answer import Answer, count, ok, skip, warn
from heartbeat.doctor._case import Case, name_of
from heartbeat.inside import Inside

_FEW_FILES = 256
"""What macOS gives; each running script takes some."""
_PLAIN = ("", "C", "POSIX")
"""Python takes UTF-8 under these."""


def look(case: Case) -> Iterator[Answer]:
    """By what it wrote down when it last read its configuration."""
    inside = case.inside
    if inside is None:
        yield skip(
            case.inside_fault,
            remedy="start the daemon: `heartbeat install`, or `heartbeat run --detach`"
            if case.marker is None
            else "`heartbeat start`",
        )
        return
    found = list(_differences(case, inside))
    yield from found
    if not found:
        pid = inside.owner.partition(":")[0]
        life = f"process {pid}" if case.lives else f"it ran last as process {pid}"
        yield ok(f"{life}, as {name_of(inside.uid)}, {inside.python}: nothing of note differs from this shell")


def _differences(case: Case, inside: Inside) -> Iterator[Answer]:
    restart = f"`{case.as_owner}heartbeat restart`"
    if inside.version != __version__:
        yield warn(f"the daemon is {inside.version}, and this command {__version__}", restart, "version")
    if inside.python != sys.executable:
        seen = f"the daemon runs {inside.python}, and this command {sys.executable}"
        yield warn(seen, f"run `heartbeat install` again with the one that is meant, then {restart}", "python")
    if inside.uid != case.owner:
        yield warn(
            f"it ran as {name_of(inside.uid)}, and the state is {case.owner_name}'s",
            f"start it as {case.owner_name}",
            "user",
        )
    if inside.home != home_folder(case.environ):
        seen = f"its HOME is {inside.home}, and here {home_folder(case.environ)}: `~` in the configuration differs"
        yield warn(seen, "write whole paths, or run `heartbeat install` again", "HOME")
    if inside.umask is not None and not inside.umask & 0o002:
        seen = f"its umask is {inside.umask:03o}: everybody may change what scripts and the agent write"
        yield warn(seen, f"run `{case.as_owner}heartbeat install` again, or write UMask=0077 into the unit", "umask")
    if 0 < inside.files < _FEW_FILES:
        yield warn(
            f"it may have only {count(inside.files, 'file')} open",
            "raise LimitNOFILE in the unit, or `ulimit -n`",
            "files",
        )
    if inside.lang not in _PLAIN and "utf" not in inside.lang.lower():
        seen = f"its locale is {inside.lang}, in which some letters cannot be written"
        yield warn(seen, f"run `{case.as_owner}heartbeat install` again from a shell with a UTF-8 locale", "locale")
