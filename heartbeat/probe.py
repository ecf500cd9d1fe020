"""Evidence on disk -> state. Standard library only; reads, never writes, never asks the daemon, waits for nothing."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from heartbeat.lock import holder_of
from heartbeat.paths import Home
from heartbeat.pulse import PERIOD, Pulse, read_pulse, read_starts

_STALE_AFTER = 3 * PERIOD
_RECENT = 600.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What lies on disk at one moment."""

    starts: tuple[float, ...] = ()
    holder: str | None = None
    """Who holds the lock (`PID:START`); None when nobody does."""
    pulse: Pulse | None = None
    faults: tuple[tuple[str, str], ...] = ()
    """Evidence that could not be read: (code, message)."""
    was_started: bool = False
    """One of the files that a start makes is there, whatever it holds."""


@dataclass(frozen=True, slots=True)
class Health:
    """The state, with its reasons."""

    state: str
    """`absent`, `down`, `stalled`, `degraded` or `up`."""
    summary: str
    problems: tuple[tuple[str, str], ...] = ()
    pid: int | None = None
    uptime_seconds: float | None = None
    last_beat_at: str | None = None
    recent_starts: int = 0

    @property
    def is_live(self) -> bool:
        return self.state in ("up", "degraded", "absent")


def gather(home: Home) -> Evidence:
    """Read the evidence; what cannot be read is a fault, never a reason to call it healthy."""
    faults: list[tuple[str, str]] = []
    starts: tuple[float, ...] = ()
    holder: str | None = None
    pulse: Pulse | None = None
    try:
        starts = tuple(read_starts(home.starts_file))
    except OSError as error:
        faults.append(_unreadable("starts_unreadable", home.starts_file, error))
    try:
        holder = holder_of(home.lock_file)
    except OSError as error:
        faults.append(_unreadable("lock_unreadable", home.lock_file, error))
    try:
        pulse = read_pulse(home.pulse_file)
    except (OSError, ValueError) as error:
        faults.append(_unreadable("pulse_unreadable", home.pulse_file, error))
    files = (home.starts_file, home.lock_file, home.pulse_file)
    return Evidence(starts, holder, pulse, tuple(faults), was_started=any(map(os.path.lexists, files)))


def judge_health(evidence: Evidence, *, monotonic: float, now: float) -> Health:
    """The state that the evidence proves; *monotonic* and *now* are the readings of the two clocks, in seconds."""
    recent = sum(1 for start in evidence.starts if now - _RECENT <= start <= now)
    if evidence.holder is None:
        if not (evidence.was_started or evidence.starts or evidence.pulse or evidence.faults):
            return Health("absent", "heartbeat was never started here")
        problems = (("not_running", "no process holds the lock; start it with `heartbeat run`"), *evidence.faults)
        return Health("down", "heartbeat is down", problems, recent_starts=recent)
    pulse = evidence.pulse
    doubt = _doubt(pulse, evidence.holder, monotonic)
    problems = (*((doubt,) if doubt else pulse.problems if pulse else ()), *evidence.faults)
    if doubt or pulse is None:
        return Health(
            "stalled", "heartbeat runs but does not beat", problems, _pid(evidence.holder), recent_starts=recent
        )
    return Health(
        state="degraded" if problems else "up",
        summary=f"heartbeat is up, {_count(pulse.jobs, 'job')}"
        + (f", {_count(len(problems), 'problem')}" if problems else ""),
        problems=problems,
        pid=_pid(evidence.holder),
        uptime_seconds=monotonic - pulse.started_monotonic,
        last_beat_at=pulse.last_beat_at,
        recent_starts=recent,
    )


def _doubt(pulse: Pulse | None, holder: str, monotonic: float) -> tuple[str, str] | None:
    """Why the pulse does not prove life: (code, message); None when it does."""
    if pulse is None:
        return "pulse_missing", "a process holds the lock but there is no readable pulse"
    if not holder or pulse.owner != holder:
        return (
            "pulse_foreign",
            f"the pulse is of {pulse.owner!r}, but {holder or 'a nameless process'!r} holds the lock",
        )
    age = monotonic - pulse.monotonic
    if 0 <= age <= _STALE_AFTER:
        return None
    if age < 0:
        return "pulse_future", f"the pulse was written {-age:.0f} s in the future"
    return "pulse_stale", f"the last pulse is {age:.0f} s old; one is due every {PERIOD:.0f} s"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _pid(holder: str) -> int | None:
    digits = holder.split(":", 1)[0]
    return int(digits) if digits.isascii() and digits.isdigit() else None


def _unreadable(code: str, path: Path, error: Exception) -> tuple[str, str]:
    return code, f"cannot read {path}: {error}"


def examine(home: Home) -> Health:
    """The state of the installation now."""
    return judge_health(gather(home), monotonic=time.monotonic(), now=time.time())
