"""Verbs about time: `jobs`, `next`, `slots`, `clock`."""

from __future__ import annotations

from collections.abc import Collection
from heapq import merge
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

import typer

from heartbeat.cli.future import UNREAD, Future
from heartbeat.cli.shell import instant, localized, shell, table, when
from heartbeat.clock import local, utc_now
from heartbeat.errors import NotFound
from heartbeat.job import Job
from heartbeat.model import ClockEvent, Run, Slot
from heartbeat.text import one_line


def register(app: typer.Typer) -> None:
    app.command()(jobs)
    app.command(name="next")(next_verb)
    app.command()(slots)
    app.command()(clock)


def jobs() -> None:
    """List the jobs with their last run, its verdict and the next slot."""
    call = shell("jobs")
    config, now, zone = call.config(), utc_now(), call.here()
    with call.ledger_to_read() as ledger:
        last, states = ledger.last_runs(), ledger.states()
    rows = [_job(job, last.get(job.name), Future(job, states.get(job.name), now, now)) for job in config.jobs.values()]
    headers = ("JOB", "SCHEDULE", "LAST RUN", "VERDICT", "NEXT")
    cells = [
        (
            row["job"],
            row["schedule"] if row["enabled"] else "disabled",
            when(row["last_run_at"], zone),
            row["verdict"] or "-",
            _next_cell(row, zone),
        )
        for row in rows
    ]
    call.show(
        {"jobs": rows}, lambda: table(headers, cells, "no job is configured; `heartbeat init` writes a start"), zone
    )


def next_verb(
    job: str = typer.Argument(None, help="Only this job."),
    count: int = typer.Option(5, "-n", min=1, max=1000, help="How many instants."),
    start: str = typer.Option(None, "--from", metavar="ISO", help="After this instant instead of now."),
) -> None:
    """List the coming due instants, and what is known to keep a job from running then."""
    call = shell("next")
    config, now, zone = call.config(), utc_now(), call.here()
    after = instant(start, "--from") if start is not None else now
    if job is not None:
        require_known(job, config.jobs)
    chosen = [item for item in config.jobs.values() if item.enabled and job in (None, item.name)]
    with call.ledger_to_read() as ledger:
        states = ledger.states()
    futures = [Future(item, states.get(item.name), after, now) for item in chosen]
    # Lazily: of 500 jobs each with its own next thousand, only the first thousand of all are reckoned.
    found = list(islice(merge(*(future.entries() for future in futures)), count))
    # What has no instant yet has none here: one that moves with each call would be believed.
    data = {
        "next": [
            {"job": each.job, "at": None if each.is_at_once else local(each.at, zone), "note": each.note}
            for each in found
        ]
    }
    headers = ("AT", "JOB", "NOTE") if any(each.note for each in found) else ("AT", "JOB")
    cells = [
        ("at once" if each.is_at_once else when(each.at, zone), each.job, each.note)[: len(headers)] for each in found
    ]
    call.show(data, lambda: table(headers, cells, _why_nothing(config.jobs.get(job or ""))), zone)


def slots(
    job: str = typer.Argument(None, help="Only of this job."),
    limit: int = typer.Option(20, "-n", min=1, max=10_000),
    state: str = typer.Option(None, "--state", help="Only claimed (it runs), ran, skipped, missed or interrupted."),
) -> None:
    """List what became of the latest due instants, newest first; `heartbeat why JOB@INSTANT` says it of one."""
    call = shell("slots")
    with call.ledger_to_read() as ledger:
        found = ledger.slots(job, state, limit)
        if job is not None and not found:
            require_known(job, {*ledger.states(), *call.config().jobs})
    zone = call.here()
    headers = ("JOB", "SLOT", "STATE", "RUN", "REASON")
    cells = [
        (slot.job, _span(slot, zone), str(slot.state), slot.run_id or "-", localized(slot.reason, zone))
        for slot in found
    ]
    call.show({"slots": [_slot(slot) for slot in found]}, lambda: table(headers, cells, "nothing came due yet"), zone)


def clock(limit: int = typer.Option(20, "-n", min=1, max=1000)) -> None:
    """List what happened to the clock while the daemon ran: suspends, steps, standstills, another zone."""
    call = shell("clock")
    with call.ledger_to_read() as ledger:
        found = ledger.clock_events(limit)
    zone = call.here()
    headers = ("NOTICED", "WHAT", "SECONDS", "DETAIL")
    cells = [
        (when(each.at, zone), each.kind, f"{each.seconds:.1f}", one_line(localized(each.detail, zone), 100))
        for each in found
    ]
    data = {"events": [_event(each) for each in found]}
    call.show(data, lambda: table(headers, cells, "nothing happened to the clock"), zone)


def _why_nothing(job: Job | None) -> str:
    if job is None:
        return "nothing is due"
    return f"{job.name} is disabled" if not job.enabled else f"{job.name} is not due any more"


def require_known(job: str, known: Collection[str]) -> None:
    if job not in known:
        raise NotFound(f"cannot find the job {job!r}; known jobs: {', '.join(sorted(known)[:50]) or 'none'}")


def _next_cell(row: dict[str, Any], zone: ZoneInfo) -> str:
    if row["paused"]:
        return "paused"
    if row["at_once"]:
        return f"at once ({UNREAD})"
    if row["next_at"] and not row["is_read"]:
        return f"{when(row['next_at'], zone)} ({UNREAD})"
    overdue = f" (overdue since {when(row['overdue_since'], zone)})" if row["overdue_since"] else ""
    return when(row["next_at"], zone) + overdue


def _span(slot: Slot, zone: ZoneInfo) -> str:
    if slot.last_at == slot.slot_at:
        return when(slot.slot_at, zone)
    return f"{when(slot.slot_at, zone)} to {when(slot.last_at, zone)} ({slot.count or 'many'})"


def _job(job: Job, last: Run | None, future: Future) -> dict[str, Any]:
    return {
        "job": job.name,
        "enabled": job.enabled,
        "paused": job.policy.paused,
        "schedule": job.schedule,
        "zone": job.timing.zone.key,
        "script": str(job.script),
        "last_run_id": last.id if last else None,
        "last_run_at": last.started_at if last else None,
        "verdict": (last.verdict or last.state) if last else None,
        "next_at": future.next_run(),
        "at_once": future.is_at_once,
        "overdue_since": future.overdue_since(),
        "is_read": future.is_read,
    }


def _slot(slot: Slot) -> dict[str, Any]:
    return {
        "job": slot.job,
        "slot_at": slot.slot_at,
        "last_at": slot.last_at,
        "count": slot.count,
        "state": slot.state,
        "reason": slot.reason,
        "run_id": slot.run_id,
        "attempts": slot.attempts,
        "at": slot.at,
    }


def _event(happened: ClockEvent) -> dict[str, Any]:
    return {
        "at": happened.at,
        "kind": happened.kind,
        "seconds": happened.seconds,
        "detail": happened.detail,
    }
