"""For the tests of wakes and of what is held: runs with any decisions, and their wakes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from heartbeat.clock import new_id
from heartbeat.model import (
    Action,
    Change,
    Decision,
    Execution,
    Finding,
    Gate,
    Judgement,
    LedgerFinding,
    Plan,
    Reply,
    Run,
    Step,
    Target,
    Verdict,
    View,
    Wake,
)
from heartbeat.stores.sqlite import SqliteLedger
from tests.ledger.telling import CLAUDE, OWNER, at

TRACE = (Step("quiet", "hold", "it is night"), Step("budget", "passed", ""))


def decided(
    key: str,
    action: Action = Action.WAKE,
    change: Change = Change.NEW,
    view: View | None = None,
    *,
    rule: str = "",
    until: datetime | None = None,
    target: Target = CLAUDE,
    **more: Any,
) -> Decision:
    """With a *view*, about what it knows under the key."""
    known = view.known.get(key) if view else None
    finding = Finding(key, f"Title of {key}", **more)
    return Decision(finding, action, change, rule or action, f"{action} it", known, TRACE, until=until, target=target)


def run(
    ledger: SqliteLedger, minute: float, choose: Callable[[View], Iterable[Decision]], *, job: str = "job"
) -> tuple[str, ...]:
    """A run that reports whatever keys are known; the ids of the wakes that wait for it."""
    entered = Run(new_id("run", at(minute)), job, "manual", None, at(minute))
    ledger.claim(entered, OWNER)
    keys = {row.finding.key for row in ledger.findings(job, limit=9999)}
    gate = Gate(wake=True, findings=tuple(Finding(key, key) for key in keys))
    judgement = Judgement(Verdict.WAKE, "wake", "because", gate=gate)
    return ledger.record(entered, Execution(at(minute), at(minute)), judgement, lambda v: Plan(tuple(choose(v))))[1]


def enter(ledger: SqliteLedger, minute: float, *decisions: Decision, job: str = "job") -> tuple[str, ...]:
    """A run with decisions that meet nothing."""
    return run(ledger, minute, lambda _view: decisions, job=job)


def again(ledger: SqliteLedger, minute: float, key: str, action: Action, **more: Any) -> tuple[str, ...]:
    """A run that decides the same finding again."""
    return run(ledger, minute, lambda view: [decided(key, action, Change.SAME, view, **more)])


def begun(ledger: SqliteLedger, wake_id: str, minute: float) -> Wake:
    wake = ledger.begin_wake(wake_id, OWNER, at(minute))
    assert wake is not None
    return wake


def settled(ledger: SqliteLedger, minute: float, *keys: str) -> str:
    """The id of a wake that told *keys*."""
    (wake_id,) = enter(ledger, minute, *(decided(key) for key in keys))
    begun(ledger, wake_id, minute)
    ledger.settle_wake(wake_id, Reply(), (), at(minute))
    return wake_id


def row_of(ledger: SqliteLedger, key: str) -> LedgerFinding:
    """The newest under the key, with its events."""
    return ledger.finding(ledger.findings(key=key)[0].id)


def keys_of(wake: Wake) -> list[str]:
    return [row.finding.key for row in wake.findings]
