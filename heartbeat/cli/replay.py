"""`heartbeat replay`: what other rules would have made of what is recorded. Nothing is written, run or called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import typer

from heartbeat.channels import routes_of
from heartbeat.cli.shell import instant, shell, table, when
from heartbeat.cli.since import METAVAR, past_instant
from heartbeat.clock import local, utc_now
from heartbeat.decide import Rules
from heartbeat.errors import Invalid, NotFound
from heartbeat.job import Config, load
from heartbeat.model import LedgerFinding
from heartbeat.policy import rules_of
from heartbeat.replay import WARM_UP, Difference, End, Fate, Recorded, Replay, Totals, replay
from heartbeat.stores.sqlite import SqliteLedger
from heartbeat.text import one_line

_NEVER_TOLD = (
    "Agents are taken to accept every wake at once and at no cost: holds, failures and spending are left out.",
    "So is what was said for a time with `heartbeat quiet` and `heartbeat zone`.",
    "What was reported again as a duplicate is not kept: a new rule that reminds, or a mute that ends, shows nothing.",
)


def register(app: typer.Typer) -> None:
    app.command(name="replay")(replay_verb)


def replay_verb(
    since: str = typer.Option(metavar=METAVAR, help="From this instant, or so long ago: 7d."),
    until: str = typer.Option(None, metavar="ISO", help="To this instant instead of now."),
    config: Path = typer.Option(None, metavar="FILE", help="Under the rules of FILE instead of the present ones."),
) -> None:
    """Decide anew, under other rules, what is recorded; show what would have woken, when, and what differs."""
    call, now = shell("replay"), utc_now()
    start = past_instant(since, now)
    end = min(instant(until, "--until"), now) if until is not None else now
    if start >= end:
        raise Invalid(f"cannot replay from {start.isoformat()} to {end.isoformat()}: nothing lies between; see --since")
    rules = _rules(load(call.home, call.environ, file=config.absolute()) if config else call.config())
    with call.ledger_to_read() as ledger:
        made = replay(ledger.decided_since(_warm_up(start)), rules, start, end, _recorded(ledger))
    if made.first_run_at is None:
        raise NotFound(f"cannot replay: nothing is recorded since {start.isoformat()}; `heartbeat runs` shows what is")
    zone = call.here()
    call.show(_data(made), lambda: _text(made, zone), zone)


def _warm_up(start: datetime) -> datetime:
    try:
        return start - WARM_UP
    except OverflowError:
        return start


def _rules(config: Config) -> Callable[[str], Rules | None]:
    """Those of each job that runs under a configuration."""
    agent = "" if config.settings.agent.kind == "none" else config.settings.agent.kind
    routes = routes_of(config.settings)

    def rules(name: str) -> Rules | None:
        job = config.jobs.get(name)
        if job is None or not job.enabled:
            return None
        return rules_of(config.settings, job, name, agent=agent, routes=routes)

    return rules


def _recorded(ledger: SqliteLedger) -> Recorded:
    agents: dict[str, str] = {}

    def finding(finding_id: str) -> LedgerFinding | None:
        try:
            return ledger.finding(finding_id)
        except NotFound:
            return None

    def agent(wake_id: str) -> str:
        if wake_id not in agents:
            try:
                agents[wake_id] = ledger.wake(wake_id).agent
            except NotFound:
                agents[wake_id] = ""
        return agents[wake_id]

    return Recorded(finding, agent)


def _data(made: Replay) -> dict[str, Any]:
    return {
        "since": made.start,
        "until": made.end,
        "runs": made.runs,
        "first_run_at": made.first_run_at,
        "findings": made.findings,
        "changes": [_change(each) for each in made.differences],
        "held": [_change(each) for each in made.waiting],
        "was": _totals(made, made.was),
        "would": _totals(made, made.would),
        "notes": list(_notes(made)),
    }


def _change(each: Difference) -> dict[str, Any]:
    finding = each.finding
    return {
        "at": each.at,
        "job": each.job,
        "key": finding.key,
        "finding_id": each.finding_id or None,
        "title": finding.title,
        "urgency": finding.urgency,
        "was": _fate(each.was),
        "would": _fate(each.would),
    }


def _fate(fate: Fate) -> dict[str, Any]:
    return {"end": fate.end, "at": fate.at, "held": fate.was_held, "rule": fate.rule, "reason": fate.reason}


def _totals(made: Replay, side: Totals) -> dict[str, Any]:
    busiest = side.busiest
    return {
        "wakes": side.wakes,
        "notices": side.notices,
        "held": side.held,
        "brief": side.brief,
        "dropped": side.dropped,
        "interruptions_per_day": round(side.per_day, 2) if _is_days(made) else None,
        "busiest_hour": {"since": busiest.since, "interruptions": busiest.interruptions} if busiest else None,
    }


def _is_days(made: Replay) -> bool:
    """Whether it goes over a day at least: of minutes a day's number is no number."""
    return made.end - made.start >= timedelta(days=1)


def _text(made: Replay, zone: ZoneInfo) -> str:
    counts = ", ".join(
        f"{number} {noun}{'s'[: number != 1]}" for number, noun in ((made.runs, "run"), (made.findings, "finding"))
    )
    head = f"{when(made.start, zone)} to {when(made.end, zone)}: {counts}"
    changes = [_row(each, zone) for each in made.differences]
    headers = ("TIME", "JOB", "TITLE", "WAS", "WOULD BE", "REASON")
    figures = [_figures(made, name, side, zone) for name, side in (("was", made.was), ("would be", made.would))]
    lines = [head, "", table(headers, changes, "nothing would have been otherwise"), ""]
    lines.append(table(("", "WAKES", "NOTICES", "HELD", "BRIEF", "DROPPED", "A DAY", "BUSIEST HOUR"), figures, ""))
    if made.waiting:
        held = [(when(each.at, zone), each.job, one_line(each.finding.title, 60)) for each in made.waiting]
        lines += ["", "still held at the end:", table(("TIME", "JOB", "TITLE"), held, "")]
    return "\n".join([*lines, "", *_notes(made)])


def _row(each: Difference, zone: ZoneInfo) -> tuple[str, ...]:
    was, would = _words(each.was, each.at, zone), _words(each.would, each.at, zone)
    # What is told now is explained by the rule that kept it back before.
    reason = each.was.reason if each.would.end.interrupts and not each.would.was_held else each.would.reason
    before = "not so any more: " if reason is each.was.reason and each.was.rule != "wake" else ""
    title = one_line(each.finding.title, 40)
    return when(each.at, zone), each.job, title, was, f"-> {would}", before + one_line(reason, 200)


def _words(fate: Fate, at: datetime, zone: ZoneInfo) -> str:
    if not fate.was_held or fate.end is End.HELD:
        return str(fate.end)
    there, here = local(fate.at, zone), local(at, zone)
    return f"held, {fate.end} {there:%H:%M}" if there.date() == here.date() else f"held, {fate.end} {there:%m-%d %H:%M}"


def _figures(made: Replay, name: str, side: Totals, zone: ZoneInfo) -> tuple[str, ...]:
    busiest = f"{side.busiest.interruptions} from {when(side.busiest.since, zone)}" if side.busiest else "-"
    counts = (side.wakes, side.notices, side.held, side.brief, side.dropped)
    return (name, *map(str, counts), f"{side.per_day:.1f}" if _is_days(made) else "-", busiest)


def _notes(made: Replay) -> Iterator[str]:
    if made.first_run_at and made.first_run_at - made.start > timedelta(hours=1):
        first = made.first_run_at.isoformat(timespec="seconds")
        yield f"Nothing is recorded before {first}: heartbeat was not running, or it is forgotten."
    if made.unknown:
        yield f"Of {made.unknown} findings it is not on record any more what they said, or what became of them."
    if made.strange_jobs:
        yield f"These jobs do not run under these rules: {', '.join(made.strange_jobs)}."
    yield from _NEVER_TOLD
