"""Carry out what was decided about the findings of one run, decision by decision."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import datetime

from heartbeat.model import Action, Change, Decision, Finding, FindingEvent, Known, Run, State
from heartbeat.stores.sqlite import findings, overtaken
from heartbeat.stores.sqlite.joining import Joining
from heartbeat.stores.sqlite.rows import from_trace, text

STATES = {Action.WAKE: State.WAKE, Action.HOLD: State.HELD, Action.BRIEF: State.BRIEF, Action.DROP: State.DROPPED}
_UNTOLD = frozenset({State.WAKE, State.HELD, State.BRIEF})


def carry_out(db: sqlite3.Connection, run: Run, decisions: tuple[Decision, ...], at: datetime) -> tuple[str, ...]:
    """Enter and move findings, and enter the decisions; the ids of the wakes that now wait for them."""
    findings.touch(db, _reported_again(decisions), at)
    work = _Work(db, run, at)
    _enter_decisions(db, run.id, [(work.settle(decision), decision) for decision in decisions])
    for known in _useful_for_another_time(decisions):
        work.joining.look_again(known.finding_id)
        work.has_left = True
    return work.joining.finish(left=work.has_left)


def _useful_for_another_time(decisions: tuple[Decision, ...]) -> list[Known]:
    """What waits for the agent, and is of use for longer or shorter than it was."""
    return [
        each.known
        for each in decisions
        if each.change is Change.SAME
        and each.known is not None
        and each.known.state is State.WAKE
        and each.known.finding.useful_until != each.finding.useful_until
    ]


class _Work:
    """One run's decisions on their way into the ledger; later ones see what earlier ones did."""

    def __init__(self, db: sqlite3.Connection, run: Run, at: datetime) -> None:
        self._db = db
        self._run = run
        self._at = at
        self._made: dict[str, Known] = {}
        self._retractions: dict[str, str] = {}
        self.joining = Joining(db, at)
        self.has_left = False
        """Whether a finding left the wake it was in."""

    def settle(self, decision: Decision) -> str | None:
        """Do what one decision says, and return the id of the finding it is about."""
        known = self._met(decision)
        if known is not None and known.retracting:
            if decision.finding.retract:
                return known.retracting
            self._come_back(known)
        match decision.change:
            case Change.RETRACTION if decision.action is Action.DROP:
                return known.finding_id if known else None
            case Change.NEW | Change.UPDATE | Change.RETRACTION:
                return self._replace(decision, known)
            case Change.SAME:
                return self._keep(decision, known)
            case Change.WITHDRAWAL:
                return self._withdraw(decision, known)
            case Change.FORGOTTEN:
                return self._forget(decision, known)

    def _met(self, decision: Decision) -> Known | None:
        """The row a decision meets, and its retraction; an earlier decision of this run may have made them."""
        known, key = decision.known, decision.finding.key
        if known is None:
            return None
        if not known.retracting:
            return known if known.finding_id else self._made[key]
        finding_id = known.finding_id or self._made[key].finding_id
        return replace(known, finding_id=finding_id, retracting=self._retractions.get(key, known.retracting))

    def _come_back(self, known: Known) -> None:
        """It is not called off any more; its key stands for it again."""
        reason = "it is back before anybody was told that it was called off"
        event = FindingEvent(self._at, State.WITHDRAWN, "returned", reason, self._run.id)
        findings.move(self._db, [known.retracting], event)
        self._retractions.pop(known.finding.key, None)
        findings.restore(self._db, known.finding_id)
        self.has_left = True

    def _replace(self, decision: Decision, known: Known | None) -> str:
        """Something newer is to be told under the key, so that what still waits is not told any more."""
        if known is not None:
            findings.retire(self._db, known.finding_id)
        finding_id = self._insert(decision)
        if known is not None:
            reason = f"replaced by {finding_id}"
            self._take_back(known, "replaced", reason)
            # An earlier version goes on waiting when the agent failed and the one after it was dropped.
            if decision.action is not Action.DROP and decision.change is not Change.NEW:
                earlier = overtaken.earlier(self._db, finding_id)
                self.has_left |= bool(earlier)
                event = FindingEvent(self._at, State.WITHDRAWN, "replaced", reason, self._run.id)
                findings.move(self._db, earlier, event)
        return finding_id

    def _keep(self, decision: Decision, known: Known | None) -> str:
        """It stays what it is; what waited or was told may be promoted. What is with the agent now stays with it."""
        assert known is not None
        if decision.action is Action.DUPLICATE or known.sending:
            return known.finding_id
        state = self._state(decision)
        if state is State.HELD is known.state:
            findings.hold_on(self._db, known.finding_id, self._event(state, decision), decision.until)
        elif state is not known.state:
            self.has_left |= known.state is State.WAKE
            findings.move(self._db, [known.finding_id], self._event(state, decision), decision.until)
            findings.weigh(self._db, known.finding_id, decision.finding)
            self._made[decision.finding.key] = replace(known, state=state, rule=decision.rule)
        return known.finding_id

    def _withdraw(self, decision: Decision, known: Known | None) -> str:
        assert known is not None
        findings.retire(self._db, known.finding_id)
        self._take_back(known, decision.rule, decision.reason)
        return known.finding_id

    def _forget(self, decision: Decision, known: Known | None) -> str:
        """A condition ended: what waits is still told, by the brief if it was held, and its return will be new."""
        assert known is not None
        findings.retire(self._db, known.finding_id)
        if decision.action is Action.BRIEF:
            findings.move(self._db, [known.finding_id], self._event(State.BRIEF, decision))
        return known.finding_id

    def _insert(self, decision: Decision) -> str:
        state = self._state(decision)
        event = self._event(state, decision)
        finding_id = findings.insert(
            self._db, self._run.job, decision.finding, decision.change, event, until=decision.until
        )
        if decision.change is Change.RETRACTION:
            self._retractions[decision.finding.key] = finding_id
        else:
            self._made[decision.finding.key] = Known(finding_id, decision.finding, state, decision.rule)
        return finding_id

    def _take_back(self, known: Known, rule: str, reason: str) -> None:
        """Withdraw what nobody was told, out of its wake too, unless the agent is being told right now."""
        if known.state in _UNTOLD and not known.sending:
            self.has_left |= known.state is State.WAKE
            event = FindingEvent(self._at, State.WITHDRAWN, rule, reason, self._run.id)
            findings.move(self._db, [known.finding_id], event)

    def _state(self, decision: Decision) -> State:
        if decision.rule == "baseline" and decision.action is Action.DROP:
            return State.KNOWN
        return STATES[decision.action]

    def _event(self, state: State, decision: Decision) -> FindingEvent:
        run = self._run
        wake_id = self.joining.wake_for(decision, run.job, run.id) if state is State.WAKE else None
        return FindingEvent(self._at, state, decision.rule, decision.reason, run.id, wake_id)


def _reported_again(decisions: tuple[Decision, ...]) -> list[tuple[str, Finding]]:
    return [
        (decision.known.finding_id, decision.finding)
        for decision in decisions
        if decision.change is Change.SAME
        and decision.known is not None
        and decision.known.finding_id
        and not decision.finding.retract
    ]


def _enter_decisions(db: sqlite3.Connection, run_id: str, settled: list[tuple[str | None, Decision]]) -> None:
    rows = []
    for number, (finding_id, decision) in enumerate(settled):
        finding = decision.finding
        rows.append(
            (
                *(run_id, number, finding_id, text(finding.key), text(finding.title)),
                *(decision.action, decision.change, decision.rule, text(decision.reason), from_trace(decision.trace)),
            )
        )
    db.executemany(
        "INSERT INTO decisions (run_id, number, finding_id, key, title, action, change, rule, reason, trace) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
