"""What is held is decided again when its time has come."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from heartbeat.clock import to_text
from heartbeat.model import Action, Decision, FindingEvent, LedgerFinding, Past, State
from heartbeat.stores.sqlite import findings, past
from heartbeat.stores.sqlite.joining import Joining
from heartbeat.stores.sqlite.plans import STATES
from heartbeat.stores.sqlite.rows import read_ledger_finding, text

BATCH = 1000
"""Decided in one transaction, so that nobody waits for the ledger longer than a moment."""
_AFTER_ALL = "~"  # after every instant, as text

Choose = Callable[[Sequence[LedgerFinding], Past], Sequence[Decision]]


def due(db: sqlite3.Connection, now: datetime, *, everything: bool, job: str | None = None) -> Iterator[list[str]]:
    """The ids of what is held and due, or of all that is held, by the instants until which it is, in batches."""
    rows = db.execute(
        "SELECT id FROM findings WHERE held_until <= :until AND (:job IS NULL OR job = :job) "
        "ORDER BY held_until, rowid",
        {"until": _AFTER_ALL if everything else to_text(now), "job": job and text(job)},
    )
    ids = [row["id"] for row in rows]
    return (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))


def decide(db: sqlite3.Connection, some: Sequence[str], choose: Choose, now: datetime) -> tuple[str, ...]:
    """Decide again those of *some* that are held still; the ids of the wakes that now wait for them."""
    rows = (db.execute("SELECT * FROM findings WHERE id = ? AND state = 'held'", (each,)).fetchone() for each in some)
    held = [read_ledger_finding(row) for row in rows if row]
    if not held:
        return ()
    joining = Joining(db, now)
    for row, decision in zip(held, choose(held, past.read(db, now)), strict=True):
        waking = decision.action is Action.WAKE
        wake_id = joining.wake_for(decision, row.job, row.run_id) if waking else None
        event = FindingEvent(
            now, STATES[decision.action], decision.rule, decision.reason, wake_id=wake_id, trace=decision.trace
        )
        if event.state is State.HELD:
            findings.hold_on(db, row.id, event, decision.until)
        else:
            findings.move(db, [row.id], event)
    return joining.finish(left=False)
