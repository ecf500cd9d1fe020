"""What a brief counts: runs, faults, due instants that were not run, calls of agents and what they cost."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from heartbeat.clock import to_text
from heartbeat.model import OWNER, Tally

JOBS = 50
"""So many jobs with due instants that were not run are named."""

# Each is answered by an index alone, or by the few rows it leads to.
_RUNS = """
    SELECT count(*) AS runs,
    coalesce(sum(state = 'interrupted' OR verdict IN ('malformed', 'failed', 'timeout')), 0) AS faults
    FROM runs WHERE ended_at > :since AND ended_at <= :until"""
# By when the fate was entered: a stretch that began before the last brief may have been entered after it.
_MISSED = """
    SELECT job, reason, sum(coalesce(count, 1)) AS number FROM slots
    WHERE state IN ('skipped', 'missed', 'interrupted') AND at > :since AND at <= :until
    GROUP BY job, reason ORDER BY number DESC, job, reason"""
_WAKES = """
    SELECT coalesce(sum(agent <> :owner), 0) AS wakes, coalesce(sum(agent = :owner), 0) AS notices
    FROM wakes WHERE settled_at > :since AND settled_at <= :until"""
_COST = """
    SELECT coalesce(sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)), 0) AS tokens, total(usd) AS usd
    FROM attempts WHERE (tokens_in IS NOT NULL OR tokens_out IS NOT NULL OR usd IS NOT NULL)
    AND ended_at > :since AND ended_at <= :until"""


def count(db: sqlite3.Connection, since: datetime, until: datetime) -> Tally:
    """What happened after *since*, up to *until*."""
    times = {"since": to_text(since), "until": to_text(until), "owner": OWNER}
    runs, wakes, cost = (db.execute(sql, times).fetchone() for sql in (_RUNS, _WAKES, _COST))
    return Tally(
        runs=runs["runs"],
        faults=runs["faults"],
        missed=_missed(db, times),
        wakes=wakes["wakes"],
        notices=wakes["notices"],
        avoided=max(runs["runs"] - wakes["wakes"], 0),
        tokens=cost["tokens"],
        usd=cost["usd"],
    )


def _missed(db: sqlite3.Connection, times: dict[str, str]) -> tuple[tuple[str, int, str], ...]:
    """Those with the most first."""
    numbers: dict[str, int] = {}
    commonest: dict[str, str] = {}
    for row in db.execute(_MISSED, times):
        numbers[row["job"]] = numbers.get(row["job"], 0) + row["number"]
        commonest.setdefault(row["job"], row["reason"])
    most = sorted(numbers, key=lambda job: (-numbers[job], job))[:JOBS]
    return tuple((job, numbers[job], commonest[job]) for job in most)
