"""The outbox: a wake is a row before the agent is called, and settled only when the agent has accepted it.

pending -> sending -> settled
   ^          |
   +----------+---> failed          pending -> cancelled
"""

from __future__ import annotations

import sqlite3
from datetime import datetime

from heartbeat.clock import to_text
from heartbeat.errors import Refused
from heartbeat.model import OWNER, FindingEvent, Reply, State, Target, Usage, Wake
from heartbeat.ports import Alive
from heartbeat.stores.sqlite import findings, holds
from heartbeat.stores.sqlite.joining import tidy
from heartbeat.stores.sqlite.overtaken import shed, withdraw
from heartbeat.stores.sqlite.rows import (
    instant,
    text,
    to_json,
)
from heartbeat.stores.sqlite.wake_rows import read, row_of, untold


def begin(
    db: sqlite3.Connection, wake_id: str, owner: str, now: datetime, *, useful_at: datetime | None = None
) -> Wake | None:
    """The wake with what it still has to tell."""
    begun = db.execute(
        "UPDATE wakes SET state = 'sending', owner = ?, attempts = attempts + 1, deferred = 0 "
        "WHERE id = ? AND state = 'pending' "
        "RETURNING attempts",
        (owner, text(wake_id)),
    ).fetchone()
    if begun is None:
        row_of(db, wake_id)
        return None
    db.execute(
        "INSERT INTO attempts (wake_id, number, started_at, outcome) VALUES (?, ?, ?, 'running')",
        (wake_id, begun["attempts"], to_text(now)),
    )
    if useful_at is not None:
        _miss(db, wake_id, useful_at, now)
    return read(db, row_of(db, wake_id), only_untold=True)


def settle(db: sqlite3.Connection, wake_id: str, reply: Reply, now: datetime) -> None:
    _leave(db, wake_id, "settle", sources=("sending",), target="settled")
    (agent,) = db.execute(
        "UPDATE wakes SET settled_at = ?, reply = ?, error = '' WHERE id = ? RETURNING agent",
        (to_text(now), text(reply.text), wake_id),
    ).fetchone()
    _end_attempt(db, wake_id, "accepted", "", now, usage=reply.usage, session=reply.session)
    reason = "it went to the owner" if agent == OWNER else "the agent accepted it"
    findings.move(db, untold(db, wake_id), FindingEvent(now, State.TOLD, "settled", reason, wake_id=wake_id))


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
    shed(db, wake_id, error, now)


def _miss(db: sqlite3.Connection, wake_id: str, useful_at: datetime, now: datetime) -> None:
    """Of several findings those that are of no use any more go to the brief."""
    late = db.execute(
        "SELECT id FROM findings WHERE wake_id = ? AND state = 'wake' AND useful_until < ? ORDER BY rowid",
        (wake_id, to_text(useful_at)),
    ).fetchall()
    if 0 < len(late) < len(untold(db, wake_id)):
        reason = "it was of no use any more when its wake could be sent: missed"
        event = FindingEvent(now, State.BRIEF, "expired", reason, wake_id=wake_id)
        findings.move(db, [row["id"] for row in late], event)


def defer(db: sqlite3.Connection, wake_id: str, reason: str, until: datetime) -> None:
    _leave(db, wake_id, "defer", sources=("pending",), target="pending", at=until, error=reason)
    db.execute("UPDATE wakes SET deferred = 1 WHERE id = ?", (wake_id,))


def divert(db: sqlite3.Connection, wake_id: str, target: Target, reason: str, now: datetime) -> None:
    _leave(db, wake_id, "divert", sources=("pending",), target="pending", at=now, error=reason)
    db.execute(
        "UPDATE wakes SET agent = ?, profile = ?, failures = 0 WHERE id = ?",
        (text(target.agent), text(target.profile), wake_id),
    )


def give_up(db: sqlite3.Connection, wake_id: str, error: str, now: datetime, *, usage: Usage | None = None) -> None:
    _leave(db, wake_id, "give up", sources=("sending", "pending"), target="failed", error=error)
    _end_attempt(db, wake_id, "failed", error, now, usage=usage)
    # A condition that ended while its wake was under way is not replaced: it is still to be told.
    withdraw(db, wake_id, error, now)
    event = FindingEvent(now, State.BRIEF, "agent_failed", error, wake_id=wake_id)
    findings.move(db, untold(db, wake_id), event)


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
        shed(db, wake_id, "its process is gone", now)
    db.execute("UPDATE wakes SET next_attempt_at = ? WHERE state = 'pending'", (to_text(now),))
    return released


def retry(db: sqlite3.Connection, wake_id: str, now: datetime) -> None:
    """The owner wants it now: the agent is called whatever it asked for, and nothing stands in front of it."""
    before = row_of(db, wake_id)
    _leave(db, wake_id, "retry", sources=("pending", "failed", "cancelled"), target="pending", at=now)
    db.execute("UPDATE wakes SET failures = 0 WHERE id = ?", (wake_id,))
    # The agent of the wake may have another name by now, or the owner was to be told in its place.
    holds.end(db, None, now)
    db.execute("UPDATE wakes SET next_attempt_at = ? WHERE state = 'pending'", (to_text(now),))
    if before["state"] == "pending":
        return
    reason = f"the wake was {before['state']} and is tried again"
    event = FindingEvent(now, State.WAKE, "retried", reason, wake_id=wake_id)
    findings.move(db, _given_back(db, wake_id), event)
    if before["brief_id"] is None and not untold(db, wake_id):
        raise Refused(f"cannot retry the wake {wake_id}: nothing in it is left to tell; see `heartbeat brief`")
    db.execute("UPDATE wakes SET error = '' WHERE id = ?", (wake_id,))
    tidy(db)


def cancel(db: sqlite3.Connection, wake_id: str, reason: str, now: datetime) -> None:
    _leave(db, wake_id, "cancel", sources=("pending",), target="cancelled", error=reason)
    event = FindingEvent(now, State.DROPPED, "cancelled", reason, wake_id=wake_id)
    findings.move(db, untold(db, wake_id), event)


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
        state = row_of(db, wake_id)["state"]
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
