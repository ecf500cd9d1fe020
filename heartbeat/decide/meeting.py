"""What becomes of each finding of a run: a pure function of the judgement, the ledger's view, the rules and now.

First the finding meets what the ledger holds under its key (new, update, duplicate, retraction, withdrawal). Whatever
is left to tell goes through the rules of `line`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from heartbeat.absence import absent, may_come_back
from heartbeat.decide.line import Case, Rules, after, apply
from heartbeat.decide.owner import reminder
from heartbeat.model import (
    Action,
    Change,
    Decision,
    Finding,
    Judgement,
    Known,
    Past,
    State,
    Step,
    Verdict,
    View,
    WhenAbsent,
)

_MAY_STILL_WAKE = frozenset({(State.BRIEF, "quiet"), (State.BRIEF, "fault"), (State.DROPPED, "muted")})
"""Decided for the run's sake, or for a time, not for its own: a later run may still wake for it."""


def decide(judgement: Judgement, view: View, rules: Rules, now: datetime) -> tuple[Decision, ...]:
    """One decision for each reported finding, in order, then one for each that should have been reported."""
    if judgement.gate is None:
        return ()
    known, past = dict(view.known), view.past
    decisions = []
    for finding in judgement.gate.findings:
        met = known.get(finding.key)
        first_look = met is None and finding.scope != "" and finding.scope not in view.scopes
        case = Case(finding, judgement.verdict, rules, past, now, first_look=first_look)
        decision = _meet(case, met)
        decisions.append(decision)
        _follow(known, decision)
        past = after(past, decision, now)
    for gone in absent(judgement, view):
        missed = _miss(gone, rules, past, now)
        if missed is not None:
            decisions.append(missed)
            past = after(past, missed, now)
    return tuple(decisions)


def _meet(case: Case, known: Known | None) -> Decision:
    """Decide a reported finding against what its key stands for now."""
    if known is not None and known.retracting:
        return _come_back(case, known)
    if case.finding.retract:
        return _take_back(case, known)
    if known is None or known.finding.version != case.finding.version:
        change = Change.UPDATE if known is not None and _owner_knows(known) else Change.NEW
        return apply(case, change, known)
    if (known.state, known.rule) in _MAY_STILL_WAKE:
        decision = apply(case, Change.SAME, known)
        is_freed = known.state is State.DROPPED and decision.action is Action.BRIEF
        if is_freed or decision.action in (Action.WAKE, Action.HOLD):
            return decision
    reminded = _remind(case, known)
    if reminded is not None:
        return reminded
    return _duplicate(case.finding, known, "duplicate", _standing(known))


def _come_back(case: Case, known: Known) -> Decision:
    """Decide a finding whose retraction waits: nobody was told yet that it was called off."""
    if case.finding.retract:
        return _duplicate(case.finding, known, "duplicate", "it is being taken back already")
    # What left its wake for the retraction was not told in its last version, though perhaps in an earlier one.
    if _is_told(known) and known.finding.version == case.finding.version:
        return _duplicate(case.finding, known, "returned", "it is back before anybody was told that it was called off")
    return apply(case, Change.UPDATE, known)


def _remind(case: Case, known: Known) -> Decision | None:
    """Tell once more what was told and still holds, if the owner wants that and no rule stands against it now."""
    if not known.state.was_told or known.since is None:
        return None
    due = reminder(case.rules.owner, case.rules.job, case.finding, known.since, case.now)
    if due is None or due[0] > case.now:
        return None
    decision = apply(case, Change.SAME, known)
    if decision.action is not Action.WAKE:
        return None
    return replace(decision, rule="remind", reason=due[1], trace=(Step("remind", "wake", due[1]), *decision.trace))


def _take_back(case: Case, known: Known | None) -> Decision:
    """Decide a finding that says its key no longer holds."""
    if known is None:
        return _drop(case.finding, Change.RETRACTION, None, "nothing was told under this key")
    if not _owner_knows(known):
        return _drop(case.finding, Change.WITHDRAWAL, known, "it is taken back before anybody was told")
    return apply(case, Change.RETRACTION, known)


def _miss(known: Known, rules: Rules, past: Past, now: datetime) -> Decision | None:
    """Decide a finding that a complete run no longer reports; None when that means nothing."""
    finding = known.finding
    if finding.when_absent is WhenAbsent.KEEP or may_come_back(known):
        return None
    if rules.changed or known.unsure:
        return _drop(finding, Change.FORGOTTEN, known, "the job's options changed: it need not be gone", "absent")
    if finding.when_absent is WhenAbsent.FORGET or (finding.useful_until is not None and finding.useful_until < now):
        return _forget(known)
    if known.state is State.DROPPED and known.change is not Change.UPDATE:
        return _drop(finding, Change.FORGOTTEN, known, "it is no longer reported, and nobody was told of it", "absent")
    if not _owner_knows(known):
        return _drop(finding, Change.WITHDRAWAL, known, "it was called off before anybody was told", "absent")
    # A retraction goes the way of what it takes back, whatever the verdict: the owner acts on what was told.
    verdict = Verdict.QUIET if known.state in (State.BRIEFED, State.KNOWN) else Verdict.WAKE
    case = Case(replace(finding, retract=True), verdict, rules, past, now, is_absent=True)
    return apply(case, Change.RETRACTION, known)


def _forget(known: Known) -> Decision:
    """A condition that ended: nobody is woken any more for one that was held, but it is not lost."""
    reason = "it is no longer reported; its return will be new"
    if known.state is not State.HELD:
        return _drop(known.finding, Change.FORGOTTEN, known, reason, "absent")
    reason = f"it ended while it was held: {reason}"
    step = Step("absent", Action.BRIEF, reason)
    return Decision(known.finding, Action.BRIEF, Change.FORGOTTEN, "absent", reason, known, (step,))


def _owner_knows(known: Known) -> bool:
    """Whether the owner knows this version, or an earlier one that it replaced."""
    is_reminder = known.state is State.WAKE and known.rule == "remind"
    return _is_told(known) or is_reminder or known.change is Change.UPDATE


def _is_told(known: Known) -> bool:
    """Whether the owner knows this version, or is being told of it."""
    return known.state.was_told or known.state is State.KNOWN or known.sending


def _standing(known: Known) -> str:
    if known.sending:
        return "the agent is being told of it right now"
    return {
        State.WAKE: "it already waits for the agent",
        State.HELD: "it is already held",
        State.BRIEF: "it already waits for the brief",
        State.TOLD: "the agent was told of it",
        State.BRIEFED: "a brief told of it",
        State.KNOWN: "it was there at the first look",
        State.DROPPED: "it was dropped before",
        State.WITHDRAWN: "it was taken back before",
    }[known.state]


def _duplicate(finding: Finding, known: Known, rule: str, reason: str) -> Decision:
    step = Step(rule, Action.DUPLICATE, reason)
    return Decision(finding, Action.DUPLICATE, Change.SAME, rule, reason, known, (step,))


def _drop(finding: Finding, change: Change, known: Known | None, reason: str, rule: str = "retract") -> Decision:
    step = Step(rule, Action.DROP, reason)
    return Decision(finding, Action.DROP, change, rule, reason, known, (step,))


def _follow(known: dict[str, Known], decision: Decision) -> None:
    """Let the next finding of the same run see what this one did."""
    finding, change = decision.finding, decision.change
    if change is Change.RETRACTION and decision.action is Action.DROP:
        return  # a rule keeps it from being told: what it would take back stands
    if change is Change.RETRACTION and decision.known is not None:
        met = decision.known
        state = met.state if _is_told(met) else State.WITHDRAWN
        known[finding.key] = replace(met, state=state, retracting="made by this run")
    elif change in (Change.RETRACTION, Change.WITHDRAWAL):
        known.pop(finding.key, None)
    elif change is not Change.SAME:
        known[finding.key] = Known("", finding, _state(decision), decision.rule, change=change)
    elif decision.known is None or finding.retract:
        return
    elif decision.action is Action.DUPLICATE:
        known[finding.key] = replace(decision.known, retracting="")
    else:
        known[finding.key] = replace(decision.known, state=_state(decision), rule=decision.rule)


def _state(decision: Decision) -> State:
    if decision.rule == "baseline":
        return State.KNOWN
    return {Action.WAKE: State.WAKE, Action.HOLD: State.HELD, Action.BRIEF: State.BRIEF}.get(
        decision.action, State.DROPPED
    )
