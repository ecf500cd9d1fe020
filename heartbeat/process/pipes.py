"""Serves the pipes of a child without ever waiting for it: both outputs read at once, stdin fed as it takes it."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import IO, Self

from heartbeat.process.capture import Capture

_CHUNK = 65536  # what a pipe holds by default


class Pipes:
    """The parent's ends of a child's pipes."""

    def __init__(self, stdin: bytes | None, stdout: Capture, stderr: Capture) -> None:
        # Unlike epoll it needs no descriptor of its own, so that making it cannot fail.
        self._selector = selectors.PollSelector()
        self._unsent = memoryview(stdin or b"")
        self._stdout, self._stderr = stdout, stderr
        self._streams: list[IO[bytes]] = []
        self._stdin: IO[bytes] | None = None
        self._outputs = 0

    def attach(self, child: subprocess.Popen[bytes]) -> None:
        self._stdin = child.stdin
        self._streams = [stream for stream in (child.stdin, child.stdout, child.stderr) if stream]
        for stream, capture in ((child.stdout, self._stdout), (child.stderr, self._stderr)):
            assert stream is not None
            self._add(stream.fileno(), selectors.EVENT_READ, self._reader(capture))
            self._outputs += 1
        if child.stdin is not None:
            self._add(child.stdin.fileno(), selectors.EVENT_WRITE, self._write)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for stream in self._streams:
            stream.close()

    @property
    def open(self) -> bool:
        """Whether anybody may still write to stdout or stderr."""
        return self._outputs > 0

    @contextlib.contextmanager
    def watching(self, handle: int | None) -> Iterator[None]:
        """Let `serve` return as soon as this descriptor is readable, then close it; None: there is none."""
        if handle is None:
            yield
            return
        self._selector.register(handle, selectors.EVENT_READ, lambda _: None)
        try:
            yield
        finally:
            self._selector.unregister(handle)
            os.close(handle)

    def serve(self, seconds: float) -> bool:
        """Wait so long at most for something to do, and do it once; False when there was nothing."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            key.data(key.fd)
        return bool(ready)

    def stop_feeding(self) -> None:
        """Nobody is left who should read the rest of stdin."""
        if self._stdin is not None and not self._stdin.closed:
            self._selector.unregister(self._stdin.fileno())
            self._stdin.close()

    def empty(self, within: float) -> None:
        """Read what lies in the pipes, without waiting for more: a stranger may hold them open, and go on writing."""
        self.stop_feeding()
        until = time.monotonic() + within
        while self.open and self.serve(0) and time.monotonic() < until:
            pass

    def _add(self, descriptor: int, event: int, serve: Callable[[int], None]) -> None:
        os.set_blocking(descriptor, False)
        self._selector.register(descriptor, event, serve)

    def _reader(self, capture: Capture) -> Callable[[int], None]:
        def read(descriptor: int) -> None:
            with contextlib.suppress(BlockingIOError):
                chunk = os.read(descriptor, _CHUNK)
                capture.feed(chunk)
                if not chunk:
                    self._selector.unregister(descriptor)
                    self._outputs -= 1

        return read

    def _write(self, descriptor: int) -> None:
        try:
            self._unsent = self._unsent[os.write(descriptor, self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            # The child has closed its stdin: that is its right.
            self._unsent = self._unsent[:0]
        if not self._unsent:
            self.stop_feeding()
