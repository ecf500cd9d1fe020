"""The straight line, second half: act -> settle. A wake is a row before the agent is called, and settled only after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from heartbeat.backoff import delay
from heartbeat.beat import House, passed_step, persist, rules_for
from heartbeat.config.searching import Allowance
from heartbeat.decide import decide_again
from heartbeat.errors import AgentError, AgentOnHold
from heartbeat.log import event, warn
from heartbeat.model import OWNER, Decision, Draft, LedgerFinding, Past, Reply, Target, Wake
from heartbeat.process import owner
from heartbeat.readiness import can_divert, is_failing, name_of, quiet_for, stands_against
from heartbeat.telling import call_of, notices, plain_brief, replies

_HOLD, _SHORTEST_HOLD, _LONGEST_HOLD = timedelta(minutes=15), timedelta(minutes=1), timedelta(days=8)
"""For an agent that asks for time and does not say how much, and the bounds of what it may ask for."""
_LASTING = timedelta(hours=6)
"""Whoever asks for time for so long is an incident: a quota of the week, an account without money."""


class _NotAsked(AgentError):
    """There is nobody to call, or no use in it any more."""


def decide_held(house: House, *, everything: bool = False, job: str | None = None, agent: str = "") -> tuple[str, ...]:
    """Decide again what is held (of one job) and whose time has come; the ids of the wakes that now wait for it."""
    now, searches = house.clock(), Allowance()

    def choose(held: Sequence[LedgerFinding], past: Past) -> Sequence[Decision]:
        with searches.granted():
            return decide_again(held, past, lambda job: rules_for(house, job, agent), house.as_of or now)

    return house.ledger.decide_held(choose, now, everything=everything, job=job)


def deliver_due(house: Callable[[], House], *, to_owner: bool | None = None) -> int:
    """Deliver every wake that is due, or only those (not) for the owner; returns how many were tried.

    What is due, and under which configuration, is looked at anew for each: a call may last, and something critical
    may have come meanwhile.
    """
    tried, seen = 0, set[str]()
    while not house().stop.is_set():
        due = (each for each in house().ledger.due_wakes(house().clock(), to_owner=to_owner) if each not in seen)
        wake_id = next(due, None)
        if wake_id is None:
            break
        seen.add(wake_id)
        tried += bool(deliver(house(), wake_id))
    return tried


def deliver(house: House, wake_id: str) -> str:
    """Hand one pending wake to whom it is for; returns the wake's state then, or '' when it was not pending.

    The caller holds the agent's lock: one wake at a time.
    """
    now = house.clock()
    if _defer(house, wake_id, now):
        return house.ledger.wake(wake_id).state
    wake = house.ledger.begin_wake(wake_id, owner(), now, useful_at=house.as_of or now)
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
    if wake.agent != OWNER:
        _is_well(house, name_of(house, wake))
    return "settled"


def _is_well(house: House, agent: str) -> None:
    """It has accepted a wake: whatever it asked for, or failed at, is over."""
    house.ledger.release_agent(agent, house.clock())
    if house.ledger.recover(f"agent:{agent}", house.clock()):
        event("recovered", subject=f"agent:{agent}")


def _act(house: House, wake: Wake) -> tuple[Reply, list[Draft]]:
    """Call the agent, if there is one to be called; its answer, and the messages that come of it."""
    if wake.useful_until is not None and wake.useful_until < (house.as_of or house.clock()):
        raise _NotAsked(f"it was useful only until {wake.useful_until:%Y-%m-%d %H:%M} UTC", retryable=False)
    if wake.agent == OWNER:
        drafts = notices(house, wake)
        if not drafts:
            raise _NotAsked("no channel takes notices of its urgency", retryable=False)
        return Reply(), drafts
    if house.agent is None:
        raise _NotAsked("no agent is configured", retryable=False)
    call = call_of(house, wake)
    with house.progress.working(f"the wake {wake.id}", call.prefs.timeout.total_seconds()):
        reply = house.agent.call(call)
    return reply, replies(house, wake, reply)


def _defer(house: House, wake_id: str, now: datetime) -> bool:
    """Whether a pending wake is not to be tried now: its agent cannot be called, or all it carries is for the day."""
    wake = house.ledger.wake(wake_id)
    if wake.state != "pending":
        return False
    past, settings, at = house.ledger.past(now), house.config.settings, house.as_of or now
    stands = stands_against(settings, past, name_of(house, wake), at)
    if stands is not None:
        until, reason = stands
        if wake.brief_id is not None:
            _give_up(house, wake, _NotAsked(reason, retryable=False))
        elif not _divert(house, wake, reason, now):
            house.ledger.defer_wake(wake_id, reason, until)
        return True
    if can_divert(house, wake) and is_failing(house, name_of(house, wake)):
        # It may hang for as long as its time limit before it fails once more.
        return _divert(house, wake, "the agent has been failing", now)
    waits = quiet_for(settings, past, wake, at)
    if waits is not None:
        house.ledger.defer_wake(wake_id, waits[1], waits[0])
    return waits is not None


def _hold(house: House, wake: Wake, error: AgentOnHold) -> str:
    """The agent asked for time: no failure, and nobody calls it before."""
    now, name = house.clock(), name_of(house, wake)
    asked = _HOLD if error.retry_after is None else timedelta(seconds=min(error.retry_after, 1e9))
    until = now + max(_SHORTEST_HOLD, min(asked, _LONGEST_HOLD))
    persist(house, lambda: house.ledger.hold_agent(name, until, str(error), now))
    warn("agent_on_hold", agent=name, until=until.isoformat(), error=error)
    hold = house.ledger.past(now).holds.get(name)
    if hold is not None and hold.until - hold.since > _LASTING:
        house.ledger.fault(f"agent:{name}", "agent_on_hold", str(error), now)
    if wake.brief_id is not None:
        return _give_up(house, wake, error)
    _postpone(house, wake, error, until, "held")
    _divert(house, wake, str(error), now)
    return house.ledger.wake(wake.id).state


def _after_failure(house: House, wake: Wake, error: AgentError) -> str:
    """Try again later, or give up when it does not help, comes too late, or was tried often enough."""
    now, settings = house.clock(), house.config.settings
    is_stopping, failures = house.stop.is_set(), wake.failures + 1
    next_at = now if is_stopping else now + delay(failures, error.retry_after)
    too_late = wake.useful_until is not None and wake.useful_until < (house.as_of or next_at)
    last = failures >= settings.agent.attempts and not is_stopping
    # Of a brief the owner has a text already: it need not wait for an agent for hours.
    last |= wake.brief_id is not None and failures >= settings.incidents.after and not is_stopping
    if too_late or ((last or not error.retryable) and not can_divert(house, wake)):
        return _give_up(house, wake, error)
    _postpone(house, wake, error, next_at, "interrupted" if is_stopping else "failed")
    warn("wake_postponed", wake=wake.id, attempt=wake.attempts, error=error, next=next_at.isoformat())
    if not is_stopping:
        if failures >= settings.incidents.after and wake.agent != OWNER:
            house.ledger.fault(f"agent:{name_of(house, wake)}", "agent_failed", str(error), now)
        _divert(house, wake, str(error), now)
    return house.ledger.wake(wake.id).state


def _postpone(house: House, wake: Wake, error: AgentError, until: datetime, outcome: str) -> None:
    reason, usage = str(error), error.usage
    persist(
        house,
        lambda: house.ledger.postpone_wake(wake.id, reason, until, house.clock(), outcome=outcome, usage=usage),
    )


def _divert(house: House, wake: Wake, reason: str, now: datetime) -> bool:
    """What is critical does not wait for an agent that cannot be had: the owner is told without it."""
    # All that it carried may have been replaced meanwhile.
    if not can_divert(house, wake) or house.ledger.wake(wake.id).state != "pending":
        return False
    persist(house, lambda: house.ledger.divert_wake(wake.id, Target(OWNER), reason, now))
    event("wake_diverted", wake=wake.id, reason=reason)
    return True


def _give_up(house: House, wake: Wake, error: AgentError) -> str:
    """Nothing more is tried."""
    now, reason = house.clock(), str(error)
    drafts = plain_brief(house, wake) if wake.brief_id is not None else []
    # An agent that was never asked, or asked for time, did not fail.
    is_fault = isinstance(error, _NotAsked | AgentOnHold) and not wake.failures
    is_fault = house.agent is not None and wake.agent != OWNER and not is_fault
    fault = (f"agent:{name_of(house, wake)}", "agent_failed") if is_fault else None
    persist(
        house,
        lambda: house.ledger.give_up_wake(wake.id, reason, now, drafts=drafts, usage=error.usage, fault=fault),
    )
    warn("wake_failed", wake=wake.id, attempts=wake.attempts, error=reason)
    return "failed"
