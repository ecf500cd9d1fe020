"""Messages about incidents: when one begins, while it goes on, and when it is over."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from heartbeat.clock import from_text, to_text
from heartbeat.model import Draft, Incident
from heartbeat.stores.sqlite import messages
from heartbeat.stores.sqlite.rows import instant, read_incident, reader

# The plus keeps SQLite from walking all the incidents there ever were.
_DUE = "SELECT * FROM incidents WHERE tell_at <= ? ORDER BY +rowid"
# What another process has told meanwhile, or what is over meanwhile, is not told from what was known before.
_TELL = """
    UPDATE incidents SET told = told + :more, tell_at = :next
    WHERE id = :id AND told = :told AND resolved_at IS :resolved"""


def due(db: sqlite3.Connection, now: datetime) -> list[Incident]:
    """Oldest first."""
    return [read_incident(row) for row in db.execute(_DUE, (to_text(now),))]


def next_due(db: sqlite3.Connection) -> datetime | None:
    row = db.execute("SELECT tell_at FROM incidents WHERE tell_at IS NOT NULL ORDER BY tell_at LIMIT 1").fetchone()
    return None if row is None else _read_tell_at(row)


@reader
def _read_tell_at(row: sqlite3.Row) -> datetime:
    return from_text(row["tell_at"])


def enter(
    db: sqlite3.Connection, incident: Incident, drafts: Sequence[Draft], tell_at: datetime | None, now: datetime
) -> bool:
    """Without drafts it only waits until *tell_at*: nobody was told."""
    if not _enter(db, incident, tell_at, is_told=bool(drafts)):
        return False
    messages.post(db, [replace(draft, incident_id=incident.id) for draft in drafts], now)
    return True


def enter_all(
    db: sqlite3.Connection,
    due: Sequence[tuple[Incident, datetime | None]],
    compose: Callable[[Sequence[Incident]], Sequence[Draft]],
    now: datetime,
) -> int:
    """Several that share their messages."""
    entered = [incident for incident, tell_at in due if _enter(db, incident, tell_at, is_told=True)]
    if entered:
        messages.post(db, compose(entered), now)
    return len(entered)


def _enter(db: sqlite3.Connection, incident: Incident, tell_at: datetime | None, *, is_told: bool) -> bool:
    values = {"id": incident.id, "told": incident.told, "resolved": instant(incident.resolved_at)}
    return bool(db.execute(_TELL, values | {"more": is_told, "next": instant(tell_at)}).rowcount)


def release(db: sqlite3.Connection, now: datetime) -> None:
    """What began under a clock that was ahead, and nobody was told of, is due."""
    sql = "UPDATE incidents SET tell_at = :now WHERE tell_at > :now AND told = 0 AND opened_at > :now"
    db.execute(sql, {"now": to_text(now)})
