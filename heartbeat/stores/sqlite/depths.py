"""How much waits: a handful of counts from indexes, cheap enough to be taken with every pulse."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from heartbeat.clock import to_text
from heartbeat.model import Depths
from heartbeat.stores.sqlite.rows import when

MOST = 10_000
"""No more is counted: a million waiting findings must not cost the loop its time."""

_WAITING = {
    "items": "SELECT 1 FROM queue WHERE due_at > :now AND cancelled_at IS NULL",
    "findings": "SELECT 1 FROM findings WHERE state IN ('wake', 'held', 'brief')",
    "wakes": "SELECT 1 FROM wakes WHERE state IN ('pending', 'sending')",
    "messages": "SELECT 1 FROM messages WHERE state IN ('pending', 'sending')",
}
_COUNTS = ", ".join(f"(SELECT count(*) FROM ({sql} LIMIT :most)) AS {name}" for name, sql in _WAITING.items())  # noqa: S608 constants
_DEPTHS = f"SELECT {_COUNTS}, (SELECT max(ended_at) FROM runs) AS last_run_at"  # noqa: S608 constants


def measure(db: sqlite3.Connection, now: datetime) -> Depths:
    """What waits at *now*."""
    row = db.execute(_DEPTHS, {"now": to_text(now), "most": MOST}).fetchone()
    counts = {name: row[name] for name in _WAITING}
    return Depths(**counts, last_run_at=when(row["last_run_at"]))
