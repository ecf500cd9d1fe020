"""What the owner is sent by and by: the morning brief at its time, and messages about incidents. Never in the quiet."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from heartbeat.beat import House
from heartbeat.brief import as_markdown, brief_day, urgency_of
from heartbeat.config.secret import expand
from heartbeat.folders import keep_owner, make_private
from heartbeat.log import event, warn
from heartbeat.model import Brief, Draft, Incident, MessageKind, Overrides, Target, Urgency
from heartbeat.notices import notice
from heartbeat.policy import owner_zone, quiet_hours
from heartbeat.routing import channels_for

_SUBJECT = "brief:file"
_TITLE = "While you slept"


@dataclass(frozen=True, slots=True)
class _Unwritten:
    """A brief whose file could not be written: tried again as long as its day lasts, by this process."""

    day: date
    text: str


_unwritten: dict[Path, _Unwritten] = {}
"""By the ledger that the brief is from."""


def issue_due(house: House) -> bool:
    """Make the brief of the owner's day when it is due; whether it was made now.

    One that no channel, agent or file would take is not made: what it has to tell waits until somebody asks.
    """
    now, settings = house.clock(), house.config.settings.brief
    overrides = house.ledger.overrides(now)
    zone = owner_zone(house.config.settings, overrides)
    day = brief_day(settings.time_of_day, settings.weekdays, zone, now)
    _write_again(house, now, zone)
    if day is None or _is_quiet(house, overrides, now) or house.ledger.has_brief(day):
        return False
    ahead = house.ledger.brief(now)
    target = _target(house, ahead)
    if target is None and not settings.file and not _drafts(house, ahead, ""):
        return False

    def compose(brief: Brief) -> tuple[str, Sequence[Draft]]:
        text = as_markdown(brief, zone)
        return text, _drafts(house, brief, text)

    issued = house.ledger.issue_brief(day, now, compose, target=target, empty=settings.empty == "line")
    if issued is None:
        return False
    brief, wake_id = issued
    event("brief_issued", day=day, brief=brief.id, items=len(brief.items), wake=wake_id)
    if not brief.is_empty or settings.empty == "line":
        _write(house, _Unwritten(day, as_markdown(brief, zone)), now)
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
    return sum(_tell(house, incident, zone, now) for incident in due)


def _tell(house: House, incident: Incident, zone: ZoneInfo, now: datetime) -> bool:
    names = [
        name
        for name in channels_for(house.routes, MessageKind.INCIDENT, Urgency.NORMAL)
        if incident.subject != f"channel:{name}"
    ]
    title, body, again_at = notice(incident, now, zone)
    drafts = [
        # What could not be sent until the next is due would only be said twice.
        Draft(MessageKind.INCIDENT, name, title, body, useful_until=again_at, incident_id=incident.id)
        for name in names
    ]
    return house.ledger.enter_notice(incident, drafts, again_at if names else None, now) and bool(names)


def _is_quiet(house: House, overrides: Overrides, now: datetime) -> bool:
    return quiet_hours(house.config.settings).under(overrides).until(now) is not None


def _target(house: House, ahead: Brief) -> Target | None:
    """Who is to write it up; nobody is woken for nothing."""
    wanted = house.config.settings.brief.agent and house.agent is not None and not ahead.is_empty
    return Target(house.agent.name) if wanted and house.agent is not None else None


def _drafts(house: House, brief: Brief, text: str) -> list[Draft]:
    urgency = urgency_of(brief)
    names = channels_for(house.routes, MessageKind.BRIEF, urgency)
    return [Draft(MessageKind.BRIEF, name, _TITLE, text, urgency, brief_id=brief.id) for name in names]


# The file


def _write_again(house: House, now: datetime, zone: ZoneInfo) -> None:
    waiting = _unwritten.get(house.home.ledger_file)
    if waiting is not None and now.astimezone(zone).date() == waiting.day:
        _write(house, waiting, now)
    else:
        _unwritten.pop(house.home.ledger_file, None)


def _write(house: House, brief: _Unwritten, now: datetime) -> None:
    """Keep the brief in the owner's file, if there is to be one; what is in the way is an incident."""
    _unwritten.pop(house.home.ledger_file, None)
    name = house.config.settings.brief.file
    path = expand(name.replace("{day}", brief.day.isoformat()), house.home.config, house.environ)
    try:
        if name:
            _replace(path, brief.text + "\n")
    except OSError as error:
        _unwritten[house.home.ledger_file] = brief
        message = f"cannot write the brief to {path}: {error.strerror or error}; correct file in [brief], or make room"
        if house.ledger.fault(_SUBJECT, "brief_file", message, now):
            warn("incident", subject=_SUBJECT, error=message)
        return
    if house.ledger.recover(_SUBJECT, now):
        event("recovered", subject=_SUBJECT)


def _replace(path: Path, text: str) -> None:
    """Put the file in place as a whole, for its owner alone."""
    make_private(path.parent)
    descriptor, made = tempfile.mkstemp(prefix=".brief-", dir=path.parent)  # 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        keep_owner(made)
        os.replace(made, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(made)
        raise
