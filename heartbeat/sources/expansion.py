"""What iCalendar bytes hold for the next while: every start of every event inside a span of time.

One broken event, however it is broken, costs only itself; what was left out is said in warnings of our own words.
Runs in a process of its own (`worker`): what it is given comes from strangers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from hashlib import sha256
from time import monotonic

from heartbeat.sources import ics
from heartbeat.sources.events import Event, UnreadableEvent, read_event, uid_of
from heartbeat.sources.limit import OutOfTime, cpu_limit
from heartbeat.sources.occurrence import Occurrence
from heartbeat.sources.rules import ForbiddenRule
from heartbeat.sources.series import Instance, instances
from heartbeat.sources.zones import Zones

MOST_OCCURRENCES = 20_000
_ANSWERS = frozenset({"REPLY", "REFRESH", "COUNTER", "DECLINECOUNTER"})
"""Calendar objects that speak about a meeting, but are not the meeting."""
_MARGIN = timedelta(days=2)
_LIMITS = (0.5, 5.0)
"""Seconds of CPU for one series: a second try with more comes after all others had their first."""
_LONGEST_UID = 255
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Span:
    """Which starts are asked for, both ends included, and whose calendar it is."""

    since: datetime
    until: datetime
    home: tzinfo
    owner: tuple[str, ...] = ()
    """The owner's mail addresses, in lower case."""
    description: bool = False


@dataclass(frozen=True, slots=True)
class Expanded:
    """What was found in one source."""

    occurrences: tuple[Occurrence, ...]
    """By their start."""
    events: int
    """How many events the source holds in all."""
    until: datetime
    """How far it was looked: not as far as asked where there are too many occurrences."""
    whole: bool
    """Nothing was cut off or given up, so what is not here is not in the calendar."""
    warnings: tuple[str, ...]


def expand(contents: Iterable[bytes], span: Span, seconds: float = 20.0) -> Expanded:
    """The occurrences inside *span* of one source, whose files are merged. Call it in the main thread (`cpu_limit`).

    No series is begun after *seconds*: what is found by then is more than nothing.
    """
    deadline = monotonic() + seconds
    calendars = [calendar for content in contents for calendar in ics.split(content)]
    warnings: list[str] = []
    groups = [_read(group, span, warnings) for group in _groups(calendars, span)]
    found, whole = _expand(groups, span, warnings, deadline)
    if not whole:
        warnings.append("some series took too long and were left out")
    if not all(calendar.whole for calendar in calendars):
        warnings.append("the calendar is cut off; its whole events were read")
        whole = False
    inside = [instance for instance in found if span.since <= instance.start <= span.until]
    inside.sort(key=lambda instance: not (instance.event.cancelled or instance.event.declined))  # what is on wins
    once = {(instance.event.uid, instance.slot): instance for instance in inside}
    soonest = sorted(once.values(), key=lambda instance: (instance.start, instance.event.uid))[: MOST_OCCURRENCES + 1]
    until = soonest.pop().start - _SECOND if len(soonest) > MOST_OCCURRENCES else span.until
    count = sum(len(calendar.events) for calendar in calendars)
    return Expanded(tuple(map(_occurrence, soonest)), count, until, whole, tuple(_counted(warnings)))


def _occurrence(instance: Instance) -> Occurrence:
    event, uid = instance.event, instance.event.uid
    return Occurrence(
        uid=uid if len(uid) <= _LONGEST_UID else sha256(uid.encode()).hexdigest(),
        slot=instance.slot,
        title=event.title,
        start=instance.start.astimezone(UTC),
        end=instance.end.astimezone(UTC) if instance.end else None,
        all_day=event.all_day,
        cancelled=event.cancelled,
        declined=event.declined,
        tentative=event.tentative,
        free=event.free,
        attendees=event.attendees,
        description=event.description,
    )


@dataclass(frozen=True, slots=True)
class _Raw:
    """The unread lines of one event, with what its calendar object says of them."""

    lines: list[str]
    zones: Zones
    method: str


def _groups(calendars: Sequence[ics.CalendarObject], span: Span) -> Iterator[list[_Raw]]:
    """The events that may matter, by UID: all versions and overrides of one event decide together."""
    by_uid: dict[str, list[_Raw]] = {}
    for calendar in calendars:
        if calendar.method not in _ANSWERS:
            zones = Zones(calendar, span.home)
            for lines in calendar.events:
                by_uid.setdefault(uid_of(lines) or f"none {id(lines)}", []).append(_Raw(lines, zones, calendar.method))
    first, last = f"{span.since - _MARGIN:%Y%m%d}", f"{span.until + _MARGIN:%Y%m%d}"
    return (group for group in by_uid.values() if any(_may_matter(raw.lines, first, last) for raw in group))


def _may_matter(lines: list[str], first: str, last: str) -> bool:
    """Whether an event repeats, starts between two days, or is too broken to tell: most need no more than this look."""
    day = ""
    for line in lines:
        name = line[:7].upper()
        if name.startswith(("RRULE", "RDATE")):
            return True
        if name == "DTSTART":
            day = line.rpartition(":")[2][:8]
    return not day.isdigit() or first <= day <= last


def _read(group: list[_Raw], span: Span, warnings: list[str]) -> list[Event]:
    events = []
    for raw in group:
        try:
            event = read_event(raw.lines, raw.zones, raw.method, span.owner, warnings, description=span.description)
            events.append(event)
        except UnreadableEvent:
            warnings.append("an event without a usable start was left out")
    return events


def _expand(groups: list[list[Event]], span: Span, warnings: list[str], deadline: float) -> tuple[list[Instance], bool]:
    """The instances around the span, and whether every group was expanded."""
    found: list[Instance] = []
    waiting = groups
    for limit in _LIMITS:
        late = []
        for group in waiting:
            seconds = min(limit, deadline - monotonic())
            try:
                found += _instances(group, span, warnings, seconds)
            except OutOfTime:
                late.append(group)
        waiting = late
    return found, not waiting


def _instances(group: list[Event], span: Span, warnings: list[str], seconds: float) -> list[Instance]:
    if not any(event.recurs for event in group):
        return list(instances(group, span.since, span.until, warnings))
    if seconds <= 0:
        raise OutOfTime
    import recurring_ical_events  # noqa: F401  # now: an import that the limit interrupts leaves half a module behind

    try:
        with cpu_limit(seconds):
            return list(instances(group, span.since, span.until, warnings))
    except OutOfTime:
        raise
    except ForbiddenRule:
        warnings.append("a series that repeats every minute or second was left out")
        return []
    except Exception:  # noqa: BLE001  # a stranger's series may fail anywhere in three libraries
        warnings.append("a series that cannot be expanded was read without its repetitions")
        single = [replace(event, rules=(), extra=()) for event in group]
        return list(instances(single, span.since, span.until, warnings))


def _counted(warnings: list[str]) -> Iterator[str]:
    for warning in dict.fromkeys(warnings):
        count = warnings.count(warning)
        yield warning if count == 1 else f"{warning} ({count} times)"
