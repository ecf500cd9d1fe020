"""Wakes as findings come into them and leave them: what is for one target and comes due together is one wake."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from heartbeat.clock import new_id, to_text
from heartbeat.model import Decision, Target, Urgency
from heartbeat.stores.sqlite.rows import text

_UNTRIED = "FROM wakes WHERE state = 'pending' AND attempts = 0 AND brief_id IS NULL"
_USEFUL_UNTIL = """(
    SELECT CASE WHEN count(*) = count(useful_until) THEN max(useful_until) END
    FROM findings WHERE wake_id = wakes.id AND state = 'wake')"""


class Joining:
    """The wakes that the findings of one transaction go into."""

    def __init__(self, db: sqlite3.Connection, at: datetime) -> None:
        self._db = db
        self._at = at
        self._wakes: dict[Target, str] = {}

    def wake_for(self, decision: Decision, job: str, run_id: str) -> str:
        """The wake for what is decided: one for its target that waits untried, or a new one of this job and run."""
        target = decision.target
        if target not in self._wakes:
            critical = decision.finding.urgency is Urgency.CRITICAL
            self._wakes[target] = self._join(target) or self._enter(target, job, run_id, critical=critical)
        return self._wakes[target]

    def _join(self, target: Target) -> str | None:
        row = self._db.execute(
            f"SELECT id {_UNTRIED} AND agent = ? AND profile = ? ORDER BY rowid DESC LIMIT 1",
            (text(target.agent), text(target.profile)),
        ).fetchone()
        if row is None:
            return None
        # It may have been put off for what it carried; what joins it need not wait.
        at = to_text(self._at)
        self._db.execute("UPDATE wakes SET next_attempt_at = min(next_attempt_at, ?) WHERE id = ?", (at, row["id"]))
        return str(row["id"])

    def _enter(self, target: Target, job: str, run_id: str, *, critical: bool) -> str:
        wake_id, at = new_id("wake", self._at), to_text(self._at)
        self._db.execute(
            "INSERT INTO wakes (id, job, run_id, agent, profile, critical, state, created_at, next_attempt_at) "
            "VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?)",
            (wake_id, job, run_id, text(target.agent), text(target.profile), critical, at, at),
        )
        return wake_id

    def look_again(self, finding_id: str) -> None:
        """The wake that carries it may have been put off for as long as it was of use before."""
        self._db.execute(
            "UPDATE wakes SET next_attempt_at = min(next_attempt_at, ?) WHERE deferred = 1 AND state = 'pending' "
            "AND id = (SELECT wake_id FROM findings WHERE id = ?)",
            (to_text(self._at), finding_id),
        )

    def finish(self, *, left: bool) -> tuple[str, ...]:
        """Bring the wakes in order when findings joined or *left* any; the ids of those that wait for what joined."""
        if self._wakes or left:
            tidy(self._db)
        pending = "SELECT 1 FROM wakes WHERE id = ? AND state = 'pending'"
        return tuple(each for each in self._wakes.values() if self._db.execute(pending, (each,)).fetchone())


def joinable(db: sqlite3.Connection) -> frozenset[Target]:
    """Those for whom a wake waits that was not tried yet."""
    rows = db.execute(f"SELECT DISTINCT agent, profile {_UNTRIED}")
    return frozenset(Target(row["agent"], row["profile"]) for row in rows)


def tidy(db: sqlite3.Connection) -> None:
    """After findings joined or left pending wakes: cancel the empty ones, date the others."""
    db.execute(
        "UPDATE wakes SET state = 'cancelled', next_attempt_at = NULL, error = 'all it carried was taken back' "
        "WHERE state = 'pending' AND brief_id IS NULL "
        "AND NOT EXISTS (SELECT 1 FROM findings WHERE wake_id = wakes.id AND state = 'wake')"
    )
    # Most have not changed: to write hundreds of rows again would make the log grow with every run.
    db.execute(
        f"UPDATE wakes SET useful_until = {_USEFUL_UNTIL} "  # noqa: S608 - our own text
        f"WHERE state = 'pending' AND brief_id IS NULL AND useful_until IS NOT {_USEFUL_UNTIL}"
    )
