"""What the daemon itself may read of all that the configuration names: a service has other rights than a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from heartbeat.doctor._answer import Answer, count, fail, ok, skip, warn
from heartbeat.doctor._case import Case
from heartbeat.inside import Inside
from heartbeat.reach import DENIED, FORBIDDEN, MISSING, OK, UNKNOWN, reach


def look(case: Case) -> Iterator[Answer]:
    """Seen from inside: macOS keeps Documents, Desktop and Downloads from each program that was not allowed to."""
    inside = case.inside
    if inside is None:
        yield skip(
            case.inside_fault,
            remedy="start the daemon: `heartbeat install`, or `heartbeat run --detach`"
            if case.marker is None
            else "`heartbeat start`",
        )
        return
    # Without a configuration everything has its default.
    bad = {
        path: word
        for path, word in inside.paths.items()
        if word != OK and (word, path) != (MISSING, str(case.home.config_file))
    }
    yield from (_answer(case, inside, path, word) for path, word in bad.items())
    if not bad:
        yield ok(f"the daemon can read all that the configuration names: {count(len(inside.paths), 'path')}")


def _answer(case: Case, inside: Inside, path: str, word: str) -> Answer:
    quoted, when = shlex.quote(path), "" if case.lives else f" (as of {inside.written_at})"
    if word == FORBIDDEN:
        return fail(
            f"the system keeps it from the daemon{when}: Operation not permitted", _right(case, inside, path), path
        )
    if word == DENIED:
        seen = f"the daemon, which runs as {case.owner_name}, may not read it{when}: Permission denied"
        return fail(seen, f"see `namei -l {quoted}`; `chmod u+r {quoted}`, or give it to {case.owner_name}", path)
    if word == UNKNOWN:
        return warn(
            f"the daemon could not look at it in time{when}", f"see whether its disk answers: `ls -ld {quoted}`", path
        )
    if word == MISSING and reach(path) == OK:
        seen = f"it is there now, and was not when the daemon read its configuration{when}"
        return ok(seen, path)
    if word == MISSING:
        return warn(f"nothing is there{when}", f"put it there, or correct the path in {case.home.config_file}", path)
    return fail(f"the daemon cannot read it{when}: {word}", f"see `ls -ld {quoted}` and the system's log", path)


def _right(case: Case, inside: Inside, path: str) -> str:
    if case.platform != "darwin":
        return f"see `lsattr -d {shlex.quote(path)}`, and what keeps services from it (SELinux, AppArmor, ProtectHome)"
    return (
        "open System Settings, Privacy & Security, Full Disk Access, add "
        f"{inside.python}, then `heartbeat restart`; or keep it outside of Documents, Desktop and Downloads"
    )
