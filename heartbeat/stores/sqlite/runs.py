"""Runs: each job has one at a time, and each run ends once."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime

from heartbeat.clock import from_text, to_text
from heartbeat.errors import NotFound, Refused, SlotTaken
from heartbeat.model import Captured, Execution, Judgement, Run, SlotState, Source, Verdict
from heartbeat.ports import Alive
from heartbeat.stores.sqlite import jobs, slots
from heartbeat.stores.sqlite.rows import instant, reader, text, to_json, when

STDOUT_HEAD, STDOUT_TAIL = 8 * 1024, 8 * 1024
STDERR_HEAD, STDERR_TAIL = 2 * 1024, 4 * 1024
"""Bytes of a run's output that are kept."""


def claim(db: sqlite3.Connection, run: Run, owner: str, note: str, *, again: bool) -> SlotTaken | None:
    """Enter *run*, or return why not when its slot has a fate: not raised, so that the schedule's step is kept."""
    busy = db.execute("SELECT id, started_at FROM runs WHERE job = ? AND state = 'running'", (run.job,)).fetchone()
    if busy:
        raise Refused(
            f"cannot run {run.job!r}: its run {busy['id']}, started {busy['started_at']}, is not finished; "
            "wait until it is"
        )
    jobs.anchor(db, run.job, run.started_at)
    taken = slots.claim(db, run, run.slot_at, note, again=again) if run.slot_at else None
    if taken is not None:
        return taken
    db.execute(
        "INSERT INTO runs (id, job, trigger, slot_at, owner, state, started_at) VALUES (?, ?, ?, ?, ?, 'running', ?)",
        (run.id, run.job, run.trigger, instant(run.slot_at), owner, instant(run.started_at)),
    )
    return None


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
    slots.end(db, run.id, SlotState.RAN, "", at)


def abandon(db: sqlite3.Connection, run_id: str, reason: str, now: datetime) -> None:
    require_running(db, run_id)
    db.execute(
        "UPDATE runs SET state = 'interrupted', ended_at = ?, reason = ? WHERE id = ?",
        (to_text(now), text(reason), run_id),
    )
    slots.end(db, run_id, SlotState.INTERRUPTED, reason, now)


def orphaned(db: sqlite3.Connection, alive: Alive) -> list[str]:
    """The running runs whose process is gone."""
    running = db.execute("SELECT id, owner FROM runs WHERE state = 'running' ORDER BY rowid").fetchall()
    return [row["id"] for row in running if not alive(row["owner"])]


def interrupt(db: sqlite3.Connection, alive: Alive, now: datetime) -> list[Run]:
    gone = orphaned(db, alive)
    for run_id in gone:
        abandon(db, run_id, "heartbeat's process ended before the run did", now)
    return [get(db, run_id) for run_id in gone]


def get(db: sqlite3.Connection, run_id: str) -> Run:
    row = db.execute("SELECT * FROM runs WHERE id = ?", (text(run_id),)).fetchone()
    if row is None:
        raise NotFound(f"cannot find the run {run_id!r}; `heartbeat runs` shows those there are")
    return _read_run(row)


def latest(db: sqlite3.Connection, job: str | None, limit: int) -> list[Run]:
    """Newest first."""
    if job is None:
        rows = db.execute("SELECT * FROM runs ORDER BY rowid DESC LIMIT ?", (limit,))
    else:
        rows = db.execute("SELECT * FROM runs WHERE job = ? ORDER BY rowid DESC LIMIT ?", (text(job), limit))
    return [_read_run(row) for row in rows]


def latest_of_each(db: sqlite3.Connection) -> dict[str, Run]:
    rows = db.execute(
        "SELECT runs.* FROM jobs JOIN runs ON runs.rowid = (SELECT max(rowid) FROM runs WHERE job = jobs.job)"
    )
    return {run.job: run for run in map(_read_run, rows)}


def ended_since(db: sqlite3.Connection, since: datetime) -> list[str]:
    """The ids of the runs that ended from then on, in the order in which they did."""
    rows = db.execute(
        "SELECT id FROM runs WHERE ended_at >= ? AND state = 'ended' ORDER BY ended_at, rowid", (to_text(since),)
    )
    return [row["id"] for row in rows]


def cut(captured: Captured, head: int, tail: int) -> Captured:
    """The first *head* and last *tail* bytes, and how many are left out in all."""
    first, last = captured.head, captured.tail
    if not captured.dropped:
        whole = first + last
        first, last = whole[:head], whole[head:]
    first, last = first[:head], last[-tail:]
    return Captured(first, last, captured.total - len(first) - len(last))


@reader
def _read_run(row: sqlite3.Row) -> Run:
    return Run(
        id=row["id"],
        job=row["job"],
        trigger=row["trigger"],
        slot_at=when(row["slot_at"]),
        started_at=from_text(row["started_at"]),
        state=row["state"],
        ended_at=when(row["ended_at"]),
        verdict=Verdict(row["verdict"]) if row["verdict"] is not None else None,
        code=row["code"],
        reason=row["reason"],
        hint=row["hint"],
        exit_code=row["exit_code"],
        signal=row["signal"],
        stdout=Captured(row["stdout_head"] or b"", row["stdout_tail"] or b"", row["stdout_dropped"]),
        stderr=Captured(row["stderr_head"] or b"", row["stderr_tail"] or b"", row["stderr_dropped"]),
        sources=tuple(Source(*fields) for fields in json.loads(row["sources"])),
        data=json.loads(row["data"]),
        context=row["context"],
    )
