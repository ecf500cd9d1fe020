"""The three folders: whether they are there, whose they are, and who else may read or change what is in them."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from heartbeat.doctor._answer import Answer, fail, ok, warn
from heartbeat.doctor._case import Case, name_of
from heartbeat.service.acting import groups_of

_OWNERS, _OTHERS_READ, _OTHERS_WRITE = 0o700, 0o055, 0o022


def look(case: Case) -> Iterator[Answer]:
    """Each folder, and the configuration file."""
    home = case.home
    for name, folder in (("config", home.config), ("state", home.state), ("cache", home.cache)):
        yield _folder(case, name, folder)
    if home.config_file.exists():
        yield from _file(case, home.config_file)


def _folder(case: Case, name: str, folder: Path) -> Answer:
    try:
        facts = os.stat(folder)
    except FileNotFoundError:
        return ok(f"{folder} is not there yet; it is made when it is needed", name)
    except OSError as error:
        return fail(
            f"cannot look at {folder}: {error.strerror}", f"run `{case.as_owner or 'sudo '}heartbeat doctor`", name
        )
    # Of the system's installation the configuration is root's, and its service only reads it.
    is_roots = folder == case.home.config and facts.st_uid == 0
    wrong = None if is_roots else _not_usable(case, folder, facts)
    wrong = wrong or _open_to_others(case, folder, facts.st_mode)
    if wrong is None:
        return ok(f"{folder}, {stat.S_IMODE(facts.st_mode):03o} of {name_of(facts.st_uid)}", name)
    return replace(wrong, about=name)


def _not_usable(case: Case, folder: Path, facts: os.stat_result) -> Answer | None:
    quoted, mode = shlex.quote(str(folder)), stat.S_IMODE(facts.st_mode)
    if facts.st_uid != case.owner:
        seen = f"{folder} belongs to {name_of(facts.st_uid)}, and heartbeat runs as {case.owner_name}"
        return fail(seen, f"`sudo chown -R {case.owner_name} {quoted}`")
    if mode & _OWNERS != _OWNERS:
        return fail(f"{folder} is closed to its own owner ({mode:03o})", f"`chmod u+rwx {quoted}`")
    if os.geteuid() == case.owner and not os.access(folder, os.W_OK):
        return fail(f"{folder} cannot be written to: its disk is read-only", f"see `findmnt -T {quoted}`")
    return None


def _open_to_others(case: Case, folder: Path, mode: int) -> Answer | None:
    quoted, shown = shlex.quote(str(folder)), f"{stat.S_IMODE(mode):03o}"
    if mode & _OTHERS_WRITE:
        return fail(f"others may write in {folder} ({shown}), and so run what they like", f"`chmod go-w {quoted}`")
    if mode & _OTHERS_READ and folder == case.home.state:
        return warn(f"others may look into {folder} ({shown})", f"`chmod 700 {quoted}`")
    return None


def _file(case: Case, file: Path) -> Iterator[Answer]:
    facts = os.stat(file)
    quoted, mode = shlex.quote(str(file)), stat.S_IMODE(facts.st_mode)
    if not _can_read(case.owner, facts):
        seen = f"{case.owner_name}, as whom heartbeat runs, may not read {file} ({mode:03o} of {name_of(facts.st_uid)})"
        yield fail(seen, f"`sudo chown {case.owner_name} {quoted}`, or `sudo chmod a+r {quoted}`", file.name)
    elif mode & _OTHERS_WRITE:
        yield fail(
            f"others may change {file} ({mode:03o}), and so run what they like", f"`chmod go-w {quoted}`", file.name
        )
    else:
        yield ok(f"{file}, {mode:03o} of {name_of(facts.st_uid)}", file.name)


def _can_read(uid: int, facts: os.stat_result) -> bool:
    if uid == 0:
        return True
    if facts.st_uid == uid:
        return bool(facts.st_mode & stat.S_IRUSR)
    gid, groups = groups_of(uid)
    return bool(facts.st_mode & (stat.S_IRGRP if facts.st_gid in {gid, *groups} else stat.S_IROTH))
