"""The brief as people read it, for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from zoneinfo import ZoneInfo

from heartbeat.brief.parts import Entry, counted, facts, incident_line, missed_line, moment, title_of, waiting_line
from heartbeat.clock import local
from heartbeat.model import Brief, LedgerFinding, Urgency
from heartbeat.text import one_line

_RANKS = list(Urgency)
_LOUD = (Urgency.HIGH, Urgency.CRITICAL)
_MOST = 20
_LONGEST_BODY, _LONGEST_REASON = 160, 160
_SPECIAL = str.maketrans({letter: f"\\{letter}" for letter in "\\`*_{}[]<>#|~&$!@"})
"""What begins markup, an entity or a mention."""


def as_text(brief: Brief, zone: ZoneInfo) -> str:
    """For a terminal."""
    sections, heading = list(_sections(brief, zone)), _heading(brief, zone)
    if not sections:
        return f"{heading} {facts(brief.tally)}"
    lines = [heading]
    for title, entries in sections:
        lines.append(f"\n{title}")
        for entry in entries:
            lines.append(f"  {entry.line}")
            lines += [f"         {more}" for more in (entry.body, entry.why and f"not told: {entry.why}") if more]
    return "\n".join([*lines, "", facts(brief.tally)])


def as_markdown(brief: Brief, zone: ZoneInfo) -> str:
    """For a file or a message; strangers' text cannot become markup."""
    sections, heading = list(_sections(brief, zone)), _heading(brief, zone)
    if not sections:
        return _escaped(f"{heading} {facts(brief.tally)}")
    lines = [f"# {heading}"]
    for title, entries in sections:
        lines.append(f"\n## {title}\n")
        for entry in entries:
            said = f"{entry.line}: {entry.body}" if entry.body else entry.line
            lines.append(f"- {_escaped(' '.join(said.split()))}" + (f" ({_escaped(entry.why)})" if entry.why else ""))
    return "\n".join([*lines, "", _escaped(facts(brief.tally))])


def urgency_of(brief: Brief) -> Urgency:
    """How urgent the brief is as a message: as its most urgent item, but it breaks through nothing."""
    least = Urgency.NORMAL if brief.incidents or brief.undelivered else Urgency.LOW
    highest = max((least, *(item.finding.urgency for item in brief.items)), key=_RANKS.index)
    return min(highest, Urgency.HIGH, key=_RANKS.index)


def _escaped(text: str) -> str:
    # Some readers make a link of a bare address.
    return text.translate(_SPECIAL).replace("://", "\\://").replace("www.", "www\\.")


def _heading(brief: Brief, zone: ZoneInfo) -> str:
    since = f" since {local(brief.since, zone):%a %d %b %H:%M}" if brief.since else ""
    parts = []
    if brief.items:
        parts.append(f"{counted(len(brief.items), 'thing')} not told yet")
    if brief.incidents:
        parts.append(counted(len(brief.incidents), "incident"))
    if brief.undelivered:
        parts.append(f"{counted(len(brief.undelivered), 'message')} not delivered")
    return f"While you slept{since}: {', '.join(parts) or 'nothing to tell'}."


def _sections(brief: Brief, zone: ZoneInfo) -> Iterable[tuple[str, list[Entry]]]:
    """Each with its title; jobs by name, and within a job the most urgent first."""
    items = sorted(brief.items, key=lambda item: (item.job, -_RANKS.index(item.finding.urgency), item.first_seen_at))
    for job, group in groupby(items, key=lambda item: item.job):
        yield job, [_entry(item, brief, zone) for item in group]
    others = {
        "missed": _at_most([missed_line(*missed) for missed in brief.tally.missed]),
        "incidents": [incident_line(incident, zone) for incident in brief.incidents],
        "still waiting": _at_most([waiting_line(item, brief.until, zone) for item in brief.waiting]),
        "not delivered": _undelivered(len(brief.undelivered)),
    }
    for title, lines in others.items():
        if lines:
            yield title, [Entry(line) for line in lines]


def _entry(item: LedgerFinding, brief: Brief, zone: ZoneInfo) -> Entry:
    finding = item.finding
    at = moment(finding.starts_at or finding.occurred_at or item.first_seen_at, brief.until, zone)
    body = one_line(finding.body, _LONGEST_BODY) if finding.urgency in _LOUD else ""
    return Entry(f"{at}  {title_of(item)}", body, one_line(item.reason, _LONGEST_REASON))


def _at_most(lines: list[str]) -> list[str]:
    """Of what this brief does not settle, no more than a person reads."""
    more = len(lines) - _MOST
    return [*lines[:_MOST], f"and {more:,} more"] if more > 0 else lines


def _undelivered(count: int) -> list[str]:
    return [f"{counted(count, 'message')} could not be delivered: `heartbeat messages list`"] if count else []
