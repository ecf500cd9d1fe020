"""The straight line, second half: act -> settle. A wake is a row before the agent is called, and settled only after."""

from __future__ import annotations

import secrets
from datetime import timedelta
from zoneinfo import ZoneInfo

import tenacity

from heartbeat.beat import House, passed_step, persist
from heartbeat.clock import local
from heartbeat.errors import AgentError, NotFound
from heartbeat.log import event, warn
from heartbeat.model import Change, Finding, Run, Wake
from heartbeat.process import owner
from heartbeat.prompt import render

_DELAY = tenacity.wait_exponential(multiplier=15, max=1800) + tenacity.wait_random(0, 15)
"""Seconds to the next attempt: 15, 30, 60, … half an hour, and up to 15 more so that many do not come at once."""


def deliver(house: House, wake_id: str) -> str:
    """Hand one pending wake to the agent; returns the wake's state then, or '' when it was not pending.

    The caller holds the agent's lock: one wake at a time.
    """
    now = house.clock()
    wake = house.ledger.begin_wake(wake_id, owner(), now)
    if wake is None:
        return ""
    passed_step("begin")
    if house.agent is None:
        return _give_up(house, wake, "no agent is configured")
    if wake.useful_until is not None and wake.useful_until < (house.as_of or now):
        return _give_up(house, wake, f"it was useful only until {wake.useful_until:%Y-%m-%d %H:%M} UTC", late=True)
    try:
        reply = house.agent.call(wake.id, _prompt(house, wake))
    except AgentError as error:
        return _after_failure(house, wake, error)
    except BaseException as error:
        # Whatever broke, or Ctrl-C: the wake must not stay with a process that goes on without it.
        _after_failure(house, wake, AgentError(f"{type(error).__name__}: {error}", retryable=True))
        raise
    passed_step("act")
    persist(house, lambda: house.ledger.settle_wake(wake.id, reply, house.clock()))
    passed_step("settle")
    event("wake_settled", wake=wake.id, job=wake.job, findings=len(wake.findings), attempt=wake.attempts)
    if house.ledger.recover(f"agent:{wake.agent}", house.clock()):
        event("recovered", subject=f"agent:{wake.agent}")
    return "settled"


def deliver_due(house: House) -> int:
    """Deliver every wake that is due, oldest first; returns how many were tried."""
    tried = 0
    for wake_id in house.ledger.due_wakes(house.clock()):
        if house.stop.is_set():
            break
        tried += bool(deliver(house, wake_id))
    return tried


def _prompt(house: House, wake: Wake) -> str:
    job = house.config.jobs.get(wake.job)
    instruction = (job.prompt if job else "") or house.config.settings.agent.prompt
    try:
        run = house.ledger.run(wake.run_id)
    except NotFound:
        # The run's record may be older than what is kept; the findings say it all the same.
        run = Run(wake.run_id, wake.job, "schedule", None, wake.created_at)
    now = local(house.clock(), ZoneInfo(house.config.settings.owner.zone))
    return render(wake, run, instruction, mark=secrets.token_hex(16), now=now, before=_told_before(house, wake))


def _told_before(house: House, wake: Wake) -> dict[str, Finding]:
    """What the owner was told last under the keys of findings that changed, by the id of the finding."""
    before: dict[str, Finding] = {}
    for item in wake.findings:
        rows = [] if item.change is Change.NEW else house.ledger.findings(item.job, key=item.finding.key, limit=10)
        told = next((row.finding for row in rows if row.id != item.id and row.state.was_told), None)
        if told is not None:
            before[item.id] = told
    return before


def _after_failure(house: House, wake: Wake, error: AgentError) -> str:
    """Try again later, or give up when it does not help, comes too late, or was tried often enough."""
    now = house.clock()
    next_at = now if house.stop.is_set() else now + _delay(wake.attempts, error.retry_after)
    too_late = wake.useful_until is not None and wake.useful_until < (house.as_of or next_at)
    last = wake.attempts >= house.config.settings.agent.attempts and not house.stop.is_set()
    if last or too_late or not error.retryable:
        return _give_up(house, wake, str(error))
    persist(house, lambda: house.ledger.postpone_wake(wake.id, str(error), next_at, now))
    warn("wake_postponed", wake=wake.id, attempt=wake.attempts, error=error, next=next_at.isoformat())
    return "pending"


def _give_up(house: House, wake: Wake, reason: str, *, late: bool = False) -> str:
    """Nothing more is tried; *late*: not even this time."""
    now = house.clock()
    persist(house, lambda: house.ledger.give_up_wake(wake.id, reason, now))
    warn("wake_failed", wake=wake.id, attempts=wake.attempts, error=reason)
    # An agent that was never asked did not fail.
    if house.agent is not None and wake.attempts > late:
        house.ledger.fault(f"agent:{wake.agent}", "agent_failed", reason, now)
    return "failed"


def _delay(attempts: int, retry_after: float | None) -> timedelta:
    state = tenacity.RetryCallState(retry_object=tenacity.Retrying(), fn=None, args=(), kwargs={})
    state.attempt_number = attempts
    return timedelta(seconds=max(_DELAY(state), retry_after or 0.0))
