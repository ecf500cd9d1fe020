"""What changes the queue: a key given twice is one item, and what waits to be told follows its item."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from heartbeat.clock import from_text, new_id, to_text
from heartbeat.errors import Invalid, NotFound, Refused
from heartbeat.model import FindingEvent, QueueItem, State, Urgency
from heartbeat.queue.telling import AGAIN, ONCE, first_slot, following, telling
from heartbeat.stores.sqlite import findings
from heartbeat.stores.sqlite.database import Database
from heartbeat.stores.sqlite.joining import tidy
from heartbeat.stores.sqlite.queue import Row, read_row, settled_state, state_at
from heartbeat.stores.sqlite.rows import instant, text

_BY_KEY = "SELECT * FROM queue WHERE key = :name"
_BY_ID_OR_KEY = "SELECT * FROM queue WHERE id = :name OR key = :name ORDER BY id = :name DESC LIMIT 1"
_ALL = "SELECT * FROM queue ORDER BY due_at, rowid"
_OLD = "SELECT * FROM queue WHERE coalesce(cancelled_at, due_at) < ?"
_INSERT = """
    INSERT INTO queue (message, due_at, source, urgency, until, schedule, words, created_at, id, key)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_CHANGE = """
    UPDATE queue SET message = ?, due_at = ?, source = ?, urgency = ?, until = ?, schedule = ?, words = ?,
    cancelled_at = NULL, snoozed_slot = NULL, snoozed_until = NULL, over_at = NULL WHERE key = ?"""
# Waiting, and not with the agent right now: that is told, whatever happens to its item.
_WAITING = """
    SELECT findings.id FROM findings LEFT JOIN wakes ON wakes.id = findings.wake_id
    WHERE findings.key >= ? AND findings.key <= ? AND findings.current = 1
    AND (findings.state IN ('held', 'brief') OR (findings.state = 'wake' AND wakes.state = 'pending'))"""
# By an index of its own, of which these are the very words. The keys of one item end in an instant of 27 letters.
_OVERTAKEN = """
    SELECT old.id FROM findings AS old LEFT JOIN wakes ON wakes.id = old.wake_id
    WHERE old.state IN ('wake', 'held', 'brief') AND old.key >= 'queue-at:' AND old.key < 'queue-at;'
    AND old.current = 1 AND (old.state <> 'wake' OR wakes.state = 'pending')
    AND EXISTS (
        SELECT 1 FROM findings AS new
        WHERE new.key > old.key AND new.key < substr(old.key, 1, length(old.key) - 28) || ';'
    )"""


def listed(db: sqlite3.Connection, now: datetime, *, waiting_only: bool) -> list[QueueItem]:
    """By due instant, each as it stands at *now*."""
    rows = [read_row(row) for row in db.execute(_ALL)]
    items = [(row, _as_item(db, row, now)) for row in rows]
    return [item for row, item in items if not (waiting_only and _is_over(row, item.state, now))]


def _is_over(row: Row, state: str, now: datetime) -> bool:
    if state in ("told", "dropped") and row.schedule:
        return following(row, telling(row, now).slot) is None
    return state in ("told", "dropped", "expired", "cancelled")


def enqueue(db: sqlite3.Connection, item: QueueItem, now: datetime) -> tuple[QueueItem, bool]:
    """Add or change; the same item again changes nothing, even when it is cancelled."""
    item = _as_stored(item, now)
    before = _find(db, _BY_KEY, item.key)
    if before is None:
        db.execute(_INSERT, (*_content(_begun(item, now)), to_text(now), item.id, item.key))
    else:
        goes_on = item.schedule and item.schedule == before.schedule and item.due_at == now
        item = replace(item, due_at=before.due_at) if goes_on else _begun(item, now)
        if _content(item) != _content(before):
            db.execute(_CHANGE, (*_content(item), item.key))
            _withdraw(db, before, FindingEvent(now, State.WITHDRAWN, "changed", "its queue item was changed"))
    stored = _find(db, _BY_KEY, item.key)
    assert stored is not None
    return _as_item(db, stored, now), before is None


def _as_stored(item: QueueItem, now: datetime) -> QueueItem:
    """With an id and a key, its texts and instants as the ledger gives them back."""
    item_id = item.id or new_id("item", now)
    return replace(
        item,
        id=item_id,
        key=text(item.key) or item_id,
        message=text(item.message),
        source=text(item.source),
        words=text(item.words),
        due_at=from_text(to_text(item.due_at)),
        until=None if item.until is None else from_text(to_text(item.until)),
    )


def _begun(item: QueueItem, now: datetime) -> QueueItem:
    """With its first slot as its due instant."""
    if not item.schedule:
        return item
    first = first_slot(item, now)
    if first is None:
        raise Invalid(f"cannot add the item: {item.words or item.schedule!r} never comes due; give another schedule")
    return replace(item, due_at=first)


def import_once(db: sqlite3.Connection, items: Sequence[QueueItem], now: datetime) -> int:
    """Add those that were never imported; how many that were."""
    count = 0
    for item in items:
        entered = db.execute("INSERT OR IGNORE INTO queue_imports (key, at) VALUES (?, ?)", (item.key, to_text(now)))
        if entered.rowcount:
            enqueue(db, item, now)
            count += 1
    return count


def cancel(db: sqlite3.Connection, id_or_key: str, now: datetime) -> QueueItem:
    row, item = _named(db, id_or_key, now)
    if item.state == "cancelled" or (item.state == "told" and _is_over(row, item.state, now)):
        raise Refused(f"cannot cancel the queue item {id_or_key!r}: it is {item.state} already; nothing was done")
    db.execute("UPDATE queue SET cancelled_at = ? WHERE id = ?", (to_text(now), row.id))
    _withdraw(db, row, FindingEvent(now, State.WITHDRAWN, "cancelled", "its queue item was cancelled"))
    return replace(item, state="cancelled")


def snooze(db: sqlite3.Connection, id_or_key: str, until: datetime, now: datetime) -> QueueItem:
    """Tell it at *until*, again if it was told; of an item that comes again only the occurrence at hand."""
    row, item = _named(db, id_or_key, now)
    refusal = f"cannot snooze the queue item {id_or_key!r}: "
    if item.state == "cancelled":
        raise Refused(f"{refusal}it is cancelled; add it again")
    slot = telling(row, now).slot
    if until <= max(now, slot):
        told = "that instant has passed" if until <= now else f"it is due later anyway, {_show(slot)}"
        raise Invalid(f"{refusal}{told}; give a later one than {_show(until)}")
    again = following(row, slot)
    if again is not None and again <= until:
        raise Refused(f"{refusal}it comes again by itself, {_show(again)}; give an earlier instant than that")
    if not row.schedule and row.until is not None and row.until < until:
        raise Refused(f"{refusal}after {_show(row.until)} it is not worth telling; give an earlier instant than that")
    db.execute(
        "UPDATE queue SET snoozed_slot = ?, snoozed_until = ? WHERE id = ?", (to_text(slot), to_text(until), row.id)
    )
    _withdraw(
        db, row, FindingEvent(now, State.WITHDRAWN, "snoozed", f"its queue item was snoozed until {_show(until)}")
    )
    return _named(db, row.id, now)[1]


def withdraw_overtaken(database: Database, now: datetime) -> int:
    """Take back every occurrence that waits while a later one of its item has been reported; how many."""
    with database.reading() as db:
        if db.execute(_OVERTAKEN).fetchone() is None:
            return 0  # nearly always: then nobody need wait for the ledger
    with database.writing() as db:
        overtaken = db.execute(_OVERTAKEN).fetchall()
        _take_back(db, overtaken, FindingEvent(now, State.WITHDRAWN, "overtaken", "its queue item has come due again"))
    return len(overtaken)


def forget(db: sqlite3.Connection, before: datetime, batch: int) -> int:
    """Remove up to *batch* items that were cancelled, or due and settled, before then; how many went."""
    gone: list[str] = []
    for row in map(read_row, db.execute(_OLD, (to_text(before),)).fetchall()):
        told = telling(row, before)
        if row.cancelled_at is None and (told.at >= before or settled_state(db, row, told) is None):
            continue
        if row.cancelled_at is None and following(row, told.slot) is not None:
            # The finding that says it was told goes next: without it, an occurrence of months ago would be told again.
            db.execute("UPDATE queue SET over_at = ? WHERE id = ?", (to_text(told.slot), row.id))
        elif len(gone) < batch:
            gone.append(row.id)
    db.executemany("DELETE FROM queue WHERE id = ?", [(item_id,) for item_id in gone])
    return len(gone)


def _withdraw(db: sqlite3.Connection, row: Row, event: FindingEvent) -> None:
    """Take back what waits to be told of an item, unless the agent is being told right now."""
    first, last = (f"{AGAIN}{row.id}:", f"{AGAIN}{row.id};") if row.schedule else (f"{ONCE}{row.key}",) * 2
    _take_back(db, db.execute(_WAITING, (first, last)).fetchall(), event)


def _take_back(db: sqlite3.Connection, waiting: Sequence[sqlite3.Row], event: FindingEvent) -> None:
    for row in waiting:
        findings.retire(db, row["id"])
        findings.move(db, [row["id"]], event)
    if waiting:
        tidy(db)


def _named(db: sqlite3.Connection, id_or_key: str, now: datetime) -> tuple[Row, QueueItem]:
    row = _find(db, _BY_ID_OR_KEY, text(id_or_key))
    if row is None:
        raise NotFound(f"cannot find the queue item {id_or_key!r}; `heartbeat queue list` shows those there are")
    return row, _as_item(db, row, now)


def _find(db: sqlite3.Connection, select: str, name: str) -> Row | None:
    row = db.execute(select, {"name": name}).fetchone()
    return None if row is None else read_row(row)


def _content(item: QueueItem | Row) -> tuple[str | None, ...]:
    """In the order of the columns that are written."""
    return (
        *(item.message, to_text(item.due_at), item.source, item.urgency, instant(item.until)),
        *(item.schedule, item.words),
    )


def _as_item(db: sqlite3.Connection, row: Row, now: datetime) -> QueueItem:
    return QueueItem(
        id=row.id,
        key=row.key,
        message=row.message,
        due_at=row.due_at,
        source=row.source,
        urgency=Urgency(row.urgency),
        until=row.until,
        state=state_at(db, row, now),
        schedule=row.schedule,
        words=row.words,
        snoozed_slot=row.snoozed_slot,
        snoozed_until=row.snoozed_until,
    )


def _show(at: datetime) -> str:
    return at.isoformat(" ", "seconds")
