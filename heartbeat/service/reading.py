"""Whether the daemon has read its configuration as it is now, and having it read it again."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from heartbeat.clock import from_text
from heartbeat.errors import Invalid, ServiceError
from heartbeat.inside import INSIDE, Inside, read_inside
from heartbeat.lock import holder_of
from heartbeat.paths import Home
from heartbeat.pulse import Pulse, read_pulse
from heartbeat.service.hand import ask_to_reload, running

_SECONDS = 20.0
"""How long the daemon may take: a large ledger and slow disks are looked at meanwhile."""
_AGAIN = 1.0
"""Seconds for which what a pulse says may still be of the reload before."""
_LOOK_EVERY = 0.05


def unread(home: Home) -> int | None:
    """The pid of the daemon that runs with an older configuration than the file now holds; None when none does."""
    try:
        found = running(home)
        inside = _inside(home, found[1]) if found else None
        # Of a file that was moved into its place the time of its change may be old; this one never is.
        changed = max(look(home.config_file).st_ctime for look in (os.stat, os.lstat))
        is_old = inside is not None and from_text(inside.written_at).timestamp() < changed
    except (OSError, ValueError, Invalid):
        return None
    return found[0] if found and is_old else None


def reload(home: Home) -> tuple[int, int] | None:
    """Have the daemon that holds the lock read its configuration, and see that it did: its pid, and its number of jobs.

    None when none runs. Raises Invalid when it refused the configuration, Refused when it is another user's,
    ServiceError when it does not say within 20 s that it has taken it.
    """
    found = running(home)
    before, asked = _inside(home, found[1]) if found else None, time.monotonic()
    found = ask_to_reload(home)
    if found is None:
        return None
    pid, holder = found
    doubted: float | None = None
    while time.monotonic() < asked + _SECONDS and holder_of(home.lock_file) == holder:
        inside, pulse = _inside(home, holder), _pulse(home, holder)
        trouble = dict(pulse.problems).get("configuration_trouble", "") if pulse else ""
        is_read = inside is not None and (before is None or inside.written_at != before.written_at)
        if pulse and inside and is_read and pulse.written_at >= inside.written_at and not trouble:
            return pid, pulse.jobs
        if pulse and trouble and pulse.monotonic > asked:
            doubted = doubted or time.monotonic()
            if time.monotonic() - doubted > _AGAIN:
                raise Invalid(f"cannot reload: {trouble}; process {pid} goes on with the configuration it has")
        time.sleep(_LOOK_EVERY)
    if holder_of(home.lock_file) != holder:
        raise ServiceError(f"cannot reload: process {pid} ended meanwhile; `heartbeat logs` shows why")
    raise ServiceError(
        f"cannot tell whether process {pid} has read the configuration: it did not say so within {_SECONDS:.0f} s;"
        " `heartbeat logs` shows what it is at"
    )


def _inside(home: Home, holder: str) -> Inside | None:
    """What this daemon wrote when it last read its configuration."""
    with suppress(OSError, ValueError):
        inside = read_inside(home.state / INSIDE)
        return inside if inside is not None and inside.owner == holder else None
    return None


def _pulse(home: Home, holder: str) -> Pulse | None:
    with suppress(OSError, ValueError):
        pulse = read_pulse(home.pulse_file)
        return pulse if pulse is not None and pulse.owner == holder else None
    return None
