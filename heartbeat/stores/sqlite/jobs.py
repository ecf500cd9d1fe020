"""What is remembered of each job between runs: its schedule, where that counts from, and how far it has come."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from sys import intern

from heartbeat.clock import from_text, to_text
from heartbeat.model import JobState, SlotState
from heartbeat.ports import OFF
from heartbeat.stores.sqlite.rows import reader, text

_STATES = """
    SELECT jobs.job, anchor_at, last_slot_at, backoff_until, baseline_done, fingerprint, schedule, state, attempts, at
    FROM jobs LEFT JOIN slots ON slots.job = jobs.job AND slots.slot_at = jobs.last_slot_at"""
_NEW = "INSERT INTO jobs (job, schedule, anchor_at) VALUES (?, ?, ?)"
_CHANGED = "UPDATE jobs SET schedule = ?, anchor_at = ?, last_slot_at = NULL WHERE job = ?"
_LEARNT = "UPDATE jobs SET schedule = ? WHERE job = ?"


def enlist(db: sqlite3.Connection, schedules: Iterable[tuple[str, str]], now: datetime) -> list[str]:
    """Nothing is written when nothing is new."""
    # By what a slot was reckoned is not known of an older ledger; a job without one was only run by hand.
    known = "SELECT job, CASE WHEN schedule = '' AND last_slot_at IS NULL THEN 'unknown' ELSE schedule END FROM jobs"
    stored: dict[str, str] = dict(db.execute(known).fetchall())
    unlisted = stored.copy()
    fresh = []
    new, changed, learnt = [], [], []
    at = to_text(now.replace(microsecond=0))  # instants that people can read, and write
    for name, schedule in schedules:
        job, given = text(name), text(schedule)
        before = stored.get(job)
        stored[job] = given
        unlisted.pop(job, None)
        if before is None:
            fresh.append(name)
            new.append((job, given, at))
        elif before and before != given:
            fresh.append(name)
            changed.append((given, at, job))
        elif before != given:
            learnt.append((given, job))
    learnt += [(OFF, job) for job, before in unlisted.items() if before != OFF]
    db.executemany(_NEW, new)
    db.executemany(_CHANGED, changed)
    db.executemany(_LEARNT, learnt)
    return fresh


def states(db: sqlite3.Connection) -> dict[str, JobState]:
    return {state.job: state for state in map(_read_state, db.execute(_STATES))}


def find(db: sqlite3.Connection, job: str) -> JobState | None:
    row = db.execute(f"{_STATES} WHERE jobs.job = ?", (text(job),)).fetchone()
    return row and _read_state(row)


# Thousands of jobs have few instants and texts between them; as one object each, they cost little memory.
_instant = lru_cache(maxsize=1024)(from_text)


@reader
def _read_state(row: sqlite3.Row) -> JobState:
    job, anchor_at, last_slot_at, backoff_until, baseline_done, fingerprint, schedule, slot_state, attempts, at = row
    last = None if last_slot_at is None else _instant(last_slot_at)
    return JobState(
        job=job,
        anchor_at=_instant(anchor_at),
        last_slot_at=last,
        backoff_until=None if backoff_until is None else _instant(backoff_until),
        baseline_done=baseline_done == 1,
        fingerprint=intern(fingerprint),
        schedule=intern(schedule),
        interrupted_at=last if slot_state == SlotState.INTERRUPTED else None,
        attempts=attempts or 0,
        entered_at=None if at is None else _instant(at),
    )


def anchor(db: sqlite3.Connection, job: str, at: datetime) -> None:
    """Enter *job*, anchored at *at*, unless it is known."""
    db.execute("INSERT INTO jobs (job, anchor_at) VALUES (?, ?) ON CONFLICT DO NOTHING", (text(job), to_text(at)))


def advance(db: sqlite3.Connection, lasts: Iterable[tuple[str, str]], now: datetime) -> None:
    """Let the schedule of each job, which may be new, go on after a slot, unless it has come further.

    In the transaction of the slot's fate: a schedule that moves on later, or earlier, doubles or loses the slot.
    """
    at = to_text(now)
    db.executemany(
        "INSERT INTO jobs (job, anchor_at, last_slot_at) VALUES (?, ?, ?) ON CONFLICT (job) "
        "DO UPDATE SET last_slot_at = max(coalesce(last_slot_at, ''), excluded.last_slot_at)",
        ((job, at, last) for job, last in lasts),
    )


def move_on(db: sqlite3.Connection, job: str, now: datetime) -> None:
    anchor(db, job, now)
    db.execute(
        "UPDATE jobs SET anchor_at = :now, last_slot_at = :now WHERE job = :job",
        {"now": to_text(now), "job": text(job)},
    )
