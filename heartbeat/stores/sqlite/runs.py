"""Jobs, slots and runs: each due instant has one fate, each job one run at a time."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from heartbeat.clock import to_text
from heartbeat.errors import NotFound, Refused
from heartbeat.model import Captured, Execution, JobState, Judgement, Run
from heartbeat.ports import Alive
from heartbeat.stores.sqlite.rows import instant, read_job_state, read_run, text, to_json

STDOUT_HEAD, STDOUT_TAIL = 8 * 1024, 8 * 1024
STDERR_HEAD, STDERR_TAIL = 2 * 1024, 4 * 1024
"""Bytes of a run's output that are kept."""


def find_job_state(db: sqlite3.Connection, job: str) -> JobState | None:
    row = db.execute("SELECT * FROM jobs WHERE job = ?", (text(job),)).fetchone()
    return row and read_job_state(row)


def anchor(db: sqlite3.Connection, job: str, at: datetime) -> None:
    """Enter *job*, anchored at *at*, unless it is known."""
    db.execute("INSERT INTO jobs (job, anchor_at) VALUES (?, ?) ON CONFLICT DO NOTHING", (text(job), to_text(at)))


def claim(db: sqlite3.Connection, run: Run, owner: str, note: str) -> None:
    busy = db.execute("SELECT id, started_at FROM runs WHERE job = ? AND state = 'running'", (run.job,)).fetchone()
    if busy:
        raise Refused(
            f"cannot run {run.job!r}: its run {busy['id']}, started {busy['started_at']}, is not finished; "
            "wait until it is"
        )
    anchor(db, run.job, run.started_at)
    if run.slot_at is not None:
        _claim_slot(db, run, run.slot_at, note)
    db.execute(
        "INSERT INTO runs (id, job, trigger, slot_at, owner, state, started_at) VALUES (?, ?, ?, ?, ?, 'running', ?)",
        (run.id, run.job, run.trigger, instant(run.slot_at), owner, instant(run.started_at)),
    )


def _claim_slot(db: sqlite3.Connection, run: Run, slot_at: datetime, note: str) -> None:
    slot = (run.job, to_text(slot_at))
    claimed = db.execute(
        "INSERT INTO slots (job, slot_at, state, reason, run_id, at) VALUES (?, ?, 'claimed', ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        (*slot, text(note), run.id, instant(run.started_at)),
    )
    if not claimed.rowcount:
        fate = db.execute("SELECT state, run_id FROM slots WHERE job = ? AND slot_at = ?", slot).fetchone()
        by = f" by run {fate['run_id']}" if fate["run_id"] else ""
        raise Refused(f"cannot run {run.job!r} for {slot[1]}: that slot is {fate['state']}{by}; run it by hand instead")
    _advance(db, run.job, slot_at)


def skip(db: sqlite3.Connection, job: str, slot_at: datetime, reason: str, now: datetime) -> None:
    anchor(db, job, now)
    db.execute(
        "INSERT INTO slots (job, slot_at, state, reason, at) VALUES (?, ?, 'skipped', ?, ?) ON CONFLICT DO NOTHING",
        (job, to_text(slot_at), text(reason), to_text(now)),
    )
    _advance(db, job, slot_at)


def _advance(db: sqlite3.Connection, job: str, slot_at: datetime) -> None:
    # In the transaction of the claim: a schedule that moves on later, or earlier, doubles or loses the slot.
    db.execute(
        "UPDATE jobs SET last_slot_at = max(coalesce(last_slot_at, ''), ?) WHERE job = ?", (to_text(slot_at), job)
    )


def move_on(db: sqlite3.Connection, job: str, now: datetime) -> None:
    anchor(db, job, now)
    db.execute(
        "UPDATE jobs SET anchor_at = :now, last_slot_at = :now WHERE job = :job", {"now": to_text(now), "job": job}
    )


def require_running(db: sqlite3.Connection, run_id: str) -> None:
    state = get(db, run_id).state
    if state != "running":
        raise Refused(f"cannot end the run {run_id}: it is {state} already; run the job again")


def finish(db: sqlite3.Connection, run: Run, execution: Execution, judgement: Judgement, at: datetime) -> None:
    """Enter how a running run ended, and its slot as run."""
    stdout = cut(execution.stdout, STDOUT_HEAD, STDOUT_TAIL)
    stderr = cut(execution.stderr, STDERR_HEAD, STDERR_TAIL)
    gate = judgement.gate
    sources = [(source.name, source.ok, source.items, source.message) for source in gate.sources] if gate else []
    db.execute(
        "UPDATE runs SET state = 'ended', ended_at = ?, verdict = ?, code = ?, reason = ?, hint = ?, exit_code = ?, "
        "signal = ?, stdout_head = ?, stdout_tail = ?, stdout_dropped = ?, stderr_head = ?, stderr_tail = ?, "
        "stderr_dropped = ?, sources = ?, data = ?, context = ? WHERE id = ?",
        (
            *(to_text(at), judgement.verdict, judgement.code, text(judgement.reason), text(judgement.hint)),
            *(execution.exit_code, execution.signal),
            *(stdout.head, stdout.tail, stdout.dropped, stderr.head, stderr.tail, stderr.dropped),
            *(to_json(sources), to_json(gate.data if gate else None)),
            text(judgement.context) if judgement.verdict == "wake" else "",
            run.id,
        ),
    )
    _end_slot(db, run.id, "ran", "", at)


def abandon(db: sqlite3.Connection, run_id: str, reason: str, now: datetime) -> None:
    require_running(db, run_id)
    db.execute(
        "UPDATE runs SET state = 'interrupted', ended_at = ?, reason = ? WHERE id = ?",
        (to_text(now), text(reason), run_id),
    )
    _end_slot(db, run_id, "interrupted", reason, now)


def _end_slot(db: sqlite3.Connection, run_id: str, state: str, reason: str, at: datetime) -> None:
    """Give the slot of a run its fate; the note of its claim stays when there is no *reason*."""
    db.execute(
        "UPDATE slots SET state = ?, reason = coalesce(nullif(?, ''), reason), at = ? "
        "WHERE (job, slot_at) = (SELECT job, slot_at FROM runs WHERE id = ?)",
        (state, text(reason), to_text(at), run_id),
    )


def orphaned(db: sqlite3.Connection, alive: Alive) -> list[str]:
    """The running runs whose process is gone."""
    running = db.execute("SELECT id, owner FROM runs WHERE state = 'running' ORDER BY rowid").fetchall()
    return [row["id"] for row in running if not alive(row["owner"])]


def interrupt(db: sqlite3.Connection, alive: Alive, now: datetime) -> list[Run]:
    gone = orphaned(db, alive)
    for run_id in gone:
        abandon(db, run_id, "its process ended before the run did", now)
    return [get(db, run_id) for run_id in gone]


def get(db: sqlite3.Connection, run_id: str) -> Run:
    row = db.execute("SELECT * FROM runs WHERE id = ?", (text(run_id),)).fetchone()
    if row is None:
        raise NotFound(f"cannot find the run {run_id!r}; `heartbeat runs` shows those there are")
    return read_run(row)


def latest(db: sqlite3.Connection, job: str | None, limit: int) -> list[Run]:
    """Newest first."""
    if job is None:
        rows = db.execute("SELECT * FROM runs ORDER BY rowid DESC LIMIT ?", (limit,))
    else:
        rows = db.execute("SELECT * FROM runs WHERE job = ? ORDER BY rowid DESC LIMIT ?", (text(job), limit))
    return [read_run(row) for row in rows]


def latest_of_each(db: sqlite3.Connection) -> dict[str, Run]:
    rows = db.execute(
        "SELECT runs.* FROM jobs JOIN runs ON runs.rowid = (SELECT max(rowid) FROM runs WHERE job = jobs.job)"
    )
    return {run.job: run for run in map(read_run, rows)}


def cut(captured: Captured, head: int, tail: int) -> Captured:
    """The first *head* and last *tail* bytes, and how many are left out in all."""
    first, last = captured.head, captured.tail
    if not captured.dropped:
        whole = first + last
        first, last = whole[:head], whole[head:]
    first, last = first[:head], last[-tail:]
    return Captured(first, last, captured.total - len(first) - len(last))
