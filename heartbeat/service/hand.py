"""The daemon by its lock: who it is, and sending a signal to exactly it."""

from __future__ import annotations

import os
import signal
import time
from datetime import timedelta

from heartbeat.errors import Refused, ServiceError
from heartbeat.lock import holder_of
from heartbeat.paths import Home
from heartbeat.process import is_alive
from heartbeat.process.pids import look, send

_GRACE = 10.0
"""Seconds beside the drain that a stop may take: the couriers', and those of a machine that is busy."""
_UNNAMED = 1.0
"""Seconds that whoever has just taken the lock has for writing down who it is."""
_LOOK_EVERY = 0.05


def running(home: Home) -> tuple[int, str] | None:
    """Pid and name (`PID:START`) of the daemon that holds the lock; None when nobody does.

    Raises Refused when that cannot be read, or it is no daemon of ours.
    """
    file, until = home.lock_file, time.monotonic() + _UNNAMED
    try:
        while (holder := holder_of(file)) == "" and time.monotonic() < until:
            time.sleep(_LOOK_EVERY)
    except OSError as error:
        raise Refused(f"cannot read {file}: {error.strerror}; ask as its owner, or correct it") from error
    if holder is None:
        return None
    if not is_alive(holder):
        if holder_of(file) != holder:
            return None  # it ended between the two looks
        message = f"cannot tell who runs in {home.state}: another program holds {file}; `fuser {file}` names it"
        raise Refused(message)
    return int(holder.partition(":")[0]), holder


def end(home: Home, drain: timedelta) -> int | None:
    """Ask the daemon that holds the lock to stop, and wait until the lock is free; its pid, None when there is none.

    Raises Refused when it is another user's, ServiceError when it goes on.
    """
    found = _tell(home, signal.SIGTERM, "stop")
    if found is None:
        return None
    pid, holder = found
    _wait(home, pid, holder, drain.total_seconds() + _GRACE)
    return pid


def ask_to_reload(home: Home) -> tuple[int, str] | None:
    """Ask the daemon that holds the lock to read its configuration again; its pid and name, None when there is none.

    Raises Refused when it is another user's.
    """
    return _tell(home, signal.SIGHUP, "reload")


def _tell(home: Home, number: signal.Signals, verb: str) -> tuple[int, str] | None:
    """Send a signal to the daemon that holds the lock, and to nobody else."""
    found = running(home)
    if found is None:
        return None
    pid, holder = found
    # Looked up before it is compared with what the lock says: a later process of this pid is another one.
    peer = look(pid)
    if peer is not None and is_alive(holder):
        try:
            os.kill(pid, 0)
        except PermissionError:
            raise Refused(
                f"cannot {verb} process {pid}: it is another user's; {verb} it as that user, or as root"
            ) from None
        except ProcessLookupError:
            return found
        send(peer, number)
    return found


def _wait(home: Home, pid: int, holder: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    while holder_of(home.lock_file) == holder:
        if time.monotonic() > until:
            message = f"cannot stop process {pid}: {seconds:.0f} s after it was asked to it still runs"
            raise ServiceError(f"{message}; `kill -KILL {pid}` ends it, and loses nothing")
        time.sleep(_LOOK_EVERY)
