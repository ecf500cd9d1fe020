"""Wakes as they are looked at: with what they carry and every attempt."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from heartbeat.errors import NotFound
from heartbeat.model import Wake
from heartbeat.stores.sqlite.rows import one_of, read_attempt, read_ledger_finding, read_wake, text

_STATES = ("pending", "sending", "settled", "failed", "cancelled")


def get(db: sqlite3.Connection, wake_id: str) -> Wake:
    return read(db, row_of(db, wake_id))


def latest(db: sqlite3.Connection, state: str | None, limit: int) -> list[Wake]:
    """Newest first."""
    one_of("wakes", state, _STATES)
    rows = db.execute(
        "SELECT * FROM wakes WHERE :state IS NULL OR state = :state ORDER BY rowid DESC LIMIT :limit",
        {"state": state, "limit": limit},
    ).fetchall()
    return [read(db, row) for row in rows]


def row_of(db: sqlite3.Connection, wake_id: str) -> sqlite3.Row:
    row: sqlite3.Row | None = db.execute("SELECT * FROM wakes WHERE id = ?", (text(wake_id),)).fetchone()
    if row is None:
        raise NotFound(f"cannot find the wake {wake_id!r}; `heartbeat wakes list` shows those there are")
    return row


def untold(db: sqlite3.Connection, wake_id: str) -> list[str]:
    """What the wake has to tell."""
    rows = db.execute("SELECT id FROM findings WHERE wake_id = ? AND state = 'wake' ORDER BY rowid", (wake_id,))
    return [row["id"] for row in rows]


def read(db: sqlite3.Connection, row: sqlite3.Row, *, only_untold: bool = False) -> Wake:
    carried = db.execute(
        "SELECT * FROM findings WHERE wake_id = ? AND (state = 'wake' OR NOT ?) ORDER BY rowid",
        (row["id"], only_untold),
    ).fetchall()
    history = db.execute("SELECT * FROM attempts WHERE wake_id = ? ORDER BY number", (row["id"],)).fetchall()
    return replace(
        read_wake(row),
        findings=tuple(map(read_ledger_finding, carried)),
        history=tuple(map(read_attempt, history)),
    )
