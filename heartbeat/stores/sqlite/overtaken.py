"""What waits while something newer is told under its key: told after it, it would be believed again."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from heartbeat.model import FindingEvent, State
from heartbeat.stores.sqlite import findings
from heartbeat.stores.sqlite.joining import tidy

# A version is new when nothing was told before it, or a condition that ended: that one is told all the same.
_EARLIER = """
    SELECT old.id FROM findings AS new JOIN findings AS old ON old.key = new.key AND old.job = new.job
    LEFT JOIN wakes ON wakes.id = old.wake_id
    WHERE new.id = ? AND old.rowid < new.rowid AND old.rowid >= (
        SELECT coalesce(max(rowid), 0) FROM findings AS first
        WHERE first.key = new.key AND first.job = new.job AND first.change = 'new' AND first.rowid < new.rowid
    ) AND (old.state IN ('held', 'brief') OR old.state = 'wake' AND wakes.state <> 'sending')
    ORDER BY old.rowid"""

_NOT_NEW = """
    UPDATE findings SET change = 'update' WHERE change = 'new' AND rowid = (
        SELECT min(new.rowid) FROM findings AS old JOIN findings AS new ON new.key = old.key AND new.job = old.job
        WHERE old.id = ? AND old.change = 'retraction' AND new.rowid > old.rowid
        AND new.state NOT IN ('dropped', 'withdrawn'))"""


def earlier(db: sqlite3.Connection, finding_id: str) -> list[str]:
    """What still waits, not with the agent, of the versions that this update or retraction follows."""
    return [row["id"] for row in db.execute(_EARLIER, (finding_id,))]


def shed(db: sqlite3.Connection, wake_id: str, error: str, now: datetime) -> None:
    """Of a wake that is to be tried again, withdraw what was replaced meanwhile; cancel it when nothing is left."""
    if withdraw(db, wake_id, error, now):
        tidy(db)


def withdraw(db: sqlite3.Connection, wake_id: str, error: str, now: datetime) -> bool:
    """Of what a wake did not tell, withdraw what was replaced meanwhile; whether there was any."""
    rows = db.execute("SELECT id FROM findings WHERE wake_id = ? AND state = 'wake' ORDER BY rowid", (wake_id,))
    replaced = sorted(findings.replaced(db, [row["id"] for row in rows]))
    reason = f"something newer is to be told under its key, and the agent did not accept it: {error}"
    findings.move(db, replaced, FindingEvent(now, State.WITHDRAWN, "replaced", reason, wake_id=wake_id))
    # The owner believes what was to be taken back: what came in its place cannot be taken back in silence.
    db.executemany(_NOT_NEW, [(finding_id,) for finding_id in replaced])
    return bool(replaced)
