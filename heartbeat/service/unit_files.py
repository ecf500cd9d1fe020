"""The files of a service: written when they differ, taken away without a trace, and compared line by line."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path

from heartbeat.errors import ServiceError
from heartbeat.service.unit_text import directives

_NOTHING = "nothing"
_LONGEST = 2000


def write_changed(files: Mapping[Path, str]) -> tuple[Path, ...]:
    """Write those that differ, each as a whole; which they were. Raises ServiceError."""
    changed = tuple(path for path, text in files.items() if read(path) != text)
    for path in changed:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, files[path])
        except OSError as error:
            raise ServiceError(f"cannot write {path}: {error.strerror}; {_remedy(error)}") from error
    return changed


def _remedy(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free space there"
    if error.errno == errno.EROFS:
        return "have that disk mounted for writing"
    return "correct that folder's permissions"


def read(path: Path) -> str | None:
    """None when there is no such file, or it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def remove(files: Mapping[Path, str]) -> tuple[Path, ...]:
    """Take away the files, links to them, and the folders that are empty then; what there was. Raises ServiceError."""
    gone = []
    for path in files:
        links = [link for link in path.parent.glob(f"*.wants/{path.name}") if link.is_symlink()]
        for each in (*links, path):
            try:
                each.unlink()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise ServiceError(f"cannot remove {each}: {error.strerror}; remove it by hand") from error
            gone.append(each)
        for folder in {link.parent for link in links}:
            _remove_empty(folder)
    return tuple(gone)


def remove_empty_folders(folder: Path) -> None:
    """A user's own folders for units, when nothing is in them any more: `systemd/user`, then `systemd`."""
    for each in (*folder.glob("*.wants"), folder, folder.parent):
        _remove_empty(each)


def differences(path: Path, wanted: str) -> tuple[str, ...]:
    """Each directive of a file that is not what would be written."""
    text = read(path)
    if text is None:
        return (f"{path}: the file is missing",)
    there, due = directives(text), directives(wanted)
    found = [
        f"{path}: {section} {name}: there is {_shown(there.get((section, name)))}, "
        f"it would be {_shown(due.get((section, name)))}"
        for section, name in dict.fromkeys((*due, *there))
        if there.get((section, name)) != due.get((section, name))
    ]
    program = program_of(there.get(("Service", "ExecStart"), ("",))[-1])
    if program and not os.access(program, os.X_OK):
        found.append(f"{path}: Service ExecStart: the interpreter {program} is gone, or cannot be run")
    return tuple(found)


def path_there(path: Path) -> str:
    """The PATH that a unit sets; an empty text when there is none."""
    value = directives(read(path) or "").get(("Service", "Environment PATH"), ("",))[-1]
    return value.strip('"').partition("=")[2].replace("%%", "%")


def program_of(command: str) -> str:
    """The program of an ExecStart line; an empty text when it cannot be told."""
    with contextlib.suppress(ValueError, IndexError):
        return shlex.split(command)[0].lstrip("@-:+!").replace("%%", "%")
    return ""


def _shown(values: tuple[str, ...] | None) -> str:
    if values is None:
        return _NOTHING
    text = " and ".join(map(repr, values))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _replace(path: Path, text: str) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o644)
            # Else a power cut could leave an empty unit under the right name.
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()
