"""How a run moves the fault streaks of its job and its sources: count, back off, raise once, resolve once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from heartbeat.model import FaultChange, Judgement, Source, Streak, View

_MESSAGE = 500  # characters of what a script said that go into an incident
INCIDENT_AFTER = 3
"""Faults in a row that make an incident."""
LONGEST_BACKOFF = timedelta(hours=1)


def weigh(job: str, judgement: Judgement, view: View, now: datetime) -> tuple[FaultChange, ...]:
    """The streaks that this run changes, of the job and of each source it asked."""
    message = f"{judgement.verdict}: {judgement.reason}"[:_MESSAGE] if judgement.verdict.is_fault else ""
    changes = [_step(view, f"job:{job}", message, judgement.code, now)]
    if judgement.gate is not None:
        asked = dict(_by_subject(job, judgement.gate.sources))
        changes += [_step(view, subject, message, "source_failed", now) for subject, message in asked.items()]
        if not judgement.verdict.is_fault:
            changes += [
                _gone(streak) for subject, streak in view.streaks.items() if _is_gone(subject, job, asked, streak)
            ]
    return tuple(changes)


def backoff_until(job: str, changes: tuple[FaultChange, ...], now: datetime) -> datetime | None:
    """Slots of a failing job are skipped until then: 1, 2, 4, … minutes after its n-th fault, an hour at most."""
    faults = next(change.streak.faults for change in changes if change.streak.subject == f"job:{job}")
    return now + min(timedelta(minutes=2 ** min(faults - 1, 6)), LONGEST_BACKOFF) if faults else None


def _step(view: View, subject: str, message: str, code: str, now: datetime) -> FaultChange:
    """One more fault (with its message), or none any more."""
    before = view.streaks.get(subject, Streak(subject))
    if not message:
        return FaultChange(Streak(subject, 0, "", now), resolves=before.faults > 0)
    faults = before.faults + 1
    streak = Streak(subject, faults, message, before.last_ok_at)
    return FaultChange(streak, opens=faults >= INCIDENT_AFTER, code=code)


def _by_subject(job: str, sources: tuple[Source, ...]) -> Iterator[tuple[str, str]]:
    """Each source's subject with its failure message, or ''; of two with one name, the failing one counts."""
    for source in sorted(sources, key=lambda source: not source.ok):
        yield (
            f"source:{job}/{source.name}",
            "" if source.ok else source.message[:_MESSAGE] or "it failed without a message",
        )


def _is_gone(subject: str, job: str, asked: dict[str, str], streak: Streak) -> bool:
    return subject.startswith(f"source:{job}/") and subject not in asked and streak.faults > 0


def _gone(streak: Streak) -> FaultChange:
    """A source the job no longer asks: its incident is over."""
    return FaultChange(Streak(streak.subject, 0, "", streak.last_ok_at), resolves=True)
