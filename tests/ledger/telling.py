"""For the tests of what is told to the owner: runs that report, wakes that are settled, messages that are drafted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from heartbeat.clock import new_id
from heartbeat.model import (
    Action,
    Change,
    Decision,
    Draft,
    Execution,
    Finding,
    Gate,
    Judgement,
    LedgerFinding,
    MessageKind,
    Plan,
    Reply,
    Run,
    State,
    Target,
    Verdict,
    View,
)
from heartbeat.stores.sqlite import SqliteLedger

T0 = datetime(2026, 6, 10, 8, tzinfo=UTC)
OWNER = "4711:1234567"
CLAUDE = Target("claude")


def at(minute: float) -> datetime:
    return T0 + timedelta(minutes=minute)


def draft(channel: str = "phone", **more: Any) -> Draft:
    return replace(Draft(MessageKind.NOTICE, channel, "Title", "Body"), **more)


def report(
    ledger: SqliteLedger,
    minute: float,
    *keys: str,
    action: Action = Action.WAKE,
    version: str = "",
    verdict: Verdict = Verdict.WAKE,
    change: Change = Change.NEW,
    target: Target = CLAUDE,
) -> tuple[str, ...]:
    """A run that reports *keys*; the ids of the wakes that wait for it. An update meets what is known."""
    run = Run(new_id("run", at(minute)), "job", "manual", None, at(minute))
    ledger.claim(run, OWNER)
    gate = Gate(wake=True, findings=tuple(Finding(key, f"Title of {key}", version) for key in keys))

    def choose(view: View) -> Plan:
        return Plan(
            tuple(
                Decision(finding, action, change, action.value, "so", view.known.get(finding.key), target=target)
                for finding in gate.findings
            )
        )

    judgement = Judgement(verdict, verdict.value, "because", gate=gate)
    return ledger.record(run, Execution(at(minute), at(minute), exit_code=0), judgement, choose)[1]


def told(ledger: SqliteLedger, minute: float, *keys: str, channels: tuple[str, ...] = ("phone",)) -> list[str]:
    """A wake with *keys* that was accepted; the ids of the messages about it."""
    (wake_id,) = report(ledger, minute, *keys)
    assert ledger.begin_wake(wake_id, OWNER, at(minute))
    drafts = [draft(channel, kind=MessageKind.REPLY, wake_id=wake_id) for channel in channels]
    ledger.settle_wake(wake_id, Reply("a reply"), drafts, at(minute))
    return [message.id for message in reversed(ledger.messages()) if message.wake_id == wake_id]


def stands(ledger: SqliteLedger, key: str = "k") -> tuple[State, str]:
    """Where the finding under *key* is, and by which rule."""
    row = found(ledger, key)
    return row.state, row.rule


def found(ledger: SqliteLedger, key: str = "k") -> LedgerFinding:
    """The oldest under *key*."""
    return ledger.finding(ledger.findings(key=key)[-1].id)
