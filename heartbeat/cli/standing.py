"""How a thing stands that is there for longer: an incident, a queue item, a job."""

from __future__ import annotations

from heartbeat.cli.asked import Asked
from heartbeat.cli.future import Future
from heartbeat.cli.lives import sent
from heartbeat.errors import NotFound
from heartbeat.job import Job
from heartbeat.model import Incident, QueueItem, Step, Streak
from heartbeat.queue.telling import AGAIN, ONCE, following, telling
from heartbeat.text import one_line

_MANY = 100_000
_SHOWN = 20
"""So many findings of an item, the latest."""
_LINE = 200


def of_incident(asked: Asked, incident_id: str) -> list[Step]:
    found = next((item for item in asked.ledger.incidents(limit=_MANY) if item.id == incident_id), None)
    if found is None:
        raise NotFound(f"cannot find the incident {incident_id!r}; `heartbeat incidents` shows those there are")
    steps = [Step("opened", found.code, f"{asked.at(found.opened_at)} {found.subject}: {found.message}")]
    if found.resolved_at is None:
        steps += _row(asked, found)
    messages = [each for each in asked.ledger.messages(None, _MANY) if each.incident_id == incident_id]
    steps += [sent(asked, each) for each in reversed(messages)]
    if not messages:
        steps.append(Step("told", "no", "no message of it was sent"))
    if found.resolved_at is not None:
        steps.append(Step("resolved", "recovered", asked.at(found.resolved_at)))
    if found.tell_at is not None:
        steps.append(Step("tell", "due", f"{asked.at(found.tell_at)} you are told of it next, if a channel takes it"))
    return steps


def _row(asked: Asked, incident: Incident) -> list[Step]:
    """How many faults in a row, of a job or of a source; nobody counts those of others."""
    kind, _, name = incident.subject.partition(":")
    if kind not in ("job", "source"):
        return []
    job = name if kind == "job" else name.split("/", 1)[0]
    streak = asked.ledger.view(job, (), asked.now).streaks.get(incident.subject)
    return [_faults(asked, streak)] if streak is not None and streak.faults else []


def _faults(asked: Asked, streak: Streak) -> Step:
    well = f"last well {asked.at(streak.last_ok_at)}" if streak.last_ok_at else "never well yet"
    limit = f"; {asked.after} in a row are an incident" if asked.after is not None else ""
    return Step("faults", f"{streak.faults}x", f"{streak.faults} in a row, {well}{limit}")


def of_item(asked: Asked, item_id: str) -> list[Step]:
    """The item, and every finding that told of it, oldest first."""
    item = next((each for each in asked.ledger.queue(asked.now) if each.id == item_id), None)
    if item is None:
        raise NotFound(f"cannot find the queue item {item_id!r}; `heartbeat queue list` shows those there are")
    told = telling(item, asked.now)
    words = f" ({item.words})" if item.words else ""
    text = one_line(item.message, _LINE)
    steps = [Step("item", item.state, f"{item.key}, due {asked.at(told.slot)}{words}: {text}")]
    if item.state == "snoozed" and item.snoozed_until is not None:
        steps.append(Step("snooze", "until", asked.at(item.snoozed_until)))
    if item.words and item.state not in ("waiting", "snoozed", "cancelled"):
        after = following(item, told.slot)
        steps.append(Step("next", "due", asked.at(after)) if after else Step("next", "none", "it does not come again"))
    return [*steps, *_tellings(asked, item)]


def _tellings(asked: Asked, item: QueueItem) -> list[Step]:
    if item.words:
        every = asked.ledger.findings(limit=_MANY)
        found = [each for each in every if each.finding.key.startswith(f"{AGAIN}{item.id}:")][:_SHOWN]
    else:
        found = asked.ledger.findings(key=f"{ONCE}{item.key}", limit=_SHOWN)
    if not found:
        return [Step("finding", "none", "no job has reported it yet")]
    return [
        Step("finding", each.state, f"{asked.at(each.first_seen_at)} {each.id}, {each.change}: {each.reason}")
        for each in reversed(found)
    ]


def of_job(asked: Asked, job: Job) -> list[Step]:
    """What `jobs` knows of it, and its faults."""
    state = asked.ledger.states().get(job.name)
    future = Future(job, state, asked.now, asked.now)
    word = "disabled" if not job.enabled else "paused" if job.policy.paused else "enabled"
    steps = [Step("job", word, f"{job.schedule} in {job.timing.zone.key}, {job.script}")]
    last = asked.ledger.last_runs().get(job.name)
    if last is None:
        steps.append(Step("last run", "none", "it never ran"))
    else:
        said = f"{asked.at(last.started_at)} {last.id} {last.reason}".strip()
        steps.append(Step("last run", last.verdict or last.state, said))
    streaks = asked.ledger.view(job.name, (), asked.now).streaks
    if (streak := streaks.get(f"job:{job.name}")) is not None and streak.faults:
        steps.append(_faults(asked, streak))
    if state is not None and state.backoff_until is not None and state.backoff_until > asked.now:
        steps.append(Step("back-off", "until", f"{asked.at(state.backoff_until)} slots are skipped until then"))
    return [*steps, _next(asked, future)]


def _next(asked: Asked, future: Future) -> Step:
    at, unread = future.next_run(), "" if future.is_read else "; the daemon has not read this yet"
    if future.is_at_once:
        return Step("next", "at once", "when the daemon reads this: at its start, or at SIGHUP")
    if at is None:
        return Step("next", "none", "it is not due any more" if future.job.enabled else "it is disabled")
    since = future.overdue_since()
    overdue = f"; overdue since {asked.at(since)}" if since is not None else ""
    return Step("next", "due", f"{asked.at(at)}{overdue}{unread}")
