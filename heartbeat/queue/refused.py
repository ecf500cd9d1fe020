"""Files of the queue folder that could not be taken in: each lies in `refused/`, beside a `.reason` that says why."""

from __future__ import annotations

import errno
import os
from datetime import datetime
from itertools import islice

from heartbeat.folders import keep_owner, make_private

FOLDER, REFUSED, REASON = "queue", "refused", ".reason"
OWN = ".taken-"
"""How the names begin that dropped files get while they are dealt with."""
STUCK_AFTER = 600.0
"""Seconds: a file that lies in the queue folder for so long cannot be taken in, nor set aside."""
MOST = 1000
"""As many are looked at; more are told as this many."""
_LONGEST_NAME = 200  # bytes: room for a number and the ending of the reason
_LONGEST_REASON = 400


def set_aside(folder: str, path: str, name: str, reason: str) -> None:
    """Move the file at *path*, which was dropped as *name*; nothing that lies there is overwritten. Raises OSError."""
    refused = os.path.join(folder, REFUSED)
    if is_in_the_way(folder):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), refused)
    make_private(refused)
    target = _free(refused, _plain(name))
    # First: a file that lies there without its reason would be a riddle.
    with open(f"{target}{REASON}", "x", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"{reason}\n")
    keep_owner(f"{target}{REASON}")
    try:
        os.rename(path, target)
    except OSError:
        os.unlink(f"{target}{REASON}")
        raise


def is_in_the_way(folder: str) -> bool:
    """Whether something else stands where the folder for refused files must be."""
    refused = os.path.join(folder, REFUSED)
    return os.path.lexists(refused) and not os.path.isdir(refused)


def is_dropped(name: str) -> bool:
    """Whether a file of that name is meant to be taken in."""
    return name.startswith(OWN) or (name.endswith(".json") and not name.startswith("."))


def dropped_as(name: str) -> str:
    """The name that a file had before it got one of ours."""
    return name.removeprefix(OWN).split("-", 1)[-1] if name.startswith(OWN) else name


def stuck(folder: str, now: datetime) -> list[str]:
    """The names of files that were dropped a while ago and lie there still."""
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in islice(entries, 2 * MOST) if is_dropped(entry.name)]
    except OSError:
        return []
    # Of the change of its entry: a file that is moved here keeps the time of its content.
    return sorted(dropped_as(e.name) for e in found if 0 < _entered(e) < now.timestamp() - STUCK_AFTER)


def lying(folder: str) -> tuple[int, str]:
    """How many refused files lie in a queue folder, and the newest reason."""
    try:
        with os.scandir(os.path.join(folder, REFUSED)) as entries:
            found = [(_changed(entry), entry.name) for entry in islice(entries, 2 * MOST)]
    except OSError:
        return 0, ""  # nothing was ever refused, or it is not ours to read
    names = {name for _, name in found}
    files = [name for name in names if not name.endswith(REASON)]
    reasons = [each for each in found if each[1].endswith(REASON) and each[1].removesuffix(REASON) in names]
    if not files:
        return 0, ""
    return min(len(files), MOST), _read(os.path.join(folder, REFUSED, max(reasons)[1])) if reasons else ""


def _free(folder: str, name: str) -> str:
    stem, end = os.path.splitext(name)
    number, target = 1, os.path.join(folder, name)
    while os.path.lexists(target) or os.path.lexists(f"{target}{REASON}"):
        number += 1
        target = os.path.join(folder, f"{stem}-{number}{end}")
    return target


def _plain(name: str) -> str:
    """A name that a person can type, also for a file whose name was chosen to annoy."""
    plain = "".join(letter if letter.isalnum() or letter in "-_. +@" else "_" for letter in name)
    cut = plain.encode("utf-8", "replace")[:_LONGEST_NAME].decode("utf-8", "ignore").lstrip(".") or "file"
    return cut if cut.endswith(".json") else f"{cut}.json"


def _changed(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0  # it has just gone


def _entered(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat(follow_symlinks=False).st_ctime
    except OSError:
        return 0  # it has just gone


def _read(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe in its place must not block
        with open(descriptor, "rb") as file:
            return " ".join(file.read(_LONGEST_REASON * 4).decode(errors="replace").split())[:_LONGEST_REASON]
    except OSError:
        return ""
