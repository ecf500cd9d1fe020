"""The queue of time-sensitive items: a key given twice is one item, and a script tells of those that are due."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from heartbeat.clock import from_text, new_id, to_text
from heartbeat.errors import NotFound, Refused
from heartbeat.model import FindingEvent, QueueItem, State, Urgency
from heartbeat.stores.sqlite import files, findings, wakes
from heartbeat.stores.sqlite.database import reading_only
from heartbeat.stores.sqlite.rows import instant, reader, text, when

# The versions under which the item was told, or at least does not wait: found by the key its finding has.
_SELECT = """
    SELECT queue.*, (
        SELECT json_group_array(version) FROM findings
        WHERE findings.key = 'queue:' || queue.key AND findings.state IN ('told', 'briefed')
    ) AS told_versions, (
        SELECT json_group_array(version) FROM findings
        WHERE findings.key = 'queue:' || queue.key AND findings.state NOT IN ('wake', 'held', 'brief')
    ) AS settled_versions
    FROM queue"""
_BY_KEY = f"{_SELECT} WHERE queue.key = :name"
_BY_ID_OR_KEY = f"{_SELECT} WHERE queue.id = :name OR queue.key = :name ORDER BY queue.id = :name DESC LIMIT 1"
_ALL = f"{_SELECT} ORDER BY due_at, rowid"
_DUE = f"{_SELECT} WHERE due_at <= ? AND cancelled_at IS NULL ORDER BY due_at, rowid"
_WAITING = """
    SELECT findings.id, findings.job FROM findings LEFT JOIN wakes ON wakes.id = findings.wake_id
    WHERE findings.key = ? AND findings.current = 1
    AND (findings.state IN ('held', 'brief') OR (findings.state = 'wake' AND wakes.state = 'pending'))"""
_OLD = f"{_SELECT} WHERE coalesce(cancelled_at, due_at) < ?"


def item_key(item: QueueItem) -> str:
    """The key of the finding that tells of *item*."""
    return f"queue:{item.key}"


def item_version(item: QueueItem) -> str:
    """The version of that finding: another due instant or message is told again."""
    return f"{to_text(item.due_at)}|{hashlib.sha256(item.message.encode()).hexdigest()[:12]}"


def due_items(path: Path, now: datetime) -> list[QueueItem]:
    """The items due by *now*, told or not, of the ledger at *path*, which is only read; none if there is no ledger."""
    if not files.exists(path):
        return []
    with reading_only(path) as db:
        return listed(db, now, waiting_only=False)


def enqueue(db: sqlite3.Connection, item: QueueItem, now: datetime) -> tuple[QueueItem, bool]:
    """Add or change; the same item again changes nothing, even when it is cancelled."""
    item_id = item.id or new_id("item", now)
    item = replace(
        item,
        id=item_id,
        key=text(item.key) or item_id,
        message=text(item.message),
        source=text(item.source),
        due_at=from_text(to_text(item.due_at)),
        until=when(instant(item.until)),
    )
    before = _find(db, _BY_KEY, item.key)
    if before is None:
        db.execute(
            "INSERT INTO queue (message, due_at, source, urgency, until, created_at, id, key) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*_content(item), to_text(now), item.id, item.key),
        )
    elif _content(before) != _content(item):
        db.execute(
            "UPDATE queue SET message = ?, due_at = ?, source = ?, urgency = ?, until = ?, cancelled_at = NULL "
            "WHERE key = ?",
            (*_content(item), item.key),
        )
    stored = _find(db, _BY_KEY, item.key)
    assert stored is not None
    return stored, before is None


def cancel(db: sqlite3.Connection, id_or_key: str, now: datetime) -> QueueItem:
    item = _find(db, _BY_ID_OR_KEY, text(id_or_key))
    if item is None:
        raise NotFound(f"cannot find the queue item {id_or_key!r}; `heartbeat queue list` shows those there are")
    if item.state != "waiting":
        raise Refused(f"cannot cancel the queue item {id_or_key!r}: it is {item.state} already; nothing was done")
    db.execute("UPDATE queue SET cancelled_at = ? WHERE id = ?", (to_text(now), item.id))
    _withdraw(db, item, now)
    return replace(item, state="cancelled")


def _withdraw(db: sqlite3.Connection, item: QueueItem, now: datetime) -> None:
    """Take back what waits to be told of an item, unless the agent is being told right now."""
    event = FindingEvent(now, State.WITHDRAWN, "cancelled", "its queue item was cancelled")
    waiting = db.execute(_WAITING, (text(item_key(item)),)).fetchall()
    for row in waiting:
        findings.retire(db, row["id"])
        findings.move(db, [row["id"]], event)
        wakes.tidy(db, row["job"])


def listed(db: sqlite3.Connection, due_by: datetime | None, *, waiting_only: bool) -> list[QueueItem]:
    """By due instant; with *due_by*, those due by then and not cancelled."""
    rows = db.execute(_ALL) if due_by is None else db.execute(_DUE, (to_text(due_by),))
    items = [_read_item(row) for row in rows]
    return [item for item in items if item.state == "waiting"] if waiting_only else items


def forget(db: sqlite3.Connection, before: datetime, batch: int) -> int:
    """Remove up to *batch* items that were cancelled, or due and settled, before then; how many went."""
    rows = db.execute(_OLD, (to_text(before),)).fetchall()
    settled = [row["id"] for row in rows if row["cancelled_at"] or _is_settled(row)][:batch]
    db.executemany("DELETE FROM queue WHERE id = ?", [(item_id,) for item_id in settled])
    return len(settled)


@reader
def _is_settled(row: sqlite3.Row) -> bool:
    return item_version(_read_item(row)) in json.loads(row["settled_versions"])


def _find(db: sqlite3.Connection, select: str, name: str) -> QueueItem | None:
    row = db.execute(select, {"name": name}).fetchone()
    return row and _read_item(row)


def _content(item: QueueItem) -> tuple[str | None, ...]:
    return (item.message, to_text(item.due_at), item.source, item.urgency, instant(item.until))


@reader
def _read_item(row: sqlite3.Row) -> QueueItem:
    item = QueueItem(
        id=row["id"],
        key=row["key"],
        message=row["message"],
        due_at=from_text(row["due_at"]),
        source=row["source"],
        urgency=Urgency(row["urgency"]),
        until=when(row["until"]),
    )
    if row["cancelled_at"] is not None:
        return replace(item, state="cancelled")
    return replace(item, state="told") if item_version(item) in json.loads(row["told_versions"]) else item
