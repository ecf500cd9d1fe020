"""Log lines: an event word and bound fields, to stderr, one line each whatever the values hold."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import sys
import threading

_LOGGER = logging.getLogger("heartbeat")
_WAITING, _LAST_WAIT = 1000, 1.0  # lines, seconds
_LONGEST = 1000  # characters of a value; a script may say anything


class _Behind(logging.Handler):
    """Writes lines to stderr from a thread of its own: a reader that stands still must not stop the daemon."""

    def __init__(self) -> None:
        super().__init__()
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
            # Not by sys.stderr, whose lock the interpreter would wait for at its end.
            with contextlib.suppress(OSError):
                os.write(2, f"{line}\n".encode(errors="backslashreplace"))


def start_logging(level: str = "info", *, behind: bool = False) -> None:
    """Send heartbeat's own lines to stderr (*behind*: without ever waiting); other libraries' from warning up."""
    handler = _Behind() if behind else logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
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
