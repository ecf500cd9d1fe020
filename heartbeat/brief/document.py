"""The brief as other programs read it. Its fields are a contract: some may come, none goes or changes its meaning."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from zoneinfo import ZoneInfo

from heartbeat.model import Brief, Incident, LedgerFinding, State


def as_document(brief: Brief, zone: ZoneInfo) -> dict[str, Any]:
    """What json.dumps takes; instants are ISO 8601 in UTC."""
    return {
        "id": brief.id,
        "day": brief.day.isoformat() if brief.day else None,
        "zone": zone.key,
        "since": brief.since.isoformat() if brief.since else None,
        "until": brief.until.isoformat(),
        "items": [_item(item) for item in brief.items],
        "incidents": [_incident(incident) for incident in brief.incidents],
        "waiting": [_waiting(item, brief) for item in brief.waiting],
        "briefs_waiting": [{"day": day.isoformat(), "agent": agent} for day, agent in brief.with_agent],
        "undelivered": list(brief.undelivered),
        "tally": asdict(brief.tally)
        | {"missed": [{"job": job, "count": count, "reason": reason} for job, count, reason in brief.tally.missed]},
    }


def _item(item: LedgerFinding) -> dict[str, Any]:
    finding = item.finding
    return {
        "id": item.id,
        "key": finding.key,
        "job": item.job,
        "title": finding.title,
        "body": finding.body,
        "kind": finding.kind,
        "urgency": finding.urgency,
        "change": item.change,
        "at": item.first_seen_at.isoformat(),
        "why_not_told": item.reason,
    }


def _waiting(item: LedgerFinding, brief: Brief) -> dict[str, Any]:
    """`wake_id` is that of the wake it is in, and `waits_for` whom that is for; without one it is held."""
    in_wake = item.state is State.WAKE
    finding = item.finding
    return {
        "id": item.id,
        "key": finding.key,
        "job": item.job,
        "title": finding.title,
        "urgency": finding.urgency,
        "at": item.first_seen_at.isoformat(),
        "why_waiting": item.reason,
        "held_until": item.held_until.isoformat() if item.held_until and item.state is State.HELD else None,
        "wake_id": item.wake_id if in_wake else None,
        "waits_for": ("channels" if item.wake_id in brief.for_owner else "agent") if in_wake else None,
    }


def _incident(incident: Incident) -> dict[str, Any]:
    return {
        "id": incident.id,
        "subject": incident.subject,
        "code": incident.code,
        "message": incident.message,
        "opened_at": incident.opened_at.isoformat(),
        "resolved_at": incident.resolved_at.isoformat() if incident.resolved_at else None,
    }
