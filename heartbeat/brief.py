"""The brief as people read it: pure text of what had not been told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from zoneinfo import ZoneInfo

from heartbeat.clock import local
from heartbeat.model import Brief, Change, Incident, LedgerFinding, Urgency
from heartbeat.text import one_line

_MARKS = {Change.UPDATE: "changed: ", Change.RETRACTION: "no longer: "}
_ORDER = list(reversed(Urgency))
_SPECIAL = str.maketrans({letter: f"\\{letter}" for letter in "\\`*_{}[]<>#|~&$!@"})
"""What begins markup, an entity or a mention."""


def as_text(brief: Brief, zone: ZoneInfo) -> str:
    """For a terminal."""
    lines = [_heading(brief, zone)]
    for job, items in _by_job(brief):
        lines.append(f"\n{job}")
        for item in items:
            lines.append(f"  {_at(item, brief.until, zone)}  {_title(item)}")
            lines.append(f"         not told: {one_line(item.reason, 100)}")
    if brief.incidents:
        lines.append("\nincidents")
        lines += [f"  {_incident(incident, zone)}" for incident in brief.incidents]
    return "\n".join(lines)


def as_markdown(brief: Brief, zone: ZoneInfo) -> str:
    """For a file or a message; strangers' text cannot become markup."""
    lines = [f"# {_heading(brief, zone)}"]
    for job, items in _by_job(brief):
        lines.append(f"\n## {job}\n")
        lines += [
            f"- {_at(item, brief.until, zone)} {_escaped(_title(item))} ({_escaped(one_line(item.reason, 100))})"
            for item in items
        ]
    if brief.incidents:
        lines.append("\n## incidents\n")
        lines += [f"- {_escaped(_incident(incident, zone))}" for incident in brief.incidents]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    # Some readers make a link of a bare address.
    return text.translate(_SPECIAL).replace("://", "\\://").replace("www.", "www\\.")


def _heading(brief: Brief, zone: ZoneInfo) -> str:
    since = f" since {local(brief.since, zone):%a %d %b %H:%M}" if brief.since else ""
    if not brief.items and not brief.incidents:
        return f"While you slept{since}: nothing to tell."
    parts = []
    if brief.items:
        parts.append(f"{_count(len(brief.items), 'thing')} not told yet")
    if brief.incidents:
        parts.append(_count(len(brief.incidents), "incident"))
    return f"While you slept{since}: {', '.join(parts)}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _by_job(brief: Brief) -> Iterator[tuple[str, Iterator[LedgerFinding]]]:
    items = sorted(brief.items, key=lambda item: (item.job, _ORDER.index(item.finding.urgency), item.first_seen_at))
    return groupby(items, key=lambda item: item.job)


def _at(item: LedgerFinding, until: datetime, zone: ZoneInfo) -> str:
    """When it is or was, with the day unless that is the brief's own."""
    at = local(item.finding.starts_at or item.finding.occurred_at or item.first_seen_at, zone)
    return f"{at:%H:%M}" if at.date() == local(until, zone).date() else f"{at:%a %d %b %H:%M}"


def _title(item: LedgerFinding) -> str:
    urgent = "" if item.finding.urgency in (Urgency.LOW, Urgency.NORMAL) else f"[{item.finding.urgency}] "
    return urgent + _MARKS.get(item.change, "") + one_line(item.finding.title, 120)


def _incident(incident: Incident, zone: ZoneInfo) -> str:
    opened = f"{local(incident.opened_at, zone):%a %H:%M}"
    over = f", over since {local(incident.resolved_at, zone):%a %H:%M}" if incident.resolved_at else ", still open"
    return f"{opened}{over}  {incident.subject}: {one_line(incident.message, 160)}"
