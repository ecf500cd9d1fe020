"""What a calendar holds for the next while: bytes in, the events that start soon out.

One broken event, however it is broken, costs only itself; what was left out is said in warnings of our own words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from time import process_time

from heartbeat.sources import ics
from heartbeat.sources.events import Event, UnreadableEvent, read_event, uid_of
from heartbeat.sources.limit import OutOfTime, cpu_limit
from heartbeat.sources.rules import ForbiddenRule
from heartbeat.sources.series import Instance, instances
from heartbeat.sources.zones import Zones

_ANSWERS = frozenset({"REPLY", "REFRESH", "COUNTER", "DECLINECOUNTER"})
"""Calendar objects that speak about a meeting, but are not the meeting."""
_MARGIN = timedelta(days=2)
_DAY = timedelta(days=1)
_LIMITS = (0.5, 5.0)
"""Seconds of CPU for one series: a second try with more comes after all others had their first."""


@dataclass(frozen=True, slots=True)
class Window:
    """Which starts are asked for, and whose calendar it is."""

    now: datetime
    until: datetime
    home: tzinfo
    owner: tuple[str, ...] = ()
    """The owner's mail addresses, in lower case."""
    all_day: bool = False

    def holds(self, instance: Instance) -> bool:
        """Whether it starts inside, both ends included; an all-day event counts until its first day is over."""
        event = instance.event
        if event.cancelled or event.declined or (event.all_day and not self.all_day):
            return False
        last_useful = instance.start + _DAY if event.all_day else instance.start
        return instance.start <= self.until and self.now <= last_useful


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found in one source."""

    instances: tuple[Instance, ...]
    whole: bool
    """Nothing was cut off or given up, so what is not here is not in the calendar."""
    warnings: tuple[str, ...]


def look(contents: Iterable[bytes], window: Window, budget: float = 10.0) -> Reading:
    """The instances inside *window* of one source, whose files are merged; at most about *budget* seconds of CPU.

    Call it in the main thread (see `cpu_limit`).
    """
    calendars = [calendar for content in contents for calendar in ics.split(content)]
    warnings: list[str] = []
    groups = [_read(group, window, warnings) for group in _groups(calendars, window)]
    found, whole = _expand(groups, window, warnings, process_time() + budget)
    if not whole:
        warnings.append("some series took too long and were left out")
    if not all(calendar.whole for calendar in calendars):
        warnings.append("the calendar is cut off; its whole events were read")
        whole = False
    once = {(instance.event.uid, instance.slot): instance for instance in found if window.holds(instance)}
    ordered = sorted(once.values(), key=lambda instance: (instance.start, instance.event.uid))
    return Reading(tuple(ordered), whole, tuple(_counted(warnings)))


@dataclass(frozen=True, slots=True)
class _Raw:
    """The unread lines of one event, with what its calendar object says of them."""

    lines: list[str]
    zones: Zones
    method: str


def _groups(calendars: Sequence[ics.CalendarObject], window: Window) -> Iterator[list[_Raw]]:
    """The events that may matter, by UID: all versions and overrides of one event decide together."""
    by_uid: dict[str, list[_Raw]] = {}
    for calendar in calendars:
        if calendar.method not in _ANSWERS:
            zones = Zones(calendar, window.home)
            for lines in calendar.events:
                by_uid.setdefault(uid_of(lines) or f"none {id(lines)}", []).append(_Raw(lines, zones, calendar.method))
    first, last = f"{window.now - _MARGIN:%Y%m%d}", f"{window.until + _MARGIN:%Y%m%d}"
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


def _read(group: list[_Raw], window: Window, warnings: list[str]) -> list[Event]:
    events = []
    for raw in group:
        try:
            events.append(read_event(raw.lines, raw.zones, raw.method, window.owner, warnings))
        except UnreadableEvent:
            warnings.append("an event without a usable start was left out")
    return events


def _expand(
    groups: list[list[Event]], window: Window, warnings: list[str], deadline: float
) -> tuple[list[Instance], bool]:
    """The instances around the window, and whether every group was expanded."""
    found: list[Instance] = []
    waiting = [group for group in groups if window.all_day or not all(event.all_day for event in group)]
    for limit in _LIMITS:
        late = []
        for group in waiting:
            seconds = min(limit, deadline - process_time())
            try:
                found += _instances(group, window, warnings, seconds)
            except OutOfTime:
                late.append(group)
        waiting = late
    return found, not waiting


def _instances(group: list[Event], window: Window, warnings: list[str], seconds: float) -> list[Instance]:
    if not any(event.recurs for event in group):
        return list(instances(group, window.now - _DAY, window.until, warnings))
    if seconds <= 0:
        raise OutOfTime
    import recurring_ical_events  # noqa: F401  # now: an import that the limit interrupts leaves half a module behind

    try:
        with cpu_limit(seconds):
            return list(instances(group, window.now - _DAY, window.until, warnings))
    except OutOfTime:
        raise
    except ForbiddenRule:
        warnings.append("a series that repeats every minute or second was left out")
        return []
    except Exception:  # noqa: BLE001  # a stranger's series may fail anywhere in three libraries
        warnings.append("a series that cannot be expanded was read without its repetitions")
        single = [replace(event, rules=(), extra=()) for event in group]
        return list(instances(single, window.now - _DAY, window.until, warnings))


def _counted(warnings: list[str]) -> Iterator[str]:
    for warning in dict.fromkeys(warnings):
        count = warnings.count(warning)
        yield warning if count == 1 else f"{warning} ({count} times)"
