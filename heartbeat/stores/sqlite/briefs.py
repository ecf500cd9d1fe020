"""The morning brief: what waits to be told, and what a consumed brief has told."""

from __future__ import annotations

import sqlite3
from datetime import date, datetime, timedelta

from heartbeat.clock import from_text, new_id, to_text
from heartbeat.model import OWNER, Brief, FindingEvent, State
from heartbeat.stores.sqlite import findings, tallies
from heartbeat.stores.sqlite.rows import instant, read_incident, read_ledger_finding, reader, text

WAITING = 200
"""So many of the things that are still to be told are named, the oldest."""
_LOOK_BACK = timedelta(days=1)
"""What the first brief counts."""

_ITEMS = "SELECT * FROM findings WHERE state = 'brief' AND first_seen_at >= ? ORDER BY first_seen_at, rowid"
# An incident is told when it opens and when it is over; once, if it was over before the first brief.
_INCIDENTS = """
    SELECT * FROM incidents WHERE resolve_told = 0 AND (open_told = 0 OR resolved_at IS NOT NULL)
    AND max(opened_at, coalesce(resolved_at, '')) >= ? ORDER BY opened_at, rowid"""
_UNDELIVERED = """
    SELECT id FROM messages WHERE told = 0 AND state IN ('failed', 'expired') AND created_at >= ?
    ORDER BY created_at, rowid"""
_UNSETTLED = "FROM wakes {join} WHERE wakes.state IN ('pending', 'sending')"
_WITH_AGENT = f"""
    SELECT coalesce(day, substr(until, 1, 10)) AS day, agent
    {_UNSETTLED.format(join="JOIN briefs ON briefs.id = wakes.brief_id")} ORDER BY wakes.rowid"""
_FOR_OWNER = f"SELECT id {_UNSETTLED.format(join='')} AND agent = ?"
_TELL_INCIDENT = """
    UPDATE incidents SET open_told = 1, open_brief = CASE WHEN open_told THEN open_brief ELSE :brief END,
    resolve_told = resolved_at IS NOT NULL, resolve_brief = CASE WHEN resolved_at IS NOT NULL THEN :brief END
    WHERE id = :id"""
# One that is dated ahead was made under a clock that was wrong.
_BEFORE = "SELECT until FROM briefs WHERE until <= ? ORDER BY until DESC LIMIT 1"


def read(db: sqlite3.Connection, now: datetime, since: datetime | None) -> Brief:
    """What has not been told; nothing is changed."""
    after = instant(since) or ""
    before = db.execute(_BEFORE, (to_text(now),)).fetchone()
    last = _read_until(before) if before else None
    return Brief(
        id=new_id("brief", now),
        since=last,
        until=now,
        items=tuple(map(read_ledger_finding, db.execute(_ITEMS, (after,)))),
        incidents=tuple(map(read_incident, db.execute(_INCIDENTS, (after,)))),
        waiting=tuple(findings.waiting(db, WAITING)),
        undelivered=tuple(row["id"] for row in db.execute(_UNDELIVERED, (after,))),
        for_owner=frozenset(row["id"] for row in db.execute(_FOR_OWNER, (OWNER,))),
        with_agent=tuple(map(_read_with_agent, db.execute(_WITH_AGENT))),
        tally=tallies.count(db, last or now - _LOOK_BACK, now),
    )


@reader
def _read_until(row: sqlite3.Row) -> datetime:
    return from_text(row["until"])


@reader
def _read_with_agent(row: sqlite3.Row) -> tuple[date, str]:
    return date.fromisoformat(row["day"]), row["agent"]


def consume(db: sqlite3.Connection, now: datetime, since: datetime | None) -> Brief:
    """The same, told from now on; a brief with nothing in it leaves no trace."""
    brief = read(db, now, since)
    if not brief.is_empty:
        enter(db, brief)
    return brief


def enter(db: sqlite3.Connection, brief: Brief, said: str = "", *, file: bool = False) -> None:
    """What is in it is told from now on; with *file* it is still to be written to one."""
    day = brief.day and brief.day.isoformat()
    columns = (brief.id, instant(brief.since), to_text(brief.until), len(brief.items), day, text(said), brief.urgency)
    db.execute(
        "INSERT INTO briefs (id, since, until, items, day, text, urgency, file) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*columns, "due" if file else None),
    )
    event = FindingEvent(brief.until, State.BRIEFED, "brief", "a brief told of it", brief_id=brief.id)
    findings.move(db, [item.id for item in brief.items], event)
    db.executemany(_TELL_INCIDENT, [{"id": incident.id, "brief": brief.id} for incident in brief.incidents])
    db.executemany(
        "UPDATE messages SET told = 1, told_brief = ? WHERE id = ?", [(brief.id, each) for each in brief.undelivered]
    )
