"""What `heartbeat init` can find on this machine: agents on the PATH and calendars in the usual places."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

AGENTS = ("claude", "codex", "hermes", "openclaw")
DEFAULT_PATH = ("/usr/local/bin", "/usr/bin", "/bin")

_CALENDAR_FOLDERS = (
    "Documents",
    "Calendars",
    ".calendars",
    ".local/share/vdirsyncer",
    ".local/share/khal/calendars",
    ".local/share/evolution/calendar",
    ".cache/evolution/calendar",
)
_DEEPEST, _MOST_ENTRIES, _LONGEST_SECONDS = 3, 2000, 2.0
_MOST_CALENDARS = 20
_MANY_FILES = 3  # a folder with more calendar files than this is one calendar with a file for each event


@dataclass(frozen=True, slots=True)
class FoundAgent:
    kind: str
    program: str
    folders: tuple[str, ...]
    """Folders that its PATH needs beside the default ones."""


@dataclass(frozen=True, slots=True)
class FoundCalendar:
    kind: str
    """`file`, or `vdir` for a folder of calendar files."""
    path: str


@dataclass(frozen=True, slots=True)
class Found:
    zone: str
    agents: tuple[FoundAgent, ...] = ()
    calendars: tuple[FoundCalendar, ...] = ()


def look_around(environ: Mapping[str, str], zone: str, *, elapsed: Callable[[], float] = time.monotonic) -> Found:
    """Agents on the PATH and calendars in the usual places; bounded, and it reads no file."""
    home = environ.get("HOME", "")
    calendars = tuple(_find_calendars(Path(home), elapsed)) if os.path.isabs(home) else ()
    return Found(zone, tuple(_find_agents(environ.get("PATH", ""))), calendars)


def _find_agents(path: str) -> Iterator[FoundAgent]:
    node = shutil.which("node", path=path)
    for kind in AGENTS:
        program = shutil.which(kind, path=path)
        if program and os.path.isabs(program) and program.isprintable():
            # Agents installed with npm are started by `env node`, which is often in a folder of the user's own.
            needed = dict.fromkeys(os.path.dirname(each) for each in (program, node) if each)
            folders = tuple(folder for folder in needed if folder not in DEFAULT_PATH and folder.isprintable())
            yield FoundAgent(kind, program, folders)


def _find_calendars(home: Path, elapsed: Callable[[], float]) -> Iterator[FoundCalendar]:
    stop = elapsed() + _LONGEST_SECONDS
    left, seen, count = _MOST_ENTRIES, set(), 0
    pending = [(home, 0), *((home / name, _DEEPEST) for name in _CALENDAR_FOLDERS)]
    while pending and left > 0 and elapsed() < stop and count < _MOST_CALENDARS:
        folder, depth = pending.pop(0)
        if folder in seen:
            continue
        seen.add(folder)
        entries = _entries(folder, left)
        left -= len(entries)
        files = [entry.name for entry in entries if entry.name.lower().endswith(".ics") and _is_file(entry)]
        for calendar in _as_calendars(folder, files, home):
            count += 1
            yield calendar
        if depth:
            pending += [(Path(entry.path), depth - 1) for entry in entries if _is_folder(entry)]


def _as_calendars(folder: Path, files: list[str], home: Path) -> list[FoundCalendar]:
    if folder != home and len(files) > _MANY_FILES:
        found = [FoundCalendar("vdir", _with_tilde(folder, home))]
    else:
        found = [FoundCalendar("file", _with_tilde(folder / name, home)) for name in sorted(files)]
    return [calendar for calendar in found if calendar.path.isprintable()]  # else not UTF-8


def _entries(folder: Path, most: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            return [entry for _, entry in zip(range(most), listing, strict=False)]
    except OSError:
        return []  # not there, or not ours to read


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)  # a link could lead round in a circle
    except OSError:
        return False


def _with_tilde(path: Path, home: Path) -> str:
    return "~/" + path.relative_to(home).as_posix()
