"""What becomes of each finding of a run: a pure function of the judgement, the ledger's view, the rules and now.

First the finding meets what the ledger holds under its key (new, update, duplicate, retraction, withdrawal). Whatever
is left to tell goes through the rules in order, and the first that applies decides:

    baseline, fault, quiet, low, expired, no_agent, wake
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from heartbeat.absence import absent, may_come_back
from heartbeat.model import (
    Action,
    Change,
    Decision,
    Finding,
    Judgement,
    Known,
    State,
    Step,
    Urgency,
    Verdict,
    View,
    WhenAbsent,
)

_MAY_STILL_WAKE = frozenset({"quiet", "fault"})
"""Rules that send a finding to the brief for the run's sake, not its own: a later run may still wake for it."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The owner's rules, as far as one run is concerned."""

    agent: bool = True
    """An agent is configured."""
    baseline: bool = False
    """This is the first complete run of a job that takes what exists as known."""
    changed: bool = False
    """The job looks at something else than in its latest complete run: what is not reported need not be gone."""


@dataclass(frozen=True, slots=True)
class _Case:
    """One finding under the rules."""

    finding: Finding
    verdict: Verdict
    rules: Rules
    now: datetime
    is_absent: bool = False
    """It is taken back because it is no longer reported."""
    first_look: bool = False
    """Its scope was never looked at whole before."""


def decide(judgement: Judgement, view: View, rules: Rules, now: datetime) -> tuple[Decision, ...]:
    """One decision for each reported finding, in order, then one for each that should have been reported."""
    if judgement.gate is None:
        return ()
    known = dict(view.known)
    decisions = []
    for finding in judgement.gate.findings:
        met = known.get(finding.key)
        first_look = met is None and finding.scope != "" and finding.scope not in view.scopes
        case = _Case(finding, judgement.verdict, rules, now, first_look=first_look)
        decision = _meet(case, met)
        decisions.append(decision)
        _follow(known, decision)
    missed = (_miss(known, rules, now) for known in absent(judgement, view))
    return (*decisions, *(decision for decision in missed if decision is not None))


def _meet(case: _Case, known: Known | None) -> Decision:
    """Decide a reported finding against what its key stands for now."""
    if case.finding.retract:
        return _take_back(case, known)
    if known is None or known.finding.version != case.finding.version:
        change = Change.UPDATE if known is not None and _owner_knows(known) else Change.NEW
        return _apply(case, change, known)
    if known.state is State.BRIEF and known.rule in _MAY_STILL_WAKE:
        decision = _apply(case, Change.SAME, known)
        if decision.action is Action.WAKE:
            return decision
    step = Step("duplicate", "duplicate", _standing(known))
    return Decision(case.finding, Action.DUPLICATE, Change.SAME, "duplicate", step.reason, known, (step,))


def _take_back(case: _Case, known: Known | None) -> Decision:
    """Decide a finding that says its key no longer holds."""
    if known is None:
        return _drop(case.finding, Change.RETRACTION, None, "nothing was told under this key")
    if not _owner_knows(known):
        return _drop(case.finding, Change.WITHDRAWAL, known, "it is taken back before anybody was told")
    return _apply(case, Change.RETRACTION, known)


def _miss(known: Known, rules: Rules, now: datetime) -> Decision | None:
    """Decide a finding that a complete run no longer reports; None when that means nothing."""
    finding = known.finding
    if finding.when_absent is WhenAbsent.KEEP or may_come_back(known):
        return None
    if rules.changed or known.unsure:
        return _drop(finding, Change.FORGOTTEN, known, "the job's options changed: it need not be gone", "absent")
    if finding.when_absent is WhenAbsent.FORGET or (finding.useful_until is not None and finding.useful_until < now):
        return _drop(finding, Change.FORGOTTEN, known, "it is no longer reported; its return will be new", "absent")
    if known.state is State.DROPPED and known.change is not Change.UPDATE:
        return _drop(finding, Change.FORGOTTEN, known, "it is no longer reported, and nobody was told of it", "absent")
    if not _owner_knows(known):
        return _drop(finding, Change.WITHDRAWAL, known, "it was called off before anybody was told", "absent")
    # A retraction goes the way of what it takes back, whatever the verdict: the owner acts on what was told.
    verdict = Verdict.QUIET if known.state in (State.BRIEFED, State.KNOWN) else Verdict.WAKE
    case = _Case(replace(finding, retract=True), verdict, rules, now, is_absent=True)
    return _apply(case, Change.RETRACTION, known)


def _owner_knows(known: Known) -> bool:
    """Whether the owner knows this version, or an earlier one that it replaced."""
    return known.state.was_told or known.state is State.KNOWN or known.sending or known.change is Change.UPDATE


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


def _apply(case: _Case, change: Change, known: Known | None) -> Decision:
    """Look at the rules in order; the first that has something to say decides."""
    trace = []
    for name, action, rule in _RULES:
        reason = rule(case)
        if reason is None:
            trace.append(Step(name, "passed", ""))
            continue
        trace.append(Step(name, action, reason))
        return Decision(case.finding, action, change, name, reason, known, tuple(trace))
    raise AssertionError("the last rule always decides")


def _drop(finding: Finding, change: Change, known: Known | None, reason: str, rule: str = "retract") -> Decision:
    step = Step(rule, Action.DROP, reason)
    return Decision(finding, Action.DROP, change, rule, reason, known, (step,))


def _follow(known: dict[str, Known], decision: Decision) -> None:
    """Let the next finding of the same run see what this one did."""
    finding, change = decision.finding, decision.change
    if change in (Change.RETRACTION, Change.WITHDRAWAL):
        known.pop(finding.key, None)
    elif change is not Change.SAME:
        known[finding.key] = Known("", finding, _state(decision), decision.rule, change=change)
    elif decision.action is Action.WAKE and decision.known is not None:
        known[finding.key] = replace(decision.known, state=State.WAKE, rule=decision.rule)


def _state(decision: Decision) -> State:
    if decision.rule == "baseline":
        return State.KNOWN
    return {Action.WAKE: State.WAKE, Action.HOLD: State.HELD, Action.BRIEF: State.BRIEF}.get(
        decision.action, State.DROPPED
    )


def _baseline(case: _Case) -> str | None:
    if case.finding.retract:
        return None
    if case.first_look:
        return f"it was there when {case.finding.scope} was first looked at"
    return "it was there before the first run" if case.rules.baseline else None


def _fault(case: _Case) -> str | None:
    return "the run failed, so nobody is woken for it" if case.verdict.is_fault else None


def _quiet(case: _Case) -> str | None:
    if case.verdict is not Verdict.QUIET:
        return None
    return (
        "nobody was woken for it, so a brief takes it back"
        if case.is_absent
        else "the script asked not to wake the agent"
    )


def _low(case: _Case) -> str | None:
    return "its urgency is low" if case.finding.urgency is Urgency.LOW else None


def _expired(case: _Case) -> str | None:
    until = case.finding.useful_until
    return f"it was useful only until {until:%Y-%m-%d %H:%M %Z}: missed" if until and until < case.now else None


def _no_agent(case: _Case) -> str | None:
    return None if case.rules.agent else "no agent is configured"


def _wake(case: _Case) -> str | None:
    asked = "what the owner was told is no longer reported" if case.is_absent else "the script asked to wake the agent"
    return f"{asked}, and no rule stands against it"


_RULES: tuple[tuple[str, Action, Callable[[_Case], str | None]], ...] = (
    ("baseline", Action.DROP, _baseline),
    ("fault", Action.BRIEF, _fault),
    ("quiet", Action.BRIEF, _quiet),
    ("low", Action.BRIEF, _low),
    ("expired", Action.BRIEF, _expired),
    ("no_agent", Action.BRIEF, _no_agent),
    ("wake", Action.WAKE, _wake),
)
