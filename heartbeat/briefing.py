"""What the owner is sent by and by: the morning brief at its time, and messages about incidents. Never in the quiet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from heartbeat.beat import House
from heartbeat.brief import as_markdown, as_text, brief_day
from heartbeat.brief_file import keep_briefs
from heartbeat.log import event
from heartbeat.model import Brief, Draft, Incident, MessageKind, Overrides, Target, Urgency
from heartbeat.notices import notice, together
from heartbeat.policy import owner_zone, quiet_hours
from heartbeat.routing import channels_for

_TITLE = "While you slept"
_APART = 3
"""More incidents than these that are due at once share one message."""


def issue_due(house: House) -> bool:
    """Make the brief of the owner's day when it is due; whether it was made now.

    One that no channel, agent or file would take is not made: what it has to tell waits until somebody asks.
    """
    now, settings = house.clock(), house.config.settings.brief
    overrides = house.ledger.overrides(now)
    zone = owner_zone(house.config.settings, overrides)
    day = brief_day(settings.time_of_day, settings.weekdays, zone, now)
    keep_briefs(house)
    if day is None or _is_quiet(house, overrides, now) or house.ledger.has_brief(day, now):
        return False
    if not _is_wanted(house):
        return False  # before it is read: all that waits would be read anew at each beat
    ahead = house.ledger.brief(now)
    target = _target(house, ahead)
    if target is None and not settings.file and not _drafts(house, ahead, ""):
        return False

    def compose(brief: Brief) -> tuple[str, Sequence[Draft]]:
        # No channel shows markup: in a message its escapes would be read as they are.
        return as_markdown(brief, zone), _drafts(house, brief, as_text(brief, zone))

    wanted = {"empty": settings.empty == "line", "file": bool(settings.file)}
    issued = house.ledger.issue_brief(day, now, compose, target=target, **wanted)
    if issued is None:
        return False
    brief, wake_id = issued
    event("brief_issued", day=day, brief=brief.id, items=len(brief.items), wake=wake_id)
    keep_briefs(house)
    return True


def tell_incidents(house: House) -> int:
    """Send the messages about incidents that are due; of how many. In the quiet they stay due."""
    now = house.clock()
    due = house.ledger.due_notices(now)
    if not due:
        return 0
    overrides = house.ledger.overrides(now)
    if _is_quiet(house, overrides, now):
        return 0
    zone = owner_zone(house.config.settings, overrides)
    told = [incident for incident in due if _channels(house, incident)]
    for incident in due:
        if incident not in told:
            house.ledger.enter_notice(incident, [], None, now)
    if len(told) > _APART:
        return _tell_together(house, told, zone, now)
    return sum(_tell(house, incident, zone, now) for incident in told)


def _channels(house: House, incident: Incident) -> list[str]:
    """Those that take it; none tells of its own failure."""
    names = channels_for(house.routes, MessageKind.INCIDENT, Urgency.NORMAL)
    return [name for name in names if incident.subject != f"channel:{name}"]


def _tell(house: House, incident: Incident, zone: ZoneInfo, now: datetime) -> bool:
    title, body, again_at = notice(incident, now, zone)
    drafts = [
        # What could not be sent until the next is due would only be said twice.
        Draft(MessageKind.INCIDENT, name, title, body, useful_until=again_at, incident_id=incident.id)
        for name in _channels(house, incident)
    ]
    return house.ledger.enter_notice(incident, drafts, again_at, now)


def _tell_together(house: House, due: Sequence[Incident], zone: ZoneInfo, now: datetime) -> int:
    """In one message for each channel: two hundred at once would keep anybody from reading one of them."""
    again_at = {incident.id: notice(incident, now, zone)[2] for incident in due}

    def compose(entered: Sequence[Incident]) -> list[Draft]:
        shares: dict[str, list[Incident]] = {}
        for incident in entered:
            for name in _channels(house, incident):
                shares.setdefault(name, []).append(incident)
        return [_shared(name, share) for name, share in shares.items()]

    def _shared(name: str, share: Sequence[Incident]) -> Draft:
        title, body = together(share, now, zone)
        nexts = [again_at[incident.id] for incident in share]
        # The end of one is said only once.
        until = None if None in nexts else max(at for at in nexts if at is not None)
        return Draft(MessageKind.INCIDENT, name, title, body, useful_until=until)

    return house.ledger.enter_notices([(incident, again_at[incident.id]) for incident in due], compose, now)


def _is_quiet(house: House, overrides: Overrides, now: datetime) -> bool:
    return quiet_hours(house.config.settings).under(overrides).until(now) is not None


def _is_wanted(house: House) -> bool:
    """Whether anybody may take a brief of some urgency, or write one up."""
    settings = house.config.settings.brief
    if settings.file or (settings.agent and house.agent is not None):
        return True
    return any(channels_for(house.routes, MessageKind.BRIEF, urgency) for urgency in Urgency)


def _target(house: House, ahead: Brief) -> Target | None:
    """Who is to write it up; nobody is woken for nothing."""
    wanted = house.config.settings.brief.agent and house.agent is not None and not ahead.is_empty
    return Target(house.agent.name) if wanted and house.agent is not None else None


def _drafts(house: House, brief: Brief, text: str) -> list[Draft]:
    names = channels_for(house.routes, MessageKind.BRIEF, brief.urgency)
    return [Draft(MessageKind.BRIEF, name, _TITLE, text, brief.urgency, brief_id=brief.id) for name in names]
