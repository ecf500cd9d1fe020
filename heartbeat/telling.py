"""What a wake says: to an agent as a prompt, to the owner as a message."""

from __future__ import annotations

import secrets

from heartbeat.beat import House
from heartbeat.clock import local
from heartbeat.errors import NotFound
from heartbeat.model import Change, Finding, LedgerFinding, Run, Urgency, Wake
from heartbeat.policy import owner_zone
from heartbeat.prompt import render, render_brief
from heartbeat.text import one_line, plain

_MOST_TOLD, _LONGEST_BODY = 50, 600
_MARKS = {Change.UPDATE: "changed: ", Change.RETRACTION: "no longer: "}


def prompt_of(house: House, wake: Wake) -> str:
    """The prompt that a wake is, fresh for each call."""
    settings = house.config.settings
    clock = house.clock()
    now = local(clock, owner_zone(settings, house.ledger.overrides(clock)))
    mark = secrets.token_hex(16)
    if wake.brief_id is not None:
        text = house.ledger.brief_text(wake.brief_id)
        return render_brief(wake.id, text, settings.agent.brief_prompt, mark=mark, now=now)
    return render(
        wake, _run_of(house, wake), _instruction(house, wake), mark=mark, now=now, before=_before(house, wake)
    )


def _instruction(house: House, wake: Wake) -> str:
    """What the owner wants done with what a job found; of several jobs, each with its name."""
    default = house.config.settings.agent.prompt
    said: dict[str, list[str]] = {}
    for name in dict.fromkeys(item.job for item in wake.findings) or [wake.job]:
        job = house.config.jobs.get(name)
        said.setdefault((job.prompt if job else "") or default, []).append(name)
    if len(said) == 1:
        return next(iter(said))
    return "\n\n".join(f"For what the job {' and the job '.join(jobs)} found: {text}" for text, jobs in said.items())


def _run_of(house: House, wake: Wake) -> Run | None:
    """The run that made all of it, for what its script said beside the findings."""
    runs = {item.run_id for item in wake.findings}
    try:
        return house.ledger.run(runs.pop()) if len(runs) == 1 else None
    except NotFound:
        # The run's record may be older than what is kept; the findings say it all the same.
        return None


def _before(house: House, wake: Wake) -> dict[str, Finding]:
    """What the owner was told last under the keys of findings that changed, by the id of the finding."""
    before: dict[str, Finding] = {}
    for item in wake.findings:
        rows = [] if item.change is Change.NEW else house.ledger.findings(item.job, key=item.finding.key, limit=10)
        told = next((row.finding for row in rows if row.id != item.id and row.state.was_told), None)
        if told is not None:
            before[item.id] = told
    return before


def title_of(wake: Wake) -> str:
    """The heading of a message about a wake."""
    if wake.brief_id is not None:
        return "While you slept"
    first, *more = wake.findings
    return one_line(_title(first), 120) + (f" (and {len(more)} more)" if more else "")


def as_notice(house: House, wake: Wake) -> tuple[str, str]:
    """Heading and text that tell the owner of findings without an agent; strangers' text stays on its own lines."""
    clock = house.clock()
    zone = owner_zone(house.config.settings, house.ledger.overrides(clock))
    lines = []
    for item in wake.findings[:_MOST_TOLD]:
        at = item.finding.starts_at
        lines.append(f"{local(at, zone):%a %d %b %H:%M}  {_title(item)}" if at else _title(item))
        if item.finding.body:
            lines.append(f"  {one_line(item.finding.body, _LONGEST_BODY)}")
        if item.finding.url:
            lines.append(f"  {one_line(item.finding.url, _LONGEST_BODY)}")
    if len(wake.findings) > _MOST_TOLD:
        lines.append(f"and {len(wake.findings) - _MOST_TOLD} more: heartbeat wakes get {wake.id}")
    return title_of(wake), plain("\n".join(lines))


def _title(item: LedgerFinding) -> str:
    urgent = f"[{item.finding.urgency}] " if item.finding.urgency in (Urgency.HIGH, Urgency.CRITICAL) else ""
    return urgent + _MARKS.get(item.change, "") + one_line(item.finding.title, 200)
