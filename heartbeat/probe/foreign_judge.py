"""The evidence of another daemon -> its state.

Pure: the readings of the clocks are arguments. Standard library only.
"""

from __future__ import annotations

from heartbeat.flapping import WINDOW, find_flapping
from heartbeat.probe.foreign_proof import NONE, STALLED, belongs_to, weigh
from heartbeat.probe.foreign_trouble import judge_platforms, judge_service
from heartbeat.probe.health import Health
from heartbeat.probe.instants import span_of, text_of
from heartbeat.probe.supervision import GRACE, unlogged_flapping
from heartbeat.starts import Start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heartbeat.flapping import Flapping
    from heartbeat.probe.foreign import Evidence
    from heartbeat.probe.processes import Process
    from heartbeat.probe.watched import Target

    Problems = tuple[tuple[str, str], ...]

_DEAD = "pid_dead", "which does not run"
_REUSED = "pid_reused", "which is another one by now"
YOUNG = 30.0
"""A process younger than this has proved nothing yet."""


def judge_target(target: Target, evidence: Evidence, *, now: float, monotonic: float) -> Health:
    """The state that the evidence proves: without a live process of its own, or without fresh proof, it is never up."""
    name = target.name
    if not target.is_judgeable:
        return Health("down", f"{name} cannot be judged", target=name, problems=target.problems)
    if not evidence.is_installed:
        problems = (*evidence.restarters, *target.problems)
        summary = f"{name} is not installed"
        return Health("absent", summary, target=name, problems=problems, unseen=evidence.unseen)
    main = find_main(evidence)
    if main is None:
        health = Health("down", f"{name} is down", problems=_missing(target, evidence), since=_last_sign(evidence, now))
    else:
        health = _of_running(target, evidence, main, now, monotonic)
    flapping = _flapping(evidence, now, monotonic)
    if flapping is not None:
        health.state, health.since = "flapping", flapping.since
        health.summary = f"{name} is crash-looping, {flapping.message}"
        health.problems = (("flapping", flapping.message), *health.problems)
    service = judge_service(target, evidence, main)
    around = (*evidence.restarters, *service)
    # Of what does not live, first why.
    told = (*around, *health.problems) if health.is_live else (*health.problems, *around)
    health.problems = (*told, *evidence.faults, *target.problems)
    health.unseen = evidence.unseen
    if health.state == "up" and health.problems:
        health.state, health.since = "degraded", None
    if health.state == "degraded":
        count = len(health.problems)
        health.summary += f", {count} problem{'s' if count > 1 else ''}"
    health.target = name
    health.recent_starts = sum(1 for at in evidence.starts if now - WINDOW <= at <= now)
    health.restarts = max((each.restarts for each in evidence.supervised if each.restarts is not None), default=None)
    return health


def find_main(evidence: Evidence) -> Process | None:
    """The process that the evidence is of; a number that another process has by now names nobody."""
    certain: list[Process] = []
    doubtful: list[Process] = []
    for reading in evidence.readings:
        process = evidence.processes.get(reading.pid or 0)
        belongs = process and process.alive and belongs_to(reading, process, evidence)
        if process and belongs is not False and process.alive:
            (certain if belongs else doubtful).append(process)
    by_supervisor = [evidence.processes.get(each.pid or 0) for each in evidence.supervised]
    return next((each for each in (*certain, *by_supervisor, *doubtful) if each and each.alive), None)


def _of_running(target: Target, evidence: Evidence, main: Process, now: float, monotonic: float) -> Health:
    uptime = None if main.started_at is None else max(now - main.started_at, 0.0)
    proof = weigh(target, evidence, main, now, monotonic)
    is_new = uptime is not None and uptime < (GRACE if proof.kind == NONE else YOUNG)
    is_stalled = proof.kind == STALLED or (proof.kind == NONE and not is_new)
    problems = proof.problems
    if is_new:
        code = "restarting" if proof.kind == NONE else "young"
        problems = (
            (code, f"process {main.pid} began {span_of(uptime or 0.0)} ago, and has proved little yet"),
            *problems,
        )
    elif proof.kind == NONE:
        problems = (("unproven", f"process {main.pid} runs, but no file of its own says that it works"), *problems)
    channels, of_platforms = judge_platforms(target, evidence.state if proof.knows_state else None)
    return Health(
        "stalled" if is_stalled else "up",
        f"{target.name} runs, but gives no sign of work" if is_stalled else f"{target.name} is up{channels}",
        problems=(*problems, *of_platforms),
        since=main.started_at if proof.beat is None or not is_stalled else proof.beat,
        pid=main.pid,
        uptime_seconds=uptime,
        last_beat_at=None if proof.beat is None else text_of(proof.beat),
    )


def _missing(target: Target, evidence: Evidence) -> Problems:
    """Why no process can be found: each reason once, with every file that gives it."""
    found: list[tuple[str, str]] = []
    paths: dict[tuple[str, str], list[str]] = {}
    for reading in evidence.readings:
        process = evidence.processes.get(reading.pid or 0)
        if reading.fault:
            found.append(reading.fault)
        elif process is not None:
            reason = _REUSED if process.alive else _DEAD
            paths.setdefault((reason[0], f"process {process.pid}, {reason[1]}"), []).append(reading.path)
        elif not reading.is_touched:  # what only is touched names none, ever
            paths.setdefault(("pid_missing", "no process"), []).append(reading.path)
    for (code, what), places in paths.items():
        found.append((code, f"{' and '.join(places)} name{'s' if len(places) == 1 else ''} {what}"))
    if target.state_file and evidence.state is None:
        found.append(("state_missing", f"there is no {target.state_file}"))
    is_said = any(
        not (each.fault or each.pid) for each in evidence.supervised
    )  # its unit, which has no process, is the reason
    return tuple(found) if found or is_said else (("pid_missing", "nothing names a process of it"),)


def _last_sign(evidence: Evidence, now: float) -> float | None:
    """When anything of it was last heard."""
    return max((each.written_at for each in evidence.readings if 0 < each.written_at <= now), default=None)


def _flapping(evidence: Evidence, now: float, monotonic: float) -> Flapping | None:
    starts = [Start(at) for at in evidence.starts]
    counted = (unlogged_flapping(each, starts, monotonic=monotonic, now=now) for each in evidence.supervised)
    return find_flapping(evidence.starts, now) or next(filter(None, counted), None)
