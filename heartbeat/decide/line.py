"""The rules in order; the first that has something to say decides.

baseline, fault, quiet, muted, low, expired, no_agent, quiet_hours, agent_hold, spending, budget, wake
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo

from heartbeat.clock import shown
from heartbeat.decide.budget import Budget, over_interruptions, over_spending
from heartbeat.decide.owner import OwnerRule, muted, weighed
from heartbeat.decide.quiet import QuietHours, quiet_hold
from heartbeat.model import (
    OWNER,
    Action,
    Change,
    Decision,
    Finding,
    Interruption,
    Known,
    Past,
    Step,
    Target,
    Urgency,
    Verdict,
)
from heartbeat.zones import zone_or


@dataclass(frozen=True, slots=True)
class Rules:
    """The owner's rules, as far as one job is concerned."""

    target: Target = field(default_factory=Target)
    """Who is woken: the agent, or OWNER for a job that tells its findings itself; without a name nobody is."""
    told: frozenset[Urgency] = frozenset()
    """The urgencies for which a channel takes what is told without an agent."""
    baseline: bool = False
    """This is the first complete run of a job that takes what exists as known."""
    changed: bool = False
    """The job looks at something else than in its latest complete run: what is not reported need not be gone."""
    job: str = ""
    owner: tuple[OwnerRule, ...] = ()
    quiet: QuietHours = field(default_factory=QuietHours)
    budget: Budget = field(default_factory=Budget)
    zone: tzinfo = UTC
    """The owner's at home; what the owner said meanwhile is in the past of a view."""


@dataclass(frozen=True, slots=True)
class Case:
    """One finding under the rules."""

    finding: Finding
    verdict: Verdict
    rules: Rules
    past: Past
    now: datetime
    is_absent: bool = False
    """It is taken back because it is no longer reported."""
    first_look: bool = False
    """Its scope was never looked at whole before."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a rule says of a case; without an action only why it lets it pass."""

    reason: str
    action: Action | None = None
    until: datetime | None = None
    target: Target | None = None


def apply(case: Case, change: Change, known: Known | None) -> Decision:
    """Look at the rules in order; the first that decides does so for the finding as the owner weighs it."""
    finding, steps = weighed(case.rules.owner, case.rules.job, case.finding, case.now)
    if steps:
        case = replace(case, finding=finding)
    return look(case, change, known, steps)


def look(case: Case, change: Change, known: Known | None, steps: tuple[Step, ...] = ()) -> Decision:
    """The same for a finding that was weighed before, with the *steps* that did so."""
    trace = list(steps)
    for name, rule in _RULES:
        said = rule(case)
        if said is None or said.action is None:
            trace.append(Step(name, "passed", said.reason if said else ""))
            continue
        trace.append(Step(name, said.action, said.reason))
        target = (said.target or case.rules.target) if said.action is Action.WAKE else Target()
        return Decision(
            case.finding, said.action, change, name, said.reason, known, tuple(trace), until=said.until, target=target
        )
    raise AssertionError("the last rule always decides")


def after(past: Past, decision: Decision, now: datetime) -> Past:
    """The past as the next finding of the same moment meets it: what is told the same target shares the wake."""
    if decision.action is not Action.WAKE or decision.target in past.joinable:
        return past
    made = Interruption(now, critical=decision.finding.urgency is Urgency.CRITICAL)
    return replace(past, interruptions=(*past.interruptions, made), joinable=past.joinable | {decision.target})


def _baseline(case: Case) -> Said | None:
    if case.finding.retract:
        return None
    if case.first_look:
        return Said(f"it was there when {case.finding.scope} was first looked at", Action.DROP)
    return Said("it was there before the first run", Action.DROP) if case.rules.baseline else None


def _fault(case: Case) -> Said | None:
    return Said("the run failed, so nobody is woken for it", Action.BRIEF) if case.verdict.is_fault else None


def _quiet(case: Case) -> Said | None:
    if case.verdict is not Verdict.QUIET:
        return None
    if case.is_absent:
        return Said("nobody was woken for it, so a brief takes it back", Action.BRIEF)
    return Said("the script asked not to wake the agent", Action.BRIEF)


def _muted(case: Case) -> Said | None:
    reason = muted(case.rules.owner, case.rules.job, case.finding, case.now)
    return Said(reason, Action.DROP) if reason else None


def _low(case: Case) -> Said | None:
    return Said("its urgency is low", Action.BRIEF) if case.finding.urgency is Urgency.LOW else None


def _expired(case: Case) -> Said | None:
    until = case.finding.useful_until
    if until is None or until >= case.now:
        return None
    return Said(f"it was useful only until {until:%Y-%m-%d %H:%M %Z}: missed", Action.BRIEF)


def _no_agent(case: Case) -> Said | None:
    target, urgency = case.rules.target, case.finding.urgency
    if not target.agent:
        return Said("no agent is configured", Action.BRIEF)
    if target.agent == OWNER and urgency not in case.rules.told:
        return Said(f"no channel takes notices of urgency {urgency}", Action.BRIEF)
    return None


def _quiet_hours(case: Case) -> Said | None:
    until, reason = quiet_hold(case.finding, case.rules.quiet.under(case.past.overrides), case.now)
    return Said(reason, Action.HOLD if until else None, until) if reason else None


def _agent_hold(case: Case) -> Said | None:
    hold = case.past.holds.get(case.rules.target.agent)
    # One that was entered under a clock that was ahead of this one would last for ever.
    if hold is None or not hold.since <= case.now < hold.until:
        return None
    return _held(case, hold.until, f"the agent {hold.agent} is on hold: {hold.reason}")


def _spending(case: Case) -> Said | None:
    if case.rules.target.agent == OWNER:
        return None
    zone = zone_or(case.past.overrides.zone, case.rules.zone)
    over = over_spending(case.rules.budget, case.past, zone, case.now)
    return _held(case, *over) if over else None


def _held(case: Case, until: datetime, reason: str) -> Said:
    """The agent cannot be called before *until*: what is critical goes to the owner without it."""
    if case.finding.urgency is Urgency.CRITICAL and Urgency.CRITICAL in case.rules.told:
        return Said(f"{reason}; it is critical, so the owner is told directly", Action.WAKE, target=Target(OWNER))
    return _wait(case, until, reason)


def _wait(case: Case, until: datetime, reason: str) -> Said:
    """Hold while still useful, else leave it to the brief."""
    useful = case.finding.useful_until
    zone = zone_or(case.past.overrides.zone, case.rules.zone)
    reason = f"{reason}; until {shown(until, case.now, zone)}"
    if useful is not None and useful < until:
        return Said(f"{reason}; by then it is of no use any more", Action.BRIEF)
    return Said(reason, Action.HOLD, until)


def _budget(case: Case) -> Said | None:
    if case.rules.target in case.past.joinable:
        return Said("it shares a wake that waits")
    critical = case.finding.urgency is Urgency.CRITICAL
    over = over_interruptions(case.rules.budget, case.past, case.now, critical=critical)
    return _wait(case, *over) if over else None


def _wake(case: Case) -> Said | None:
    asked = "the script asked to wake the agent"
    if case.is_absent:
        asked = "what the owner was told is no longer reported"
    elif case.finding.retract:
        asked = "what the owner was told is taken back"
    return Said(f"{asked}, and no rule stands against it", Action.WAKE)


_RULES: tuple[tuple[str, Callable[[Case], Said | None]], ...] = (
    ("baseline", _baseline),
    ("fault", _fault),
    ("quiet", _quiet),
    ("muted", _muted),
    ("low", _low),
    ("expired", _expired),
    ("no_agent", _no_agent),
    ("quiet_hours", _quiet_hours),
    ("agent_hold", _agent_hold),
    ("spending", _spending),
    ("budget", _budget),
    ("wake", _wake),
)
