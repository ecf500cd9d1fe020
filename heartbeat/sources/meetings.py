"""Which occurrences the owner wants to hear of now: pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from heartbeat.sources.occurrence import Occurrence
from heartbeat.sources.rows import SLOT, START, UID, Row, readable

GRACE = timedelta(minutes=5)
"""So long after its start a meeting can still be told of."""
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is told of, beside what simply takes place."""

    all_day: bool = False
    tentative: bool = True
    free: bool = True
    """Shown as free."""
    declined: bool = False
    min_attendees: int = 0
    description: bool = False

    def takes(self, one: Occurrence) -> bool:
        """Whether it is one of those; what was called off never is."""
        return not (
            one.cancelled
            or (one.all_day and not self.all_day)
            or (one.tentative and not self.tentative)
            or (one.free and not self.free)
            or (one.declined and not self.declined)
            or one.attendees < self.min_attendees
        )


@dataclass(frozen=True, slots=True)
class Window:
    """The starts that are told of: from now until *until*, both included.

    A meeting that has begun is told of until its grace is over, for one that is no longer reported would read as called
    off. But not one that had begun before its calendar was first read (*first_at*): that is no news. Where it is not
    kept when that was, there is no grace. A meeting that was told of and *moved* out of the window is told of until it
    would have begun.
    """

    now: datetime
    until: datetime
    first_at: datetime | None = None
    moved: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """By UID and slot, until when that is news."""
    ahead: tuple[float, float] = (0.0, 0.0)
    """Starts that were told of already when the clock was set back: they are not called off by that."""

    def pick(self, rows: Sequence[Row], wanted: Wanted) -> list[Occurrence]:
        """Those of *rows*, which lie by their start, that the owner wants to hear of."""
        last = self.until.timestamp()
        earliest = (self.now - DAY).timestamp()
        near = [
            readable(row)
            for row in rows
            if earliest <= row[START] <= last
            or self.ahead[0] <= row[START] <= self.ahead[1]
            or (self.moved and (row[UID], row[SLOT]) in self.moved)
        ]
        return [one for one in near if one is not None and self._holds(one) and wanted.takes(one)]

    def _holds(self, one: Occurrence) -> bool:
        if self.now.timestamp() <= self.moved.get((one.uid, one.slot), 0.0):
            return True
        is_near = one.start <= self.until or self.ahead[0] <= one.start.timestamp() <= self.ahead[1]
        return is_near and self._is_to_come(one)

    def _is_to_come(self, one: Occurrence) -> bool:
        if one.all_day:
            return self.now <= one.start + DAY
        first = self.now if self.first_at is None else min(self.now, max(self.now - GRACE, self.first_at))
        return first <= one.start

    def useful_until(self, one: Occurrence) -> datetime:
        """Until when `pick` picks it: its absence before that means that it was called off."""
        has_grace = self.first_at is not None and self.first_at <= one.start
        end = one.start + DAY if one.all_day else one.start + GRACE if has_grace else one.start
        news = self.moved.get((one.uid, one.slot))
        until = datetime.fromtimestamp(news, UTC) if news is not None else None
        if until is None or until < self.now:
            return end
        # Until the end only if it comes into sight before it stops to be news; else it is told again when it does.
        return until if self.is_far(one) else max(end, until)

    def is_far(self, one: Occurrence) -> bool:
        """Whether it is told of for it moved away, and will be again when its new start comes near."""
        news = self.moved.get((one.uid, one.slot), 0.0)
        return self.now.timestamp() <= news and one.start.timestamp() > news + (self.until - self.now).total_seconds()


@dataclass(frozen=True, slots=True)
class Calendar:
    """What one calendar shows, and what the owner wants of it."""

    rows: Sequence[Row]
    """By their start."""
    wanted: Wanted
    window: Window


def meetings(calendars: Sequence[Calendar]) -> list[list[Occurrence]]:
    """What is to be told of each calendar, in order; of a meeting that several of them hold, once.

    The calendar that was read first of all speaks for a meeting, also when it says that it moved away, was called off
    or declined: the others may lag behind. One that is added, or that cannot be read at first, takes nothing over
    later: that would look like a meeting called off and another one made.
    """
    picked = [calendar.window.pick(calendar.rows, calendar.wanted) for calendar in calendars]
    asked = {(one.uid, one.slot) for ones in picked for one in ones} if len(calendars) > 1 else set()
    spoken: dict[tuple[str, str], list[Occurrence]] = {}
    for number in sorted(range(len(calendars)), key=lambda number: (_age(calendars[number]), number)):
        picked[number] = [one for one in picked[number] if not _is_among(spoken.get((one.uid, one.slot), ()), one)]
        for one in _speaks(calendars[number], asked) if asked else ():
            spoken.setdefault((one.uid, one.slot), []).append(one)
    return picked


def _age(calendar: Calendar) -> tuple[bool, float]:
    first_at = calendar.window.first_at
    return first_at is None, first_at.timestamp() if first_at else 0.0


def _speaks(calendar: Calendar, asked: Collection[tuple[str, str]]) -> Iterator[Occurrence]:
    """The instances that are asked for, as far as this calendar would tell of them or says that they are off."""
    for row in calendar.rows:
        if (row[UID], row[SLOT]) in asked:
            one = readable(row)
            if one is None:
                continue
            if one.cancelled or one.declined or calendar.wanted.takes(one):
                yield one


def _is_among(others: Iterable[Occurrence], one: Occurrence) -> bool:
    """Whether it is the same meeting: a UID alone proves nothing, for simple programs count 1, 2, 3."""
    return any(other.start == one.start or other.title == one.title for other in others)
