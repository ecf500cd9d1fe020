"""The steps from a run to the owner: a run, a finding, a wake, a message, a brief."""

from __future__ import annotations

from heartbeat.cli.asked import Asked
from heartbeat.model import OWNER, Action, Captured, FindingEvent, LedgerFinding, Message, Run, State, Step, Wake
from heartbeat.text import one_line

_MANY = 100_000
_TITLE = 120


def of_run(asked: Asked, run_id: str) -> list[Step]:
    run = asked.ledger.run(run_id)
    due = f"the slot {asked.at(run.slot_at)}" if run.slot_at else "asked for by hand"
    steps = [Step("claim", run.trigger, f"{run.job}, {due}, started {asked.at(run.started_at)}")]
    steps.append(Step("run", run.state, _ending(run)))
    if run.verdict is not None:
        steps.append(Step("judge", run.verdict, run.reason + (f"; hint: {run.hint}" if run.hint else "")))
    steps += [
        Step("source", "ok" if source.ok else "failed", f"{source.name} {source.message}".strip())
        for source in run.sources
    ]
    for finding_id, decision in asked.ledger.decisions(run_id):
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


def of_finding(asked: Asked, finding_id: str) -> list[Step]:
    """All that happened to it in order, each wake where it was made."""
    item = asked.ledger.finding(finding_id)
    steps = [Step("reported", item.change, f"by {item.job} under the key {item.finding.key!r} in {item.run_id}")]
    steps += asked.if_kept(_decided, item)
    shown: set[str] = set()
    for number, event in enumerate(item.events):
        # The first event is the decision just shown; that it was told is said with its wake.
        if number and event.state is not State.TOLD:
            steps += _happened(asked, event)
        if event.wake_id and event.wake_id not in shown:
            shown.add(event.wake_id)
            steps += asked.if_kept(of_wake, event.wake_id)
    if item.last_seen_at > item.first_seen_at:
        steps.append(Step("duplicate", Action.DUPLICATE, f"reported again, last at {asked.at(item.last_seen_at)}"))
    if item.wake_id and item.wake_id not in shown:
        steps += asked.if_kept(of_wake, item.wake_id)
    return steps


def _happened(asked: Asked, event: FindingEvent) -> list[Step]:
    """An event; before it, of what time alone decided, every rule that was looked at then."""
    brief = f" ({event.brief_id})" if event.brief_id else ""
    reason = f"{asked.at(event.at)} {asked.said(event.reason)}{brief}"
    return [*event.trace[:-1], Step(event.rule, event.state, reason)]


def _decided(asked: Asked, item: LedgerFinding) -> list[Step]:
    """The rules that were looked at when it was first reported."""
    return [step for _id, decision in asked.ledger.decisions(item.run_id, item.id)[:1] for step in decision.trace]


def of_wake(asked: Asked, wake_id: str) -> list[Step]:
    wake = asked.ledger.wake(wake_id)
    names = ", ".join(repr(item.finding.title) for item in wake.findings)
    about = names or (f"the brief {wake.brief_id}" if wake.brief_id else "no finding any more")
    steps = [Step("record", "wake", f"{asked.at(wake.created_at)} {wake.id} for {about}")]
    steps += [
        Step("act", attempt.outcome, f"{asked.at(attempt.started_at)} {attempt.message}".strip())
        for attempt in wake.history
    ]
    steps.append(Step("settle", wake.state, _standing(asked, wake)))
    return steps + [sent(asked, message) for message in asked.ledger.messages_of(wake_id)]


def _standing(asked: Asked, wake: Wake) -> str:
    if wake.state == "settled" and wake.settled_at is not None:
        if wake.agent == OWNER:
            return f"{asked.at(wake.settled_at)} handed to the owner's channels, without an agent"
        return f"{asked.at(wake.settled_at)} the agent {wake.agent!r} accepted it; reply: {wake.reply or '(none)'}"
    if wake.state == "pending" and wake.next_attempt_at is not None:
        return f"next attempt {asked.at(wake.next_attempt_at)} {asked.said(wake.error)}".strip()
    return wake.error


def sent(asked: Asked, message: Message) -> Step:
    """What became of a message, in a line."""
    at = f" {asked.at(message.settled_at)}" if message.settled_at else ""
    return Step("told", message.state, f"by {message.channel}, {message.id}{at} {message.error}".strip())


def of_message(asked: Asked, message_id: str) -> list[Step]:
    message = asked.ledger.message(message_id)
    title = one_line(message.title, _TITLE)
    steps = [Step("made", message.kind, f"{asked.at(message.created_at)} for {message.channel}: {title}")]
    belongs = {"wake": message.wake_id, "brief": message.brief_id, "incident": message.incident_id}
    steps += [Step("of", name, f"{subject}; `heartbeat why {subject}`") for name, subject in belongs.items() if subject]
    tries = "try" if message.attempts == 1 else "tries"
    steps.append(
        Step("tried", f"{message.attempts}x", f"{message.attempts} {tries}, of which {message.failures} failed")
    )
    at = message.settled_at or message.next_attempt_at
    word = "next attempt " if at is not None and message.settled_at is None else ""
    when = f"{word}{asked.at(at)}" if at is not None else ""
    return [*steps, Step("settle", message.state, f"{when} {message.error}".strip())]


def of_brief(asked: Asked, brief_id: str) -> list[Step]:
    brief = asked.ledger.made_brief(brief_id)
    day = f", the brief of {brief.day}" if brief.day else ", asked for"
    count = f"{brief.items} finding{'s'[: brief.items != 1]}"
    steps = [Step("made", "brief", f"{asked.at(brief.at)}{day}: it told of {count}")]
    writers = [wake for wake in asked.ledger.wakes(None, _MANY) if wake.brief_id == brief_id]
    for wake in writers:
        steps += of_wake(asked, wake.id)
    known = {wake.id for wake in writers}
    own = [each for each in asked.ledger.messages(None, _MANY) if each.brief_id == brief_id]
    return steps + [sent(asked, each) for each in reversed(own) if each.wake_id not in known]
