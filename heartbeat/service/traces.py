"""What a daemon leaves behind as evidence of itself, taken away by `uninstall`: else it would be down for ever."""

from __future__ import annotations

from heartbeat.errors import ServiceError
from heartbeat.folders import CRASH, INTENT, LOCK, PULSE, STARTS
from heartbeat.inside import INSIDE
from heartbeat.lock import KernelLock
from heartbeat.paths import Home
from heartbeat.process import owner
from heartbeat.service.acting import acting_for

TRACES = (PULSE, STARTS, INTENT, INSIDE, CRASH, "crash.last.txt", LOCK)
"""In the state folder. Ledger, log and the memory of `heartbeat watch` are no evidence, and the owner's."""


def forget(home: Home) -> tuple[str, ...]:
    """Remove the traces, unless a daemon runs here; the names of those that were there. Raises ServiceError."""
    if not any((home.state / name).exists() for name in TRACES):
        return ()
    lock = KernelLock(home.lock_file)
    gone = []
    try:
        with acting_for(home.state):
            # Held meanwhile: who starts now must not lose what it has just written.
            if not lock.acquire(owner(), patience=0.1):
                return ()
            for name in TRACES:
                if (home.state / name).exists():
                    (home.state / name).unlink()
                    gone.append(name)
    except OSError as error:
        raise ServiceError(f"cannot remove {error.filename}: {error.strerror}; remove it by hand") from error
    finally:
        lock.release()
    return tuple(gone)
