"""The brief as people read it, for a terminal and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from zoneinfo import ZoneInfo

from heartbeat.brief.parts import (
    Entry,
    counted,
    facts,
    incident_lines,
    missed_line,
    moment,
    reason_of,
    title_of,
    waiting_line,
)
from heartbeat.clock import local
from heartbeat.model import Brief, LedgerFinding, Urgency
from heartbeat.text import one_line

_RANKS = list(Urgency)
_LOUD = (Urgency.HIGH, Urgency.CRITICAL)
_MOST = 20
_LONGEST_BODY = 160
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


def as_plain(markdown: str) -> str:
    """A brief that was kept as Markdown, for what shows no markup."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", re.sub(r"(?m)^#+ ", "", markdown))


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
    """Each with its title, the most urgent first: whoever has little room cuts the end."""
    urgent = [item for item in brief.items if item.finding.urgency in _LOUD]
    if urgent:
        urgent.sort(key=lambda item: (-_rank(item), item.job, item.first_seen_at))
        yield "urgent", [_entry(item, brief, zone, name=f"{item.job}  ") for item in urgent]
    others = [item for item in brief.items if item.finding.urgency not in _LOUD]
    highest = {job: max(map(_rank, group)) for job, group in groupby(sorted(others, key=_job), key=_job)}
    others.sort(key=lambda item: (-highest[item.job], item.job, -_rank(item), item.first_seen_at))
    for job, group in groupby(others, key=_job):
        yield job, [_entry(item, brief, zone) for item in group]
    for title, lines in _more(brief, zone).items():
        if lines:
            yield title, [Entry(line) for line in lines]


def _more(brief: Brief, zone: ZoneInfo) -> dict[str, list[str]]:
    waiting = [f"the brief of {day} waits for the agent {one_line(agent, 100)}" for day, agent in brief.with_agent]
    waiting += [waiting_line(item, brief, zone) for item in brief.waiting]
    return {
        "missed": _at_most([missed_line(*missed, brief.until, zone) for missed in brief.tally.missed]),
        "incidents": incident_lines(brief, zone),
        "still waiting": _at_most(waiting),
        "not delivered": _undelivered(len(brief.undelivered)),
    }


def _entry(item: LedgerFinding, brief: Brief, zone: ZoneInfo, *, name: str = "") -> Entry:
    finding = item.finding
    known = finding.starts_at or finding.occurred_at
    at = f"{'at' if known else 'seen'} {moment(known or item.first_seen_at, brief.until, zone)}"
    body = one_line(finding.body, _LONGEST_BODY) if finding.urgency in _LOUD else ""
    return Entry(f"{at}  {name}{title_of(item)}", body, reason_of(item.reason, brief.until, zone))


def _job(item: LedgerFinding) -> str:
    return item.job


def _rank(item: LedgerFinding) -> int:
    return _RANKS.index(item.finding.urgency)


def _at_most(lines: list[str]) -> list[str]:
    """Of what this brief does not settle, no more than a person reads."""
    more = len(lines) - _MOST
    return [*lines[:_MOST], f"and {more:,} more"] if more > 0 else lines


def _undelivered(count: int) -> list[str]:
    return [f"{counted(count, 'message')} could not be delivered: `heartbeat messages list`"] if count else []
