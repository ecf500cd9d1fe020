"""A lock that dies with its process: the kernel's, on a file that says who holds it."""

from __future__ import annotations

import fcntl
import os
import time

from heartbeat.folders import keep_owner, make_private

_FOR_PROBES = 20.0


class KernelLock:
    """An exclusive lock on a file; the file stays, the lock goes with the descriptor."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._descriptor: int | None = None

    def acquire(self, holder: str, *, patience: float = 1.0) -> bool:
        """Take the lock, trying for *patience* seconds, and write *holder* into it; whether it was taken.

        Where only probes have it, it is tried for twenty times as long: they hold it for a moment, unless the machine
        is busy, and are no daemon beside which another must not start.
        """
        make_private(os.path.dirname(self._path))
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        begun = time.monotonic()
        while not _try(descriptor, fcntl.LOCK_EX):
            waited = time.monotonic() - begun
            if waited >= patience and (waited >= _FOR_PROBES * patience or not _is_shared(descriptor)):
                os.close(descriptor)
                return False
            time.sleep(0.02)
        self._descriptor = descriptor
        try:
            keep_owner(self._path)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, holder.encode(), 0)
        except OSError:
            # Held on a full disk by one who does not know it, nobody could ever take it again.
            self.release()
            raise
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def holder_of(path: str | os.PathLike[str]) -> str | None:
    """What the holder of the lock wrote; None when nobody holds it, '' when it wrote nothing (yet)."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe in its place must not block
    except FileNotFoundError:
        return None
    try:
        if _try(descriptor, fcntl.LOCK_SH):
            return None
        return os.pread(descriptor, 4096, 0).decode(errors="replace")
    finally:
        os.close(descriptor)


def _is_shared(descriptor: int) -> bool:
    """Whether only readers hold the lock; it must not be held by this process."""
    if not _try(descriptor, fcntl.LOCK_SH):
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)  # two that wait must not keep each other from it
    return True


def _try(descriptor: int, kind: int) -> bool:
    # Only these two errors mean that somebody else has it; any other (ENOLCK, EIO) must be seen.
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
