"""`heartbeat runs` and `why`: what was, and the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import typer

from heartbeat.cli.asked import Asked
from heartbeat.cli.reasons import KINDS, reasons
from heartbeat.cli.shell import Shell, shell, table, verdict_fields, when
from heartbeat.cli.times import require_known
from heartbeat.clock import utc_now
from heartbeat.errors import ConfigError
from heartbeat.job import Job
from heartbeat.model import Action, Run, Step
from heartbeat.text import one_line


def register(app: typer.Typer) -> None:
    app.command()(runs)
    app.command()(why)


def runs(
    job: str = typer.Argument(None, help="Only of this job."),
    limit: int = typer.Option(20, "-n", min=1, max=10_000),
) -> None:
    """List the latest runs, newest first."""
    call = shell("runs")
    with call.ledger_to_read() as ledger:
        found = ledger.runs(job, limit)
        if job is not None and not found:
            require_known(job, {*ledger.last_runs(), *call.config().jobs})
        became = [_became(decision.action for _, decision in ledger.decisions(run.id)) for run in found]
    zone = call.here()
    rows = [
        (run.id, run.job, when(run.started_at, zone), str(run.verdict or run.state), findings, one_line(run.reason, 60))
        for run, findings in zip(found, became, strict=True)
    ]
    headers = ("ID", "JOB", "STARTED", "VERDICT", "FINDINGS", "REASON")
    call.show({"runs": [_run(run) for run in found]}, lambda: table(headers, rows, "nothing ran yet"), zone)


def _became(actions: Iterable[Action]) -> str:
    """What became of a run's findings: a verdict `wake` tells only what the script asked for."""
    return ", ".join(f"{count} {action}" for action, count in Counter(actions).items()) or "-"


def why(
    subject: str = typer.Argument(
        metavar="ID",
        help="A run (run_…), finding (fnd_…), wake, message (msg_…), brief, incident (inc_…), queue item, or a job;"
        " or JOB@INSTANT.",
    ),
) -> None:
    """Say, rule by rule, why something woke the agent, was held, was a duplicate, or went to the brief."""
    call = shell("why")
    zone = call.here()
    with call.ledger_to_read() as ledger:
        asked = Asked(ledger, zone, utc_now(), after=_incident_after(call))
        kind, steps = reasons(asked, subject, _jobs(call, subject))
    data = {
        "id": subject,
        "kind": kind,
        "steps": [{"rule": step.rule, "outcome": step.outcome, "reason": step.reason} for step in steps],
    }
    call.show(data, lambda: "\n".join([f"{kind} {subject}", *_lines(steps)]))


def _jobs(call: Shell, subject: str) -> Mapping[str, Job]:
    """Those it may be one of: an id or an instant is told whatever the configuration is like."""
    if subject.partition("_")[0] in KINDS or "@" in subject:
        return {}
    return call.config().jobs


def _incident_after(call: Shell) -> int | None:
    from heartbeat.config import load_settings

    try:
        return load_settings(call.home).incidents.after
    except ConfigError:
        return None


def _lines(steps: Sequence[Step]) -> Iterator[str]:
    """A line a step; rules that had nothing to say share one."""
    for passed, group in groupby(steps, key=lambda step: step.outcome == "passed"):
        if passed:
            yield f"  not by     {', '.join(step.rule for step in group)}"
        else:
            yield from (f"  {step.rule:<10} {step.outcome:<10} {one_line(step.reason, 300)}".rstrip() for step in group)


def _run(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "job": run.job,
        "trigger": run.trigger,
        "slot_at": run.slot_at,
        "state": run.state,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        **verdict_fields(run.verdict, run.code, run.reason, run.hint),
        "exit_code": run.exit_code,
        "signal": run.signal,
    }
