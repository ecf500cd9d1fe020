"""Whether a wake may be tried now: its agent can be called and paid, and somebody is to be told at this hour."""

from __future__ import annotations

from datetime import datetime

from heartbeat.beat import House
from heartbeat.config import Settings
from heartbeat.decide import over_spending, quiet_hold
from heartbeat.model import OWNER, LedgerFinding, MessageKind, Past, State, Urgency, Wake
from heartbeat.policy import budget_of, owner_zone, quiet_hours
from heartbeat.routing import channels_for


def name_of(house: House, wake: Wake) -> str:
    """Whom a wake is for: after a change of the configuration the agent that there is now."""
    return house.agent.name if house.agent is not None and wake.agent != OWNER else wake.agent


def to_tell(wake: Wake, now: datetime) -> list[LedgerFinding]:
    """What a wake still has to tell: what was taken back, or is of no use any more beside others, is not told."""
    carried = [item for item in wake.findings if item.state is State.WAKE]
    ends = (item.finding.useful_until for item in carried)
    useful = [item for item, until in zip(carried, ends, strict=True) if until is None or until >= now]
    return useful or carried


def stands_against(settings: Settings, past: Past, agent: str, now: datetime) -> tuple[datetime, str] | None:
    """Until when the agent is not to be called, and why: it asked for time, or the money of the day is spent."""
    if agent == OWNER:
        return None
    hold = past.holds.get(agent)
    if hold is not None and hold.since <= now < hold.until:
        return hold.until, f"the agent is on hold: {hold.reason}"
    return over_spending(budget_of(settings), past, owner_zone(settings, past.overrides), now)


def quiet_for(settings: Settings, past: Past, wake: Wake, now: datetime) -> tuple[datetime, str] | None:
    """Until when it is too quiet for all that a wake carries, and why."""
    quiet = quiet_hours(settings).under(past.overrides)
    if wake.brief_id is not None:
        until = quiet.until(now)
        return (until, "it is quiet") if until is not None else None
    held = [quiet_hold(item.finding, quiet, now) for item in to_tell(wake, now)]
    ends = [(until, reason) for until, reason in held if until is not None]
    return min(ends) if ends and len(ends) == len(held) else None


def is_failing(house: House, agent: str) -> bool:
    """Whether it failed so often that this is an incident, and has accepted nothing since."""
    return any(incident.subject == f"agent:{agent}" for incident in house.ledger.incidents(open_only=True))


def can_divert(house: House, wake: Wake) -> bool:
    """Whether a wake carries something critical that the owner can be told without its agent."""
    told = to_tell(wake, house.as_of or house.clock())
    is_critical = any(item.finding.urgency is Urgency.CRITICAL for item in told)
    takes = channels_for(house.routes, MessageKind.NOTICE, Urgency.CRITICAL)
    return is_critical and bool(takes) and wake.agent != OWNER
