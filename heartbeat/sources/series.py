"""The instances of one event or series that start in a span of time.

Series are expanded on the wall clock on which they were written, without zones, and each start is placed in time
afterwards: so a meeting keeps its hour across a clock change, and no zone can leak from one calendar into another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from heartbeat.sources import rules, zones
from heartbeat.sources.events import Event

REDUCED = "a repetition that cannot be followed was read as a single event"
_MARGIN = timedelta(days=1)
"""Wall clocks differ by less than this."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One start of one event."""

    event: Event
    start: datetime
    end: datetime | None
    slot: str
    """Which instance of the series it is: the UTC text of its original start, empty for an event that happens once."""


def instances(group: Sequence[Event], since: datetime, until: datetime, warnings: list[str]) -> Iterator[Instance]:
    """Every instance of the events of one UID whose start may lie between *since* and *until*, and some around it."""
    overrides = _newest_overrides(group)
    masters = _newest_masters(group)
    for master in masters:
        yield from _of_master(master, overrides, since, until, warnings, alone=len(masters) == 1)
    for override in overrides:
        if not (override.and_future and masters) and override.slot is not None:
            slot = override.slot.on_clock_of(masters[0].start) if masters else override.slot.wall
            zone = masters[0].start.zone if masters else override.slot.zone
            yield _instance(override, override.start.utc, _slot(zones.to_utc(slot, zone)))


def _newest_masters(group: Sequence[Event]) -> list[Event]:
    """The latest version; several when one UID was used for different events, which their makers never numbered."""
    masters = [event for event in group if event.slot is None]
    latest = max((event.revision for event in masters), default=None)
    different = {(event.start.utc, event.title): event for event in masters if event.revision == latest}
    return list(different.values())


def _newest_overrides(group: Sequence[Event]) -> list[Event]:
    newest: dict[tuple[datetime, bool], Event] = {}
    for event in group:
        if event.slot is not None:
            place = event.slot.utc, event.and_future
            newest[place] = max(newest.get(place, event), event, key=lambda version: version.revision)
    return list(newest.values())


def _of_master(
    master: Event, overrides: list[Event], since: datetime, until: datetime, warnings: list[str], *, alone: bool
) -> Iterator[Instance]:
    taken = {event.slot.on_clock_of(master.start) for event in overrides if event.slot and not event.and_future}
    if not master.recurs:
        if master.start.wall not in taken:
            yield _instance(master, master.start.utc, "" if alone else _slot(master.start.utc))
        return
    futures = [event for event in overrides if event.and_future]
    span = [
        instant.astimezone(master.start.zone).replace(tzinfo=None) for instant in (since - _MARGIN, until + _MARGIN)
    ]
    for event, wall in _expanded(master, futures, span[0], span[1], warnings):
        slot = wall - _shift(event, master)
        if slot not in taken:
            yield _instance(event, zones.to_utc(wall, master.start.zone), _slot(zones.to_utc(slot, master.start.zone)))


def _expanded(
    master: Event, futures: list[Event], since: datetime, until: datetime, warnings: list[str]
) -> list[tuple[Event, datetime]]:
    """Each start on the master's wall clock, with the event that describes it."""
    # Imported here: most ticks find no series near, and these two cost more than all the rest.
    from icalendar import Calendar
    from recurring_ical_events import of

    calendar = Calendar()
    members = [master, *futures]
    for number, event in enumerate(members):
        calendar.add_component(_component(event, master, number, warnings))
    found = of(calendar).between(since, until)
    return [(members[component["X-NUMBER"]], component["DTSTART"].dt) for component in found]


def _component(event: Event, master: Event, number: int, warnings: list[str]) -> Any:
    from icalendar import Event as Component
    from icalendar import vRecur

    component = Component()
    component["X-NUMBER"] = number
    component.add("uid", "series")
    # No end: only starts are asked for, and an end before the start would be swapped with it.
    component.add("dtstart", event.start.on_clock_of(master.start))
    if event.slot is not None:
        component.add("recurrence-id", event.slot.on_clock_of(master.start), parameters={"RANGE": "THISANDFUTURE"})
        return component
    for rule in _usable(event, warnings):
        component.add("rrule", vRecur.from_ical(rule))
    for moment in event.extra:
        component.add("rdate", moment.on_clock_of(master.start))
    for moment in event.excluded:
        component.add("exdate", moment.wall.date() if moment.whole_day else moment.on_clock_of(master.start))
    return component


def _usable(event: Event, warnings: list[str]) -> Iterator[str]:
    for rule in event.rules:
        try:
            yield rules.mended(rule, event.start)
        except rules.UnusableRule:
            warnings.append(REDUCED)


def _shift(event: Event, master: Event) -> timedelta:
    """How far an event that stands for all later instances moves them."""
    if event.slot is None:
        return timedelta(0)
    return event.start.on_clock_of(master.start) - event.slot.on_clock_of(master.start)


def _instance(event: Event, start: datetime, slot: str) -> Instance:
    return Instance(event, start, start + event.duration if event.duration else None, slot)


def _slot(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%Y%m%dT%H%M%SZ}"
