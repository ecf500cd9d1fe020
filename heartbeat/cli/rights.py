"""What root must not do in somebody else's installation."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from heartbeat.cli.shell import Shell
from heartbeat.errors import Refused


def refuse_as_root(call: Shell, words: str) -> None:
    """Raise Refused when root is about to run another user's jobs, with all rights, and leaving files of its own.

    *words* are those of the call, for the command that does it right.
    """
    owner = _owner(call.home.state if call.home.state.exists() else call.home.config)
    if os.geteuid() != 0 or owner in (None, 0):
        return
    try:
        name = pwd.getpwuid(owner or 0).pw_name
    except KeyError:
        name = f"'#{owner}'"
    command = f"sudo -u {name} heartbeat --home {call.home.config} {words}"
    raise Refused(f"cannot do that as root: {call.home.state} is {name}'s, and so are its jobs; run `{command}`")


def _owner(folder: Path) -> int | None:
    try:
        return folder.stat().st_uid
    except OSError:
        return None
