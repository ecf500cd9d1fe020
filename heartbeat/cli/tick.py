"""`heartbeat tick JOB`: one tick now, through the whole beat, or without leaving a trace."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import typer

from heartbeat.beat import House, Ticked, chooser, run_and_judge, tick
from heartbeat.cli.handover import GATE_AGENT, as_fields, hand_over, print_gate
from heartbeat.cli.house import furnish
from heartbeat.cli.queue import bring_in
from heartbeat.cli.rights import refuse_as_root
from heartbeat.cli.shell import Shell, instant, shell, verdict_fields
from heartbeat.clock import new_id
from heartbeat.errors import Invalid, NotFound
from heartbeat.job import Config, Job
from heartbeat.lock import KernelLock
from heartbeat.log import start_logging
from heartbeat.model import OWNER, Action, Decision, Gate, Judgement, Run
from heartbeat.outbox import decide_held, deliver
from heartbeat.post import send_due
from heartbeat.process import become_reaper, owner
from heartbeat.prompt import SILENT_REPLIES
from heartbeat.recovery import clear_up
from heartbeat.text import one_line

_PATIENCE = timedelta(seconds=10)
_LAST_YEAR = 9998


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one tick came to."""

    job: str
    run_id: str | None
    judgement: Judgement
    decisions: tuple[Decision, ...]
    wakes: tuple[str, ...] = ()
    delivery: tuple[str, ...] = ()
    """What became of each of the wakes."""


def register(app: typer.Typer) -> None:
    app.command(name="tick")(tick_verb)


def tick_verb(
    job: str = typer.Argument(help="The job's name in the configuration."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Record nothing, wake nobody; say what would happen."),
    now: str = typer.Option(
        None, "--now", metavar="ISO", help="The instant that the script and the rules take as now."
    ),
    gate: bool = typer.Option(
        False, "--gate", help="Print the findings to tell, then a wake gate, for another scheduler."
    ),
) -> None:
    """Run one tick of JOB now, through the whole beat. Exit 0 whatever the script's verdict: it is in the answer."""
    call = shell("tick")
    refuse_as_root(call, f"tick {job}")
    if gate and call.as_json:
        raise typer.BadParameter("--gate prints a gate, which is no --json; leave one of them out")
    start_logging("error")  # what happened is printed below
    become_reaper()
    as_of = instant(now, "--now") if now is not None else None
    if as_of is not None and as_of.year > _LAST_YEAR:
        raise Invalid(f"cannot take {now!r} as now: what comes after it must have a date too; give an earlier one")
    config = call.config()
    which = _find(config, job)
    with _house(call, config, as_of, dry_run=dry_run) as house:
        if dry_run:
            outcome = _rehearse(house, which, house.clock(), agent=GATE_AGENT if gate else "")
        else:
            # A `heartbeat tick` that was killed would keep its job and its wake for ever.
            clear_up(house.ledger, house.clock())
            bring_in(call, house.ledger)
            outcome = _record(house, which, agent=GATE_AGENT if gate else "")
        nothing = f"{outcome.judgement.verdict}: nothing new to tell"
        if gate and dry_run:
            print_gate([(each.finding, each.change) for each in outcome.decisions if _wakes(each)], nothing)
        elif gate:
            hand_over(house, job, nothing)
        else:
            acted = _act(house, outcome)
            call.show(_data(acted), lambda: _text(acted, dry_run=dry_run))


@contextmanager
def _house(call: Shell, config: Config, as_of: datetime | None, *, dry_run: bool) -> Iterator[House]:
    """Everything a beat needs."""
    ledger = call.ledger_to_read() if dry_run else call.ledger()
    try:
        yield furnish(call, config, ledger, threading.Event(), patience=_PATIENCE, as_of=as_of)
    finally:
        ledger.close()


def _find(config: Config, name: str) -> Job:
    job = config.jobs.get(name)
    if job is None:
        known = ", ".join(sorted(config.jobs)) or "none is configured"
        raise NotFound(f"cannot find the job {name!r}; known jobs: {known}")
    return job


def _wakes(decision: Decision) -> bool:
    return decision.action is Action.WAKE


def _rehearse(house: House, job: Job, now: datetime, *, agent: str) -> _Outcome:
    """Run and decide against the ledger as it is, and leave nothing behind."""
    run = Run(new_id("run", now), job.name, "manual", None, now)
    with _spare_cache(house, job.name) as spare:
        _, judgement = run_and_judge(spare, job, run, now, house.stop)
    assert judgement is not None, "nothing stops a rehearsal"
    keys = {finding.key for finding in judgement.gate.findings} if judgement.gate else set()
    view = house.ledger.view(job.name, keys, now)
    plan = chooser(house, job, judgement, now, agent=agent)(view)
    return _Outcome(job.name, None, judgement, plan.decisions)


@contextmanager
def _spare_cache(house: House, job: str) -> Iterator[House]:
    """The house with a copy of the job's cache: what a script notes there must not change what it says later."""
    with tempfile.TemporaryDirectory(prefix="heartbeat-", ignore_cleanup_errors=True) as folder:
        cache = Path(folder).resolve()
        # What cannot be copied, such as a pipe or a file that has just gone, costs the script some time at most.
        with suppress(OSError, shutil.Error):
            shutil.copytree(house.home.cache / "jobs" / job, cache / "jobs" / job, symlinks=True)
        yield replace(house, home=replace(house.home, cache=cache))


def _record(house: House, job: Job, agent: str) -> _Outcome:
    # What waited for its time goes first: what this run finds may share its wake.
    released = decide_held(house, job=job.name, agent=agent) if agent else decide_held(house)
    ticked: Ticked = tick(house, job, None, house.clock(), agent=agent)
    assert ticked.judgement is not None, "nothing stops a tick by hand"
    wakes = tuple(dict.fromkeys((*released, *ticked.wakes)))
    return _Outcome(job.name, ticked.run_id, ticked.judgement, ticked.plan.decisions, wakes)


def _act(house: House, outcome: _Outcome) -> _Outcome:
    """Deliver what came of it, and send the messages that came of that."""
    if not outcome.wakes:
        return outcome
    said = tuple(_deliver(house, wake_id) for wake_id in outcome.wakes)
    send_due(house)
    return replace(outcome, delivery=said)


def _deliver(house: House, wake_id: str) -> str:
    """Hand a wake to whom it is for, unless another heartbeat process is calling the agent for its own."""
    lock = KernelLock(house.home.agent_lock_file)
    if not lock.acquire(owner(), patience=2.0):
        return "pending: another heartbeat process is calling the agent and takes it up next"
    try:
        # Once more when the agent could not be had and the owner is to be told in its place.
        if deliver(house, wake_id) == "pending" and house.ledger.wake(wake_id).agent == OWNER:
            deliver(house, wake_id)
    finally:
        lock.release()
    wake = house.ledger.wake(wake_id)
    said = "" if wake.reply in SILENT_REPLIES else f"; the agent said: {one_line(wake.reply, 120)}"
    failed = f": {one_line(wake.error, 300)}" if wake.error else ""
    told = " to the owner's channels" if wake.agent == OWNER and wake.state == "settled" else ""
    return wake.state + told + failed + said


def _data(outcome: _Outcome) -> dict[str, Any]:
    judgement = outcome.judgement
    gate = judgement.gate or Gate(wake=False)
    return {
        "job": outcome.job,
        "run_id": outcome.run_id,
        **verdict_fields(judgement.verdict, judgement.code, judgement.reason, judgement.hint),
        "findings": [_finding(decision) for decision in outcome.decisions],
        "sources": [
            {"name": source.name, "ok": source.ok, "items": source.items, "message": source.message}
            for source in gate.sources
        ],
        "wake_id": next(iter(outcome.wakes), None),
        "delivery": next(iter(outcome.delivery), None),
        "wakes": [{"id": each, "delivery": said} for each, said in zip(outcome.wakes, outcome.delivery, strict=False)],
    }


def _finding(decision: Decision) -> dict[str, Any]:
    fields = as_fields(decision.finding, decision.change)
    return {**fields, "action": decision.action, "action_reason": decision.reason}


def _text(outcome: _Outcome, *, dry_run: bool) -> str:
    judgement = outcome.judgement
    where = "dry run, nothing recorded" if dry_run else str(outcome.run_id)
    lines = [f"{outcome.job}: {judgement.verdict} ({one_line(judgement.reason)}) [{where}]"]
    if judgement.hint:
        lines.append(f"  hint: {one_line(judgement.hint)}")
    for decision in outcome.decisions:
        title = one_line(decision.finding.title, 70)
        lines.append(f"  {decision.action:<9}  {title} ({decision.change}: {decision.reason})")
    failed = [source for source in judgement.gate.sources if not source.ok] if judgement.gate else []
    lines += [f"  source {one_line(source.name)} failed: {one_line(source.message)}" for source in failed]
    lines += [f"  {wake_id} {said}" for wake_id, said in zip(outcome.wakes, outcome.delivery, strict=True)]
    return "\n".join(lines)
