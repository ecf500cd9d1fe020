"""What to believe of a calendar after a reading or a failure: pure decisions on what is kept and what is shown."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from heartbeat.durations import show_duration
from heartbeat.sources import SourceFailed
from heartbeat.sources.calendars.asking import Asking, Unchanged
from heartbeat.sources.kept import Copy, Memory
from heartbeat.sources.meetings import GRACE
from heartbeat.sources.rows import SLOT, START, UID, Row

MANY = 5
"""Events that do not all vanish at once without a doubt."""
DOUBTS = 2
FILLED_FOR = timedelta(days=1)
LONGEST_WAIT = timedelta(days=1)
AGAIN_AFTER = timedelta(hours=1)
"""What could not be read, or not whole, is tried again though it has not changed: the machine may have been busy."""
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a calendar holds now."""

    rows: list[Row]
    """By their start."""
    events: int
    until: datetime
    whole: bool
    warnings: tuple[str, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What one calendar shows in this run."""

    rows: list[Row] | None
    """By their start; None when there is nothing to show, not even a copy."""
    fault: str = ""
    """What went wrong; then events may be missing, and those that are gone may be shown."""
    warnings: tuple[str, ...] = ()
    whole: bool = True
    first_at: datetime | None = None
    """When the calendar was first read, if that is kept."""
    moved: dict[tuple[str, str], float] = field(default_factory=dict)
    """What was about to begin and moved away, by UID and slot, and until when that is news."""


def known(memory: Memory, ask: Asking, needed: datetime) -> str:
    """The fingerprint to ask with: empty when the copy does not reach from the start of the span until *needed*."""
    copy = memory.copy
    if copy is None or not copy.since <= ask.since or needed > copy.until:
        return ""
    return copy.fingerprint if copy.whole or ask.since - copy.since < AGAIN_AFTER else ""


def waits(memory: Memory, now: datetime) -> bool:
    """Whether the server wants no question yet."""
    until = memory.not_before
    return until is not None and now < until <= now + LONGEST_WAIT  # a clock that was set back must not wait for ever


def is_refused(memory: Memory, fingerprint: str, now: datetime) -> bool:
    """Whether just this was too much already, not long ago."""
    at = memory.refused_at
    return bool(fingerprint) and fingerprint == memory.refused and at is not None and at <= now < at + AGAIN_AFTER


def refuse(memory: Memory, fingerprint: str, now: datetime) -> Memory:
    """Remember that this was too much."""
    return replace(memory, refused=fingerprint, refused_at=now)


def believe(
    memory: Memory, outcome: Reading | Unchanged | SourceFailed, ask: Asking, lookahead: timedelta
) -> tuple[Memory, Seen]:
    """What to keep from now on, and what to show."""
    if isinstance(outcome, SourceFailed):
        return _fail(memory, outcome, ask)
    if isinstance(outcome, Unchanged):
        copy = memory.copy
        assert copy is not None
        copy = replace(copy, fingerprint=outcome.fingerprint or copy.fingerprint, current_at=ask.now)
    elif _is_doubtful(memory, outcome):
        gone = SourceFailed("cannot believe yet that all of its events are gone")
        return _fail(replace(memory, doubts=memory.doubts + 1), gone, ask)
    else:
        copy = _taken(memory.copy, outcome, ask, lookahead)
    memory = Memory(memory.first_at or ask.now, copy=copy)
    return memory, _seen(memory, ask.now)


def _is_doubtful(memory: Memory, reading: Reading) -> bool:
    was = memory.copy.events if memory.copy else 0
    return was >= MANY and reading.events == 0 and memory.doubts < DOUBTS


def _taken(before: Copy | None, reading: Reading, ask: Asking, lookahead: timedelta) -> Copy:
    copy = Copy(
        fingerprint=reading.fingerprint,
        since=ask.since,
        until=reading.until,
        rows=reading.rows,
        events=reading.events,
        whole=reading.whole,
        warnings=reading.warnings,
        current_at=ask.now,
    )
    if before is None:
        return copy
    if reading.whole:
        return replace(copy, moved=_moved(before, reading, ask.now, lookahead))
    older, at = (before.rows, before.current_at) if before.whole else (before.filled, before.filled_at)
    there = {row[UID] for row in reading.rows}
    filled = [row for row in older if row[UID] not in there]
    return replace(copy, filled=filled, filled_at=at, moved=before.moved)


def _moved(before: Copy, reading: Reading, now: datetime, lookahead: timedelta) -> list[tuple[str, str, float]]:
    """What the last run showed, for it was about to begin, and what has another start now: out of sight, perhaps.

    Without this a meeting that moves to tomorrow would read as called off.
    """
    first, last = (now - GRACE).timestamp(), (before.current_at + lookahead).timestamp()
    shown = {(row[UID], row[SLOT]): row[START] for row in before.rows if first <= row[START] <= last}
    news = [
        (row[UID], row[SLOT], shown[row[UID], row[SLOT]] + GRACE.total_seconds())
        for row in reading.rows
        if shown.get((row[UID], row[SLOT]), row[START]) != row[START]
    ]
    return [*(one for one in before.moved if one[2] >= now.timestamp()), *news]


def _fail(memory: Memory, failed: SourceFailed, ask: Asking) -> tuple[Memory, Seen]:
    fault = str(failed)
    wait: float | None = getattr(failed, "retry_after", None)
    if wait:
        again = ask.now + min(timedelta(seconds=wait), LONGEST_WAIT)
        memory = replace(memory, not_before=again)
        fault += f"; it is asked again at {again.astimezone(ask.home):%H:%M}"
    copy = memory.copy
    if copy is None or copy.until < ask.now:
        return memory, Seen(None, fault)
    age = _age(copy.current_at, ask.now)
    shown = _seen(memory, ask.now)
    return memory, replace(shown, fault=f"{fault}; its copy from {age} ago was read")


def _seen(memory: Memory, now: datetime) -> Seen:
    copy = memory.copy
    assert copy is not None
    rows, warnings = copy.rows, copy.warnings
    if copy.filled and copy.filled_at and now - copy.filled_at <= FILLED_FOR:
        rows = sorted([*rows, *copy.filled], key=lambda row: float(row[START]))
        warnings = (*warnings, f"what is missing was taken from its copy from {_age(copy.filled_at, now)} ago")
    moved = {(uid, slot): until for uid, slot, until in copy.moved}
    return Seen(rows, warnings=warnings, whole=copy.whole, first_at=memory.first_at, moved=moved)


def _age(since: datetime, now: datetime) -> str:
    """In whole minutes, if it is a minute at all."""
    age = max(now - since, timedelta(0))
    return show_duration(age - age % _MINUTE if age >= _MINUTE else age)
