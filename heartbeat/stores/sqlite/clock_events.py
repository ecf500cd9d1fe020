"""What happened to the clock, as the daemon noticed it."""

from __future__ import annotations

import sqlite3

from heartbeat.clock import from_text, to_text
from heartbeat.model import ClockEvent
from heartbeat.stores.sqlite.rows import reader, text


def enter(db: sqlite3.Connection, event: ClockEvent) -> None:
    db.execute(
        "INSERT INTO clock_events (at, kind, seconds, detail) VALUES (?, ?, ?, ?)",
        (to_text(event.at), event.kind, event.seconds, text(event.detail)),
    )


def latest(db: sqlite3.Connection, limit: int) -> list[ClockEvent]:
    """Newest first, in the order of entering: the clock itself is what went back."""
    return [_read(row) for row in db.execute("SELECT * FROM clock_events ORDER BY rowid DESC LIMIT ?", (limit,))]


@reader
def _read(row: sqlite3.Row) -> ClockEvent:
    return ClockEvent(from_text(row["at"]), row["kind"], row["seconds"], row["detail"])
