"""Verbs about time: `jobs`, `next`, `slots`, `clock`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import merge
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

import typer

from heartbeat.cli.shell import instant, shell, table, when
from heartbeat.clock import local, utc_now
from heartbeat.errors import NotFound
from heartbeat.job import Job
from heartbeat.model import ClockEvent, JobState, Run, Slot
from heartbeat.schedule import identity_of, next_slot
from heartbeat.slots import LATE, is_rewound, pending
from heartbeat.text import one_line

_TINY = timedelta.resolution


def register(app: typer.Typer) -> None:
    app.command()(jobs)
    app.command(name="next")(next_verb)
    app.command()(slots)
    app.command()(clock)


def jobs() -> None:
    """List the jobs with their last run, its verdict and the next slot."""
    call = shell("jobs")
    config, now, zone = call.config(), utc_now(), call.zone()
    with call.ledger_to_read() as ledger:
        last, states = ledger.last_runs(), ledger.states()
    rows = [_job(job, last.get(job.name), _Future(job, states.get(job.name), now, now)) for job in config.jobs.values()]
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
    call.show({"jobs": rows}, lambda: table(headers, cells, "no job is configured; `heartbeat init` writes a start"))


def next_verb(
    job: str = typer.Argument(None, help="Only this job."),
    count: int = typer.Option(5, "-n", min=1, max=1000, help="How many instants."),
    start: str = typer.Option(None, "--from", metavar="ISO", help="After this instant instead of now."),
) -> None:
    """List the coming due instants, and what is known to keep a job from running then."""
    call = shell("next")
    config, now, zone = call.config(), utc_now(), call.zone()
    after = instant(start, "--from") if start is not None else now
    if job is not None:
        require_known(job, config.jobs)
    chosen = [item for item in config.jobs.values() if item.enabled and job in (None, item.name)]
    with call.ledger_to_read() as ledger:
        states = ledger.states()
    futures = [_Future(item, states.get(item.name), after, now) for item in chosen]
    # Lazily: of 500 jobs each with its own next thousand, only the first thousand of all are reckoned.
    found = list(islice(merge(*(future.entries() for future in futures)), count))
    data = {"next": [{"job": name, "at": local(at, zone), "note": note} for at, name, note in found]}
    headers = ("AT", "JOB", "NOTE") if any(note for _, _, note in found) else ("AT", "JOB")
    cells = [(when(at, zone), name, note)[: len(headers)] for at, name, note in found]
    call.show(data, lambda: table(headers, cells, _why_nothing(config.jobs.get(job or ""))))


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
    zone = call.zone()
    headers = ("JOB", "SLOT", "STATE", "RUN", "REASON")
    cells = [(slot.job, _span(slot, zone), str(slot.state), slot.run_id or "-", slot.reason) for slot in found]
    call.show({"slots": [_slot(slot) for slot in found]}, lambda: table(headers, cells, "nothing came due yet"))


def clock(limit: int = typer.Option(20, "-n", min=1, max=1000)) -> None:
    """List what happened to the clock while the daemon ran: suspends, steps, standstills, another zone."""
    call = shell("clock")
    with call.ledger_to_read() as ledger:
        found = ledger.clock_events(limit)
    zone = call.zone()
    headers = ("NOTICED", "WHAT", "SECONDS", "DETAIL")
    cells = [(when(each.at, zone), each.kind, f"{each.seconds:.1f}", one_line(each.detail, 100)) for each in found]
    data = {"events": [_event(each) for each in found]}
    call.show(data, lambda: table(headers, cells, "nothing happened to the clock"))


def _why_nothing(job: Job | None) -> str:
    if job is None:
        return "nothing is due"
    return f"{job.name} is disabled" if not job.enabled else f"{job.name} is not due any more"


def require_known(job: str, known: Collection[str]) -> None:
    if job not in known:
        raise NotFound(f"cannot find the job {job!r}; known jobs: {', '.join(sorted(known)[:50]) or 'none'}")


@dataclass(frozen=True, slots=True)
class _Future:
    """The coming slots of a job, as far as its configuration and what is known of it tell."""

    job: Job
    state: JobState | None
    after: datetime
    now: datetime

    @property
    def _begun(self) -> JobState | None:
        """What is known of the schedule as it is now: another one begins anew, and so does one from a wrong clock."""
        state = self.state
        if state is None or state.begins_anew_as(identity_of(self.job.timing)) or is_rewound(state, self.now):
            return None
        return state

    @property
    def is_read(self) -> bool:
        """Whether the daemon goes by this schedule already."""
        return self._begun is not None

    def entries(self) -> Iterator[tuple[datetime, str, str]]:
        """Instant, job, and what is known to keep it from running then."""
        at = self._next(self.after)
        while at is not None:
            yield at, self.job.name, self._note(at)
            at = self._next(at)

    def _next(self, after: datetime) -> datetime | None:
        anchor = self._begun.anchor_at if self._begun else self.after
        return next_slot(self.job.timing, after, anchor=anchor)

    def _note(self, at: datetime) -> str:
        if self._begun is None:
            return "the daemon has not read this yet"
        if self.job.policy.paused:
            return "paused"
        until = self.state.backoff_until if self.state else None
        return "backing off" if until is not None and at < until else ""

    def next_run(self) -> datetime | None:
        """The next slot that will run, as far as one can tell."""
        if not self.job.enabled or self.job.policy.paused:
            return None
        until = self.state.backoff_until if self.state else None
        return self._next(max(self.after, until - _TINY) if until else self.after)

    def overdue_since(self) -> datetime | None:
        """The first slot that should have got its fate by now: the daemon does not run, or is behind."""
        if not self.job.enabled or self._begun is None:
            return None
        first = pending(self.job.timing, self._begun)
        return first if first is not None and self.now - first > LATE else None


def _next_cell(row: dict[str, Any], zone: ZoneInfo) -> str:
    if row["paused"]:
        return "paused"
    if row["next_at"] and not row["is_read"]:
        return f"{when(row['next_at'], zone)} (the daemon has not read this yet)"
    overdue = f" (overdue since {when(row['overdue_since'], zone)})" if row["overdue_since"] else ""
    return when(row["next_at"], zone) + overdue


def _span(slot: Slot, zone: ZoneInfo) -> str:
    if slot.last_at == slot.slot_at:
        return when(slot.slot_at, zone)
    return f"{when(slot.slot_at, zone)} to {when(slot.last_at, zone)} ({slot.count or 'many'})"


def _job(job: Job, last: Run | None, future: _Future) -> dict[str, Any]:
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
