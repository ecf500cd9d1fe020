"""Briefs that are to be kept in the owner's file: remembered from the moment they are made until they stand there."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import date, datetime

from heartbeat.stores.sqlite import undelivered
from heartbeat.stores.sqlite.rows import reader, text

# One that gave up its day, because the clock was wrong, has that of its instant.
_DUE = """
    SELECT id, coalesce(day, substr(until, 1, 10)) AS day, text FROM briefs
    WHERE file = 'due' ORDER BY until, rowid"""


def due(db: sqlite3.Connection) -> list[tuple[str, date, str]]:
    """Id, day and text, oldest first."""
    return [_read(row) for row in db.execute(_DUE)]


@reader
def _read(row: sqlite3.Row) -> tuple[str, date, str]:
    return row["id"], date.fromisoformat(row["day"]), row["text"]


def enter(db: sqlite3.Connection, brief_ids: Sequence[str]) -> None:
    """They stand in the file."""
    db.executemany(
        "UPDATE briefs SET file = 'written' WHERE id = ? AND file = 'due'", [(text(each),) for each in brief_ids]
    )


def abandon(db: sqlite3.Connection, brief_id: str, reason: str, now: datetime) -> None:
    """It goes to no file any more; what nobody else tells is in the next brief."""
    left = db.execute("UPDATE briefs SET file = NULL WHERE id = ? AND file = 'due'", (text(brief_id),))
    if left.rowcount:
        undelivered.give_back(db, None, brief_id, reason, now)
