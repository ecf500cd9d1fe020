"""The lines of a brief, each of one thing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from heartbeat.clock import local
from heartbeat.model import Change, Incident, LedgerFinding, State, Tally, Urgency
from heartbeat.text import one_line

_MARKS = {Change.UPDATE: "changed: ", Change.RETRACTION: "no longer: "}
_LONGEST_TITLE = 120
_LONGEST = 160


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
    return urgent + _MARKS.get(item.change, "") + one_line(item.finding.title, _LONGEST_TITLE)


def waiting_line(item: LedgerFinding, until: datetime, zone: ZoneInfo) -> str:
    if item.state is State.HELD:
        how = f"held until {moment(item.held_until, until, zone)}" if item.held_until else "held"
    else:
        how = "waits for the agent"
    return f"{item.job}  {title_of(item)} ({how}: {one_line(item.reason, _LONGEST)})"


def incident_line(incident: Incident, zone: ZoneInfo) -> str:
    opened = f"{local(incident.opened_at, zone):%a %H:%M}"
    over = f", over since {local(incident.resolved_at, zone):%a %H:%M}" if incident.resolved_at else ", still open"
    return f"{opened}{over}  {one_line(incident.subject, _LONGEST_TITLE)}: {one_line(incident.message, _LONGEST)}"


def missed_line(job: str, count: int, reason: str) -> str:
    return f"{job}  {counted(count, 'due instant')} not run: {one_line(reason, _LONGEST)}"


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
