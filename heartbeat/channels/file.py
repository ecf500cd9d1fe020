"""A channel that is a file: a block of Markdown for each message, or a line of JSON when its name ends in .jsonl."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from heartbeat.channels._ground import Ground
from heartbeat.channels._said import as_json, said
from heartbeat.clock import local
from heartbeat.config.channels import ChannelSettings
from heartbeat.config.secret import expand
from heartbeat.config.wording import dotted
from heartbeat.durations import show_duration
from heartbeat.errors import ChannelError, Problem
from heartbeat.folders import keep_owner, make_private
from heartbeat.model import Message

_TAIL = 1024 * 1024
"""Bytes at the end of the file in which a message that was written before is looked for."""
_LOOK = 0.05  # seconds between two tries to get the lock
_MARKUP = re.compile(r"[\\`*_\[\]<>&~]")  # within a line


@dataclass(frozen=True, slots=True)
class FileChannel:
    """Appends each message once, whole or not at all."""

    name: str
    own: ChannelSettings
    ground: Ground

    @property
    def path(self) -> Path:
        return expand(self.own.path, self.ground.home.config, self.ground.environ)

    def send(self, message: Message) -> bool:
        """Append it, and return when it is on the disk."""
        # Where a symbolic link leads to nothing yet, it is begun there.
        path = Path(os.path.realpath(self.path))
        try:
            with self._locked(path) as file:
                if _stands_in(file, self._mark(message)):
                    os.fsync(file)
                else:
                    _append(file, self._entry(message).encode())
        except OSError as error:
            why = error.strerror or str(error)
            error_ = f"cannot write to {path} for the channel {self.name!r}: {why}; make room, or correct the path"
            raise ChannelError(error_, retryable=True) from None
        return True

    @contextmanager
    def _locked(self, path: Path) -> Iterator[int]:
        make_private(path.parent)
        ends_at = time.monotonic() + self.own.timeout.total_seconds()
        while True:
            file = _open(path)
            try:
                if not self._lock(file, ends_at):
                    limit = show_duration(self.own.timeout)
                    raise ChannelError(f"cannot lock {path}: another program held it over {limit}", retryable=True)
                # Whoever rotates the file may have moved it away while we waited for it.
                if _is_at(file, path):
                    yield file
                    return
            finally:
                os.close(file)

    def _lock(self, file: int, ends_at: float) -> bool:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= ends_at:
                    return False
                if self.ground.stop.wait(_LOOK):
                    raise ChannelError("cannot wait for the file: heartbeat was stopping", retryable=True) from None
            else:
                return True

    def _entry(self, message: Message) -> str:
        if self.path.suffix == ".jsonl":
            return as_json(message) + "\n"
        parts = said(message, trailer=self.own.trailer)
        body = parts.body()
        # A fence longer than any in the text: nothing in it can be markup, or pass for another message.
        fence = "~" * (1 + max([2, *(len(run) for run in re.findall("~+", body))]))
        at = local(message.created_at, ZoneInfo(self.ground.settings.owner.zone)).strftime("%Y-%m-%d %H:%M")
        title = _MARKUP.sub(lambda found: f"\\{found[0]}", parts.title)
        return f"## {at} {title}\n\n{fence}\n{body}\n{fence}\n\n{self._mark(message)}\n\n"

    def _mark(self, message: Message) -> str:
        return f'{{"id": "{message.id}",' if self.path.suffix == ".jsonl" else f"<!-- {message.id} -->"


def _open(path: Path) -> int:
    # Without O_NONBLOCK a FIFO in this place would block for ever.
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        file = os.open(path, flags)
    else:
        keep_owner(path)
        _sync_folder(path.parent)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is not a file")
    return file


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _stands_in(file: int, mark: str) -> bool:
    """Whether a line of the file's end begins with the mark: the message was written, and then we were ended."""
    size = os.fstat(file).st_size
    end = os.pread(file, _TAIL, max(0, size - _TAIL))
    return f"\n{mark}".encode() in b"\n" + end


def _append(file: int, entry: bytes) -> None:
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        entry = b"\n" + entry
    left = memoryview(entry)
    try:
        while left:
            left = left[os.write(file, left) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, size)
        raise


def channel(name: str, own: ChannelSettings, ground: Ground) -> FileChannel:
    return FileChannel(name, own, ground)


def check(name: str, own: ChannelSettings, ground: Ground, file: str) -> list[Problem]:
    path = FileChannel(name, own, ground).path
    try:
        wrong = _misspelled(own.path) or _unusable(Path(os.path.realpath(path)))
    except OSError as error:
        wrong = error.strerror or str(error)
    if not wrong:
        return []
    message = f"cannot use {str(path)!r}: {wrong}"
    return [Problem(file, dotted(("channels", name, "path")), message, "correct the path or the permissions")]


def _misspelled(text: str) -> str:
    if (text.startswith("~") and not text.startswith("~/")) or "$" in text:
        return "nothing but a ~/ at its beginning is replaced; write it whole, from ~/, or beside the configuration"
    return "it is the name of a folder" if text.endswith("/") else ""


def _unusable(path: Path) -> str:
    if path.exists():
        if not path.is_file():
            return "it is not a file"
        return "" if os.access(path, os.R_OK | os.W_OK) else "we may not write to it"
    if path.is_symlink():
        return "it is a symbolic link that leads round in a circle"
    above = next(folder for folder in path.parents if folder.exists())
    return "" if above.is_dir() and os.access(above, os.W_OK | os.X_OK) else f"we may not write into {above}"
