"""Messages to the owner, one row for each channel that is to send one.

pending -> sending -> delivered, unverified          pending -> cancelled
   ^          |
   +----------+---> failed, expired
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from heartbeat.clock import from_text, new_id, to_text
from heartbeat.errors import NotFound, Refused
from heartbeat.model import Draft, Message, MessageState, Urgency
from heartbeat.ports import Alive
from heartbeat.stores.sqlite import undelivered
from heartbeat.stores.sqlite.rows import instant, one_of, read_message, reader, text, to_json

_INSERT = """
    INSERT INTO messages (id, kind, channel, state, title, body, urgency, created_at, not_before, next_attempt_at,
        useful_until, wake_id, brief_id, incident_id)
    VALUES (?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_UNSETTLED = """
    SELECT id, channel, urgency, state, next_attempt_at FROM messages
    WHERE state IN ('pending', 'sending') ORDER BY rowid"""
_RELEASE = """
    UPDATE messages SET next_attempt_at = max(:now, coalesce(not_before, :now))
    WHERE state = 'pending' AND next_attempt_at <> max(:now, coalesce(not_before, :now))"""
_RETRY = """
    UPDATE messages SET failures = 0, error = '', settled_at = NULL, told = 0, told_brief = NULL, not_before = NULL,
    useful_until = CASE WHEN useful_until > :now THEN useful_until END WHERE id = :id"""

_LOST = """
    SELECT 1 FROM messages WHERE (wake_id = :wake OR brief_id = :brief) AND state IN ('failed', 'expired') LIMIT 1"""


def post(db: sqlite3.Connection, drafts: Sequence[Draft], now: datetime) -> list[str]:
    ids = [new_id("msg", now) for _ in drafts]
    db.executemany(
        _INSERT,
        [
            (
                *(message_id, draft.kind, text(draft.channel), text(draft.title), text(draft.body), draft.urgency),
                *(to_text(now), instant(draft.not_before), to_text(draft.not_before or now)),
                *(instant(draft.useful_until), draft.wake_id, draft.brief_id, draft.incident_id),
            )
            for message_id, draft in zip(ids, drafts, strict=True)
        ],
    )
    return ids


def due(db: sqlite3.Connection, now: datetime) -> list[str]:
    """One of a channel; critical ones first, then oldest first."""
    ready = [row for row in _in_turn(db.execute(_UNSETTLED)) if row["next_attempt_at"] <= to_text(now)]
    ready.sort(key=_is_critical, reverse=True)
    first: dict[str, str] = {}
    for row in ready:
        first.setdefault(row["channel"], row["id"])
    return list(first.values())


def next_due(db: sqlite3.Connection) -> datetime | None:
    """When the first of those that wait for nothing but time is due; those behind another come with that one."""
    return min(map(_next_attempt, _in_turn(db.execute(_UNSETTLED))), default=None)


@reader
def _next_attempt(row: sqlite3.Row) -> datetime:
    return from_text(row["next_attempt_at"])


def _in_turn(unsettled: Iterable[sqlite3.Row]) -> Iterator[sqlite3.Row]:
    """Of those given oldest first, the pending ones that wait for no other of their channel."""
    rows = list(unsettled)
    busy = {row["channel"] for row in rows if row["state"] == MessageState.SENDING}
    older, older_critical = set(busy), set(busy)
    for row in rows:
        channel, critical = row["channel"], _is_critical(row)
        if channel not in (older_critical if critical else older):
            yield row
        older.add(channel)
        if critical:
            older_critical.add(channel)


def _is_critical(row: sqlite3.Row) -> bool:
    return bool(row["urgency"] == Urgency.CRITICAL)


def begin(db: sqlite3.Connection, message_id: str, owner: str, _now: datetime) -> Message | None:
    row = db.execute(
        "UPDATE messages SET state = 'sending', owner = ?, attempts = attempts + 1 WHERE id = ? AND state = 'pending' "
        "RETURNING *",
        (owner, text(message_id)),
    ).fetchone()
    if row is None:
        _row(db, message_id)
        return None
    return read_message(row)


def settle(db: sqlite3.Connection, message_id: str, now: datetime, *, proof: bool) -> None:
    target = MessageState.DELIVERED if proof else MessageState.UNVERIFIED
    _leave(db, message_id, "settle", sources=("sending",), target=target, settled=now, error="")


def postpone(
    db: sqlite3.Connection, message_id: str, error: str, at: datetime, _now: datetime, *, failed: bool
) -> None:
    _leave(db, message_id, "postpone", sources=("sending",), target="pending", at=at, error=error)
    db.execute("UPDATE messages SET failures = failures + ? WHERE id = ?", (failed, message_id))


def defer(db: sqlite3.Connection, message_id: str, until: datetime) -> None:
    _leave(db, message_id, "defer", sources=("pending",), target="pending", at=until)


def give_up(db: sqlite3.Connection, message_id: str, error: str, now: datetime, *, expired: bool = False) -> None:
    target = MessageState.EXPIRED if expired else MessageState.FAILED
    _leave(db, message_id, "give up", sources=("sending", "pending"), target=target, settled=now, error=error)
    row, reason = _row(db, message_id), f"no channel could deliver the message: {error}"
    undelivered.give_back(db, row["wake_id"], row["brief_id"], reason, now)


def retry(db: sqlite3.Connection, message_id: str, now: datetime) -> None:
    """The owner wants it now: what kept it from being sent, or made it of no use, counts no more."""
    sources = ("pending", "failed", "expired", "cancelled")
    _leave(db, message_id, "retry", sources=sources, target="pending", at=now)
    db.execute(_RETRY, {"id": message_id, "now": to_text(now)})
    row = _row(db, message_id)
    undelivered.tell_again(db, row["wake_id"], row["brief_id"], "the message is tried again", now)


def cancel(db: sqlite3.Connection, message_id: str, reason: str, now: datetime) -> None:
    """What it told of is given back only if another channel failed before: who cancels them all knows."""
    _leave(db, message_id, "cancel", sources=("pending",), target="cancelled", settled=now, error=reason)
    row = _row(db, message_id)
    if db.execute(_LOST, {"wake": row["wake_id"], "brief": row["brief_id"]}).fetchone():
        why = f"the message was cancelled, and no other channel could deliver it: {reason}"
        undelivered.give_back(db, row["wake_id"], row["brief_id"], why, now)


def orphaned(db: sqlite3.Connection, alive: Alive) -> list[str]:
    """Those that nobody is sending any more."""
    sending = db.execute("SELECT id, owner FROM messages WHERE state = 'sending' ORDER BY rowid").fetchall()
    return [row["id"] for row in sending if not alive(row["owner"])]


def release(db: sqlite3.Connection, alive: Alive, now: datetime) -> None:
    """Those that nobody is sending any more wait again; what waits is due, but not before it may be sent at all."""
    for message_id in orphaned(db, alive):
        error = "its process is gone; whether it was sent is not known"
        _leave(db, message_id, "release", sources=("sending",), target="pending", at=now, error=error)
    db.execute(_RELEASE, {"now": to_text(now)})


def get(db: sqlite3.Connection, message_id: str) -> Message:
    return read_message(_row(db, message_id))


def latest(db: sqlite3.Connection, state: str | None, limit: int) -> list[Message]:
    """Newest first."""
    one_of("messages", state, tuple(MessageState))
    rows = db.execute(
        "SELECT * FROM messages WHERE :state IS NULL OR state = :state ORDER BY rowid DESC LIMIT :limit",
        {"state": state, "limit": limit},
    )
    return [read_message(row) for row in rows]


def of_wake(db: sqlite3.Connection, wake_id: str) -> list[Message]:
    """Oldest first."""
    rows = db.execute("SELECT * FROM messages WHERE wake_id = ? ORDER BY rowid", (text(wake_id),))
    return [read_message(row) for row in rows]


def _row(db: sqlite3.Connection, message_id: str) -> sqlite3.Row:
    row: sqlite3.Row | None = db.execute("SELECT * FROM messages WHERE id = ?", (text(message_id),)).fetchone()
    if row is None:
        raise NotFound(f"cannot find the message {message_id!r}; `heartbeat messages list` shows those there are")
    return row


def _leave(
    db: sqlite3.Connection,
    message_id: str,
    verb: str,
    *,
    sources: tuple[str, ...],
    target: str,
    at: datetime | None = None,
    settled: datetime | None = None,
    error: str | None = None,
) -> None:
    """Move a message out of one of *sources*, due again at *at*; raises Refused when it is in another state.

    Without an *error* that of the last attempt stays.
    """
    left = db.execute(
        "UPDATE messages SET state = ?, owner = NULL, next_attempt_at = ?, settled_at = ?, error = coalesce(?, error) "
        "WHERE id = ? AND state IN (SELECT value FROM json_each(?))",
        (target, instant(at), instant(settled), error and text(error), text(message_id), to_json(sources)),
    )
    if not left.rowcount:
        state = _row(db, message_id)["state"]
        raise Refused(
            f"cannot {verb} the message {message_id}: it is {state}, not {' or '.join(sources)}; nothing was done"
        )
