"""What the owner has not heard of, though it counts as told: neither a channel nor a file has it."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from heartbeat.model import FindingEvent, State
from heartbeat.stores.sqlite import findings

RULE = "undelivered"

_BRIEF_OF = "SELECT coalesce(:brief, (SELECT brief_id FROM wakes WHERE id = :wake)) AS brief_id"
_REACHES = """
    SELECT 1 FROM messages WHERE (wake_id = :wake OR brief_id = :brief)
    AND state IN ('pending', 'sending', 'delivered', 'unverified')
    UNION ALL SELECT 1 FROM briefs WHERE id = :brief AND file IS NOT NULL
    UNION ALL SELECT 1 FROM wakes WHERE brief_id = :brief AND state IN ('pending', 'sending') LIMIT 1"""
_TOLD_BY_WAKE = "SELECT id FROM findings WHERE wake_id = ? AND state = 'told' AND rule = 'settled' ORDER BY rowid"
_TOLD_BY_BRIEF = "SELECT id FROM findings WHERE brief_id = ? AND state = 'briefed' ORDER BY rowid"
# What another brief told since is not this one's any more.
_OF_BRIEF = (
    "UPDATE incidents SET open_told = :told WHERE open_brief = :brief",
    "UPDATE incidents SET resolve_told = :told WHERE resolve_brief = :brief",
    "UPDATE messages SET told = :told WHERE told_brief = :brief",
)
# The event tells whose message it was: a finding may have been in a wake and, when that failed, in a brief.
_GIVEN_BACK = """
    SELECT id FROM findings WHERE {column} = :id AND state = 'brief' AND rule = 'undelivered' AND :id IS (
        SELECT {column} FROM finding_events WHERE finding_id = findings.id ORDER BY rowid DESC LIMIT 1
    ) ORDER BY rowid"""


def give_back(db: sqlite3.Connection, wake_id: str | None, brief_id: str | None, reason: str, now: datetime) -> None:
    """What the wake and the brief told goes to the next brief, unless a message or a file of them has it."""
    brief_id = _brief(db, wake_id, brief_id)
    if db.execute(_REACHES, {"wake": wake_id, "brief": brief_id}).fetchone():
        return
    if wake_id is not None:
        event = FindingEvent(now, State.BRIEF, RULE, reason, wake_id=wake_id)
        findings.move(db, _still_to_tell(db, _TOLD_BY_WAKE, wake_id), event)
    if brief_id is not None:
        event = FindingEvent(now, State.BRIEF, RULE, reason, brief_id=brief_id)
        findings.move(db, _still_to_tell(db, _TOLD_BY_BRIEF, brief_id), event)
        _mark(db, brief_id, told=False)


def tell_again(db: sqlite3.Connection, wake_id: str | None, brief_id: str | None, reason: str, now: datetime) -> None:
    """It is tried again: what went to the next brief, and still waits there, is as it was."""
    brief_id = _brief(db, wake_id, brief_id)
    if wake_id is not None:
        event = FindingEvent(now, State.TOLD, "settled", reason, wake_id=wake_id)
        findings.move(db, _ids(db, _GIVEN_BACK.format(column="wake_id"), {"id": wake_id}), event)
    if brief_id is not None:
        event = FindingEvent(now, State.BRIEFED, "brief", reason, brief_id=brief_id)
        findings.move(db, _ids(db, _GIVEN_BACK.format(column="brief_id"), {"id": brief_id}), event)
        _mark(db, brief_id, told=True)


def _mark(db: sqlite3.Connection, brief_id: str, *, told: bool) -> None:
    """Whether the incidents, and the messages that were not delivered, that a brief told of count as told."""
    for sql in _OF_BRIEF:
        db.execute(sql, {"told": told, "brief": brief_id})


def _brief(db: sqlite3.Connection, wake_id: str | None, brief_id: str | None) -> str | None:
    """The brief that is told of, if any; a wake may know it."""
    found: str | None = db.execute(_BRIEF_OF, {"brief": brief_id, "wake": wake_id}).fetchone()["brief_id"]
    return found


def _still_to_tell(db: sqlite3.Connection, sql: str, origin: str) -> list[str]:
    """Without those whose key has something newer to tell."""
    ids = _ids(db, sql, (origin,))
    replaced = findings.replaced(db, ids)
    return [finding_id for finding_id in ids if finding_id not in replaced]


def _ids(db: sqlite3.Connection, sql: str, values: tuple[str, ...] | dict[str, str]) -> list[str]:
    return [row["id"] for row in db.execute(sql, values)]
