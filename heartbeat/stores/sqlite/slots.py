"""Due instants and their fates: one row for each, or for a stretch of those that ended alike.

What counts for an instant is the row of its own, else the stretch that holds it. A fate is kept whatever is entered
after it, unless it is dated so far ahead that it was entered under a clock that was wrong.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta

from heartbeat.clock import from_text, to_text
from heartbeat.errors import Refused, SlotTaken
from heartbeat.model import Run, Slot, SlotState
from heartbeat.ports import TRUSTED
from heartbeat.stores.sqlite import jobs
from heartbeat.stores.sqlite.rows import one_of, reader, text

# Two stretches hold the same instant only when the later dated one was entered under a wrong clock.
# The plus keeps SQLite from walking all the earlier slots of a job instead of its stretches.
_HOLDING = """
    SELECT * FROM (
        SELECT * FROM slots WHERE {job} slot_at = :at
        UNION SELECT * FROM slots WHERE {job} last_at > slot_at AND last_at >= :at AND +slot_at <= :at
    ) ORDER BY job, last_at > slot_at, at, slot_at"""
_LATEST = "SELECT * FROM slots {where} ORDER BY slot_at DESC, job LIMIT :limit"
_KEEP_REST = """
    INSERT INTO slots (job, slot_at, last_at, count, state, reason, run_id, attempts, at)
    SELECT job, :rest, last_at, NULL, state, reason, run_id, attempts, at FROM slots
    WHERE job = :job AND slot_at = :slot AND last_at > slot_at ON CONFLICT DO NOTHING"""
_CLAIM = """
    INSERT INTO slots (job, slot_at, last_at, count, state, reason, run_id, attempts, at)
    VALUES (:job, :slot, :slot, 1, 'claimed', :note, :run, 1, :at)
    ON CONFLICT (job, slot_at) DO UPDATE SET last_at = excluded.last_at, count = 1, state = 'claimed',
    reason = excluded.reason, run_id = excluded.run_id, attempts = attempts + 1, at = excluded.at"""
_END = """
    UPDATE slots SET state = ?, reason = coalesce(nullif(?, ''), reason), at = ?
    WHERE (job, slot_at) = (SELECT job, slot_at FROM runs WHERE id = ?)"""


def claim(db: sqlite3.Connection, run: Run, slot_at: datetime, note: str, *, again: bool) -> SlotTaken | None:
    """Enter the slot of *run* as claimed, or return why not, when it has a fate. The schedule goes on either way."""
    slot, now = to_text(slot_at), to_text(run.started_at)
    if slot > now:
        raise Refused(f"cannot run {run.job!r} for {slot}: it is only {now}; wait until then, or run it by hand")
    fate = _fate(db, run, slot_at)
    if fate is not None and not (again and fate["state"] == SlotState.INTERRUPTED):
        # Not to the end of a stretch: that may lie ahead, after a clock that was set forward and back.
        jobs.advance(db, [(text(run.job), slot)], run.started_at)
        by = f" by run {fate['run_id']}" if fate["run_id"] else ""
        return SlotTaken(f"cannot run {run.job!r} for {slot}: that slot is {fate['state']}{by}; run it by hand instead")
    values = {"job": text(run.job), "slot": slot, "note": text(note), "run": run.id, "at": now}
    # A stretch that begins here was entered under a clock that was wrong; the others in it have not come due again.
    db.execute(_KEEP_REST, values | {"rest": to_text(slot_at + timedelta.resolution)})
    db.execute(_CLAIM, values)
    jobs.advance(db, [(text(run.job), slot)], run.started_at)
    return None


def _fate(db: sqlite3.Connection, run: Run, slot_at: datetime) -> sqlite3.Row | None:
    rows = db.execute(_HOLDING.format(job="job = :job AND"), {"job": text(run.job), "at": to_text(slot_at)})
    now, trusted = to_text(run.started_at), to_text(run.started_at + TRUSTED)
    return next((row for row in rows if row["at"] <= (trusted if row["run_id"] else now) and holds(row, slot_at)), None)


def holds(row: sqlite3.Row, slot: datetime) -> bool:
    """Whether a row stands for *slot*: when a clock was set back, others come due between those of an interval."""
    first, apart = _grid(row)
    return not apart or not (slot - first) % apart


@reader
def _grid(row: sqlite3.Row) -> tuple[datetime, timedelta]:
    """The first slot of a row, and how far those of an interval lie apart."""
    first, last, count = from_text(row["slot_at"]), from_text(row["last_at"]), row["count"]
    return first, (last - first) / (count - 1) if last > first and count is not None else timedelta()


def end(db: sqlite3.Connection, run_id: str, state: SlotState, reason: str, at: datetime) -> None:
    """Give the slot of a run its fate; the note of its claim stays when there is no *reason*."""
    db.execute(_END, (state, text(reason), to_text(at), run_id))


def latest(db: sqlite3.Connection, job: str | None, state: str | None, limit: int, at: datetime | None) -> list[Slot]:
    """Newest first; with *at*, what counts for that instant."""
    one_of("slots", state, tuple(SlotState))
    values = {"job": job and text(job), "state": state, "limit": limit}
    if at is not None:
        rows = db.execute(
            _HOLDING.format(job="job = :job AND" if job is not None else ""), values | {"at": to_text(at)}
        )
        counting: dict[str, Slot] = {}
        for slot in (_read(row) for row in rows if holds(row, at)):
            counting.setdefault(slot.job, slot)
        return [slot for slot in counting.values() if state in (None, slot.state)][:limit]
    known = [f"{name} = :{name}" for name in ("job", "state") if values[name] is not None]
    rows = db.execute(_LATEST.format(where="WHERE " + " AND ".join(known) if known else ""), values)
    return [_read(row) for row in rows]


@reader
def _read(row: sqlite3.Row) -> Slot:
    return Slot(
        job=row["job"],
        slot_at=from_text(row["slot_at"]),
        last_at=from_text(row["last_at"]),
        count=row["count"],
        state=SlotState(row["state"]),
        reason=row["reason"],
        run_id=row["run_id"],
        at=from_text(row["at"]),
        attempts=row["attempts"],
    )
