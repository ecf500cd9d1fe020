"""What really became of a finding, as far as the ledger still knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from heartbeat.model import OWNER, Action, Change, Decision, FindingEvent, LedgerFinding, Run, State
from heartbeat.replay.outcome import End, Fate

_ENDS = {
    Action.WAKE: End.WAKE,
    Action.HOLD: End.HELD,
    Action.BRIEF: End.BRIEF,
    Action.DROP: End.DROPPED,
    Action.DUPLICATE: End.NOTHING,
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """What can be looked up beside the decisions."""

    finding: Callable[[str], LedgerFinding | None]
    """One finding with its events; None when it is not on record any more."""
    agent: Callable[[str], str]
    """Of a wake; empty when it is not on record any more."""


def happened(run: Run, finding_id: str | None, decision: Decision, end: datetime, of: Recorded) -> Fate:
    """The fate of what a run decided, as it was known by *end*."""
    at = run.ended_at or run.started_at
    if decision.change is Change.WITHDRAWAL:
        return Fate(End.NOTHING, at, decision.rule, decision.reason)
    fate = Fate(_ENDS[decision.action], at, decision.rule, decision.reason)
    if decision.action not in (Action.WAKE, Action.HOLD):
        return fate
    row = of.finding(finding_id) if finding_id else None
    if row is None:
        return replace(fate, call=run.id) if fate.end is End.WAKE else replace(fate, end=End.UNKNOWN, was_held=True)
    events = _from(row.events, run)
    if decision.action is Action.WAKE:
        return _woken(fate, events[0].wake_id if events else row.wake_id, run, of)
    for event in events:
        if event.state is not State.HELD and event.at <= end:
            return _after_hold(fate, event, run, of)
    return replace(fate, was_held=True)


def _from(events: tuple[FindingEvent, ...], run: Run) -> tuple[FindingEvent, ...]:
    """From what this run did on."""
    for number, event in enumerate(events):
        if event.run_id == run.id:
            return events[number:]
    return ()


def _after_hold(fate: Fate, event: FindingEvent, run: Run, of: Recorded) -> Fate:
    held = replace(fate, at=event.at, was_held=True)
    match event.state:
        case State.WAKE | State.TOLD:
            return _woken(replace(held, end=End.WAKE), event.wake_id, run, of)
        case State.BRIEF | State.BRIEFED:
            return replace(held, end=End.BRIEF)
        case State.WITHDRAWN:
            return replace(held, end=End.WITHDRAWN)
        case _:
            return replace(held, end=End.DROPPED)


def _woken(fate: Fate, wake_id: str | None, run: Run, of: Recorded) -> Fate:
    is_notice = wake_id is not None and of.agent(wake_id) == OWNER
    return replace(fate, end=End.NOTICE if is_notice else End.WAKE, call=wake_id or run.id)
