"""The morning brief: what waits to be told, and what a consumed brief has told."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from heartbeat.clock import from_text, new_id, to_text
from heartbeat.model import Brief, FindingEvent, State
from heartbeat.stores.sqlite import findings
from heartbeat.stores.sqlite.rows import instant, read_incident, read_ledger_finding, reader


def read(db: sqlite3.Connection, now: datetime, since: datetime | None) -> Brief:
    """What has not been told; nothing is changed."""
    after = instant(since) or ""
    items = db.execute(
        "SELECT * FROM findings WHERE state = 'brief' AND first_seen_at >= ? ORDER BY first_seen_at, rowid", (after,)
    )
    # An incident is told when it opens and when it is over; once, if it was over before the first brief.
    incidents = db.execute(
        "SELECT * FROM incidents WHERE resolve_told = 0 AND (open_told = 0 OR resolved_at IS NOT NULL) "
        "AND max(opened_at, coalesce(resolved_at, '')) >= ? ORDER BY opened_at, rowid",
        (after,),
    )
    before = db.execute("SELECT until FROM briefs ORDER BY rowid DESC LIMIT 1").fetchone()
    return Brief(
        id=new_id("brief", now),
        since=_read_until(before) if before else None,
        until=now,
        items=tuple(map(read_ledger_finding, items)),
        incidents=tuple(map(read_incident, incidents)),
    )


@reader
def _read_until(row: sqlite3.Row) -> datetime:
    return from_text(row["until"])


def consume(db: sqlite3.Connection, now: datetime, since: datetime | None) -> Brief:
    """The same, told from now on; a brief with nothing in it leaves no trace."""
    brief = read(db, now, since)
    if not brief.items and not brief.incidents:
        return brief
    db.execute(
        "INSERT INTO briefs (id, since, until, items) VALUES (?, ?, ?, ?)",
        (brief.id, instant(brief.since), to_text(now), len(brief.items)),
    )
    event = FindingEvent(now, State.BRIEFED, "brief", "a brief told of it", brief_id=brief.id)
    findings.move(db, [item.id for item in brief.items], event)
    db.executemany(
        "UPDATE incidents SET open_told = 1, resolve_told = resolved_at IS NOT NULL WHERE id = ?",
        [(incident.id,) for incident in brief.incidents],
    )
    return brief
