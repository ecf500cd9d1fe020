"""Which installation is looked at, whose it is, and who looks."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator

from heartbeat.doctor._answer import Answer, fail, ok, warn
from heartbeat.doctor._case import Case, name_of


def look(case: Case) -> Iterator[Answer]:
    """Root looks at root's own installation unless told otherwise: under sudo that is hardly ever meant."""
    home, us = case.home, os.geteuid()
    where = f"configuration {home.config}, state {home.state}, cache {home.cache}"
    if us == case.owner:
        yield ok(f"{where}; of the user {case.owner_name}, who looks")
    else:
        remedy = f"run `{case.as_owner}heartbeat doctor`: what {name_of(us)} may read says nothing of {case.owner_name}"
        yield warn(f"{where}; of the user {case.owner_name}, and {name_of(us)} looks", remedy)
    yield from _beside(case)
    for name, folder in (("configuration", home.config), ("state", home.state)):
        if os.path.lexists(folder) and not os.path.isdir(folder):
            yield fail(f"{folder} is no folder", f"move it away: `mv {folder} {folder}.old`", name)


def _beside(case: Case) -> Iterator[Answer]:
    """The installation of whoever called sudo, when we look at another."""
    caller = case.environ.get("SUDO_USER", "")
    if not caller or caller == case.owner_name:
        return
    try:
        folder = pwd.getpwnam(caller).pw_dir
    except KeyError:
        return
    support = "Library/Application Support" if case.platform == "darwin" else ".config"
    theirs = f"{folder}/{support}/heartbeat"
    if theirs != str(case.home.config) and os.path.exists(f"{theirs}/config.toml"):
        seen = f"this is not the installation of {caller}, who called sudo: that is in {theirs}"
        yield warn(seen, "run `heartbeat doctor` without sudo", caller)
