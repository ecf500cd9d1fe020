"""The first steps of a daemon: its place, its life in the log, its first proof; and waiting for what passes by itself.

A supervisor gives up after a few starts. A disk that is full and a ledger that another process has locked for a while
are no reason to be given up.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from heartbeat import __version__
from heartbeat.cli.shell import Shell
from heartbeat.clock import to_text, utc_now
from heartbeat.errors import HeartbeatError, LedgerError, Refused
from heartbeat.life import Life, begin, is_at_terminal
from heartbeat.lock import KernelLock, holder_of
from heartbeat.log import event, warn
from heartbeat.notify import Notifier
from heartbeat.process import is_alive, owner
from heartbeat.pulse import Pulse, write_pulse
from heartbeat.stores.sqlite.failures import is_locked

_LOOK, _MORE = 2.0, 60.0
"""Seconds between two tries, and how much more time a supervisor is asked for with each."""
_ROOM = 1024 * 1024
_FULL = (errno.ENOSPC, errno.EDQUOT)

Result = TypeVar("Result")


def take_place(call: Shell, lock: KernelLock, lives: list[Life]) -> None:
    """Take the lock, enter this life in the log, and give the first proof of it; raises Refused, HeartbeatError."""

    def take() -> None:
        try:
            if not lock.acquire(owner()):
                raise refusal(call)
            if not lives:
                lives.append(begin(call.home, utc_now().timestamp(), at_terminal=is_at_terminal()))
            _first_pulse(call)
        except OSError:
            lock.release()
            raise

    try:
        patiently(call, take)
    except OSError as error:
        name = os.path.basename(error.filename2 or error.filename or "")
        fault = f"{error.strerror} ({name})" if name else error.strerror
        message = f"cannot write in {call.home.state}: {fault}; free space, or correct its permissions"
        raise HeartbeatError(message) from error


def patiently(call: Shell, action: Callable[[], Result]) -> Result:
    """Do it, as often as a full disk or a lock of another process is what stands against it."""
    said = ""
    while True:
        try:
            result = action()
        except (LedgerError, OSError) as error:
            if not _passes(call, error):
                raise
            if str(error) != said:
                said = str(error)
                warn("start_waits", error=error)
            Notifier(call.environ).more_time(_MORE)
            with suppress(OSError):
                _first_pulse(call, ("start_waits", said))
            time.sleep(_LOOK)
        else:
            if said:
                event("start_goes_on")
            return result


def _passes(call: Shell, error: LedgerError | OSError) -> bool:
    if isinstance(error, OSError):
        return error.errno in _FULL
    if not error.retryable:
        return False
    try:
        disk = os.statvfs(call.home.state)
    except OSError:
        return False
    # SQLite has several words for a full disk, by which of its files found no room.
    is_full = disk.f_bavail * disk.f_frsize < _ROOM or (disk.f_files and not disk.f_favail)
    return bool(is_full) or is_locked(error)


def refusal(call: Shell) -> Refused:
    """Somebody else holds the lock."""
    file = call.home.lock_file
    holder = holder_of(file)
    if holder is not None and not is_alive(holder):
        return Refused(f"cannot start: another program holds {file}; `fuser {file}` names it; end that first")
    pid = (holder or "unknown:").split(":", 1)[0]
    return Refused(f"cannot start: process {pid} already runs heartbeat in {call.home.state}; stop it first")


def _first_pulse(call: Shell, *problems: tuple[str, str]) -> None:
    """Whoever looks from now on finds a proof of life, also while a large ledger is looked through."""
    at, monotonic = to_text(utc_now()), time.monotonic()
    pulse = Pulse(
        owner=owner(),
        monotonic=monotonic,
        started_monotonic=monotonic,
        started_at=at,
        written_at=at,
        last_beat_at="",
        next_due_at="",
        jobs=0,
        version=__version__,
        problems=problems,
    )
    write_pulse(call.home.pulse_file, pulse)
