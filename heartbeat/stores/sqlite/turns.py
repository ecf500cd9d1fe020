"""Whose turn it is: the wakes that are to be tried now, in their order."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from heartbeat.clock import to_text
from heartbeat.model import OWNER

# What has no end of its use may wait behind one that fails: it shares a wake with what comes meanwhile.
_DUE = """
    SELECT id, EXISTS (
        SELECT 1 FROM findings WHERE wake_id = wakes.id AND state = 'wake' AND urgency = 'critical') AS urgent
    FROM wakes WHERE state = 'pending' AND next_attempt_at <= :now
    AND (:to_owner IS NULL OR (agent = :owner) = :to_owner)
    AND (urgent OR useful_until IS NOT NULL OR NOT EXISTS (
        SELECT 1 FROM wakes AS head WHERE head.state = 'pending' AND head.next_attempt_at > :now
        AND head.agent = wakes.agent AND head.rowid < wakes.rowid AND head.failures > 0 AND head.deferred = 0))
    ORDER BY urgent DESC, rowid"""


def due(db: sqlite3.Connection, now: datetime, *, to_owner: bool | None = None) -> list[str]:
    """Critical ones first, then oldest."""
    rows = db.execute(_DUE, {"now": to_text(now), "owner": OWNER, "to_owner": to_owner})
    return [row["id"] for row in rows]


def undefer(db: sqlite3.Connection, now: datetime) -> None:
    db.execute("UPDATE wakes SET next_attempt_at = ? WHERE state = 'pending' AND deferred = 1", (to_text(now),))
