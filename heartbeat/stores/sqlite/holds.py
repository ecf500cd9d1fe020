"""Agents that are not to be called for a while."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta

from heartbeat.clock import from_text, to_text
from heartbeat.model import Hold
from heartbeat.stores.sqlite.rows import reader, text

_APART = timedelta(hours=1)
"""A hold that comes so soon after another goes on from it: the agent has not been well in between."""
# One that was entered under a clock since set back may last for years, and no later one could shorten it.
_ENTER = """
    INSERT INTO holds (agent, until, reason, since) VALUES (:agent, :until, :reason, :now) ON CONFLICT (agent)
    DO UPDATE SET until = excluded.until, reason = excluded.reason,
        since = CASE WHEN holds.since <= :now AND holds.until >= :near THEN holds.since ELSE :now END
    WHERE excluded.until > holds.until OR holds.since > excluded.since"""


def enter(db: sqlite3.Connection, agent: str, until: datetime, reason: str, now: datetime) -> None:
    """Of two holds the one that lasts longer stays."""
    values = {"agent": text(agent), "until": to_text(until), "reason": text(reason), "now": to_text(now)}
    db.execute(_ENTER, values | {"near": to_text(now - _APART)})


def end(db: sqlite3.Connection, agent: str | None, now: datetime) -> bool:
    """Of one agent, or of all; whether there was one that still lasted."""
    ended = db.execute("DELETE FROM holds WHERE ? IS NULL OR agent = ? RETURNING *", (agent, agent and text(agent)))
    lasted = [hold for hold in map(_read, ended.fetchall()) if hold.until > now]
    if lasted:
        db.execute(
            "UPDATE findings SET held_until = ? WHERE held_until > ? AND rule = 'agent_hold'",
            (to_text(now), to_text(now)),
        )
    return bool(lasted)


def read(db: sqlite3.Connection) -> dict[str, Hold]:
    """By agent; also those that are over."""
    return {hold.agent: hold for hold in map(_read, db.execute("SELECT * FROM holds"))}


@reader
def _read(row: sqlite3.Row) -> Hold:
    return Hold(row["agent"], from_text(row["until"]), row["reason"], from_text(row["since"]))
