"""Evidence on disk -> state. Standard library only; reads, never writes, never asks the daemon, waits for nothing."""

from __future__ import annotations

import os
import time

from heartbeat.folders import LOCK, PULSE, STARTS
from heartbeat.lock import holder_of
from heartbeat.pulse import PERIOD, Pulse, read_pulse, read_starts
from heartbeat.record import Record

_STALE_AFTER = 3 * PERIOD
_RECENT = 600.0


class Evidence(Record):
    """What lies on disk at one moment.

    `holder` is whom the held lock names (`PID:START`), None when nobody holds it; `holder_alive` says whether that
    process runs; `faults` is evidence that could not be read, as (code, message); `was_started` says that one of the
    files a start makes is there, whatever it holds.
    """

    __slots__ = ("faults", "holder", "holder_alive", "lock_file", "pulse", "starts", "was_started")

    def __init__(
        self,
        *,
        starts: tuple[float, ...] = (),
        holder: str | None = None,
        holder_alive: bool = True,
        lock_file: str = LOCK,
        pulse: Pulse | None = None,
        faults: tuple[tuple[str, str], ...] = (),
        was_started: bool = False,
    ) -> None:
        self.starts = starts
        self.holder = holder
        self.holder_alive = holder_alive
        self.lock_file = lock_file
        self.pulse = pulse
        self.faults = faults
        self.was_started = was_started


class Health(Record):
    """The state (`absent`, `down`, `stalled`, `degraded` or `up`), with its reasons."""

    __slots__ = ("last_beat_at", "pid", "problems", "recent_starts", "state", "summary", "uptime_seconds")

    def __init__(
        self,
        state: str,
        summary: str,
        *,
        problems: tuple[tuple[str, str], ...] = (),
        pid: int | None = None,
        uptime_seconds: float | None = None,
        last_beat_at: str | None = None,
        recent_starts: int = 0,
    ) -> None:
        self.state = state
        self.summary = summary
        self.problems = problems
        self.pid = pid
        self.uptime_seconds = uptime_seconds
        self.last_beat_at = last_beat_at
        self.recent_starts = recent_starts

    @property
    def is_live(self) -> bool:
        return self.state in ("up", "degraded", "absent")


def gather(state: str) -> Evidence:
    """Read the evidence; what cannot be read is a fault, never a reason to call it healthy."""
    starts_file, lock_file, pulse_file = (f"{state}/{name}" for name in (STARTS, LOCK, PULSE))
    faults: list[tuple[str, str]] = []
    starts: tuple[float, ...] = ()
    holder: str | None = None
    pulse: Pulse | None = None
    try:
        starts = tuple(read_starts(starts_file))
    except OSError as error:
        faults.append(_unreadable("starts_unreadable", starts_file, error))
    try:
        holder = holder_of(lock_file)
    except OSError as error:
        faults.append(_unreadable("lock_unreadable", lock_file, error))
    try:
        pulse = read_pulse(pulse_file)
    except (OSError, ValueError) as error:
        faults.append(_unreadable("pulse_unreadable", pulse_file, error))
    files = (starts_file, lock_file, pulse_file)
    return Evidence(
        starts=starts,
        holder=holder,
        holder_alive=not holder or _is_alive(holder),
        lock_file=lock_file,
        pulse=pulse,
        faults=tuple(faults),
        was_started=any(map(os.path.lexists, files)),
    )


def judge_health(evidence: Evidence, *, monotonic: float, now: float) -> Health:
    """The state that the evidence proves; *monotonic* and *now* are the readings of the two clocks, in seconds."""
    recent = sum(1 for start in evidence.starts if now - _RECENT <= start <= now)
    if evidence.holder is None:
        if not (evidence.was_started or evidence.starts or evidence.pulse or evidence.faults):
            return Health("absent", "heartbeat was never started here")
        problems = (("not_running", "no process holds the lock; start it with `heartbeat run`"), *evidence.faults)
        return Health("down", "heartbeat is down", problems=problems, recent_starts=recent)
    if not evidence.holder_alive:
        stranger = f"another program holds {evidence.lock_file}; `fuser {evidence.lock_file}` names it"
        problems = (("lock_stranger", stranger), *evidence.faults)
        summary = "heartbeat does not run, and its lock is taken"
        return Health("stalled", summary, problems=problems, recent_starts=recent)
    pulse = evidence.pulse
    doubt = _doubt(pulse, evidence.holder, monotonic)
    problems = (*((doubt,) if doubt else pulse.problems if pulse else ()), *evidence.faults)
    if doubt or pulse is None:
        return Health(
            "stalled",
            "heartbeat runs but does not beat",
            problems=problems,
            pid=_pid(evidence.holder),
            recent_starts=recent,
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


def _is_alive(holder: str) -> bool:
    """Whether the very process that a holder names still runs; `heartbeat.process.is_alive` is too slow to load."""
    pid = _pid(holder)
    if not pid:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass  # another user's
    except (ProcessLookupError, OverflowError):
        return False
    facts = _facts(pid)
    if len(facts) < 20:  # noqa: PLR2004 the start time is field 22 of proc(5), the twentieth after the name
        return True  # hidden from us, or there is no /proc
    return facts[0] not in ("Z", "X") and facts[19] == holder.partition(":")[2].partition("@")[0]


def _facts(pid: int) -> list[str]:
    """What /proc/PID/stat says after the name, which may hold anything; nothing where it cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return file.read(4096).rpartition(b")")[2].decode().split()
    except OSError:
        return []


def _unreadable(code: str, path: str, error: Exception) -> tuple[str, str]:
    return code, f"cannot read {path}: {error}"


def examine(state: str) -> Health:
    """The state now, of the installation that keeps its evidence in the folder *state*."""
    return judge_health(gather(state), monotonic=time.monotonic(), now=time.time())
