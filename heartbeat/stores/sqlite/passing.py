"""Slots that will not run: any number of fates, entered at once and in few statements.

By way of a table of its own: a statement for each fate would keep the ledger locked for many seconds when thousands
of jobs wake from a long sleep.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby

from heartbeat.clock import from_text, to_text
from heartbeat.model import Fate
from heartbeat.ports import TRUSTED
from heartbeat.stores.sqlite import jobs
from heartbeat.stores.sqlite.rows import reader, text
from heartbeat.stores.sqlite.slots import holds

_TABLE = """
    CREATE TEMP TABLE IF NOT EXISTS passing (
        job TEXT, first TEXT, rest TEXT, last TEXT, count INTEGER, state TEXT, reason TEXT
    )"""
_ADD = "INSERT INTO passing (job, first, rest, last, count, state, reason) VALUES (?, ?, ?, ?, ?, ?, ?)"
# Each plus keeps SQLite from walking all the earlier slots of a job instead of its stretches.
_HELD = """
    SELECT passing.rowid AS number, passing.job, first, last, passing.state, passing.reason,
    slot_at, last_at, slots.count
    FROM passing CROSS JOIN slots
    ON slots.job = passing.job AND last_at > slot_at AND last_at >= first AND +slot_at <= last
    WHERE at <= :now ORDER BY number, +slot_at"""
_FORGET_WRONG = """
    DELETE FROM slots WHERE (job, slot_at) IN (
        SELECT slots.job, slot_at FROM passing CROSS JOIN slots
        ON slots.job = passing.job AND slot_at BETWEEN first AND last
        WHERE (at > :trusted OR at > :now AND run_id IS NULL) AND slots.state <> 'claimed')"""
_ENTER = """
    INSERT INTO slots (job, slot_at, last_at, count, state, reason, attempts, at)
    SELECT job, first, last, count, state, reason, 0, :now FROM passing WHERE true ON CONFLICT DO NOTHING"""
# When the first slot of a stretch has a row of its own, the others still need one.
_ENTER_REST = """
    INSERT INTO slots (job, slot_at, last_at, count, state, reason, attempts, at)
    SELECT job, rest, last, NULL, state, reason, 0, :now FROM passing
    WHERE last > (SELECT last_at FROM slots WHERE slots.job = passing.job AND slot_at = first)
    ON CONFLICT DO NOTHING"""


def pass_over(db: sqlite3.Connection, fates: Sequence[tuple[str, Fate]], now: datetime, *, advance: bool) -> None:
    values = {"now": to_text(now), "trusted": to_text(now + TRUSTED)}
    db.execute(_TABLE)
    db.executemany(_ADD, _rows(fates))
    if advance:
        jobs.advance(db, db.execute("SELECT job, max(last) FROM passing GROUP BY job"), now)
    _leave_out_held(db, values)
    for statement in (_FORGET_WRONG, _ENTER, _ENTER_REST):
        db.execute(statement, values)
    db.execute("DELETE FROM passing")


def _rows(fates: Iterable[tuple[str, Fate]]) -> Iterator[tuple[str | int | None, ...]]:
    for job, fate in fates:
        first = rest = last = to_text(fate.first)
        if fate.last != fate.first:
            rest, last = to_text(fate.first + timedelta.resolution), to_text(fate.last)
        yield text(job), first, rest, last, fate.count, fate.state, text(fate.reason)


def _leave_out_held(db: sqlite3.Connection, values: dict[str, str]) -> None:
    """Keep of what is on its way only the parts that no stretch holds already; that is rarely needed."""
    held = [row for row in db.execute(_HELD, values) if row["first"] != row["last"] or holds(row, _first(row))]
    for number, stretches in groupby(held, lambda row: int(row["number"])):
        db.execute("DELETE FROM passing WHERE rowid = ?", (number,))
        db.executemany(_ADD, _parts(list(stretches)))


def _parts(held: list[sqlite3.Row]) -> Iterator[tuple[str | None, ...]]:
    """What the stretches that hold some of a fate, in order, leave of it. How many slots a part has is not known."""
    fate = held[0]
    start = fate["first"]
    for end, next_start in [*map(_around, held), (fate["last"], fate["last"])]:
        if start <= end:
            yield fate["job"], start, _move(start, 1), end, None, fate["state"], fate["reason"]
        start = next_start


@reader
def _around(row: sqlite3.Row) -> tuple[str, str]:
    """The last instant before a stretch, and the first after it."""
    return _move(row["slot_at"], -1), _move(row["last_at"], 1)


@reader
def _first(row: sqlite3.Row) -> datetime:
    return from_text(row["first"])


def _move(instant: str, steps: int) -> str:
    return to_text(from_text(instant) + steps * timedelta.resolution)
