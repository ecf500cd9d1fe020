"""The straight line, first half: claim -> run -> judge -> decide -> record. What acts is in `outbox`."""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Event
from time import monotonic
from typing import TypeVar

import tenacity

from heartbeat.absence import missed_once_more
from heartbeat.clock import new_id
from heartbeat.config.searching import Allowance
from heartbeat.decide import Rules, decide
from heartbeat.decide.owner import warm
from heartbeat.errors import HeartbeatError, LedgerCorrupt, LedgerError, Refused
from heartbeat.faults import backoff_until, weigh
from heartbeat.gate import judge
from heartbeat.job import Config, Job
from heartbeat.job.environment import environment
from heartbeat.job.secrets import secret_values, unseen
from heartbeat.log import event, warn
from heartbeat.model import Action, Execution, Judgement, Plan, Run, Target, View
from heartbeat.paths import Home
from heartbeat.policy import rules_of
from heartbeat.ports import Agent, Channel, Ledger
from heartbeat.process import Command, execute, owner, redacted
from heartbeat.progress import Progress
from heartbeat.routing import Route

step_hooks: list[Callable[[str], None]] = []
"""Called after each step of the beat with its name; a test ends the process there."""


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class House:
    """All that a beat works with."""

    ledger: Ledger
    home: Home
    config: Config
    agent: Agent | None
    environ: Mapping[str, str]
    stop: Event
    """Set when heartbeat is stopping: children are ended, waits are cut short."""
    clock: Callable[[], datetime]
    patience: timedelta | None = None
    """How long to try to write down a result when the disk is full or locked; None: until told to stop."""
    as_of: datetime | None = None
    """The instant that scripts and rules are to take as now; what is written down is dated by the clock."""
    channels: Mapping[str, Channel] = field(default_factory=dict)
    """By name."""
    routes: tuple[Route, ...] = ()
    progress: Progress = field(default_factory=Progress)
    """What each thread of the daemon works at."""


class Halt(Event):
    """Set for one run alone, or for every run when heartbeat stops."""

    def __init__(self, stop: Event) -> None:
        super().__init__()
        self._stop = stop
        self.has_claimed = False
        """Whether the run is in the ledger."""
        self.made_at = monotonic()
        self.reason = "heartbeat was stopping"

    def is_set(self) -> bool:
        return self._stop.is_set() or super().is_set()

    def end_for(self, reason: str) -> None:
        self.reason = reason
        self.set()


@dataclass(frozen=True, slots=True)
class Ticked:
    """One run, as far as it came."""

    run_id: str
    execution: Execution
    judgement: Judgement | None
    """None when it was interrupted."""
    plan: Plan = field(default_factory=Plan)
    wakes: tuple[str, ...] = ()
    """The ids of those that now wait for what it found."""


def tick(
    house: House,
    job: Job,
    slot: datetime | None,
    now: datetime,
    *,
    note: str = "",
    agent: str = "",
    halt: Halt | None = None,
    again: bool = False,
) -> Ticked:
    """Run a job once, from claim to record. Raises Refused when the slot is taken or the job already runs."""
    halt = halt or Halt(house.stop)
    run = Run(new_id("run", now), job.name, "manual" if slot is None else "schedule", slot, now)
    house.ledger.claim(run, owner(), note=note, again=again)
    halt.has_claimed = True
    passed_step("claim")
    try:
        execution, judgement = run_and_judge(house, job, run, now, halt)
        if judgement is None:
            persist(house, lambda: house.ledger.abandon(run.id, halt.reason, execution.ended_at))
            return Ticked(run.id, execution, None)
        choose = chooser(house, job, judgement, execution.ended_at, agent=agent)
        plan, wakes = persist(house, lambda: house.ledger.record(run, execution, judgement, choose))
    except (Refused, LedgerCorrupt):
        raise
    except BaseException as error:
        # Whatever broke, the slot must not stay claimed by a process that goes on.
        if not (isinstance(error, LedgerError) and error.retryable):
            reason = str(error) if isinstance(error, HeartbeatError) else "heartbeat failed while it ran; see its log"
            persist(house, lambda: house.ledger.abandon(run.id, reason, house.clock()))
        raise
    passed_step("record")
    _report(house, run, judgement, plan, wakes)
    return Ticked(run.id, execution, judgement, plan, wakes)


def passed_step(name: str) -> None:
    for hook in step_hooks:
        hook(name)


def run_and_judge(house: House, job: Job, run: Run, now: datetime, halt: Event) -> tuple[Execution, Judgement | None]:
    """Run the script once and judge it; no judgement when it was ended because *halt* was set."""
    token = secrets.token_urlsafe(12)
    execution, secret = _execute(house, job, run, now, token=token, halt=halt)
    passed_step("run")
    if execution.interrupted:
        return execution, None
    unique = run.id if job.dialect != "strict" and job.dedupe != "text" else ""
    judgement = judge(execution, token=token, require_token=job.require_token, dialect=job.dialect, unique=unique)
    passed_step("judge")
    return execution, unseen(judgement, secret)


def _execute(
    house: House, job: Job, run: Run, now: datetime, *, token: str, halt: Event
) -> tuple[Execution, Mapping[str, str]]:
    """What became of the script, and the values that must not be seen of it, by name."""
    try:
        env = environment(
            job,
            house.config.settings,
            house.home,
            run_id=run.id,
            slot=run.slot_at,
            now=house.as_of or now,
            token=token,
            environ=house.environ,
            stop=halt,
        )
    except HeartbeatError as error:
        # A secret that is gone, a full cache folder: the script was not started, which is this run's outcome.
        return Execution(now, house.clock(), start_error=str(error), interrupted=halt.is_set()), {}
    command = Command(job.argv, env, str(house.home.config), job.timeout, run.id)
    secret = secret_values(job, env)
    return redacted(execute(command, halt, house.clock), secret), secret


def rules_for(house: House, job: str, agent: str = "") -> Rules:
    """The owner's rules for a job; *agent* names who is woken instead of the configured one, whatever the job says."""
    configured = house.agent.name if house.agent else ""
    rules = rules_of(house.config.settings, house.config.jobs.get(job), job, agent=configured, routes=house.routes)
    return replace(rules, target=Target(agent, job)) if agent else rules


def chooser(house: House, job: Job, judgement: Judgement, now: datetime, *, agent: str = "") -> Callable[[View], Plan]:
    """The pure function that makes a plan of what the ledger knows."""
    rules = rules_for(house, job.name, agent)
    incidents = house.config.settings.incidents
    searches, gate = Allowance(), judgement.gate
    with searches.granted():  # before the ledger is locked
        warm(rules.owner, job.name, gate.findings if gate else (), house.as_of or now)

    def choose(view: View) -> Plan:
        here = replace(
            rules,
            baseline=job.baseline and not view.state.baseline_done,
            changed=view.state.fingerprint not in ("", job.fingerprint),
        )
        faults = weigh(job.name, judgement, view, now, after=incidents.after, stale=incidents.stale)
        with searches.granted():
            decisions = decide(judgement, view, here, house.as_of or now)
        backoff = backoff_until(job.name, faults, now)
        return Plan(decisions, faults, backoff, job.fingerprint, missed_once_more(judgement, view))

    return choose


def persist(house: House, write: Callable[[], Result]) -> Result:
    """Write something down, however long the disk is full or the ledger locked: the result must not be lost."""
    stop: tenacity.stop.stop_base = tenacity.stop_when_event_set(house.stop)
    if house.patience is not None:
        stop |= tenacity.stop_after_delay(house.patience)
    retry = tenacity.Retrying(
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, LedgerError) and error.retryable),
        wait=tenacity.wait_exponential(multiplier=0.5, max=15),
        stop=stop,
        sleep=tenacity.sleep_using_event(house.stop),
        before_sleep=lambda state: _go_on(house, state),
        reraise=True,
    )
    return retry(write)


def _go_on(house: House, state: tenacity.RetryCallState) -> None:
    # Whoever waits for the disk is no wedged worker: to end it would lose what it holds.
    house.progress.extend(0)
    if state.attempt_number == 1:
        warn("ledger_waits", error=state.outcome and state.outcome.exception())


def _report(house: House, run: Run, judgement: Judgement, plan: Plan, wakes: tuple[str, ...]) -> None:
    counts = Counter(decision.action for decision in plan.decisions)
    news = judgement.verdict.is_fault or counts.keys() - {Action.DUPLICATE}
    level = logging.WARNING if judgement.verdict.is_fault else logging.INFO if news else logging.DEBUG
    findings = ", ".join(f"{count} {action}" for action, count in counts.items()) or None
    fields = {"job": run.job, "run": run.id, "verdict": judgement.verdict, "reason": judgement.reason}
    event("run_ended", level=level, **fields, findings=findings, wake=", ".join(wakes) or None)
    for change in plan.faults:
        # In later runs it is no news.
        if change.opens and change.streak.faults <= house.config.settings.incidents.after:
            warn("incident", subject=change.streak.subject, faults=change.streak.faults, error=change.streak.message)
        elif change.resolves:
            event("recovered", subject=change.streak.subject)
