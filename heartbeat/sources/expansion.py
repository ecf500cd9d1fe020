"""What iCalendar bytes hold for the next while: every start of every event inside a span of time.

One broken event, however it is broken, costs only itself; what was left out is said in warnings of our own words.
Runs in a process of its own (`worker`): what it is given comes from strangers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from hashlib import sha256
from time import monotonic

from heartbeat.sources import ics
from heartbeat.sources.events import Event, UnreadableEvent, read_event, uid_of
from heartbeat.sources.limit import OutOfTime, cpu_limit
from heartbeat.sources.occurrence import Occurrence
from heartbeat.sources.rules import ForbiddenRule
from heartbeat.sources.series import REDUCED, Instance, instances
from heartbeat.sources.timetable import Workshop
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
    also: frozenset[str] = frozenset()
    """UIDs of which what is written out (not what a rule yields) is asked for however late it starts."""


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
    cut: bool
    """Some of the calendar is missing, and nobody knows what."""
    lost: tuple[str, ...]
    """The UIDs that were given up, or read without their repetitions: of all others everything is here."""
    places: dict[str, list[int]]
    """In which of several contents each UID was found."""
    warnings: tuple[str, ...]


def expand(contents: Iterable[bytes], span: Span, seconds: float = 20.0) -> Expanded:
    """The occurrences inside *span* of one source, whose files are merged. Call it in the main thread (`cpu_limit`).

    No series is begun after *seconds*: what is found by then is more than nothing.
    """
    deadline = monotonic() + seconds
    calendars = [(number, calendar) for number, content in enumerate(contents) for calendar in ics.split(content)]
    warnings: list[str] = []
    groups = list(_groups(calendars, span))
    lost = {group.uid for group in groups if not _read(group, span, warnings)}
    found, given_up = _expand(groups, span, warnings, deadline)
    lost |= given_up
    cut = not all(calendar.whole for _, calendar in calendars)
    if cut:
        warnings.append("the calendar is cut off; its whole events were read")
    inside = [instance for instance in found if _is_asked(instance, span)]
    inside.sort(key=lambda instance: not (instance.event.cancelled or instance.event.declined))  # what is on wins
    once = {(instance.event.uid, instance.slot): instance for instance in inside}
    soonest = sorted(once.values(), key=lambda instance: (instance.start, instance.event.uid))[: MOST_OCCURRENCES + 1]
    until = min(soonest.pop().start - _SECOND, span.until) if len(soonest) > MOST_OCCURRENCES else span.until
    return Expanded(
        occurrences=tuple(map(_occurrence, soonest)),
        events=sum(len(calendar.events) for _, calendar in calendars),
        until=until,
        whole=not cut and not lost,
        warnings=tuple(_counted(warnings)),
        cut=cut,
        lost=tuple(sorted(map(_kept_uid, lost))),
        places={_kept_uid(group.uid): sorted(group.numbers) for group in groups},
    )


def _is_asked(instance: Instance, span: Span) -> bool:
    if span.since <= instance.start <= span.until:
        return True
    return instance.start > span.until and _kept_uid(instance.event.uid) in span.also


def _kept_uid(uid: str) -> str:
    return uid if len(uid) <= _LONGEST_UID else sha256(uid.encode("utf-8", "replace")).hexdigest()


def _occurrence(instance: Instance) -> Occurrence:
    event = instance.event
    return Occurrence(
        uid=_kept_uid(event.uid),
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


@dataclass(slots=True)
class _Group:
    """All versions and overrides of one UID: they decide together."""

    uid: str
    raws: list[_Raw] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)
    """Of the contents in which they stand."""
    events: list[Event] = field(default_factory=list)


def _groups(calendars: Sequence[tuple[int, ics.CalendarObject]], span: Span) -> Iterator[_Group]:
    """The events that may matter, by UID."""
    by_uid: dict[str, _Group] = {}
    workshop = Workshop()
    for number, calendar in calendars:
        if calendar.method not in _ANSWERS:
            zones = Zones(calendar, span.home, workshop)
            for lines in calendar.events:
                uid = uid_of(lines)
                group = by_uid.setdefault(uid or f"none {id(lines)}", _Group(uid))
                group.raws.append(_Raw(lines, zones, calendar.method))
                group.numbers.add(number)
    first, last = f"{span.since - _MARGIN:%Y%m%d}", f"{span.until + _MARGIN:%Y%m%d}"
    for group in by_uid.values():
        if _kept_uid(group.uid) in span.also or any(_may_matter(raw.lines, first, last) for raw in group.raws):
            yield group


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


def _read(group: _Group, span: Span, warnings: list[str]) -> bool:
    """Read the events of a group; whether there are any."""
    for raw in group.raws:
        try:
            event = read_event(raw.lines, raw.zones, raw.method, span.owner, warnings, description=span.description)
        except UnreadableEvent:
            warnings.append("an event without a usable start was left out")
        except Exception:  # noqa: BLE001  # the last wall: what a stranger wrote costs only itself
            warnings.append("an event that cannot be read was left out")
        else:
            group.uid = group.uid or event.uid
            group.events.append(event)
    return bool(group.events)


def _expand(groups: list[_Group], span: Span, warnings: list[str], deadline: float) -> tuple[list[Instance], set[str]]:
    """The instances around the span, and the UIDs that were given up or not read in full."""
    found: list[Instance] = []
    lost: set[str] = set()
    waiting = groups
    for limit in _LIMITS:
        late = []
        for group in waiting:
            try:
                instances_, full = _instances(group.events, span, warnings, min(limit, deadline - monotonic()))
            except OutOfTime:
                late.append(group)
                continue
            found += instances_
            if not full:
                lost.add(group.uid)
        waiting = late
    if waiting:
        warnings.append("some series took too long and were left out")
    return found, lost | {group.uid for group in waiting}


def _instances(group: list[Event], span: Span, warnings: list[str], seconds: float) -> tuple[list[Instance], bool]:
    """The instances of one UID, and whether these are all of them."""
    if not any(event.recurs for event in group):
        return _single(group, span, warnings)
    if seconds <= 0:
        raise OutOfTime
    import recurring_ical_events  # noqa: F401  # now: an import that the limit interrupts leaves half a module behind

    reduced = warnings.count(REDUCED)
    try:
        with cpu_limit(seconds):
            found = list(instances(group, span.since, span.until, warnings))
    except OutOfTime:
        raise
    except ForbiddenRule:
        warnings.append("a series that repeats every minute or second was left out")
        return [], False
    except Exception:  # noqa: BLE001  # a stranger's series may fail anywhere in three libraries
        warnings.append("a series that cannot be expanded was read without its repetitions")
        return _single([replace(event, rules=(), extra=()) for event in group], span, warnings)[0], False
    return found, warnings.count(REDUCED) == reduced


def _single(group: list[Event], span: Span, warnings: list[str]) -> tuple[list[Instance], bool]:
    try:
        return list(instances(group, span.since, span.until, warnings)), True
    except Exception:  # noqa: BLE001  # the last wall: what a stranger wrote costs only itself
        warnings.append("an event that cannot be placed was left out")
        return [], False


def _counted(warnings: list[str]) -> Iterator[str]:
    for warning in dict.fromkeys(warnings):
        count = warnings.count(warning)
        yield warning if count == 1 else f"{warning} ({count} times)"
