"""Retention: remove what is old and settled, a little at a time, and never what has not been told."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta

from heartbeat.clock import to_text
from heartbeat.stores.sqlite import queue_changes
from heartbeat.stores.sqlite.database import Database

BATCH = 500
"""Rows removed in one transaction, so that nobody waits for the ledger longer than a moment."""
_FREED_PAGES = 1000
SCOPES_KEPT = timedelta(days=400)
"""A source may be out for long; when it is back, what is new since is news. A scope is a short row."""

_OLD = {
    "findings": """
        DELETE FROM findings WHERE rowid IN (
            SELECT rowid FROM findings WHERE last_seen_at < :before
            AND state NOT IN ('wake', 'held', 'brief')
            -- What the latest run of a rare job reported must still be known to its next run.
            AND (current = 0 OR last_seen_at < (
                SELECT ended_at FROM runs WHERE runs.job = findings.job AND verdict IN ('wake', 'quiet')
                ORDER BY runs.rowid DESC LIMIT 1
            )) LIMIT :batch)""",
    "wakes": """
        DELETE FROM wakes WHERE rowid IN (
            SELECT rowid FROM wakes WHERE created_at < :before AND state NOT IN ('pending', 'sending') LIMIT :batch)""",
    "runs": """
        DELETE FROM runs WHERE rowid IN (
            SELECT rowid FROM runs WHERE ended_at < :before AND id NOT IN (
                SELECT run_id FROM wakes WHERE state IN ('pending', 'sending')
                UNION SELECT run_id FROM findings WHERE state IN ('wake', 'held')
            ) LIMIT :batch)""",
    "incidents": """
        DELETE FROM incidents WHERE rowid IN (
            SELECT rowid FROM incidents WHERE resolve_told = 1 AND resolved_at < :before LIMIT :batch)""",
    "briefs": """
        DELETE FROM briefs WHERE rowid IN (
            SELECT rowid FROM briefs WHERE until < :before AND file IS NOT 'due'
            AND rowid < (SELECT max(rowid) FROM briefs)
            -- The latest day must not get another one.
            AND (day IS NULL OR day < (SELECT max(day) FROM briefs)) LIMIT :batch)""",
    "messages": """
        DELETE FROM messages WHERE rowid IN (
            SELECT rowid FROM messages WHERE created_at < :before AND settled_at < :before
            AND state NOT IN ('pending', 'sending')
            AND (state NOT IN ('failed', 'expired') OR told = 1) LIMIT :batch)""",
    "holds": """
        DELETE FROM holds WHERE agent IN (SELECT agent FROM holds WHERE until < :before LIMIT :batch)""",
    "overrides": """
        DELETE FROM overrides WHERE name IN (SELECT name FROM overrides WHERE until < :before LIMIT :batch)""",
    "slots": """
        DELETE FROM slots WHERE (job, slot_at) IN (
            SELECT job, slot_at FROM slots WHERE slot_at < :before AND last_at < :before AND state <> 'claimed'
            -- It may be run again still.
            AND (state <> 'interrupted' OR slot_at IS NOT (SELECT last_slot_at FROM jobs WHERE jobs.job = slots.job))
            LIMIT :batch)""",
    "scopes": """
        DELETE FROM scopes WHERE (job, scope) IN (
            SELECT job, scope FROM scopes WHERE last_at < :long_before
            -- What a job could not look at since, because it did not run, is as well known as ever.
            AND last_at < (
                SELECT ended_at FROM runs WHERE runs.job = scopes.job AND verdict IN ('wake', 'quiet')
                ORDER BY runs.rowid DESC LIMIT 1
            ) LIMIT :batch)""",
    "clock_events": """
        DELETE FROM clock_events WHERE rowid IN (SELECT rowid FROM clock_events WHERE at < :before LIMIT :batch)""",
}
# The cross join goes job by job, and so meets only the runs that lose their output.
_OUTPUTS = """
    SELECT runs.rowid, runs.id FROM jobs CROSS JOIN runs ON runs.job = jobs.job AND stdout_head IS NOT NULL
    AND runs.rowid <= (SELECT rowid FROM runs WHERE job = jobs.job ORDER BY rowid DESC LIMIT 1 OFFSET :outputs)
    WHERE jobs.job BETWEEN :first AND :last
    AND runs.id NOT IN (
        SELECT run_id FROM wakes WHERE state IN ('pending', 'sending')
        UNION SELECT run_id FROM findings WHERE state IN ('wake', 'held')
    ) LIMIT :batch"""
_FORGET_OUTPUT = """
    UPDATE runs SET stdout_dropped = stdout_dropped + length(stdout_head) + length(stdout_tail),
    stderr_dropped = stderr_dropped + length(stderr_head) + length(stderr_tail),
    stdout_head = NULL, stdout_tail = NULL, stderr_head = NULL, stderr_tail = NULL, context = '' WHERE rowid = ?"""
_FORGET_DUPLICATES = "DELETE FROM decisions WHERE run_id = ? AND action = 'duplicate' AND rule != 'returned'"


def prune(
    database: Database, now: datetime, history: timedelta, outputs: int, go_on: Callable[[], bool] = lambda: True
) -> dict[str, int]:
    """How many rows went, by table; `outputs` counts runs that lost only their output."""
    instants = {"before": to_text(now - history), "long_before": to_text(now - max(history, SCOPES_KEPT))}
    # Queue items go before the findings that say they were told: without those, an item would be told once more.
    counts = {"queue": _repeat(database, go_on, lambda db: queue_changes.forget(db, now - history, BATCH))}
    counts |= {table: _repeat(database, go_on, _deleting(sql, instants)) for table, sql in _OLD.items()}
    with database.reading() as db:
        jobs = [row["job"] for row in db.execute("SELECT job FROM jobs ORDER BY job")]
    # Several jobs at a time: with a transaction for each, thousands of jobs would keep the disk busy for minutes.
    some = [jobs[start : start + BATCH] for start in range(0, len(jobs), BATCH)]
    counts["outputs"] = sum(_repeat(database, go_on, _forgetting(few[0], few[-1], outputs)) for few in some)
    if go_on():
        _shrink(database)
    return counts


def _repeat(database: Database, go_on: Callable[[], bool], step: Callable[[sqlite3.Connection], int]) -> int:
    """Do *step* in transactions of their own until it finds less than a batch to do, or *go_on* says no."""
    total, done = 0, BATCH
    while done >= BATCH and go_on():
        with database.writing() as db:
            done = step(db)
        total += done
    return total


def _deleting(sql: str, values: dict[str, str]) -> Callable[[sqlite3.Connection], int]:
    return lambda db: db.execute(sql, {**values, "batch": BATCH}).rowcount


def _forgetting(first: str, last: str, outputs: int) -> Callable[[sqlite3.Connection], int]:
    def step(db: sqlite3.Connection) -> int:
        values = {"first": first, "last": last, "outputs": outputs, "batch": BATCH}
        rows = db.execute(_OUTPUTS, values).fetchall()
        db.executemany(_FORGET_OUTPUT, [(row["rowid"],) for row in rows])
        db.executemany(_FORGET_DUPLICATES, [(row["id"],) for row in rows])
        return len(rows)

    return step


def _shrink(database: Database) -> None:
    """Give the freed pages back, a bounded number at a time."""
    free = _FREED_PAGES
    while free >= _FREED_PAGES:
        with database.outside() as db:
            db.execute(f"PRAGMA incremental_vacuum({_FREED_PAGES:d})").fetchall()
            free = db.execute("PRAGMA freelist_count").fetchone()[0]
