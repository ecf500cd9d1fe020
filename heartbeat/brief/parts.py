"""The lines of a brief, each of one thing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from heartbeat.clock import from_text, local
from heartbeat.model import Brief, Change, Incident, LedgerFinding, State, Tally, Urgency
from heartbeat.text import one_line

_MARKS = {Change.UPDATE: "changed: ", Change.RETRACTION: "no longer: "}
_LONGEST_TITLE = 120
_LONGEST = 160
_MOST_TIMES = 3
_INSTANT = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{5,8}(?:[.][0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line, what is said below it, and why it was not told before."""

    line: str
    body: str = ""
    why: str = ""


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def moment(at: datetime, until: datetime, zone: ZoneInfo) -> str:
    """An instant with its day, unless that is the brief's own."""
    shown = local(at, zone)
    return f"{shown:%H:%M}" if shown.date() == local(until, zone).date() else f"{shown:%a %d %b %H:%M}"


def title_of(item: LedgerFinding) -> str:
    urgent = "" if item.finding.urgency in (Urgency.LOW, Urgency.NORMAL) else f"[{item.finding.urgency}] "
    is_again = item.change is Change.UPDATE and item.finding.was_snoozed
    mark = "again: " if is_again else _MARKS.get(item.change, "")
    return urgent + mark + one_line(item.finding.title, _LONGEST_TITLE)


def reason_of(reason: str, until: datetime, zone: ZoneInfo) -> str:
    """Why, in one line, with its instants as the clock there shows them."""

    def shown(found: re.Match[str]) -> str:
        try:
            return moment(from_text(found.group()), until, zone)
        except ValueError:  # no date of the calendar
            return found.group()

    return one_line(_INSTANT.sub(shown, reason), _LONGEST)


def waiting_line(item: LedgerFinding, brief: Brief, zone: ZoneInfo) -> str:
    until = brief.until
    if item.state is State.HELD:
        at = moment(item.held_until, until, zone) if item.held_until else ""
        # A reason such as "quiet hours until 07:00" says it already.
        how = f"held until {at}" if at and at not in item.reason else "held"
    else:
        how = "waits for your channels" if item.wake_id in brief.for_owner else "waits for the agent"
    return f"{item.job}  {title_of(item)} ({how}: {reason_of(item.reason, until, zone)})"


def incident_lines(brief: Brief, zone: ZoneInfo) -> list[str]:
    """One for each; but of what came and went many times one that says so, with the latest."""
    subjects: dict[str, list[Incident]] = {}
    for incident in brief.incidents:
        subjects.setdefault(incident.subject, []).append(incident)
    lines = []
    for found in subjects.values():
        if len(found) > _MOST_TIMES:
            since = f"{local(found[0].opened_at, zone):%a %H:%M}"
            lines.append(f"{_incident_line(found[-1], brief.until, zone)} ({len(found):,} times since {since})")
        else:
            lines += [_incident_line(incident, brief.until, zone) for incident in found]
    return lines


def _incident_line(incident: Incident, until: datetime, zone: ZoneInfo) -> str:
    opened = f"{local(incident.opened_at, zone):%a %H:%M}"
    over = f", over since {local(incident.resolved_at, zone):%a %H:%M}" if incident.resolved_at else ", still open"
    return f"{opened}{over}  {one_line(incident.subject, _LONGEST_TITLE)}: {reason_of(incident.message, until, zone)}"


def missed_line(job: str, count: int, reason: str, until: datetime, zone: ZoneInfo) -> str:
    return f"{job}  {counted(count, 'due instant')} not run: {reason_of(reason, until, zone)}"


def facts(tally: Tally) -> str:
    """What it took, in one line."""
    ran = f"{counted(tally.runs, 'tick')} ran" if tally.runs else "No tick ran"
    parts = [f"{ran} ({tally.faults:,} failed)" if tally.faults else ran]
    if not tally.wakes and not tally.notices:
        parts += ["nobody was woken"] if tally.runs else []
    else:
        parts += [counted(tally.wakes, "wake"), counted(tally.notices, "notice")]
        parts.append(f"{counted(tally.avoided, 'call')} avoided")
    if tally.tokens:
        parts.append(counted(tally.tokens, "token"))
    if tally.usd:
        parts.append(f"${tally.usd:,.2f}")
    return ", ".join(parts) + "."
