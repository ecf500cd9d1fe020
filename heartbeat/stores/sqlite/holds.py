"""Agents that are not to be called for a while."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from heartbeat.clock import from_text, to_text
from heartbeat.model import Hold
from heartbeat.stores.sqlite.rows import reader, text

# One that was entered under a clock since set back may last for years, and no later one could shorten it.
_ENTER = """
    INSERT INTO holds (agent, until, reason, since) VALUES (?, ?, ?, ?) ON CONFLICT (agent)
    DO UPDATE SET until = excluded.until, reason = excluded.reason, since = excluded.since
    WHERE excluded.until > holds.until OR holds.since > excluded.since"""


def enter(db: sqlite3.Connection, agent: str, until: datetime, reason: str, now: datetime) -> None:
    """Of two holds the one that lasts longer stays."""
    db.execute(_ENTER, (text(agent), to_text(until), text(reason), to_text(now)))


def end(db: sqlite3.Connection, agent: str, now: datetime) -> bool:
    """Whether there was one that still lasted."""
    ended = db.execute("DELETE FROM holds WHERE agent = ? RETURNING *", (text(agent),)).fetchone()
    return ended is not None and _read(ended).until > now


def read(db: sqlite3.Connection) -> dict[str, Hold]:
    """By agent; also those that are over."""
    return {hold.agent: hold for hold in map(_read, db.execute("SELECT * FROM holds"))}


@reader
def _read(row: sqlite3.Row) -> Hold:
    return Hold(row["agent"], from_text(row["until"]), row["reason"], from_text(row["since"]))
