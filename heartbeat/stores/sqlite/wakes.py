"""The outbox: a wake is a row before the agent is called, and settled only when the agent has accepted it.

pending -> sending -> settled
   ^          |
   +----------+---> failed          pending -> cancelled
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import datetime

from heartbeat.clock import to_text
from heartbeat.errors import NotFound, Refused
from heartbeat.model import OWNER, FindingEvent, Reply, State, Target, Usage, Wake
from heartbeat.ports import Alive
from heartbeat.stores.sqlite import findings, holds
from heartbeat.stores.sqlite.joining import tidy
from heartbeat.stores.sqlite.rows import (
    instant,
    one_of,
    read_attempt,
    read_ledger_finding,
    read_wake,
    text,
    to_json,
)

_STATES = ("pending", "sending", "settled", "failed", "cancelled")


def due(db: sqlite3.Connection, now: datetime) -> list[str]:
    """Oldest first."""
    rows = db.execute(
        "SELECT id FROM wakes WHERE state = 'pending' AND next_attempt_at <= ? ORDER BY rowid", (to_text(now),)
    )
    return [row["id"] for row in rows]


def begin(db: sqlite3.Connection, wake_id: str, owner: str, now: datetime) -> Wake | None:
    """The wake with what it still has to tell."""
    begun = db.execute(
        "UPDATE wakes SET state = 'sending', owner = ?, attempts = attempts + 1 WHERE id = ? AND state = 'pending' "
        "RETURNING attempts",
        (owner, text(wake_id)),
    ).fetchone()
    if begun is None:
        _row(db, wake_id)
        return None
    db.execute(
        "INSERT INTO attempts (wake_id, number, started_at, outcome) VALUES (?, ?, ?, 'running')",
        (wake_id, begun["attempts"], to_text(now)),
    )
    return _read(db, _row(db, wake_id), only_untold=True)


def settle(db: sqlite3.Connection, wake_id: str, reply: Reply, now: datetime) -> None:
    _leave(db, wake_id, "settle", sources=("sending",), target="settled")
    (agent,) = db.execute(
        "UPDATE wakes SET settled_at = ?, reply = ?, error = '' WHERE id = ? RETURNING agent",
        (to_text(now), text(reply.text), wake_id),
    ).fetchone()
    _end_attempt(db, wake_id, "accepted", "", now, usage=reply.usage, session=reply.session)
    reason = "it went to the owner" if agent == OWNER else "the agent accepted it"
    findings.move(db, _untold(db, wake_id), FindingEvent(now, State.TOLD, "settled", reason, wake_id=wake_id))


def postpone(
    db: sqlite3.Connection,
    wake_id: str,
    error: str,
    at: datetime,
    now: datetime,
    *,
    outcome: str = "failed",
    usage: Usage | None = None,
) -> None:
    _leave(db, wake_id, "postpone", sources=("sending",), target="pending", at=at, error=error)
    _end_attempt(db, wake_id, outcome, error, now, usage=usage)


def defer(db: sqlite3.Connection, wake_id: str, reason: str, until: datetime) -> None:
    _leave(db, wake_id, "defer", sources=("pending",), target="pending", at=until, error=reason)


def divert(db: sqlite3.Connection, wake_id: str, target: Target, reason: str, now: datetime) -> None:
    _leave(db, wake_id, "divert", sources=("pending",), target="pending", at=now, error=reason)
    db.execute(
        "UPDATE wakes SET agent = ?, profile = ?, failures = 0 WHERE id = ?",
        (text(target.agent), text(target.profile), wake_id),
    )


def give_up(db: sqlite3.Connection, wake_id: str, error: str, now: datetime, *, usage: Usage | None = None) -> None:
    _leave(db, wake_id, "give up", sources=("sending", "pending"), target="failed", error=error)
    _end_attempt(db, wake_id, "failed", error, now, usage=usage)
    untold = _untold(db, wake_id)
    # A condition that ended while its wake was under way is not replaced: it is still to be told.
    replaced = findings.replaced(db, untold)
    kept = [finding_id for finding_id in untold if finding_id not in replaced]
    findings.move(db, kept, FindingEvent(now, State.BRIEF, "agent_failed", error, wake_id=wake_id))
    reason = f"something newer is to be told under its key, and the agent did not accept it: {error}"
    findings.move(db, sorted(replaced), FindingEvent(now, State.WITHDRAWN, "replaced", reason, wake_id=wake_id))


def orphaned(db: sqlite3.Connection, alive: Alive) -> list[str]:
    """The wakes that nobody is sending any more."""
    sending = db.execute("SELECT id, owner FROM wakes WHERE state = 'sending' ORDER BY rowid").fetchall()
    return [row["id"] for row in sending if not alive(row["owner"])]


def release(db: sqlite3.Connection, alive: Alive, now: datetime) -> list[str]:
    """Returns those that nobody was sending any more."""
    released = orphaned(db, alive)
    for wake_id in released:
        _leave(db, wake_id, "release", sources=("sending",), target="pending", at=now)
        _end_attempt(db, wake_id, "interrupted", "its process is gone", now)
    db.execute("UPDATE wakes SET next_attempt_at = ? WHERE state = 'pending'", (to_text(now),))
    return released


def retry(db: sqlite3.Connection, wake_id: str, now: datetime) -> None:
    """The owner wants it now: its agent is called whatever it asked for."""
    before = _row(db, wake_id)
    _leave(db, wake_id, "retry", sources=("pending", "failed", "cancelled"), target="pending", at=now)
    db.execute("UPDATE wakes SET failures = 0 WHERE id = ?", (wake_id,))
    holds.end(db, before["agent"], now)
    if before["state"] == "pending":
        return
    reason = f"the wake was {before['state']} and is tried again"
    event = FindingEvent(now, State.WAKE, "retried", reason, wake_id=wake_id)
    findings.move(db, _given_back(db, wake_id), event)
    if before["brief_id"] is None and not _untold(db, wake_id):
        raise Refused(f"cannot retry the wake {wake_id}: nothing in it is left to tell; see `heartbeat brief`")
    db.execute("UPDATE wakes SET error = '' WHERE id = ?", (wake_id,))
    tidy(db)


def cancel(db: sqlite3.Connection, wake_id: str, reason: str, now: datetime) -> None:
    _leave(db, wake_id, "cancel", sources=("pending",), target="cancelled", error=reason)
    event = FindingEvent(now, State.DROPPED, "cancelled", reason, wake_id=wake_id)
    findings.move(db, _untold(db, wake_id), event)


def get(db: sqlite3.Connection, wake_id: str) -> Wake:
    return _read(db, _row(db, wake_id))


def latest(db: sqlite3.Connection, state: str | None, limit: int) -> list[Wake]:
    """Newest first."""
    one_of("wakes", state, _STATES)
    rows = db.execute(
        "SELECT * FROM wakes WHERE :state IS NULL OR state = :state ORDER BY rowid DESC LIMIT :limit",
        {"state": state, "limit": limit},
    ).fetchall()
    return [_read(db, row) for row in rows]


def _row(db: sqlite3.Connection, wake_id: str) -> sqlite3.Row:
    row: sqlite3.Row | None = db.execute("SELECT * FROM wakes WHERE id = ?", (text(wake_id),)).fetchone()
    if row is None:
        raise NotFound(f"cannot find the wake {wake_id!r}; `heartbeat wakes list` shows those there are")
    return row


def _leave(
    db: sqlite3.Connection,
    wake_id: str,
    verb: str,
    *,
    sources: tuple[str, ...],
    target: str,
    at: datetime | None = None,
    error: str | None = None,
) -> None:
    """Move a wake out of one of *sources*, due again at *at*; raises Refused when it is in another state."""
    left = db.execute(
        "UPDATE wakes SET state = ?, owner = NULL, next_attempt_at = ?, error = coalesce(?, error) "
        "WHERE id = ? AND state IN (SELECT value FROM json_each(?))",
        (target, instant(at), error and text(error), text(wake_id), to_json(sources)),
    )
    if not left.rowcount:
        state = _row(db, wake_id)["state"]
        raise Refused(f"cannot {verb} the wake {wake_id}: it is {state}, not {' or '.join(sources)}; nothing was done")


def _end_attempt(
    db: sqlite3.Connection,
    wake_id: str,
    outcome: str,
    message: str,
    now: datetime,
    *,
    usage: Usage | None = None,
    session: str = "",
) -> None:
    """End the attempt that is under way, if one is, and count it if it failed."""
    usage = usage or Usage()
    ended = db.execute(
        "UPDATE attempts SET ended_at = ?, outcome = ?, message = ?, session = ?, tokens_in = ?, tokens_out = ?, "
        "usd = ? WHERE wake_id = ? AND outcome = 'running'",
        (
            *(to_text(now), outcome, text(message), text(session)),
            *(usage.tokens_in, usage.tokens_out, usage.usd, wake_id),
        ),
    )
    if ended.rowcount and outcome == "failed":
        db.execute("UPDATE wakes SET failures = failures + 1 WHERE id = ?", (wake_id,))


def _untold(db: sqlite3.Connection, wake_id: str) -> list[str]:
    """What the wake has to tell."""
    rows = db.execute("SELECT id FROM findings WHERE wake_id = ? AND state = 'wake' ORDER BY rowid", (wake_id,))
    return [row["id"] for row in rows]


def _given_back(db: sqlite3.Connection, wake_id: str) -> list[str]:
    """What left the wake because it failed or was cancelled, and has been neither told nor replaced since."""
    rows = db.execute(
        "SELECT id FROM findings WHERE wake_id = ? "
        "AND (state = 'brief' AND rule = 'agent_failed' OR state = 'dropped' AND rule = 'cancelled') ORDER BY rowid",
        (wake_id,),
    )
    ids = [row["id"] for row in rows]
    replaced = findings.replaced(db, ids)
    return [finding_id for finding_id in ids if finding_id not in replaced]


def _read(db: sqlite3.Connection, row: sqlite3.Row, *, only_untold: bool = False) -> Wake:
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
