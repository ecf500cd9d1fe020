"""What a watch remembers between its rounds, on disk: also on a disk that is full, which is when it is needed most."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config

from heartbeat.clock import from_text
from heartbeat.folders import keep_owner, make_private
from heartbeat.pulse import read_whole
from heartbeat.transitions import Memory

_LIMIT = 4 * 1024 * 1024
KEPT = 200
"""Transitions of which the log tells."""

STUCK = 600.0
"""Seconds; who holds the lock for so long is stopped, or hangs, and tells nobody."""
_FIRST, _LATEST = 1970, 9000
"""Years that a watch may tell of, wherever its owner is."""
_SECONDS = 86_400 * 365 * (_LATEST - 1970)


def _sound(memory: Memory) -> Memory:
    """As it is; raises ValueError for instants that no calendar has."""
    instants = (each for value in astuple(memory) for each in (value if isinstance(value, tuple) else (value,)))
    if not all(0 <= each < _SECONDS for each in instants if isinstance(each, int | float)):
        raise ValueError("its instants make no sense")
    return memory


@with_config(ConfigDict(allow_inf_nan=False, extra="forbid"))
@dataclass(frozen=True, slots=True)
class _Page:
    """The file: one JSON object."""

    format: Literal[1]
    at: Annotated[float, Field(gt=0, lt=_SECONDS)]
    targets: dict[str, Annotated[Memory, AfterValidator(_sound)]]


_PAGE = TypeAdapter(_Page)


def places_of(state: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where the memory may be: beside the ledger, or else in the system's folders for what need not last."""
    name = f"heartbeat-watch-{os.geteuid()}-{hashlib.sha256(state.encode()).hexdigest()[:12]}"
    spare = [environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm", tempfile.gettempdir()]  # noqa: S108 - see _is_ours
    folders = dict.fromkeys(folder for folder in spare if folder.startswith("/") and os.path.isdir(folder))
    return (f"{state}/watch", *(f"{folder}/{name}" for folder in folders))


class Notebook:
    """The memory of a watch in the first of its *places* that takes it; `notes` says what was wrong with the others.

    One that *goes_on* belongs to a process that makes round after round: it remembers by itself where no place does.
    """

    def __init__(self, places: Sequence[str], *, goes_on: bool = False) -> None:
        self._places = places
        self._goes_on = goes_on
        self._unkept: dict[str, Memory] | None = None
        self.notes: list[str] = []

    @contextmanager
    def locked(self, patience: float = 2.0) -> Iterator[bool]:
        """Whether nobody else is at it; True as well where no lock can be had, for somebody must tell."""
        for place in self._places:
            path = f"{place}.lock"
            try:
                file = _open_own(path, place == self._places[0])
            except OSError:
                continue  # `write` says so, when there is something to write
            try:
                is_ours = _lock(file, patience)
                if is_ours or not _is_stuck(file):
                    yield is_ours
                    return
            finally:
                os.close(file)
            # On with the lock of the next place, so that those who go on do not tell twice.
            why = f"another watch has held {path} for over {STUCK / 60:g} min, as one that is stopped does"
            self.notes.append(f"{why}: going on without it; end the process that `fuser {path}` names")
        yield True

    def read(self) -> dict[str, Memory]:
        """The latest memory that can be read, by target; what cannot be read is set aside, and said."""
        if self._unkept is not None:
            return dict(self._unkept)
        pages = [page for place in self._places if (page := self._page(place)) is not None]
        latest = max(pages, key=lambda page: page.at, default=None)
        return dict(latest.targets) if latest else {}

    def write(self, targets: Mapping[str, Memory], now: float) -> bool:
        """Replace the memory; whether the next round will know it."""
        raw = _PAGE.dump_json(_Page(1, now, dict(targets)))
        for place in self._places:
            try:
                _replace(place, raw, is_own=place == self._places[0])
            except OSError as error:
                self.notes.append(f"cannot keep the memory of the watch in {place}: {error.strerror}; make room there")
                continue
            self._unkept = None
            if place == self._places[0]:
                self._forget_spare()
            return True
        self._unkept = dict(targets) if self._goes_on else None
        return self._goes_on

    def history(self) -> list[dict[str, Any]]:
        """The transitions of the log, oldest first; `notes` says how many lines cannot be used. Raises OSError."""
        try:
            lines = read_whole(self._log, _LIMIT).decode(errors="replace").splitlines()
        except FileNotFoundError:
            return []
        entries = [entry for line in lines if (entry := _entry(line)) is not None]
        if lost := len(lines) - len(entries):
            what = f"{lost} line{'s' if lost > 1 else ''} of {self._log}"
            self.notes.append(f"cannot use {what}: damaged, and left out")
        return entries[-KEPT:]

    def log(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Add transitions to the log, which keeps the latest."""
        if not entries:
            return
        try:
            lines = [json.dumps(entry) for entry in [*self.history(), *entries][-KEPT:]]
            _replace(self._log, "\n".join([*lines, ""]).encode(), is_own=True)
        except OSError as error:
            self.notes.append(f"cannot write {self._log}: {error.strerror}; make room there")

    @property
    def _log(self) -> str:
        return f"{self._places[0]}.log"

    def _page(self, place: str) -> _Page | None:
        try:
            if place != self._places[0] and not _is_ours(os.stat(place, follow_symlinks=False)):
                return None
            return _PAGE.validate_json(read_whole(place, _LIMIT))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.notes.append(
                f"cannot read the memory of the watch in {place}: {error.strerror}; what it told is unknown"
            )
        except ValidationError:
            self.notes.append(f"cannot use the memory of the watch in {place}: it is damaged; {_set_aside(place)}")
        return None

    def _forget_spare(self) -> None:
        for place in self._places[1:]:
            with suppress(OSError):
                os.unlink(place)


def _entry(line: str) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
        at = from_text(entry["at"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return entry if isinstance(entry, dict) and _FIRST <= at.year < _LATEST else None


def _set_aside(place: str) -> str:
    """Move a damaged memory away, and say where; what else lies there, such as a folder or a pipe, is let be."""
    for aside in (f"{place}.damaged", *(f"{place}.damaged-{number}" for number in range(1, 10))):
        with suppress(OSError):
            if not os.path.lexists(aside) or stat.S_ISREG(os.lstat(aside).st_mode):
                os.replace(place, aside)
                return f"set aside as {aside}"
    return f"it cannot be set aside, for something else lies at {place}.damaged"


def _replace(path: str, raw: bytes, *, is_own: bool) -> None:
    """Replace a file as a whole, for its owner alone; raises OSError."""
    if is_own:
        make_private(os.path.dirname(path))
    new = f"{path}.{os.getpid()}.new"
    with suppress(FileNotFoundError):
        os.unlink(new)  # of a process before us that was killed
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(new, flags, 0o600), "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        if is_own:
            keep_owner(new)
        os.replace(new, path)
    except OSError:
        with suppress(OSError):
            os.unlink(new)
        raise


def _open_own(path: str, is_own: bool) -> int:
    if is_own:
        make_private(os.path.dirname(path))
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    try:
        if is_own:
            keep_owner(path)
        elif not _is_ours(os.fstat(file)):
            raise PermissionError(path)
    except OSError:
        os.close(file)
        raise
    return file


def _is_ours(stat: os.stat_result) -> bool:
    # In a folder that everybody may write to, somebody else may have put something under our name.
    return stat.st_uid == os.geteuid()


def _lock(file: int, patience: float) -> bool:
    ends_at = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= ends_at:
                return False
            time.sleep(0.05)
        else:
            with suppress(OSError):
                os.utime(file)  # since when it is held, which takes no room on a full disk
            return True


def _is_stuck(file: int) -> bool:
    """Whether somebody has held this lock too long."""
    held = time.time() - os.fstat(file).st_mtime
    if held < 0:  # the clock was set back: it counts from now on
        with suppress(OSError):
            os.utime(file)
    return held >= STUCK
