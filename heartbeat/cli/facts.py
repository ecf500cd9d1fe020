"""`heartbeat jobs`, `next`, `runs`, `why`: what is, what comes, what was, and the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

import typer

from heartbeat.cli.reasons import reasons
from heartbeat.cli.shell import instant, shell, table, verdict_fields, when
from heartbeat.clock import local, utc_now
from heartbeat.durations import show_duration
from heartbeat.errors import NotFound
from heartbeat.job import Job
from heartbeat.model import Action, Run, Step
from heartbeat.ports import Ledger
from heartbeat.schedule import At, Cron, Every, Schedule, next_slot
from heartbeat.text import one_line


def register(app: typer.Typer) -> None:
    app.command()(jobs)
    app.command(name="next")(next_verb)
    app.command()(runs)
    app.command()(why)


def jobs() -> None:
    """List the jobs with their last run, its verdict and the next slot."""
    call = shell("jobs")
    config, now = call.config(), utc_now()
    zone = ZoneInfo(config.settings.owner.zone)
    with call.ledger_to_read() as ledger:
        last = ledger.last_runs()
        rows = [_job(job, last.get(job.name), _next(ledger, job, now, zone)) for job in config.jobs.values()]
    headers = ("JOB", "SCHEDULE", "LAST RUN", "VERDICT", "NEXT")
    cells = [
        (
            row["job"],
            row["schedule"] if row["enabled"] else "disabled",
            when(row["last_run_at"], zone),
            row["verdict"] or "-",
            when(row["next_at"], zone),
        )
        for row in rows
    ]
    call.show({"jobs": rows}, lambda: table(headers, cells, "no job is configured; `heartbeat init` writes a start"))


def next_verb(
    job: str = typer.Argument(None, help="Only this job."),
    count: int = typer.Option(5, "-n", min=1, max=1000, help="How many instants."),
    start: str = typer.Option(None, "--from", metavar="ISO", help="After this instant instead of now."),
) -> None:
    """List the coming due instants."""
    call = shell("next")
    config = call.config()
    zone = ZoneInfo(config.settings.owner.zone)
    after = instant(start, "--from") if start is not None else utc_now()
    if job is not None:
        _require_known(job, config.jobs)
    chosen = [item for item in config.jobs.values() if item.enabled and job in (None, item.name)]
    with call.ledger_to_read() as ledger:
        found = [(at, item.name) for item in chosen for at in _upcoming(ledger, item, after, zone, count)]
    found = sorted(found)[:count]
    data = {"next": [{"job": name, "at": local(at, zone)} for at, name in found]}
    call.show(data, lambda: table(("AT", "JOB"), [(when(at, zone), name) for at, name in found], "nothing is due"))


def runs(
    job: str = typer.Argument(None, help="Only of this job."),
    limit: int = typer.Option(20, "-n", min=1, max=10_000),
) -> None:
    """List the latest runs, newest first."""
    call = shell("runs")
    with call.ledger_to_read() as ledger:
        found = ledger.runs(job, limit)
        if job is not None and not found:
            _require_known(job, {*ledger.last_runs(), *call.config().jobs})
        became = [_became(decision.action for _, decision in ledger.decisions(run.id)) for run in found]
    zone = call.zone()
    rows = [
        (run.id, run.job, when(run.started_at, zone), str(run.verdict or run.state), findings, one_line(run.reason, 60))
        for run, findings in zip(found, became, strict=True)
    ]
    headers = ("ID", "JOB", "STARTED", "VERDICT", "FINDINGS", "REASON")
    call.show({"runs": [_run(run) for run in found]}, lambda: table(headers, rows, "nothing ran yet"))


def _became(actions: Iterable[Action]) -> str:
    """What became of a run's findings: a verdict `wake` tells only what the script asked for."""
    return ", ".join(f"{count} {action}" for action, count in Counter(actions).items()) or "-"


def why(
    subject: str = typer.Argument(metavar="ID", help="A run (run_…), finding (fnd_…), wake (wake_…) or incident."),
) -> None:
    """Say, rule by rule, why something woke the agent, was held, was a duplicate, or went to the brief."""
    call = shell("why")
    with call.ledger_to_read() as ledger:
        kind, steps = reasons(ledger, subject)
    data = {
        "id": subject,
        "kind": kind,
        "steps": [{"rule": step.rule, "outcome": step.outcome, "reason": step.reason} for step in steps],
    }
    call.show(data, lambda: "\n".join([f"{kind} {subject}", *_lines(steps)]))


def _require_known(job: str, known: Collection[str]) -> None:
    if job not in known:
        raise NotFound(f"cannot find the job {job!r}; known jobs: {', '.join(sorted(known)) or 'none'}")


def _lines(steps: Sequence[Step]) -> Iterator[str]:
    """A line a step; rules that had nothing to say share one."""
    for passed, group in groupby(steps, key=lambda step: step.outcome == "passed"):
        if passed:
            yield f"  not by     {', '.join(step.rule for step in group)}"
        else:
            yield from (f"  {step.rule:<10} {step.outcome:<10} {one_line(step.reason, 300)}".rstrip() for step in group)


def _next(ledger: Ledger, job: Job, now: datetime, zone: ZoneInfo) -> datetime | None:
    """The next slot that will run: those within a back-off are skipped."""
    state = ledger.peek_state(job.name)
    until = state.backoff_until if state else None
    after = max(now, until - timedelta(microseconds=1)) if until else now
    return next(iter(_upcoming(ledger, job, after, zone, 1)), None)


def _upcoming(ledger: Ledger, job: Job, after: datetime, zone: ZoneInfo, count: int) -> list[datetime]:
    """The next slots of a job; an interval not begun yet counts from *after*."""
    state = ledger.peek_state(job.name)
    anchor = state.anchor_at if state else after
    found: list[datetime] = []
    at: datetime | None = after
    while at is not None and len(found) < count and job.enabled:
        try:
            at = next_slot(job.schedule, at, anchor=anchor, zone=zone)
        except OverflowError:
            at = None  # the calendar ends with the year 9999
        found += [at] if at else []
    return found


def show_schedule(schedule: Schedule) -> str:
    match schedule:
        case Every(period):
            return f"every {show_duration(period)}"
        case Cron(expression):
            return f"cron {expression}"
        case At(at):
            return f"at {at.isoformat()}"


def _job(job: Job, last: Run | None, next_at: datetime | None) -> dict[str, Any]:
    return {
        "job": job.name,
        "enabled": job.enabled,
        "schedule": show_schedule(job.schedule),
        "script": str(job.script),
        "last_run_id": last.id if last else None,
        "last_run_at": last.started_at if last else None,
        "verdict": (last.verdict or last.state) if last else None,
        "next_at": next_at,
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "job": run.job,
        "trigger": run.trigger,
        "slot_at": run.slot_at,
        "state": run.state,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        **verdict_fields(run.verdict, run.code, run.reason, run.hint),
        "exit_code": run.exit_code,
        "signal": run.signal,
    }
