"""The brief of the owner's day: made once, and kept with what it said."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime

from heartbeat.clock import from_text, new_id, to_text
from heartbeat.errors import NotFound
from heartbeat.model import Brief, Draft, MadeBrief, Target, Urgency
from heartbeat.ports import TRUSTED
from heartbeat.stores.sqlite import briefs, messages, undelivered
from heartbeat.stores.sqlite.rows import reader, text

_WAKE = """
    INSERT INTO wakes (id, job, run_id, agent, profile, brief_id, state, created_at, next_attempt_at)
    VALUES (:id, '', '', :agent, :profile, :brief, 'pending', :now, :now)"""


def issue(
    db: sqlite3.Connection,
    day: date,
    now: datetime,
    compose: Callable[[Brief], tuple[str, Sequence[Draft]]],
    *,
    target: Target | None = None,
    empty: bool = True,
    file: bool = False,
) -> tuple[Brief, str | None] | None:
    """The brief and the id of the wake that is to write it up, if any; None when the day has one."""
    release(db, now)
    if is_made(db, day, now):
        return None
    brief = replace(briefs.read(db, now, None), day=day)
    said, drafts = compose(brief)
    # Also one that tells nothing: the day has had its brief.
    briefs.enter(db, brief, said, file=file and (empty or not brief.is_empty))
    if brief.is_empty and not empty:
        return brief, None
    if target is not None:
        return brief, _enter_wake(db, brief, target, now)
    messages.post(db, [replace(draft, brief_id=brief.id) for draft in drafts], now)
    return brief, None


def _enter_wake(db: sqlite3.Connection, brief: Brief, target: Target, now: datetime) -> str:
    wake_id = new_id("wake", now)
    values = {"id": wake_id, "agent": text(target.agent), "profile": text(target.profile), "brief": brief.id}
    db.execute(_WAKE, values | {"now": to_text(now)})
    return wake_id


def take_back(db: sqlite3.Connection, wake_id: str, error: str, now: datetime) -> None:
    """After the wake that was to write up a brief failed, and no message tells it: the next brief does."""
    undelivered.give_back(db, wake_id, None, f"the agent did not accept the brief: {error}", now)


def tell_again(db: sqlite3.Connection, wake_id: str, now: datetime) -> None:
    """The wake is tried again: what was taken back, and still waits, is told by its brief."""
    undelivered.tell_again(db, wake_id, None, "the wake is tried again", now)


def is_made(db: sqlite3.Connection, day: date, now: datetime) -> bool:
    row = db.execute("SELECT 1 FROM briefs WHERE day = ? AND until <= ?", (day.isoformat(), _ahead(now))).fetchone()
    return row is not None


def release(db: sqlite3.Connection, now: datetime) -> None:
    """Briefs that were made under a clock that was far ahead give up their days, which are still to come."""
    db.execute("UPDATE briefs SET day = NULL WHERE day IS NOT NULL AND until > ?", (_ahead(now),))


def _ahead(now: datetime) -> str:
    return to_text(now + TRUSTED)


def text_of(db: sqlite3.Connection, brief_id: str) -> str:
    """Empty for one that was read on demand."""
    return str(_row(db, brief_id)["text"])


def urgency_of(db: sqlite3.Connection, brief_id: str) -> Urgency:
    return _urgency(_row(db, brief_id))


@reader
def _urgency(row: sqlite3.Row) -> Urgency:
    return Urgency(row["urgency"])


def made(db: sqlite3.Connection, brief_id: str) -> MadeBrief:
    return _made(_row(db, brief_id))


@reader
def _made(row: sqlite3.Row) -> MadeBrief:
    day = date.fromisoformat(row["day"]) if row["day"] is not None else None
    return MadeBrief(row["id"], from_text(row["until"]), row["items"], day)


def _row(db: sqlite3.Connection, brief_id: str) -> sqlite3.Row:
    row: sqlite3.Row | None = db.execute("SELECT * FROM briefs WHERE id = ?", (text(brief_id),)).fetchone()
    if row is None:
        raise NotFound(
            f"cannot find the brief {brief_id!r}; `heartbeat brief` shows what waits to be told, "
            "`heartbeat messages list` the briefs that were sent"
        )
    return row
