"""Where nobody is seen to hold the lock: it is down, just being started, or not to be told.

Pure; standard library only.
"""

from __future__ import annotations

from heartbeat.probe.health import UNTOLD, Health
from heartbeat.probe.holder import pid_of
from heartbeat.probe.instants import local_of, seconds_of
from heartbeat.probe.supervision import is_being_started, is_service

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heartbeat.probe.evidence import Evidence

    Problems = tuple[tuple[str, str], ...]


def judge_idle(evidence: Evidence, monotonic: float, now: float) -> Health:
    """The state, by the lock, what the log tells of the last life, and what the supervisor says."""
    sign = _last_sign(evidence, now)
    since_sign = None if sign is None else now - sign
    is_unread = any(code == "lock_unreadable" for code, _ in evidence.faults)
    # Whether a process that runs has the lock already cannot be read.
    is_seen = not (is_unread and evidence.supervised and evidence.supervised.state == "active")
    if is_seen and is_being_started(evidence.supervised, monotonic=monotonic, since_sign=since_sign):
        return Health("degraded", "heartbeat is being started", since=sign)
    if is_unread:
        return _untold(evidence, monotonic, now)
    start = "heartbeat start" if is_service(evidence.marker) else "heartbeat run --detach"
    if evidence.is_installed and not evidence.starts and not evidence.pulse:
        message = f"it is installed as a service and never started; start it with `{start}`"
        return Health(
            "down", "heartbeat is installed, but never started", problems=(("installed_not_started", message),)
        )
    message = f"no process holds the lock; start it with `{start}`"
    problems = (("not_running", message), *_last_ending(evidence))
    return Health("down", "heartbeat is down", problems=problems, since=sign)


def _untold(evidence: Evidence, monotonic: float, now: float) -> Health:
    """Whether anybody holds the lock cannot be read: its supervisor's word counts then, and proves only so much."""
    said = evidence.supervised
    if said is not None and not said.fault and said.state == "active" and said.pid:
        message = (
            f"only {said.manager} says that it runs, for its own files cannot be read; ask as its owner, or as root"
        )
        uptime = None if said.begun is None else max(monotonic - said.begun, 0.0)
        return Health(
            "degraded",
            "heartbeat runs, but what it does cannot be read",
            problems=(("known_by_supervisor", message),),
            since=None if uptime is None else now - uptime,
            pid=said.pid,
            uptime_seconds=uptime,
        )
    if said is not None and not said.fault and said.state in ("inactive", "failed"):
        message = f"{said.manager} says that {said.unit} is {said.state}; start it with `heartbeat start`"
        return Health("down", "heartbeat is down", problems=(("not_running", message),))
    message = "whether it runs cannot be told, for its own files cannot be read; ask as its owner, or as root"
    return Health("down", "it cannot be told whether heartbeat runs", problems=((UNTOLD, message),))


def _last_ending(evidence: Evidence) -> Problems:
    if not evidence.starts:
        return ()
    last = evidence.starts[-1]
    if not last.how:
        return (("ended_lost", f"its last life, begun {local_of(last.at)}, ended without a word"),)
    sender = f"process {pid_of(last.sender)}"
    told = last.ending or last.how
    # Where the words do not name the sender anyway.
    told += f"; the signal came from {sender}" if pid_of(last.sender) and sender not in told else ""
    return ((f"ended_{last.how}", f"its last life ended {local_of(last.ended_at)}: {told}"),)


def _last_sign(evidence: Evidence, now: float) -> float | None:
    """When it was last known to live: since then it is down."""
    last = evidence.starts[-1] if evidence.starts else None
    pulse = evidence.pulse
    signs = [last.ended_at, last.at] if last else []
    signs.append((seconds_of(pulse.written_at) if pulse else None) or 0.0)
    known = [at for at in signs if 0 < at <= now]
    return max(known, default=None)
