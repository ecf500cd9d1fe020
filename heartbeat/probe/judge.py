"""Evidence -> state. Pure: the readings of the clocks are arguments. Standard library only."""

from __future__ import annotations

from heartbeat.flapping import find_flapping
from heartbeat.probe.health import Health
from heartbeat.probe.holder import pid_of
from heartbeat.probe.instants import local_of, seconds_of, span_of
from heartbeat.probe.judge_idle import judge_idle
from heartbeat.probe.supervision import problems_of, unlogged_flapping
from heartbeat.pulse import PERIOD
from heartbeat.starts import asked_by_programs, evidence_of

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
"""So many starts within ten minutes that programs asked for, installing aside, are a restarter's work."""


def judge_health(evidence: Evidence, *, monotonic: float, now: float) -> Health:
    """The state that the evidence proves; *monotonic* and *now* are the readings of the two clocks, in seconds.

    Ages of the pulse are taken from the monotonic clock, so that neither a step of the wall clock nor a suspend
    makes it look stale.
    """
    if _is_absent(evidence):
        return Health("absent", "heartbeat was never started here")
    if evidence.holder is None:
        health = judge_idle(evidence, monotonic, now)
    elif not evidence.holder_alive:
        stranger = f"another program holds {evidence.lock_file}; `fuser {evidence.lock_file}` names it"
        health = Health(
            "stalled", "heartbeat does not run, and its lock is taken", problems=(("lock_stranger", stranger),)
        )
    else:
        health = _running(evidence, monotonic, now)
    flapping = find_flapping(evidence_of(evidence.starts), now)
    said = evidence.supervised
    flapping = flapping or unlogged_flapping(said, evidence.starts, monotonic=monotonic, now=now)
    if flapping is not None:
        health.state, health.since = "flapping", flapping.since
        health.summary = f"heartbeat flaps: {flapping.message}"
        health.problems = (("flapping", flapping.message), *health.problems)
    by_supervisor = problems_of(said, evidence.holder) if evidence.holder_alive else ()
    health.problems += (
        *by_supervisor,
        *evidence.faults,
        *evidence.ground,
        *_of_clock(evidence, now, beats=health.state in ("up", "degraded")),
    )
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


# Somebody holds the lock


def _running(evidence: Evidence, monotonic: float, now: float) -> Health:
    pulse, holder = evidence.pulse, evidence.holder or ""
    problems: Problems = ()
    doubt = _doubt(pulse, holder, monotonic)
    stopped: Problems = ()
    if evidence.holder_stopped:
        stopped = (("process_stopped", f"somebody stopped it (SIGSTOP); `kill -CONT {pid_of(holder)}` lets it go on"),)
    if doubt is None and pulse is not None and pulse.wedged:
        doubt = ("worker_wedged", f"what should be done long ago still goes on: {pulse.wedged}; restart heartbeat")
    if doubt is not None or stopped or pulse is None:
        problems = (*stopped, doubt) if doubt else stopped  # why it does not beat before that it does not
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
        return "pulse_foreign", _whose(pid_of(pulse.owner), pid_of(holder))
    age = monotonic - pulse.monotonic
    if 0 <= age <= STALE_AFTER:
        return None
    if age < 0:
        return "pulse_future", f"the pulse was written {-age:.0f} s in the future"
    return "pulse_stale", f"the last pulse is {age:.0f} s old; one is due every {PERIOD:.0f} s"


def _whose(beats: int | None, holds: int | None) -> str:
    of = f"process {beats}" if beats else "a process that it does not name"
    if beats and beats == holds:
        return f"the pulse is of an earlier {of}, not of the one that holds the lock now; restart heartbeat"
    return f"the pulse is of {of}, but {f'process {holds}' if holds else 'one without a name'} holds the lock"


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
    return (*found, *_of_requests(evidence, now))


def _of_requests(evidence: Evidence, now: float) -> Problems:
    """Programs that ask again and again; whoever installs it anew asks for no restart."""
    asked = asked_by_programs(evidence.starts, now - _RECENT, now)
    asked = sorted(
        (start for start in asked if not start.by.startswith("heartbeat install ")), key=lambda each: each.at
    )
    if len(asked) < _REQUESTS:
        return ()
    ends = local_of(asked[-_REQUESTS].at + _RECENT)
    who = "; ".join(dict.fromkeys(start.by for start in reversed(asked[-_REQUESTS:])))
    message = f"programs asked for {len(asked)} starts within 10 minutes, the latest {local_of(asked[-1].at)}: {who}"
    hint = f"take it out of that script or crontab; when no more come, this is over at {ends}"
    return (("restart_requests", f"{message}; {hint}"),)


def _overdue(pulse: Pulse) -> Problems:
    if pulse.overdue:
        return (("overdue", f"it waits for a worker: {pulse.overdue}; see `heartbeat jobs`"),)
    # Both by the daemon's own clock at its last beat: after a suspend it has not had the time to catch up.
    written, due = seconds_of(pulse.written_at), seconds_of(pulse.next_due_at)
    if written is None or due is None or written - due <= LATE:
        return ()
    message = f"what was due {local_of(due)} had not begun {span_of(written - due)} later; see `heartbeat jobs`"
    return (("overdue", message),)


def _of_clock(evidence: Evidence, now: float, *, beats: bool) -> Problems:
    if now < _EARLIEST:
        return (("clock_wrong", f"the clock of this machine says {local_of(now)}; set it"),)
    if beats:
        return ()  # by the clock that only runs; what was dated before a clock was set back says nothing of today
    pulse = evidence.pulse
    dated = {"a start": max((start.at for start in evidence.starts), default=0.0)}
    for name in ("written_at", "started_at", "last_beat_at", "last_run_at"):
        dated["the pulse"] = max(dated.get("the pulse", 0.0), seconds_of(getattr(pulse, name, "")) or 0.0)
    ahead = [f"{what} is dated {local_of(at)}, which is yet to come" for what, at in dated.items() if at > now + _AHEAD]
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
