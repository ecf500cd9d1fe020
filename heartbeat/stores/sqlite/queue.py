"""The queue as the ledger holds it, and how each item stands. With few imports: a script reads it each minute."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from heartbeat.clock import from_text, to_text
from heartbeat.queue.telling import Latest, Telling, latest, telling
from heartbeat.stores.sqlite import files
from heartbeat.stores.sqlite.database import reading_only
from heartbeat.stores.sqlite.failures import Damaged

URGENCIES = ("low", "normal", "high", "critical")
_DUE = "SELECT * FROM queue WHERE due_at <= ? AND cancelled_at IS NULL ORDER BY due_at, rowid"
# The last row of the key is what counts: a text that was changed and changed back is told once more.
_FINDING = """
    SELECT state FROM findings AS this WHERE key = ? AND version = ? AND NOT EXISTS (
        SELECT 1 FROM findings WHERE findings.key = this.key AND findings.job = this.job AND findings.rowid > this.rowid
    ) ORDER BY state IN ('told', 'briefed') DESC LIMIT 1"""
_SETTLED = {"told": "told", "briefed": "told", "known": "dropped", "dropped": "dropped"}


class Row(NamedTuple):
    """One row of `queue`."""

    id: str
    key: str
    message: str
    due_at: datetime
    source: str
    urgency: str
    until: datetime | None
    cancelled_at: datetime | None
    schedule: str
    words: str
    snoozed_slot: datetime | None
    snoozed_until: datetime | None
    over_at: datetime | None


class DueItem(NamedTuple):
    """What a script tells of an item."""

    item: Row
    telling: Telling
    is_settled: bool
    """Told, or dropped by the owner: it need not be told any more."""


def due_items(path: Path, now: datetime, latest: Latest = latest) -> list[DueItem]:
    """The items due by *now*, told or not, of the ledger at *path*, which is only read; none if there is no ledger."""
    if not files.exists(path):
        return []
    with reading_only(path) as db:
        return list(_due(db, now, latest))


def _due(db: sqlite3.Connection, now: datetime, latest: Latest) -> Iterator[DueItem]:
    for row in map(read_row, db.execute(_DUE, (to_text(now),))):
        told = telling(row, now, latest)
        if told.at <= now:
            yield DueItem(row, told, settled_state(db, row, told) is not None)


def settled_state(db: sqlite3.Connection, row: Row, told: Telling) -> str | None:
    """`told` or `dropped`; None for what is still to be told, or is held or under way."""
    found = db.execute(_FINDING, (told.key, told.version)).fetchone()
    settled = _SETTLED.get(found["state"]) if found else None
    is_over = row.over_at is not None and told.at == told.slot <= row.over_at
    return settled or ("told" if is_over else None)


def state_at(db: sqlite3.Connection, row: Row, now: datetime) -> str:
    """How the item stands. What is held, or was not delivered, is not told: it is `due`."""
    if row.cancelled_at is not None:
        return "cancelled"
    told = telling(row, now)
    if (settled := settled_state(db, row, told)) is not None:
        return settled
    if told.at > now:
        return "waiting" if told.at == told.slot else "snoozed"
    is_expired = not row.schedule and row.until is not None and row.until < now
    return "expired" if is_expired else "due"


def read_row(row: sqlite3.Row) -> Row:
    """Raises Damaged for what no heartbeat ever wrote."""
    try:
        read = Row(
            id=row["id"],
            key=row["key"],
            message=row["message"],
            due_at=from_text(row["due_at"]),
            source=row["source"],
            urgency=row["urgency"],
            until=_when(row["until"]),
            cancelled_at=_when(row["cancelled_at"]),
            schedule=row["schedule"],
            words=row["words"],
            snoozed_slot=_when(row["snoozed_slot"]),
            snoozed_until=_when(row["snoozed_until"]),
            over_at=_when(row["over_at"]),
        )
    except (ValueError, TypeError, LookupError) as error:
        raise Damaged(f"the queue: {error}") from error
    if read.urgency not in URGENCIES:
        raise Damaged(f"the queue: {read.urgency!r} is no urgency")
    return read


def _when(value: str | None) -> datetime | None:
    return None if value is None else from_text(value)
