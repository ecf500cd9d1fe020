"""Streaks of faults, and the incidents they become: raised once, resolved once."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import datetime, timedelta

from heartbeat.clock import new_id, to_text
from heartbeat.model import FaultChange, Incident, Streak
from heartbeat.stores.sqlite.rows import instant, read_incident, read_streak, reader, text, when

_CALM, _HEARD = timedelta(hours=1), timedelta(days=1)
_FLAPS = """
    SELECT max(resolved_at) > :calm AND max(CASE WHEN told > 0 THEN resolved_at END) > :heard AS flaps
    FROM incidents WHERE subject = :subject"""
_LATEST = """
    SELECT incidents.*, streaks.faults, streaks.last_ok_at FROM incidents
    LEFT JOIN streaks ON streaks.subject = incidents.subject AND incidents.resolved_at IS NULL
    WHERE incidents.resolved_at IS NULL OR NOT ? ORDER BY incidents.rowid DESC LIMIT ?"""


def streaks(db: sqlite3.Connection, job: str) -> dict[str, Streak]:
    """The streaks of *job* and of its sources, by subject."""
    job = text(job)
    # '0' follows '/': all that starts with `source:JOB/`, whatever signs the names hold.
    rows = db.execute(
        "SELECT * FROM streaks WHERE subject = ? OR (subject >= ? AND subject < ?)",
        (f"job:{job}", f"source:{job}/", f"source:{job}0"),
    )
    return {streak.subject: streak for streak in map(read_streak, rows)}


def apply(db: sqlite3.Connection, change: FaultChange, now: datetime) -> None:
    streak = change.streak
    db.execute(
        "INSERT INTO streaks (subject, faults, message, last_ok_at) VALUES (?, ?, ?, ?) ON CONFLICT (subject) "
        "DO UPDATE SET faults = excluded.faults, message = excluded.message, last_ok_at = excluded.last_ok_at",
        (text(streak.subject), streak.faults, text(streak.message), instant(streak.last_ok_at)),
    )
    if change.opens and open_(db, streak.subject, change.code, streak.message, now) is None:
        # Whoever reads of an incident wants to mend what is wrong now.
        db.execute(
            "UPDATE incidents SET code = ?, message = ? WHERE subject = ? AND resolved_at IS NULL",
            (change.code, text(streak.message), text(streak.subject)),
        )
    if change.resolves:
        resolve(db, streak.subject, now)


def open_(db: sqlite3.Connection, subject: str, code: str, message: str, now: datetime) -> Incident | None:
    """The incident that now is open, and when the owner is to hear of it: at once; None when one was open.

    A subject that comes and goes, of which the owner heard lately, is told of when it has failed for long.
    """
    lately = {"subject": text(subject), "calm": to_text(now - _CALM), "heard": to_text(now - _HEARD)}
    tell_at = now + _CALM if db.execute(_FLAPS, lately).fetchone()["flaps"] else now
    incident = Incident(new_id("inc", now), text(subject), code, text(message), now, tell_at=tell_at)
    entered = db.execute(
        "INSERT INTO incidents (id, subject, code, message, opened_at, tell_at) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        (incident.id, incident.subject, incident.code, incident.message, to_text(now), to_text(tell_at)),
    )
    return incident if entered.rowcount else None


def resolve(db: sqlite3.Connection, subject: str, now: datetime, *, closed: str = "") -> Incident | None:
    """The incident that now is resolved; None when none was open. An owner who never heard of it need not now.

    One that is *closed* for another reason than that it is well again says so, and is left to the brief.
    """
    row = db.execute(
        "UPDATE incidents SET resolved_at = :now, tell_at = CASE WHEN told > 0 AND :closed = '' THEN :now END, "
        "message = CASE WHEN :closed = '' THEN message ELSE :closed || '; it was: ' || message END "
        "WHERE subject = :subject AND resolved_at IS NULL RETURNING *",
        {"now": to_text(now), "subject": text(subject), "closed": text(closed)},
    ).fetchone()
    return row and read_incident(row)


def latest(db: sqlite3.Connection, limit: int, *, open_only: bool) -> list[Incident]:
    """Newest first; the open ones with their streaks."""
    return [_with_streak(row) for row in db.execute(_LATEST, (open_only, limit))]


@reader
def _with_streak(row: sqlite3.Row) -> Incident:
    return replace(read_incident(row), faults=row["faults"] or 0, last_ok_at=when(row["last_ok_at"]))
