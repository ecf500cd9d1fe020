"""What the daemon itself sees, written by it at each start and reload, for whoever compares that with a shell.

A service has another PATH, another HOME and other rights than the terminal of its owner, and nobody sees that from
outside. Names and paths only: no secret, and no variable beside those named here.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from heartbeat import __version__
from heartbeat.clock import to_text, utc_now
from heartbeat.config import Settings
from heartbeat.config.secret import expand, home_folder
from heartbeat.job import Config
from heartbeat.log import warn
from heartbeat.named import paths_named
from heartbeat.paths import Home
from heartbeat.process import owner
from heartbeat.pulse import read_whole, replace
from heartbeat.reach import UNKNOWN, reach
from heartbeat.zones import host_zone

INSIDE = "inside.json"
"""Its name in the state folder."""
SECONDS = 1.0
"""How long the paths may be looked at: a disk that hangs must not hold up the start."""
_LIMIT = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Inside:
    """What the daemon saw when it read its configuration."""

    owner: str
    """`PID:START` of the daemon, as in its lock."""
    written_at: str
    version: str
    python: str
    """The interpreter's file: what macOS gives its privacy rights to."""
    python_version: str
    uid: int
    home: str
    cwd: str
    path: str
    """Its own PATH."""
    script_path: str
    """The PATH that it gives to scripts."""
    lang: str
    tz: str
    zone: str
    umask: int | None
    files: int
    """How many files it may have open."""
    agent: str
    """The file of the agent's program; empty when there is none to be found."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Each path that the configuration names, with how far it can be read; see `reach`."""
    unready: tuple[str, ...] = ()
    """The keys of the secrets that it could not have."""


def write_inside(path: Path, config: Config, home: Home, environ: Mapping[str, str]) -> bool:
    """Write down what this process sees; whether that could be done. Raises nothing: the daemon must start."""
    try:
        replace(path, json.dumps(asdict(look_inside(config, home, environ)), indent=1))
    except Exception as error:  # noqa: BLE001 - nothing here is worth a daemon that does not start
        warn("inside_unwritten", error=type(error).__name__)
        return False
    return True


def read_inside(path: Path) -> Inside | None:
    """What a daemon wrote; None when none did. Raises OSError, and ValueError when the file is not that."""
    try:
        table = json.loads(read_whole(path, _LIMIT))
    except FileNotFoundError:
        return None
    kinds: dict[str, Any] = {each.name: each.type for each in fields(Inside)}
    if not isinstance(table, dict) or not set(kinds) <= set(table):
        raise ValueError("it is of another version of heartbeat")
    texts = [name for name, kind in kinds.items() if kind == "str"]
    paths, unready = table["paths"], table["unready"]
    whole = (
        all(isinstance(table[name], str) for name in texts) and isinstance(paths, dict) and isinstance(unready, list)
    )
    if not whole or type(table["uid"]) is not int or type(table["files"]) is not int:
        raise ValueError("it does not hold what a daemon writes")
    found = {name: table[name] for name in kinds}
    return Inside(**{**found, "unready": tuple(map(str, unready)), "paths": {str(k): str(v) for k, v in paths.items()}})


def look_inside(config: Config, home: Home, environ: Mapping[str, str]) -> Inside:
    """What this process sees now."""
    settings = config.settings
    program = agent_program(settings, home, environ)
    return Inside(
        owner=owner(),
        written_at=to_text(utc_now()),
        version=__version__,
        python=sys.executable,
        python_version=platform.python_version(),
        uid=os.geteuid(),
        home=home_folder(environ),
        cwd=_working_folder(),
        path=environ.get("PATH", ""),
        script_path=settings.search_path({}),
        lang=environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG", ""),
        tz=environ.get("TZ", ""),
        zone=host_zone(),
        umask=_umask(),
        files=_open_files(),
        agent=shutil.which(program, path=settings.search_path(settings.agent.env)) or "" if program else "",
        paths=_reached(paths_named(config, home, environ)),
        unready=tuple(problem.key for problem in config.unready),
    )


def agent_program(settings: Settings, home: Home, environ: Mapping[str, str]) -> str:
    """The name or path of the agent's program; empty when the agent is none."""
    agent = settings.agent
    if agent.kind in ("none", "http"):
        return ""
    program = agent.command[0] if agent.command else agent.kind
    return str(expand(program, home.config, environ)) if "/" in program else program


def _reached(paths: Iterable[str]) -> dict[str, str]:
    found = dict.fromkeys(paths, UNKNOWN)

    def look() -> None:
        for path in list(found):
            found[path] = reach(path)

    # A thread, left behind when its time is over: nothing else bounds a disk that is not there any more.
    thread = threading.Thread(target=look, name="inside", daemon=True)
    thread.start()
    thread.join(SECONDS)
    return dict(found)


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _umask() -> int | None:
    """As the kernel tells; elsewhere it could only be learned by changing it, which other threads would feel."""
    with suppress(OSError, ValueError, StopIteration), open("/proc/self/status", encoding="ascii") as status:
        return int(next(line for line in status if line.startswith("Umask:")).split()[1], 8)
    return None


def _open_files() -> int:
    import resource  # imported here: only needed at a start

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
