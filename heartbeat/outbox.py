"""The straight line, second half: act -> settle. A wake is a row before the agent is called, and settled only after."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from heartbeat.backoff import delay
from heartbeat.beat import House, passed_step, persist, rules_for
from heartbeat.decide import decide_again, quiet_hold
from heartbeat.errors import AgentError, AgentOnHold
from heartbeat.log import event, warn
from heartbeat.model import OWNER, Call, Decision, Draft, LedgerFinding, MessageKind, Past, Reply, Target, Urgency, Wake
from heartbeat.policy import quiet_hours
from heartbeat.process import owner
from heartbeat.prompt import SILENT_REPLIES
from heartbeat.routing import channels_for
from heartbeat.telling import as_notice, prompt_of, title_of

_HOLD, _LONGEST_HOLD = timedelta(minutes=15), timedelta(days=8)
"""For an agent that asks for time and does not say how much; a week is the longest limit that any of them has."""
_URGENCIES = list(Urgency)


class _NotAsked(AgentError):
    """There is nobody to call, or no use in it any more."""


def decide_held(house: House, *, everything: bool = False) -> tuple[str, ...]:
    """Decide again what is held and whose time has come; the ids of the wakes that now wait for it."""
    now = house.clock()

    def choose(held: Sequence[LedgerFinding], past: Past) -> Sequence[Decision]:
        return decide_again(held, past, lambda job: rules_for(house, job), house.as_of or now)

    return house.ledger.decide_held(choose, now, everything=everything)


def deliver_due(house: House, *, to_owner: bool | None = None) -> int:
    """Deliver every wake that is due, or only those (not) for the owner, oldest first; returns how many were tried."""
    tried = 0
    for wake_id in house.ledger.due_wakes(house.clock()):
        if house.stop.is_set():
            break
        if to_owner is None or (house.ledger.wake(wake_id).agent == OWNER) is to_owner:
            tried += bool(deliver(house, wake_id))
    return tried


def deliver(house: House, wake_id: str) -> str:
    """Hand one pending wake to whom it is for; returns the wake's state then, or '' when it was not pending.

    The caller holds the agent's lock: one wake at a time.
    """
    now = house.clock()
    if _defer(house, wake_id, now):
        return "pending"
    wake = house.ledger.begin_wake(wake_id, owner(), now)
    if wake is None:
        return ""
    passed_step("begin")
    try:
        reply, drafts = _act(house, wake)
    except AgentOnHold as error:
        return _hold(house, wake, error)
    except AgentError as error:
        return _after_failure(house, wake, error)
    except BaseException as error:
        # Whatever broke, or Ctrl-C: the wake must not stay with a process that goes on without it.
        _after_failure(house, wake, AgentError(f"{type(error).__name__}: {error}", retryable=True))
        raise
    passed_step("act")
    persist(house, lambda: house.ledger.settle_wake(wake.id, reply, drafts, house.clock()))
    passed_step("settle")
    counts = {"findings": len(wake.findings), "attempt": wake.attempts, "messages": len(drafts)}
    event("wake_settled", wake=wake.id, job=wake.job or None, agent=wake.agent, **counts)
    subject = f"agent:{_name(house, wake)}"
    if wake.agent != OWNER and house.ledger.recover(subject, house.clock()):
        event("recovered", subject=subject)
    return "settled"


def _act(house: House, wake: Wake) -> tuple[Reply, list[Draft]]:
    """Call the agent, if there is one to be called; its answer, and the messages that come of it."""
    if wake.useful_until is not None and wake.useful_until < (house.as_of or house.clock()):
        raise _NotAsked(f"it was useful only until {wake.useful_until:%Y-%m-%d %H:%M} UTC", retryable=False)
    if wake.agent == OWNER:
        drafts = _drafts(house, wake, MessageKind.NOTICE, *as_notice(house, wake))
        if not drafts:
            raise _NotAsked(f"no channel takes notices of urgency {_urgency(wake)}", retryable=False)
        return Reply(), drafts
    if house.agent is None:
        raise _NotAsked("no agent is configured", retryable=False)
    reply = house.agent.call(_call(house, wake))
    said = reply.text.strip()
    if said in SILENT_REPLIES:
        # Of a brief nothing is no answer: the owner would never hear of what it tells.
        return reply, _plain_brief(house, wake) if wake.brief_id is not None and not said else []
    kind = MessageKind.REPLY if wake.brief_id is None else MessageKind.BRIEF
    return reply, _drafts(house, wake, kind, title_of(wake), reply.text)


def _defer(house: House, wake_id: str, now: datetime) -> bool:
    """Whether a pending wake must wait without being tried: its agent is on hold, or all it carries is for the day."""
    wake = house.ledger.wake(wake_id)
    if wake.state != "pending":
        return False
    past = house.ledger.past(now)
    at = house.as_of or now
    hold = past.holds.get(_name(house, wake))
    if hold is not None and hold.since <= now < hold.until:
        if not _divert(house, wake, f"the agent is on hold: {hold.reason}", now):
            house.ledger.defer_wake(wake_id, f"the agent is on hold: {hold.reason}", hold.until)
        return True
    quiet = quiet_hours(house.config.settings).under(past.overrides)
    if wake.brief_id is not None:
        until = quiet.until(at)
        if until is not None:
            house.ledger.defer_wake(wake_id, "it is quiet", until)
        return until is not None
    told = [item for item in wake.findings if item.state == "wake"]
    held = [quiet_hold(item.finding, quiet, at) for item in told]
    ends = [until for until, _ in held if until is not None]
    if not ends or len(ends) < len(held):
        return False
    house.ledger.defer_wake(wake_id, held[0][1], min(ends))
    return True


def _name(house: House, wake: Wake) -> str:
    """Whom a wake is for: after a change of the configuration the agent that there is now."""
    return house.agent.name if house.agent is not None and wake.agent != OWNER else wake.agent


def _call(house: House, wake: Wake) -> Call:
    settings, job = house.config.settings.agent, house.config.jobs.get(wake.job)
    prefs = job.prefs if job else settings.prefs()
    is_foreign = wake.brief_id is not None or any(item.finding.origin != "owner" for item in wake.findings)
    return Call(wake.id, prompt_of(house, wake), is_foreign and not prefs.trusted, prefs)


def _drafts(house: House, wake: Wake, kind: MessageKind, title: str, body: str) -> list[Draft]:
    urgency, until = _urgency(wake), wake.useful_until
    names = channels_for(house.routes, kind, urgency)
    return [
        Draft(kind, name, title, body, urgency, useful_until=until, wake_id=wake.id, brief_id=wake.brief_id)
        for name in names
    ]


def _urgency(wake: Wake) -> Urgency:
    found = [item.finding.urgency for item in wake.findings]
    return max(found, key=_URGENCIES.index, default=Urgency.NORMAL)


def _hold(house: House, wake: Wake, error: AgentOnHold) -> str:
    """The agent asked for time: no failure, and nobody calls it before."""
    now = house.clock()
    asked = timedelta(seconds=error.retry_after) if error.retry_after else _HOLD
    until = now + min(asked, _LONGEST_HOLD)
    persist(house, lambda: house.ledger.hold_agent(_name(house, wake), until, str(error), now))
    _postpone(house, wake, error, until, "held")
    warn("agent_on_hold", agent=_name(house, wake), until=until.isoformat(), error=error)
    _divert(house, wake, str(error), now)
    return house.ledger.wake(wake.id).state


def _after_failure(house: House, wake: Wake, error: AgentError) -> str:
    """Try again later, or give up when it does not help, comes too late, or was tried often enough."""
    now = house.clock()
    is_stopping = house.stop.is_set()
    next_at = now if is_stopping else now + delay(wake.failures + 1, error.retry_after)
    too_late = wake.useful_until is not None and wake.useful_until < (house.as_of or next_at)
    last = wake.failures + 1 >= house.config.settings.agent.attempts and not is_stopping
    if too_late or ((last or not error.retryable) and not _can_divert(house, wake)):
        return _give_up(house, wake, error)
    _postpone(house, wake, error, next_at, "interrupted" if is_stopping else "failed")
    warn("wake_postponed", wake=wake.id, attempt=wake.attempts, error=error, next=next_at.isoformat())
    if not is_stopping:
        _divert(house, wake, str(error), now)
    return "pending"


def _postpone(house: House, wake: Wake, error: AgentError, until: datetime, outcome: str) -> None:
    reason, usage = str(error), error.usage
    persist(
        house,
        lambda: house.ledger.postpone_wake(wake.id, reason, until, house.clock(), outcome=outcome, usage=usage),
    )


def _can_divert(house: House, wake: Wake) -> bool:
    """What is critical does not wait for an agent that cannot be had: the owner is told without it."""
    is_critical = any(item.finding.urgency is Urgency.CRITICAL for item in wake.findings)
    takes = channels_for(house.routes, MessageKind.NOTICE, Urgency.CRITICAL)
    return is_critical and bool(takes) and wake.agent != OWNER


def _divert(house: House, wake: Wake, reason: str, now: datetime) -> bool:
    if not _can_divert(house, wake):
        return False
    persist(house, lambda: house.ledger.divert_wake(wake.id, Target(OWNER), reason, now))
    event("wake_diverted", wake=wake.id, reason=reason)
    return True


def _give_up(house: House, wake: Wake, error: AgentError) -> str:
    """Nothing more is tried."""
    now, reason = house.clock(), str(error)
    plainly = _plain_brief(house, wake) if wake.brief_id is not None else []
    persist(house, lambda: house.ledger.give_up_wake(wake.id, reason, now, drafts=plainly, usage=error.usage))
    warn("wake_failed", wake=wake.id, attempts=wake.attempts, error=reason)
    # An agent that was never asked did not fail.
    if house.agent is not None and wake.agent != OWNER and (wake.attempts > 1 or not isinstance(error, _NotAsked)):
        house.ledger.fault(f"agent:{_name(house, wake)}", "agent_failed", reason, now)
    return "failed"


def _plain_brief(house: House, wake: Wake) -> list[Draft]:
    """The brief that no agent would write up goes to the owner as it stands."""
    text = house.ledger.brief_text(wake.brief_id or "")
    return _drafts(house, wake, MessageKind.BRIEF, title_of(wake), text)
