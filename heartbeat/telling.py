"""What a wake says: to an agent as a prompt, to the owner as a message."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

from heartbeat.beat import House
from heartbeat.brief import as_plain
from heartbeat.clock import local
from heartbeat.errors import NotFound
from heartbeat.model import Call, Change, Draft, Finding, LedgerFinding, MessageKind, Reply, Run, Urgency, Wake
from heartbeat.policy import owner_zone
from heartbeat.prompt import SILENT_REPLIES, render, render_brief
from heartbeat.routing import channels_for
from heartbeat.text import one_line, plain

_LONGEST_BODY, _LONGEST_NOTICE = 600, 24_000
_RANKS = list(Urgency)
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


def call_of(house: House, wake: Wake) -> Call:
    """How the agent is called for a wake: as its jobs want it, and trusting only what all of them trust."""
    settings, jobs = house.config.settings.agent, house.config.jobs
    names = list(dict.fromkeys(item.job for item in wake.findings)) or [wake.job]
    wanted = [jobs[name].prefs if name in jobs else settings.prefs() for name in names]
    is_foreign = wake.brief_id is not None or any(item.finding.origin != "owner" for item in wake.findings)
    # They were alike when they were put together; the configuration may have changed since.
    trusted = all(prefs.trusted for prefs in wanted)
    return Call(wake.id, prompt_of(house, wake), is_foreign and not trusted, wanted[0])


def replies(house: House, wake: Wake, reply: Reply) -> list[Draft]:
    """The messages with what an agent answered, if that is one to the owner."""
    silent = reply.text.strip() in SILENT_REPLIES
    if wake.brief_id is not None:
        # Nothing is no answer to a brief: the owner would never hear of what it tells.
        return plain_brief(house, wake) if silent else _brief(house, wake, reply.text)
    if silent:
        return []
    urgency = most_urgent([item.finding.urgency for item in wake.findings])
    return _to_all(house, _about(wake, Draft(MessageKind.REPLY, "", title_of(wake.findings), reply.text, urgency)))


def plain_brief(house: House, wake: Wake) -> list[Draft]:
    """The brief that no agent writes up goes to the owner as it stands."""
    return _brief(house, wake, as_plain(house.ledger.brief_text(wake.brief_id or "")))


def _brief(house: House, wake: Wake, text: str) -> list[Draft]:
    urgency = house.ledger.brief_urgency(wake.brief_id or "")
    return _to_all(house, _about(wake, Draft(MessageKind.BRIEF, "", "While you slept", text, urgency)))


def _about(wake: Wake, draft: Draft) -> Draft:
    return replace(draft, useful_until=wake.useful_until, wake_id=wake.id, brief_id=wake.brief_id)


def _to_all(house: House, draft: Draft) -> list[Draft]:
    """One for each channel that takes it."""
    return [replace(draft, channel=name) for name in channels_for(house.routes, draft.kind, draft.urgency)]


def notices(house: House, wake: Wake) -> list[Draft]:
    """The messages that tell the owner of findings without an agent: to each channel what it takes."""
    clock = house.clock()
    zone = owner_zone(house.config.settings, house.ledger.overrides(clock))
    shares: dict[str, list[LedgerFinding]] = {}
    homeless = []
    for item in wake.findings:
        names = channels_for(house.routes, MessageKind.NOTICE, item.finding.urgency)
        for name in names:
            shares.setdefault(name, []).append(item)
        if not names:
            homeless.append(item)
    drafts = []
    for name, items in shares.items():
        # What no channel takes comes along with something that is worth a message.
        told = sorted([*items, *homeless], key=lambda item: _RANKS.index(item.finding.urgency), reverse=True)
        urgency = most_urgent([item.finding.urgency for item in items])
        body = as_notice(told, wake.id, zone)
        drafts.append(_about(wake, Draft(MessageKind.NOTICE, name, title_of(told), body, urgency)))
    return drafts


def most_urgent(urgencies: Sequence[Urgency]) -> Urgency:
    return max(urgencies, key=_RANKS.index, default=Urgency.NORMAL)


def title_of(findings: Sequence[LedgerFinding]) -> str:
    """The heading of a message: the most urgent, and how many more there are."""
    first = max(findings, key=lambda item: _RANKS.index(item.finding.urgency), default=None)
    if first is None:
        return "heartbeat"
    return one_line(_title(first), 120) + (f" (and {len(findings) - 1} more)" if len(findings) > 1 else "")


def as_notice(findings: Sequence[LedgerFinding], wake_id: str, zone: ZoneInfo) -> str:
    """The text that tells of findings, the first of them whole; strangers' text stays on its own lines."""
    lines, length = [], 0
    for number, item in enumerate(findings):
        said = _lines(item, zone)
        length += sum(map(len, said))
        if number and length > _LONGEST_NOTICE:
            lines.append(f"and {len(findings) - number} more: heartbeat wakes get {wake_id}")
            break
        lines += said
    return plain("\n".join(lines))


def _lines(item: LedgerFinding, zone: ZoneInfo) -> list[str]:
    finding, at = item.finding, item.finding.starts_at
    lines = [f"{local(at, zone):%a %d %b %H:%M}  {_title(item)}" if at else _title(item)]
    return lines + [f"  {one_line(text, _LONGEST_BODY)}" for text in (finding.body, finding.url) if text]


def _title(item: LedgerFinding) -> str:
    urgent = f"[{item.finding.urgency}] " if item.finding.urgency in (Urgency.HIGH, Urgency.CRITICAL) else ""
    is_again = item.rule == "remind" or (item.change is Change.UPDATE and item.finding.was_snoozed)
    mark = "again: " if is_again else _MARKS.get(item.change, "")
    return urgent + mark + one_line(item.finding.title, 200)
