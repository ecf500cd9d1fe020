"""What the keys of a job stand for now."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator

from heartbeat.model import Change, Known, State
from heartbeat.stores.sqlite.rows import read_finding, reader, text, when

_TOLD = "EXISTS (SELECT 1 FROM finding_events WHERE finding_id = findings.id AND state IN ('told', 'briefed'))"
_COLUMNS = f"""
    findings.*, wakes.state IS 'sending' AND findings.state = 'wake' AS sending,
    (SELECT at FROM finding_events WHERE finding_id = findings.id ORDER BY rowid DESC LIMIT 1) AS since,
    findings.state IN ('wake', 'held', 'brief', 'dropped') AND {_TOLD} AS reminds"""  # noqa: S608 - our own text
_FROM = "FROM findings LEFT JOIN wakes ON wakes.id = findings.wake_id"
_CURRENT = f"SELECT {_COLUMNS}, '' AS retracting {_FROM} WHERE findings.job = ? AND findings.current = 1 AND "
_TO_MISS = f"{_CURRENT} findings.when_absent <> 'keep'"
# Without the index of the states: thousands may wait for a brief, few have one of these keys.
_RETRACTING = f"""
    SELECT findings.id, findings.key, max(findings.rowid) AS number {_FROM}
    WHERE findings.job = ? AND findings.change = 'retraction'
    AND (+findings.state IN ('held', 'brief') OR +findings.state = 'wake' AND wakes.state <> 'sending')
    AND findings.key IN ({{marks}}) GROUP BY findings.key"""
# Of the versions since it was new, the latest that the owner was told or is being told, else the latest.
_RETRACTED = f"""
    SELECT {_COLUMNS}, :id AS retracting {_FROM}
    WHERE findings.job = :job AND findings.key = :key AND findings.change <> 'retraction'
    AND findings.rowid < :number AND findings.rowid >= (
        SELECT coalesce(max(rowid), 0) FROM findings
        WHERE job = :job AND key = :key AND change = 'new' AND rowid < :number
    )
    ORDER BY sending OR findings.state = 'known' OR {_TOLD} DESC, findings.rowid DESC LIMIT 1"""  # noqa: S608 - our own text
_KEYS_AT_ONCE = 500


def known(db: sqlite3.Connection, job: str, keys: Collection[str]) -> dict[str, Known]:
    """What *keys* of a job stand for now, and every other key whose absence means something.

    One that stands for nothing any more, but nobody was told so yet, is what is being retracted.
    """
    rows = db.execute(_TO_MISS, (text(job),)).fetchall()
    stored = {text(key) for key in keys}
    for some in _portions(stored):
        rows += db.execute(f"{_CURRENT} findings.key IN ({_marks(some)})", (text(job), *some))
    for some in _portions(stored - {row["key"] for row in rows}):
        for waiting in db.execute(_RETRACTING.format(marks=_marks(some)), (text(job), *some)).fetchall():
            rows += db.execute(_RETRACTED, {"job": text(job), **waiting})
    return {item.finding.key: item for item in map(_read_known, rows)}


def _portions(keys: Collection[str]) -> Iterator[list[str]]:
    ordered = sorted(keys)
    return (ordered[start : start + _KEYS_AT_ONCE] for start in range(0, len(ordered), _KEYS_AT_ONCE))


def _marks(keys: list[str]) -> str:
    # As parameters: SQLite's JSON functions end a text at its first NUL.
    return ", ".join("?" * len(keys))


@reader
def _read_known(row: sqlite3.Row) -> Known:
    return Known(
        finding_id=row["id"],
        finding=read_finding(row),
        state=State(row["state"]),
        rule=row["rule"],
        sending=bool(row["sending"]),
        # What waits as a reminder cannot be taken back in silence: the owner was told it before.
        change=Change.UPDATE if row["reminds"] else Change(row["change"]),
        missed=row["missed"],
        unsure=bool(row["unsure"]),
        since=when(row["since"]),
        retracting=row["retracting"],
    )
