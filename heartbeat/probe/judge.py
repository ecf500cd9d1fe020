"""Evidence -> state. Pure: the readings of the clocks are arguments. Standard library only."""

from __future__ import annotations

from heartbeat.flapping import find_flapping
from heartbeat.probe.health import Health
from heartbeat.probe.holder import pid_of
from heartbeat.probe.instants import seconds_of, span_of, text_of
from heartbeat.probe.supervision import is_being_started, problems_of, unlogged_flapping
from heartbeat.pulse import PERIOD
from heartbeat.starts import asked_by_programs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heartbeat.probe.evidence import Evidence
    from heartbeat.pulse import Pulse

    Problems = tuple[tuple[str, str], ...]

STALE_AFTER = 3 * PERIOD
YOUNG = 15.0
"""A daemon that nobody asked to start has proved nothing before it is so old."""
LATE = 120.0
"""What was due so long before a beat, and is still to be done, is overdue."""
_AHEAD = 60.0
_RECENT = 600.0
_EARLIEST = 1_704_067_200.0  # 2024: a clock before that was never set
_REQUESTS = 3


def judge_health(evidence: Evidence, *, monotonic: float, now: float) -> Health:
    """The state that the evidence proves; *monotonic* and *now* are the readings of the two clocks, in seconds.

    Ages of the pulse are taken from the monotonic clock, so that neither a step of the wall clock nor a suspend
    makes it look stale.
    """
    if _is_absent(evidence):
        return Health("absent", "heartbeat was never started here")
    if evidence.holder is None:
        health = _not_running(evidence, monotonic, now)
    elif not evidence.holder_alive:
        stranger = f"another program holds {evidence.lock_file}; `fuser {evidence.lock_file}` names it"
        health = Health(
            "stalled", "heartbeat does not run, and its lock is taken", problems=(("lock_stranger", stranger),)
        )
    else:
        health = _running(evidence, monotonic, now)
    flapping = find_flapping((start.at for start in evidence.starts if start.is_evidence), now)
    said = evidence.supervised
    flapping = flapping or unlogged_flapping(said, evidence.starts, monotonic=monotonic, now=now)
    if flapping is not None:
        health.state, health.since = "flapping", flapping.since
        health.summary = f"heartbeat flaps: {flapping.message}"
        health.problems = (("flapping", flapping.message), *health.problems)
    by_supervisor = problems_of(said, evidence.holder) if evidence.holder_alive else ()
    health.problems += (*by_supervisor, *evidence.faults, *evidence.ground, *_of_clock(evidence, now))
    if health.state == "up" and health.problems:
        health.state = "degraded"
    if health.state in ("up", "degraded") and health.problems:
        health.summary += f", {_count(len(health.problems), 'problem')}"
    health.recent_starts = sum(1 for start in evidence.starts if now - _RECENT <= start.at <= now)
    health.restarts = said.restarts if said is not None else None
    return health


def _is_absent(evidence: Evidence) -> bool:
    traces = evidence.was_started or evidence.is_installed or evidence.starts or evidence.pulse or evidence.faults
    return evidence.holder is None and not traces


# Nobody holds the lock


def _not_running(evidence: Evidence, monotonic: float, now: float) -> Health:
    sign = _last_sign(evidence, now)
    since_sign = None if sign is None else now - sign
    if is_being_started(evidence.supervised, monotonic=monotonic, since_sign=since_sign):
        return Health("degraded", "heartbeat is being started", since=sign)
    if evidence.is_installed and not evidence.starts and not evidence.pulse:
        message = "it is installed as a service and never started; start it with `heartbeat start`"
        return Health(
            "down", "heartbeat is installed, but never started", problems=(("installed_not_started", message),)
        )
    start = "heartbeat start" if evidence.is_installed else "heartbeat run"
    message = f"no process holds the lock; start it with `{start}`"
    if any(code == "lock_unreadable" for code, _ in evidence.faults):
        message = "no process is known to hold the lock, which cannot be read; ask as its owner, or as root"
    problems = (("not_running", message), *_last_ending(evidence))
    return Health("down", "heartbeat is down", problems=problems, since=sign)


def _last_ending(evidence: Evidence) -> Problems:
    if not evidence.starts:
        return ()
    last = evidence.starts[-1]
    if not last.how:
        return (("ended_lost", f"its last life, begun {text_of(last.at)}, ended without a word"),)
    sender = f"; the signal came from {last.sender}" if last.sender else ""
    return ((f"ended_{last.how}", f"its last life ended {text_of(last.ended_at)}: {last.ending or last.how}{sender}"),)


def _last_sign(evidence: Evidence, now: float) -> float | None:
    """When it was last known to live: since then it is down."""
    last = evidence.starts[-1] if evidence.starts else None
    pulse = evidence.pulse
    signs = [last.ended_at, last.at] if last else []
    signs.append((seconds_of(pulse.written_at) if pulse else None) or 0.0)
    known = [at for at in signs if 0 < at <= now]
    return max(known, default=None)


# Somebody does


def _running(evidence: Evidence, monotonic: float, now: float) -> Health:
    pulse, holder = evidence.pulse, evidence.holder or ""
    problems: Problems = ()
    doubt = _doubt(pulse, holder, monotonic)
    if doubt is None and evidence.holder_stopped:
        doubt = ("process_stopped", f"somebody stopped it (SIGSTOP); `kill -CONT {pid_of(holder)}` lets it go on")
    if doubt is None and pulse is not None and pulse.wedged:
        doubt = ("worker_wedged", f"what should be done long ago still goes on: {pulse.wedged}; restart heartbeat")
    if doubt is not None or pulse is None:
        problems = (doubt,) if doubt else ()
        since = (seconds_of(pulse.written_at) if pulse else None) or _begun(evidence)
        return Health("stalled", "heartbeat runs but does not beat", problems=problems, pid=pid_of(holder), since=since)
    uptime = monotonic - pulse.started_monotonic
    problems = (*_of_start(evidence, uptime, now), *_overdue(pulse), *pulse.problems)
    return Health(
        state="degraded" if problems else "up",
        summary=f"heartbeat is up, {_count(pulse.jobs, 'job')}",
        problems=problems,
        pid=pid_of(holder),
        # Of a lasting problem only the start is known: it began no earlier.
        since=now - uptime,
        uptime_seconds=uptime,
        last_beat_at=pulse.last_beat_at,
        facts=_facts(pulse, monotonic),
    )


def _doubt(pulse: Pulse | None, holder: str, monotonic: float) -> tuple[str, str] | None:
    """Why the pulse does not prove life: (code, message); None when it does."""
    if pulse is None:
        return "pulse_missing", "a process holds the lock but there is no readable pulse"
    if not holder or pulse.owner != holder:
        whose = f"the pulse is of {pulse.owner!r}, but {holder or 'a nameless process'!r} holds the lock"
        return "pulse_foreign", whose
    age = monotonic - pulse.monotonic
    if 0 <= age <= STALE_AFTER:
        return None
    if age < 0:
        return "pulse_future", f"the pulse was written {-age:.0f} s in the future"
    return "pulse_stale", f"the last pulse is {age:.0f} s old; one is due every {PERIOD:.0f} s"


def _of_start(evidence: Evidence, uptime: float, now: float) -> Problems:
    found = []
    is_unread = any(code.startswith("starts_") for code, _ in evidence.faults)
    if not is_unread and not any(start.owner == evidence.holder for start in evidence.starts):
        missing = "it runs, but the log of starts does not tell of this one; restart heartbeat"
        found.append(("starts_missing", missing))
    if not evidence.starts:
        return tuple(found)
    last = evidence.starts[-1]
    if last.is_evidence and len(evidence.starts) > 1 and uptime < YOUNG:
        found.append(("just_restarted", f"it started {uptime:.0f} s ago, and nobody asked for that ({last.why})"))
    requests = asked_by_programs(evidence.starts, now - _RECENT, now)
    if len(requests) >= _REQUESTS:
        names = ", ".join(sorted({start.by for start in requests})[:3])
        found.append(("restart_requests", f"programs asked for {len(requests)} starts within 10 minutes: {names}"))
    return tuple(found)


def _overdue(pulse: Pulse) -> Problems:
    if pulse.overdue:
        return (("overdue", f"it waits for a worker: {pulse.overdue}; see `heartbeat jobs`"),)
    # Both by the daemon's own clock at its last beat: after a suspend it has not had the time to catch up.
    written, due = seconds_of(pulse.written_at), seconds_of(pulse.next_due_at)
    if written is None or due is None or written - due <= LATE:
        return ()
    message = f"what was due {pulse.next_due_at} had not begun {span_of(written - due)} later; see `heartbeat jobs`"
    return (("overdue", message),)


def _of_clock(evidence: Evidence, now: float) -> Problems:
    if now < _EARLIEST:
        return (("clock_wrong", f"the clock of this machine says {text_of(now)}; set it"),)
    pulse = evidence.pulse
    dated = {"a start": max((start.at for start in evidence.starts), default=0.0)}
    for name in ("written_at", "started_at", "last_beat_at", "last_run_at"):
        dated["the pulse"] = max(dated.get("the pulse", 0.0), seconds_of(getattr(pulse, name, "")) or 0.0)
    ahead = [f"{what} is dated {text_of(at)}, which is yet to come" for what, at in dated.items() if at > now + _AHEAD]
    return (("clock_wrong", "; ".join(ahead) + "; was the clock set back?"),) if ahead else ()


def _begun(evidence: Evidence) -> float | None:
    return evidence.starts[-1].at if evidence.starts else None


def _facts(pulse: Pulse, monotonic: float) -> tuple[tuple[str, float], ...]:
    counts = ("jobs", "items", "findings", "wakes", "messages")
    return (
        ("pulse_age_seconds", monotonic - pulse.monotonic),
        *((name, float(getattr(pulse, name))) for name in counts),
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
