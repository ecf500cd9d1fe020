"""Findings: entered once for each thing to tell, moved from state to state, each move kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from heartbeat.clock import new_id
from heartbeat.errors import NotFound
from heartbeat.model import Change, Finding, FindingEvent, LedgerFinding, State
from heartbeat.stores.sqlite.rows import (
    finding_columns,
    from_trace,
    instant,
    one_of,
    read_event,
    read_ledger_finding,
    text,
)

_INSERT = """
    INSERT INTO findings (
        id, job, key, version, change, state, rule, reason, current, first_seen_at, last_seen_at,
        run_id, wake_id, held_until, title, kind, body, urgency, useful_until, starts_at, occurred_at, source, url,
        origin, when_absent, absences, scope, data
    ) VALUES (
        :id, :job, :key, :version, :change, :state, :rule, :reason, :current, :at, :at,
        :run_id, :wake_id, :held_until, :title, :kind, :body, :urgency, :useful_until, :starts_at, :occurred_at,
        :source, :url, :origin, :when_absent, :absences, :scope, :data
    )"""


def insert(
    db: sqlite3.Connection,
    job: str,
    finding: Finding,
    change: Change,
    event: FindingEvent,
    *,
    until: datetime | None,
) -> str:
    """Enter a thing to tell, born with *event*; it is what its key stands for, unless it is a retraction.

    One that is held is so until then.
    """
    finding_id = new_id("fnd", event.at)
    db.execute(
        _INSERT,
        {
            "id": finding_id,
            "job": job,
            "change": change,
            "state": event.state,
            "rule": event.rule,
            "reason": text(event.reason),
            "current": change is not Change.RETRACTION,
            "at": instant(event.at),
            "run_id": event.run_id,
            "wake_id": event.wake_id,
            "held_until": _held_until(event, until),
        }
        | finding_columns(finding),
    )
    _enter_event(db, [finding_id], event)
    return finding_id


def move(
    db: sqlite3.Connection, finding_ids: Sequence[str], event: FindingEvent, until: datetime | None = None
) -> None:
    """Put findings into the state of *event*; a wake or brief it does not name stays on record."""
    held_until = _held_until(event, until)
    db.executemany(
        "UPDATE findings SET state = ?, rule = ?, reason = ?, wake_id = coalesce(?, wake_id), "
        "brief_id = coalesce(?, brief_id), held_until = ? WHERE id = ?",
        [
            (event.state, event.rule, text(event.reason), event.wake_id, event.brief_id, held_until, finding_id)
            for finding_id in finding_ids
        ],
    )
    _enter_event(db, finding_ids, event)


def hold_on(db: sqlite3.Connection, finding_id: str, event: FindingEvent, until: datetime | None) -> None:
    """It is held already and stays so until then; an event of its own only when another rule wants it now."""
    (before,) = db.execute("SELECT rule FROM findings WHERE id = ?", (finding_id,)).fetchone()
    db.execute(
        "UPDATE findings SET held_until = ?, rule = ?, reason = ? WHERE id = ?",
        (_held_until(event, until), event.rule, text(event.reason), finding_id),
    )
    if event.rule != before:
        _enter_event(db, [finding_id], event)


def _held_until(event: FindingEvent, until: datetime | None) -> str | None:
    # A hold without an end would be forgotten for ever: it is looked at again the next time.
    return instant(until or event.at) if event.state is State.HELD else None


def touch(db: sqlite3.Connection, reported: Iterable[tuple[str, Finding]], at: datetime) -> None:
    """They were reported again: what is told stays as it was, what their absence means is as the script says now.

    One that is held, and is of use for another time now, is due to be decided again.
    """
    db.executemany(
        "UPDATE findings SET last_seen_at = :at, missed = 0, unsure = 0, when_absent = :absent, absences = :absences, "
        "source = :source, scope = :scope, useful_until = :useful, held_until = CASE "
        "WHEN held_until IS NOT NULL AND useful_until IS NOT :useful THEN :at ELSE held_until END WHERE id = :id",
        [
            {
                "at": instant(at),
                "useful": instant(finding.useful_until),
                "absent": finding.when_absent,
                "absences": finding.absences,
                "source": text(finding.source),
                "scope": text(finding.scope),
                "id": finding_id,
            }
            for finding_id, finding in reported
        ],
    )


def weigh(db: sqlite3.Connection, finding_id: str, finding: Finding) -> None:
    """It is as urgent as it was reported now."""
    db.execute("UPDATE findings SET urgency = ? WHERE id = ?", (finding.urgency, finding_id))


def miss(db: sqlite3.Connection, finding_ids: Iterable[str]) -> None:
    """A run could have reported them and did not."""
    db.executemany("UPDATE findings SET missed = missed + 1 WHERE id = ?", [(each,) for each in finding_ids])


def doubt(db: sqlite3.Connection, job: str, at: datetime) -> None:
    """The options changed with the run that ended then: what it did not report need not be gone."""
    db.execute(
        "UPDATE findings SET unsure = 1 WHERE job = ? AND current = 1 AND when_absent <> 'keep' AND last_seen_at < ?",
        (text(job), instant(at)),
    )


def retire(db: sqlite3.Connection, finding_id: str) -> None:
    """It is no longer what its key stands for."""
    db.execute("UPDATE findings SET current = 0 WHERE id = ?", (finding_id,))


def restore(db: sqlite3.Connection, finding_id: str) -> None:
    """It is what its key stands for again."""
    db.execute("UPDATE findings SET current = 1 WHERE id = ?", (finding_id,))


def replaced(db: sqlite3.Connection, finding_ids: Iterable[str]) -> set[str]:
    """Those whose key has had something newer that was told, or is to be: an update, a retraction, a return."""
    return {
        finding_id
        for finding_id in finding_ids
        if db.execute(
            "SELECT 1 FROM findings AS old JOIN findings AS new ON new.key = old.key AND new.job = old.job "
            "AND new.rowid > old.rowid AND new.state NOT IN ('dropped', 'withdrawn') WHERE old.id = ?",
            (finding_id,),
        ).fetchone()
    }


def get(db: sqlite3.Connection, finding_id: str) -> LedgerFinding:
    row = db.execute("SELECT * FROM findings WHERE id = ?", (text(finding_id),)).fetchone()
    if row is None:
        raise NotFound(f"cannot find the finding {finding_id!r}; `heartbeat ledger list` shows those there are")
    events = db.execute("SELECT * FROM finding_events WHERE finding_id = ? ORDER BY rowid", (row["id"],))
    return replace(read_ledger_finding(row), events=tuple(map(read_event, events)))


def latest(
    db: sqlite3.Connection, job: str | None, state: str | None, key: str | None, limit: int
) -> list[LedgerFinding]:
    """Newest first."""
    one_of("findings", state, tuple(State))
    rows = db.execute(
        "SELECT * FROM findings WHERE (:job IS NULL OR job = :job) AND (:state IS NULL OR state = :state) "
        "AND (:key IS NULL OR key = :key) ORDER BY rowid DESC LIMIT :limit",
        {"job": job and text(job), "state": state, "key": key and text(key), "limit": limit},
    )
    return [read_ledger_finding(row) for row in rows]


def waiting(db: sqlite3.Connection, limit: int) -> list[LedgerFinding]:
    """What is held or in a wake, oldest first."""
    rows = db.execute(
        "SELECT * FROM findings WHERE state IN ('held', 'wake') ORDER BY first_seen_at, rowid LIMIT ?", (limit,)
    )
    return [read_ledger_finding(row) for row in rows]


def _enter_event(db: sqlite3.Connection, finding_ids: Sequence[str], event: FindingEvent) -> None:
    columns = (
        *(instant(event.at), event.state, event.rule, text(event.reason)),
        *(event.run_id, event.wake_id, event.brief_id, from_trace(event.trace)),
    )
    db.executemany(
        "INSERT INTO finding_events (finding_id, at, state, rule, reason, run_id, wake_id, brief_id, trace) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(finding_id, *columns) for finding_id in finding_ids],
    )
