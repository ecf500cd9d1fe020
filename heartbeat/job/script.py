"""The script of a job: finding it by the job's name or path, and whether the kernel will start it."""

from __future__ import annotations

import difflib
import os
import shutil
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from heartbeat.config.secret import expand
from heartbeat.config.wording import show
from heartbeat.paths import Home, share

HEAD = 64 * 1024
"""How much of a script is read, for its first line and its header."""

_MOST_KNOWN = 1000  # looking for the closest name is slow
_MOST_LISTED = 50

_BINARY = (
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
)


class Unusable(ValueError):
    """A script that cannot be run as it is: what is wrong, and the remedy."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(f"{message}; {remedy}")
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Script:
    path: Path
    shipped: bool
    mode: int
    head: bytes

    def argv(self, *, ours: bool) -> tuple[str, ...]:
        """How it is started: by itself, or by *our* Python. -P: a script beside it must not shadow a library."""
        return (sys.executable, "-P", str(self.path)) if ours else (str(self.path),)

    @property
    def uses_our_python(self) -> bool:
        return self.shipped and self.path.suffix == ".py"


class Folders:
    """The scripts in the owner's folder and in ours, by job name; each folder is listed when it is first asked for."""

    def __init__(self, home: Home) -> None:
        self._home = home

    @cached_property
    def own(self) -> dict[str, list[Path]]:
        return scripts_in(self._home.jobs)

    @cached_property
    def shipped(self) -> dict[str, list[Path]]:
        return scripts_in(share("jobs"))


def find_script(
    name: str, given: str | None, home: Home, environ: Mapping[str, str], folders: Folders | None = None
) -> Script:
    """The script of the job *name*: the path *given*, else the owner's own of that name, else the shipped one."""
    if given is not None:
        return _open(expand(given, home.config, environ), shipped=False)
    folders = folders or Folders(home)
    own, shipped = folders.own, folders.shipped
    found = own.get(name) or shipped.get(name)
    if not found:
        known = [*shipped, *own][:_MOST_KNOWN]
        close = difflib.get_close_matches(name, known, n=1)
        suggestion = f"did you mean {close[0]!r}? " if close else ""
        more = ", …" if len(own) > _MOST_LISTED else ""
        names = (
            f"shipped are {', '.join(shipped)}; in {home.jobs} are {', '.join([*own][:_MOST_LISTED]) or 'none'}{more}"
        )
        remedy = f'{suggestion}give script = "path" or name a known one: {names}'
        raise Unusable(f"cannot find a script for the job {show(name)}", remedy)
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise Unusable(f"cannot choose between {names} in {found[0].parent}", 'give script = "jobs/NAME"')
    return _open(found[0], shipped=name not in own)


def scripts_in(folder: Path) -> dict[str, list[Path]]:
    """The scripts of a folder by job name: the file's stem with dashes."""
    found: dict[str, list[Path]] = {}
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Unusable(f"cannot read the folder {folder}: {error.strerror}", "correct its permissions") from None
    for entry in entries:
        if not entry.name.startswith((".", "_")) and not entry.is_dir():
            found.setdefault(Path(entry.name).stem.replace("_", "-"), []).append(Path(entry.path))
    return found


def check_script(script: Script, search_path: str) -> None:
    """Raise Unusable when the script could be changed by others, or would not start."""
    path = script.path
    if script.mode & stat.S_IWOTH:
        raise Unusable(f"cannot trust {path}: every user may change it", f"run `chmod o-w {path}`")
    if script.uses_our_python:
        return
    if not os.access(path, os.X_OK):
        raise Unusable(f"cannot run {path}: it is not executable", f"run `chmod +x {path}`")
    if not script.head.startswith(_BINARY):
        _check_first_line(path, script.head.split(b"\n", 1)[0], search_path)


def _check_first_line(path: Path, line: bytes, search_path: str) -> None:
    if not line.startswith(b"#!"):
        message = f"cannot tell which program runs {path}"
        raise Unusable(message, "add a first line such as #!/bin/sh or #!/usr/bin/env python3")
    if line.endswith(b"\r"):
        message = f"cannot run {path}: its first line ends with a carriage return"
        raise Unusable(message, f"save it with Unix line ends, for example with `sed -i 's/\\r$//' {path}`")
    words = line[2:].decode(errors="replace").split()
    program = words[0] if words else ""
    if not os.access(program, os.X_OK) or not os.path.isfile(program):
        message = f"cannot run {path}: the program {show(program)} of its first line is not there"
        raise Unusable(message, "install it or correct the line")
    wanted = _wanted_of_env(words)
    if wanted and not shutil.which(wanted, path=search_path):
        message = f"cannot run {path}: {show(wanted)} of its first line is not on the PATH {search_path}"
        raise Unusable(message, "install it there, or add its folder to path in [environment]")


def _wanted_of_env(words: list[str]) -> str | None:
    """The program that `#!/usr/bin/env PROGRAM` or `#!/usr/bin/env -S PROGRAM -x` looks up."""
    if os.path.basename(words[0]) != "env":
        return None
    return next((word for word in words[1:] if not word.startswith("-") and "=" not in word), None)


def _open(path: Path, *, shipped: bool) -> Script:
    try:
        # Without O_NONBLOCK a FIFO in this place would block for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISREG(mode):
                return Script(path, shipped, mode, file.read(HEAD))
    except FileNotFoundError:
        raise Unusable(f"cannot find the script {path}", "correct the path or put the script there") from None
    except OSError as error:
        raise Unusable(
            f"cannot read the script {path}: {error.strerror}", "correct the path or its permissions"
        ) from None
    raise Unusable(f"cannot run {path}: it is not a file", "give the path of a script")
