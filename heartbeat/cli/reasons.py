"""What `why` answers: the steps behind whatever an id names, as the ledger recorded them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain
from zoneinfo import ZoneInfo

from heartbeat.cli.asked import Asked
from heartbeat.cli.lives import of_brief, of_finding, of_message, of_run, of_wake
from heartbeat.cli.standing import of_incident, of_item, of_job
from heartbeat.clock import from_text
from heartbeat.errors import Invalid, NotFound
from heartbeat.job import Job
from heartbeat.model import Step

KINDS: dict[str, tuple[str, Callable[[Asked, str], list[Step]]]] = {
    "run": ("run", of_run),
    "fnd": ("finding", of_finding),
    "wake": ("wake", of_wake),
    "msg": ("message", of_message),
    "brief": ("brief", of_brief),
    "inc": ("incident", of_incident),
    "item": ("item", of_item),
}
_NEAR = timedelta(minutes=1)
"""What happened to the clock this close to a decision may have to do with it."""


def reasons(asked: Asked, subject: str, jobs: Mapping[str, Job]) -> tuple[str, list[Step]]:
    """The kind of thing an id, a job or a due instant names, and its steps in order; raises NotFound."""
    if subject in jobs:
        return "job", of_job(asked, jobs[subject])
    if "@" in subject:
        return "slot", _slot(asked, subject)
    prefix, _, rest = subject.partition("_")
    if prefix in KINDS and rest:
        kind, explain = KINDS[prefix]
        return kind, explain(asked, subject)
    ids = ", ".join(f"{word}_…" for word in KINDS)
    names = ", ".join(sorted(jobs)[:50]) or "none"
    raise NotFound(
        f"cannot say why of {subject!r}: ids begin with {ids} (`heartbeat runs`, `ledger list`, `wakes list`,"
        " `messages list`, `incidents` and `queue list` show them), a due instant is JOB@INSTANT (`heartbeat slots`),"
        f" and the configured jobs are: {names}"
    )


def _slot(asked: Asked, subject: str) -> list[Step]:
    job, _, text = subject.partition("@")
    instants, ledger = _instants(text, asked.zone), asked.ledger
    exact = (slot for at in instants for slot in ledger.slots(job, at=at))
    # Tables print whole seconds, and not every interval is anchored at one.
    near = (slot for slot in ledger.slots(job, limit=10_000) if slot.slot_at.replace(microsecond=0) in instants)
    slot = next(chain(exact, near), None)
    if slot is None:
        raise NotFound(
            f"cannot find the due instant {subject!r}: nothing is entered of it; `heartbeat slots {job}` lists those "
            f"that have passed, `heartbeat next {job}` those to come"
        )
    steps = [Step("due", slot.state, f"{asked.at(slot.at)} {asked.said(slot.reason)}".strip())]
    if slot.last_at != slot.slot_at:
        count = f"{slot.count} slots" if slot.count else "slots"
        alike = f"a row of {count} that ended alike, from {asked.at(slot.slot_at)} to {asked.at(slot.last_at)}"
        steps.append(Step("stretch", "shared", alike))
    seen = [each for each in ledger.clock_events(1000) if abs(each.at - slot.at) <= _NEAR]
    steps += [
        Step("clock", each.kind, f"{asked.at(each.at)} {each.seconds:.0f} s: {asked.said(each.detail)}")
        for each in seen
    ]
    return steps + (asked.if_kept(of_run, slot.run_id) if slot.run_id else [])


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
