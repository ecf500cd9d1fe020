"""What the rules look back on: the last day of the outbox."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta

from heartbeat.clock import from_text, to_text
from heartbeat.model import Interruption, Past, Spending
from heartbeat.stores.sqlite import holds, joining, overrides
from heartbeat.stores.sqlite.rows import reader

SPAN = timedelta(hours=25)
"""A day of the owner's is so long when the clocks are set back."""

_INTERRUPTIONS = """
    SELECT created_at, critical FROM wakes WHERE created_at >= ? AND brief_id IS NULL
    AND +state IN ('pending', 'sending', 'settled') ORDER BY created_at, rowid"""
# The last condition is that of its index, word by word.
_SPENDING = """
    SELECT ended_at, coalesce(tokens_in, 0) + coalesce(tokens_out, 0) AS tokens, coalesce(usd, 0.0) AS usd
    FROM attempts WHERE ended_at >= ?
    AND (tokens_in IS NOT NULL OR tokens_out IS NOT NULL OR usd IS NOT NULL) ORDER BY ended_at"""


def read(db: sqlite3.Connection, now: datetime) -> Past:
    """Also what is dated after *now*: the rules know what to make of it."""
    since = to_text(now - SPAN)
    return Past(
        interruptions=tuple(map(_read_interruption, db.execute(_INTERRUPTIONS, (since,)))),
        spending=tuple(map(_read_spending, db.execute(_SPENDING, (since,)))),
        holds=holds.read(db),
        joinable=joining.joinable(db),
        overrides=overrides.read(db, now),
    )


@reader
def _read_interruption(row: sqlite3.Row) -> Interruption:
    return Interruption(from_text(row["created_at"]), bool(row["critical"]))


@reader
def _read_spending(row: sqlite3.Row) -> Spending:
    return Spending(from_text(row["ended_at"]), row["tokens"], row["usd"])
