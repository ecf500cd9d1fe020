"""Where each program is found that heartbeat starts: on the PATH of its children, and on that of this shell."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator

from heartbeat.doctor._answer import Answer, fail, ok, skip, warn
from heartbeat.doctor._case import Case
from heartbeat.doctor._programs import Needed, needed
from heartbeat.service.planning import clean_path, command_file


def look(case: Case) -> Iterator[Answer]:
    """Program by program, then the two PATHs of this shell and of the daemon."""
    wanted = needed(case)
    for one in wanted:
        yield _found(one, case)
    if case.config is None:
        yield skip("what the jobs need is not known: the configuration is not valid", "jobs")
    elif not wanted:
        yield ok("no program is looked for by its name")
    yield from _paths(case)


def _found(one: Needed, case: Case) -> Answer:
    path = _as_daemon(one.path, case)
    there, here = shutil.which(one.program, path=path), shutil.which(one.program, path=case.path)
    about = f"{os.path.basename(one.program)} for {one.who}"
    if there and here and os.path.realpath(there) != os.path.realpath(here):
        folder = os.path.dirname(here)
        remedy = f"if that one is meant, put {folder} first in path in [environment] of {case.home.config_file}"
        return warn(f"heartbeat runs {there}, and this shell would run {here}", remedy, about)
    if there:
        return ok(f"{there}" + ("" if here else ", which is not on the PATH of this shell"), about)
    if here:
        folder = os.path.dirname(here)
        seen = f"this shell has {here}, and heartbeat finds none on {path}"
        return fail(
            seen, f"add {folder} to path in [environment] of {case.home.config_file}, or link it: {_link(here)}", about
        )
    if "/" in one.program:
        return fail(f"{one.program} is not there, or not executable", "install it, or correct the path", about)
    return fail(f"{one.program} is neither on {path} nor on the PATH of this shell", f"install {one.program}", about)


def _link(program: str) -> str:
    return f"`sudo ln -s {shlex.quote(program)} /usr/local/bin/`"


def _as_daemon(path: str, case: Case) -> str:
    """The PATH with the folder of the daemon's own command instead of ours."""
    ours = case.settings.search_path({})
    return case.inside.script_path if case.inside and case.lives and path == ours else path


def _paths(case: Case) -> Iterator[Answer]:
    if case.inside is None:
        return
    # Of this shell's only what `install` would hand over: no folder that is gone tomorrow.
    here, there = clean_path(case.path).split(":"), case.inside.path.split(":")
    missing = [folder for folder in here if folder not in (*there, str(command_file().parent))]
    about = "PATH"
    if not missing:
        yield ok(f"the daemon has every folder of this shell's: {case.inside.path}", about)
        return
    seen = f"the daemon lacks {', '.join(missing)}, which this shell has"
    yield warn(
        f"{seen}; programs that keep secrets are looked for there",
        f"run `{case.as_owner}heartbeat install` again",
        about,
    )
