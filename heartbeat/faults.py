"""How a run moves the fault streaks of its job and its sources: count, back off, raise once, resolve once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from heartbeat.model import FaultChange, Judgement, Source, Streak, View

_MESSAGE = 500  # characters of what a script said that go into an incident
INCIDENT_AFTER = 3
"""Faults in a row that make an incident."""
STALE_AFTER = timedelta(hours=26)
"""So long without a success, one fault makes one too: a job that runs once a week must not fail for three weeks."""
LONGEST_BACKOFF = timedelta(hours=1)


def weigh(
    job: str,
    judgement: Judgement,
    view: View,
    now: datetime,
    *,
    after: int = INCIDENT_AFTER,
    stale: timedelta = STALE_AFTER,
) -> tuple[FaultChange, ...]:
    """The streaks that this run changes, of the job and of each source it asked.

    One becomes an incident with its *after*-th fault in a row, or with any when its last success is *stale* or older.
    """
    message = f"{judgement.verdict}: {judgement.reason}"[:_MESSAGE] if judgement.verdict.is_fault else ""
    said = [(f"job:{job}", message, judgement.code)]
    asked = dict(_by_subject(job, judgement.gate.sources)) if judgement.gate is not None else {}
    said += [(subject, message, "source_failed") for subject, message in asked.items()]
    changes = []
    for subject, message, code in said:
        streak = _streak(view, subject, message, now)
        opens = streak.faults >= after or _is_stale(streak, now, stale)
        resolves = not message and _before(view, subject).faults > 0
        changes.append(FaultChange(streak, opens=opens, resolves=resolves, code=code if message else ""))
    if judgement.gate is not None and not judgement.verdict.is_fault:
        changes += [_gone(streak) for subject, streak in view.streaks.items() if _is_gone(subject, job, asked, streak)]
    return tuple(changes)


def backoff_until(job: str, changes: tuple[FaultChange, ...], now: datetime) -> datetime | None:
    """Slots of a failing job are skipped until then: 1, 2, 4, … minutes after its n-th fault, an hour at most."""
    faults = next(change.streak.faults for change in changes if change.streak.subject == f"job:{job}")
    return now + min(timedelta(minutes=2 ** min(faults - 1, 6)), LONGEST_BACKOFF) if faults else None


def _before(view: View, subject: str) -> Streak:
    return view.streaks.get(subject, Streak(subject))


def _streak(view: View, subject: str, message: str, now: datetime) -> Streak:
    """One more fault (with its message), or none any more."""
    before = _before(view, subject)
    return Streak(subject, before.faults + 1, message, before.last_ok_at) if message else Streak(subject, 0, "", now)


def _is_stale(streak: Streak, now: datetime, stale: timedelta) -> bool:
    """What never worked counts by its faults alone: nothing says since when it should have."""
    return streak.last_ok_at is not None and now - streak.last_ok_at >= stale


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
