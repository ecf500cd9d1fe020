"""When the outbox has something to do next."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from heartbeat.stores.sqlite import messages, notices
from heartbeat.stores.sqlite.rows import reader, when

# Each minimum is the first entry of an index.
_HELD = "SELECT min(held_until) AS at FROM findings WHERE held_until IS NOT NULL"
_WAKES = "SELECT min(next_attempt_at) AS at FROM wakes WHERE state = 'pending'"


def next_due(db: sqlite3.Connection, now: datetime) -> datetime | None:
    """What was due before *now* and still waits is due at its own instant."""
    del now
    instants = (
        *(_read(db.execute(query).fetchone()) for query in (_HELD, _WAKES)),
        messages.next_due(db),
        notices.next_due(db),
    )
    return min((each for each in instants if each is not None), default=None)


@reader
def _read(row: sqlite3.Row) -> datetime | None:
    return when(row["at"])
