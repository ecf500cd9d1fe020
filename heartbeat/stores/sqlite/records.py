"""The heart of the store: what one run changes, read, decided and written in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime

from heartbeat.errors import NotFound
from heartbeat.model import Action, Change, Decision, Execution, Finding, JobState, Judgement, Plan, Run, View
from heartbeat.stores.sqlite import findings, incidents, jobs, past, plans, runs, scopes, standing
from heartbeat.stores.sqlite.rows import instant, read_finding, reader, text, to_trace

# Both tables have columns of these names.
_DECISIONS = """
    SELECT findings.*, decisions.finding_id, decisions.key AS decided_key, decisions.title AS decided_title,
    decisions.action, decisions.change AS decided_change, decisions.rule AS decided_rule,
    decisions.reason AS decided_reason, decisions.trace
    FROM decisions LEFT JOIN findings ON findings.id = decisions.finding_id
    WHERE decisions.run_id = :run AND (:finding IS NULL OR decisions.finding_id = :finding)
    ORDER BY decisions.number"""


def record(
    db: sqlite3.Connection,
    run: Run,
    execution: Execution,
    judgement: Judgement,
    choose: Callable[[View], Plan],
) -> tuple[Plan, tuple[str, ...]]:
    """Everything that happens is dated at the end of the run."""
    runs.require_running(db, run.id)
    at = run.ended_at or execution.ended_at
    keys = {finding.key for finding in judgement.gate.findings} if judgement.gate else set()
    seen = view(db, run.job, keys, at, scoped=_has_scopes(judgement))
    plan = choose(seen)
    runs.finish(db, run, execution, judgement, at)
    wake_ids = plans.carry_out(db, run, plan.decisions, at)
    findings.miss(db, plan.missed)
    if judgement.gate and not judgement.verdict.is_fault:
        scopes.enter(db, run.job, judgement.gate.scopes, at)
    for change in plan.faults:
        incidents.apply(db, change, at)
    db.execute("UPDATE jobs SET backoff_until = ? WHERE job = ?", (instant(plan.backoff_until), run.job))
    if judgement.gate and not judgement.verdict.is_fault:
        if seen.state.fingerprint not in ("", plan.fingerprint):
            findings.doubt(db, run.job, at)
        # What a source that failed holds is not known yet.
        done = seen.state.baseline_done or all(source.ok for source in judgement.gate.sources)
        db.execute(
            "UPDATE jobs SET baseline_done = ?, fingerprint = ? WHERE job = ?", (done, plan.fingerprint, run.job)
        )
    return plan, wake_ids


def _has_scopes(judgement: Judgement) -> bool:
    gate = judgement.gate
    return gate is not None and (bool(gate.scopes) or any(finding.scope for finding in gate.findings))


def view(db: sqlite3.Connection, job: str, keys: Collection[str], now: datetime, *, scoped: bool = True) -> View:
    """What a plan for these reported keys needs to know; a job never seen is as if anchored at *now*."""
    state = jobs.find(db, job) or JobState(job, now)
    looked_at = scopes.known(db, job) if scoped else frozenset[str]()
    return View(state, standing.known(db, job, keys), incidents.streaks(db, job), looked_at, past.read(db, now))


def decisions(db: sqlite3.Connection, run_id: str, finding_id: str | None) -> list[tuple[str | None, Decision]]:
    """The decisions of a run, in order; of a finding that is not on record any more only key and title are left."""
    runs.get(db, run_id)
    rows = db.execute(_DECISIONS, {"run": text(run_id), "finding": finding_id and text(finding_id)})
    return [(row["finding_id"], _read_decision(row)) for row in rows]


def news(db: sqlite3.Connection, run_id: str) -> tuple[Run, list[tuple[str | None, Decision]]] | None:
    """A run, and what was decided of its findings but for mere duplicates; None when it is not on record any more."""
    try:
        decided = decisions(db, run_id, None)
    except NotFound:
        return None
    return runs.get(db, run_id), [
        each for each in decided if each[1].action is not Action.DUPLICATE or each[1].rule == "returned"
    ]


@reader
def _read_decision(row: sqlite3.Row) -> Decision:
    key, title = row["decided_key"], row["decided_title"]
    return Decision(
        finding=replace(read_finding(row), title=title) if row["id"] is not None else Finding(key, title),
        action=Action(row["action"]),
        change=Change(row["decided_change"]),
        rule=row["decided_rule"],
        reason=row["decided_reason"],
        trace=to_trace(row["trace"]),
    )
