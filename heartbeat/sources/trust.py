"""What to believe of a calendar after a reading or a failure: pure decisions on what is kept and what is shown."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from heartbeat.durations import show_duration
from heartbeat.sources import SourceFailed, changes
from heartbeat.sources.calendars.asking import Asking, Unchanged
from heartbeat.sources.kept import Memory
from heartbeat.sources.meetings import GRACE
from heartbeat.sources.rows import START, UID, Row

MANY = 5
"""Events that do not all vanish at once without a doubt."""
DOUBTS = 2
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
    lost: tuple[str, ...] = ()
    """UIDs of which it knows nothing, or not all; of the others it is *whole*."""
    files: dict[str, list[str]] = field(default_factory=dict)
    """In which files of a folder each UID was found."""
    missing: tuple[str, ...] = ()
    """Those of these files that could not be read."""


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
    ahead: tuple[float, float] = (0.0, 0.0)
    """Starts that were told of before the clock was set back."""


def known(memory: Memory, ask: Asking, needed: datetime) -> str:
    """The fingerprint to ask with: empty when the copy does not reach from the start of the span until *needed*."""
    copy = memory.copy
    if copy is None or not copy.since <= ask.since or needed > copy.until:
        return ""
    return copy.fingerprint if (copy.whole and not copy.lost) or ask.since - copy.since < AGAIN_AFTER else ""


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


def told_of(memory: Memory, now: datetime, lookahead: timedelta) -> frozenset[str]:
    """The UIDs of what was about to begin at the last run, and should be found again wherever it is now."""
    copy = memory.copy
    if copy is None:
        return frozenset()
    news = {uid for uid, _, until in copy.moved if until >= now.timestamp()}
    return frozenset(news | {row[UID] for row in changes.told(memory, now, lookahead)})


def _ahead(memory: Memory, now: datetime, lookahead: timedelta) -> tuple[float, float]:
    """Which starts were told of although they are not near yet, for the clock was set back since."""
    first, last = memory.ahead if memory.ahead[1] > now.timestamp() else (0.0, 0.0)
    at = changes.last_shown(memory)
    if at is None or at <= now:
        return first, last
    begin, end = at.timestamp(), (at + lookahead).timestamp()
    return (min(first, begin), max(last, end)) if last else (begin, end)


def believe(
    memory: Memory, outcome: Reading | Unchanged | SourceFailed, ask: Asking, lookahead: timedelta
) -> tuple[Memory, Seen]:
    """What to keep from now on, and what to show."""
    memory = replace(memory, ahead=_ahead(memory, ask.now, lookahead))
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
        copy = changes.taken(memory, outcome, ask, lookahead)
    memory = Memory(memory.first_at or ask.now, ahead=memory.ahead, copy=copy)
    return memory, _seen(memory, ask.now)


def _is_doubtful(memory: Memory, reading: Reading) -> bool:
    was = memory.copy.events if memory.copy else 0
    return was >= MANY and reading.events == 0 and memory.doubts < DOUBTS


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
    memory = replace(memory, shown_at=ask.now)
    age = _age(copy.current_at, ask.now)
    shown = _seen(memory, ask.now)
    return memory, replace(shown, fault=f"{fault}; its copy from {age} ago was read")


def _seen(memory: Memory, now: datetime) -> Seen:
    copy = memory.copy
    assert copy is not None
    warnings, whole = copy.warnings, copy.whole
    if changes.is_filled(copy, now):
        assert copy.filled_at is not None
        warnings = (*warnings, f"what is missing was taken from its copy from {_age(copy.filled_at, now)} ago")
    elif any(row[START] >= (now - GRACE).timestamp() for row in copy.filled):
        whole = False  # it may be there still, so that it is not shown any more must not read as called off
    return Seen(
        changes.shown(copy, now),
        warnings=warnings,
        whole=whole,
        first_at=memory.first_at,
        moved={(uid, slot): until for uid, slot, until in copy.moved},
        ahead=memory.ahead,
    )


def _age(since: datetime, now: datetime) -> str:
    """In whole minutes, if it is a minute at all."""
    age = max(now - since, timedelta(0))
    return show_duration(age - age % _MINUTE if age >= _MINUTE else age)
