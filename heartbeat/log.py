"""Log lines: an event word and bound fields, to stderr or a file, one line each whatever the values hold."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable

from heartbeat.folders import keep_owner, make_private

_LOGGER = logging.getLogger("heartbeat")
_WAITING, _LAST_WAIT = 1000, 1.0  # lines, seconds
_LONGEST = 1000  # characters of a value; a script may say anything
_STAMP = "%Y-%m-%dT%H:%M:%S%z"
_FILE_LIMIT, _FILES_KEPT = 1024 * 1024, 5


class _Behind(logging.Handler):
    """Writes lines from a thread of its own: a reader or a disk that stands still must not stop the daemon."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        super().__init__()
        self._out = write
        self._lines: queue.Queue[str | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(self.format(record))

    def close(self) -> None:
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)
        self._thread.join(_LAST_WAIT)
        super().close()

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            self._out(f"{line}\n".encode(errors="backslashreplace"))


class _File:
    """A log for its owner alone. At 1 MiB it becomes `NAME.1`, the one before `NAME.2`, and so on; five are kept.

    What cannot be written, on a full disk or for want of permission, is lost and counted; nobody waits for it. The file
    is opened for each line: whoever takes it away, or another process that writes into it, need not tell us.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._lost = 0
        self._is_torn = False
        self._has_said = False

    def write(self, line: bytes) -> None:
        try:
            if self._lost:
                stamp = time.strftime(_STAMP)
                self._append(f"{stamp} WARNING log_lines_lost count={self._lost}\n".encode())
                self._lost = 0
            self._append(line)
        except OSError as error:
            self._lost += 1
            if not self._has_said:
                self._has_said = True
                _to_stderr(f"cannot write {self._path}: {error.strerror}; until it can be, the log is lost\n".encode())

    def _append(self, line: bytes) -> None:
        descriptor = self._open()
        try:
            if 0 < os.fstat(descriptor).st_size > _FILE_LIMIT - len(line):
                os.close(descriptor)
                descriptor = -1
                self._rotate()
                descriptor = self._open()
            # After half a line, the next one begins on a line of its own.
            whole = b"\n" + line if self._is_torn else line
            count = os.write(descriptor, whole)
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        self._is_torn = count < len(whole)
        if self._is_torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _open(self) -> int:
        make_private(os.path.dirname(self._path))
        is_new = not os.path.lexists(self._path)
        # A pipe in its place must not block.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        try:
            if is_new:
                keep_owner(self._path)
            if os.fstat(descriptor).st_mode & 0o077:
                os.fchmod(descriptor, 0o600)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def _rotate(self) -> None:
        names = [self._path, *(f"{self._path}.{number}" for number in range(1, _FILES_KEPT + 1))]
        for older, newer in reversed(list(zip(names[1:], names, strict=False))):
            with contextlib.suppress(FileNotFoundError):
                os.replace(newer, older)


def _to_stderr(line: bytes) -> None:
    # Not by sys.stderr, whose lock the interpreter would wait for at its end.
    with contextlib.suppress(OSError):
        os.write(2, line)


def start_logging(level: str = "info", *, behind: bool = False, file: os.PathLike[str] | None = None) -> None:
    """Send heartbeat's own lines to stderr, or to *file*, which is rotated; other libraries' from warning up.

    *behind*: without ever waiting, which is always so for a file.
    """
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if file is not None:
        handler = _Behind(_File(file).write)
    elif behind:
        handler = _Behind(_to_stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", _STAMP))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    _LOGGER.setLevel(level.upper())


def event(word: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Log one state change, such as `event("run_ended", job="vip-mail", verdict="quiet")`."""
    # json.dumps keeps a stranger's newline or escape sequence from forging a second log line.
    bound = (f"{name}={_value(value)}" for name, value in fields.items() if value is not None)
    _LOGGER.log(level, "%s", " ".join((word, *bound)))


def warn(word: str, **fields: object) -> None:
    """Log a state change that somebody should look at."""
    event(word, level=logging.WARNING, **fields)


def _value(value: object) -> str:
    text = str(value)
    if len(text) > _LONGEST:
        text = text[:_LONGEST] + "…"
    plain = text.isascii() and text.isprintable() and " " not in text and '"' not in text and text
    return text if plain else json.dumps(text)
