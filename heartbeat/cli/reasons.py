"""The steps behind a run, a finding, a wake or an incident, as the ledger recorded them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TypeVar
from zoneinfo import ZoneInfo

from heartbeat.clock import from_text
from heartbeat.errors import Invalid, NotFound
from heartbeat.model import OWNER, Action, Captured, LedgerFinding, Run, State, Step, Wake
from heartbeat.ports import Ledger

Subject = TypeVar("Subject")
_NEAR = timedelta(minutes=1)
"""What happened to the clock this close to a decision may have to do with it."""


def reasons(ledger: Ledger, subject: str, zone: ZoneInfo) -> tuple[str, list[Step]]:
    """The kind of thing an id names, and its steps in order; raises NotFound. *zone* is of instants without offset."""
    kinds: dict[str, tuple[str, Callable[[Ledger, str], list[Step]]]] = {
        "run": ("run", _run),
        "fnd": ("finding", _finding),
        "wake": ("wake", _wake),
        "inc": ("incident", _incident),
    }
    if "@" in subject:
        return "slot", _slot(ledger, subject, zone)
    prefix = subject.split("_", 1)[0]
    if prefix not in kinds:
        known = ", ".join(f"{word}_…" for word in kinds)
        raise NotFound(
            f"cannot say why of {subject!r}: ids begin with {known}, a due instant is JOB@INSTANT; "
            "`heartbeat runs` and `heartbeat slots` list them"
        )
    kind, explain = kinds[prefix]
    return kind, explain(ledger, subject)


def _slot(ledger: Ledger, subject: str, zone: ZoneInfo) -> list[Step]:
    job, _, text = subject.partition("@")
    instants = _instants(text, zone)
    exact = (slot for at in instants for slot in ledger.slots(job, at=at))
    # Tables print whole seconds, and not every interval is anchored at one.
    near = (slot for slot in ledger.slots(job, limit=10_000) if slot.slot_at.replace(microsecond=0) in instants)
    slot = next(chain(exact, near), None)
    if slot is None:
        raise NotFound(
            f"cannot find the due instant {subject!r}: nothing is entered of it; `heartbeat slots {job}` lists those "
            f"that have passed, `heartbeat next {job}` those to come"
        )
    steps = [Step("due", slot.state, f"{_at(slot.at)} {slot.reason}".strip())]
    if slot.last_at != slot.slot_at:
        count = f"{slot.count} slots" if slot.count else "slots"
        alike = f"a row of {count} that ended alike, from {_at(slot.slot_at)} to {_at(slot.last_at)}"
        steps.append(Step("stretch", "shared", alike))
    seen = [each for each in ledger.clock_events(1000) if abs(each.at - slot.at) <= _NEAR]
    steps += [Step("clock", each.kind, f"{_at(each.at)} {each.seconds:.0f} s: {each.detail}") for each in seen]
    return steps + (_if_kept(_run, ledger, slot.run_id) if slot.run_id else [])


def _instants(text: str, zone: ZoneInfo) -> list[datetime]:
    """What a text may stand for; without an offset, as tables print it, a repeated hour has two instants."""
    try:
        given = datetime.fromisoformat(text)
        if given.tzinfo is not None:
            return [from_text(text)]
        return [given.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    except (ValueError, OverflowError):
        raise Invalid(
            f"cannot use {text!r} as an instant; write it as `heartbeat slots` does, such as JOB@'2026-06-10 08:00:00'"
        ) from None


def _run(ledger: Ledger, run_id: str) -> list[Step]:
    run = ledger.run(run_id)
    due = f"the slot {_at(run.slot_at)}" if run.slot_at else "asked for by hand"
    steps = [Step("claim", run.trigger, f"{run.job}, {due}, started {_at(run.started_at)}")]
    steps.append(Step("run", run.state, _ending(run)))
    if run.verdict is not None:
        steps.append(Step("judge", run.verdict, run.reason + (f"; hint: {run.hint}" if run.hint else "")))
    steps += [
        Step("source", "ok" if source.ok else "failed", f"{source.name} {source.message}".strip())
        for source in run.sources
    ]
    for finding_id, decision in ledger.decisions(run_id):
        about = f"{decision.finding.title!r} [{finding_id or decision.finding.key}]: {decision.reason}"
        steps.append(Step("decide", decision.action, f"{decision.change}, {about}"))
    return steps + [Step("output", stream, text) for stream, text in _outputs(run)]


def _ending(run: Run) -> str:
    if run.ended_at is None:
        return "it has not ended"
    if run.state == "interrupted":
        return run.reason  # when it ended is not known, only when that was noticed
    took = f"after {(run.ended_at - run.started_at).total_seconds():.2f} s"
    if run.signal is not None:
        return f"ended by signal {run.signal} {took}"
    return f"exit status {run.exit_code} {took}" if run.exit_code is not None else f"{run.reason or 'ended'} {took}"


def _outputs(run: Run) -> list[tuple[str, str]]:
    """What a faulty run printed, for its author; a good run's output is in the ledger only."""
    if run.verdict is None or not run.verdict.is_fault:
        return []
    return [(name, _text(stream)) for name, stream in (("stdout", run.stdout), ("stderr", run.stderr)) if stream.total]


def _text(stream: Captured) -> str:
    return stream.joined().decode(errors="replace")[-2000:]


def _finding(ledger: Ledger, finding_id: str) -> list[Step]:
    item = ledger.finding(finding_id)
    steps = [Step("reported", item.change, f"by {item.job} under the key {item.finding.key!r} in {item.run_id}")]
    steps += _if_kept(_decided, ledger, item)
    # The first event is the decision just shown; that it was told is said with its wake.
    later = [event for event in item.events[1:] if event.state is not State.TOLD]
    for event in later:
        # Of what time alone decided, every rule that was looked at then.
        steps += event.trace[:-1]
        steps.append(Step(event.rule, event.state, f"{_at(event.at)} {event.reason}"))
    if item.last_seen_at > item.first_seen_at:
        steps.append(Step("duplicate", Action.DUPLICATE, f"reported again, last at {_at(item.last_seen_at)}"))
    if item.wake_id:
        steps += _if_kept(_wake, ledger, item.wake_id)
    return steps


def _decided(ledger: Ledger, item: LedgerFinding) -> list[Step]:
    """The rules that were looked at when it was first reported."""
    return [step for _id, decision in ledger.decisions(item.run_id, item.id)[:1] for step in decision.trace]


def _if_kept(explain: Callable[[Ledger, Subject], list[Step]], ledger: Ledger, subject: Subject) -> list[Step]:
    """The steps; none when their record is older than what is kept: a finding may outlive its run and its wake."""
    try:
        return explain(ledger, subject)
    except NotFound:
        return []


def _wake(ledger: Ledger, wake_id: str) -> list[Step]:
    wake: Wake = ledger.wake(wake_id)
    names = ", ".join(repr(item.finding.title) for item in wake.findings)
    steps = [Step("record", "wake", f"{_at(wake.created_at)} {wake.id} for {names or 'no finding any more'}")]
    attempts = [
        Step("act", attempt.outcome, f"{_at(attempt.started_at)} {attempt.message}".strip()) for attempt in wake.history
    ]
    sent = [
        Step("told", message.state, f"by {message.channel}, {message.id} {message.error}".strip())
        for message in ledger.messages_of(wake_id)
    ]
    return [*steps, *attempts, Step("settle", wake.state, _standing(wake)), *sent]


def _standing(wake: Wake) -> str:
    if wake.state == "settled" and wake.settled_at is not None:
        if wake.agent == OWNER:
            return f"{_at(wake.settled_at)} handed to the owner's channels, without an agent"
        return f"{_at(wake.settled_at)} the agent {wake.agent!r} accepted it; reply: {wake.reply or '(none)'}"
    if wake.state == "pending" and wake.next_attempt_at is not None:
        return f"next attempt {_at(wake.next_attempt_at)} {wake.error}".strip()
    return wake.error


def _incident(ledger: Ledger, incident_id: str) -> list[Step]:
    found = next((item for item in ledger.incidents(limit=100_000) if item.id == incident_id), None)
    if found is None:
        raise NotFound(f"cannot find the incident {incident_id!r}")
    steps = [Step("opened", found.code, f"{_at(found.opened_at)} {found.subject}: {found.message}")]
    if found.resolved_at is not None:
        steps.append(Step("resolved", "recovered", _at(found.resolved_at)))
    return steps


def _at(instant: datetime) -> str:
    return instant.isoformat(timespec="seconds")
