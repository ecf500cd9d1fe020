"""A zone that a calendar defines itself (VTIMEZONE), as a table of its changes in the decades that matter.

To follow the rules anew for every look-up costs most of the time of a large calendar: Outlook's begin in 1601.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from math import prod
from time import process_time

from heartbeat.sources import ics
from heartbeat.sources.limit import OutOfTime, cpu_limit

LAST = 2100
MOST_DAYS = 31
"""So many changes a year a rule may name: `BYMONTHDAY=8,9,10,11,12,13,14;BYDAY=SU` is honest, each minute is not."""
_SECONDS = 0.5
_ALL_SECONDS = 3.0
"""Of CPU: for one zone, and for all zones of one source together."""
_LEAST = 0.01
_MOST_PARTS = 500
_LEAP = 1968
_OFFSET = re.compile(r"([+-])([01][0-9]|2[0-3])([0-5][0-9])([0-5][0-9])?")
_TIME = re.compile(r"([0-9]{8})(?:T([0-9]{6})Z?)?")
_INTERVAL = re.compile(r"[1-9][0-9]{0,3}")
_DENSE = ("BYHOUR", "BYMINUTE", "BYSECOND", "BYEASTER")
_DAY = timedelta(days=1)


class Unusable(Exception):
    """The definition is broken, or no zone of the world is like that."""


class Timetable(tzinfo):
    """The offsets of a zone, each from its instant on; before the first the one that it replaces."""

    def __init__(self, changes: Sequence[tuple[datetime, timedelta]], first: timedelta) -> None:
        self._at = [instant for instant, _ in changes]
        self._offsets = [first, *(offset for _, offset in changes)]
        pairs = list(zip(self._at, self._offsets, self._offsets[1:], strict=False))
        # When the clock shows that a change is over: of an hour that comes twice the first (PEP 495), of one that is
        # skipped the offset from before it.
        self._walls = (
            [at + max(before, after) for at, before, after in pairs],
            [at + min(before, after) for at, before, after in pairs],
        )

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        if moment is None:
            return None
        return self._offsets[bisect_right(self._walls[moment.fold], moment.replace(tzinfo=None, fold=0))]

    def dst(self, _moment: datetime | None) -> timedelta | None:
        return None

    def tzname(self, _moment: datetime | None) -> str | None:
        return None

    def fromutc(self, moment: datetime) -> datetime:
        instant = moment.replace(tzinfo=None)
        place = bisect_right(self._at, instant)
        offset = self._offsets[place]
        repeats = place > 0 and instant - self._at[place - 1] < self._offsets[place - 1] - offset
        return (instant + offset).replace(tzinfo=self, fold=int(repeats))


@dataclass(slots=True)
class Workshop:
    """Makes the zones of one source: each once, and all within one limit, for they come from strangers."""

    left: float = _ALL_SECONDS
    _made: dict[tuple[str, ...], Timetable | None] = field(default_factory=dict)

    def make(self, lines: Sequence[str]) -> Timetable | None:
        """The zone that the lines of a VTIMEZONE define; None where they cannot be followed. Main thread only."""
        text = tuple(lines)
        if text not in self._made:
            self._made[text] = self._build(text)
        return self._made[text]

    def _build(self, lines: Sequence[str]) -> Timetable | None:
        if self.left <= _LEAST:  # a timer of nothing never rings
            return None
        import dateutil.rrule  # type: ignore[import-untyped] # noqa: F401  # now: an import that the limit interrupts leaves half of it

        began = process_time()
        try:
            with cpu_limit(min(self.left, _SECONDS)):
                return _timetable(lines)
        except (Unusable, ValueError, LookupError, TypeError, OverflowError, OutOfTime):
            return None
        finally:
            self.left -= process_time() - began


def _timetable(lines: Sequence[str]) -> Timetable:
    parts = list(_parts(lines))
    if not parts or len(parts) > _MOST_PARTS:
        raise Unusable
    changes = sorted(change for part in parts for change in _changes(part))
    first = changes[0][1] if changes else _offset(parts[0]["TZOFFSETTO"][0])
    return Timetable([(at, after) for at, _, after in changes], first)


def _parts(lines: Sequence[str]) -> Iterator[dict[str, list[str]]]:
    """The values of each STANDARD or DAYLIGHT by their names."""
    part: dict[str, list[str]] | None = None
    for line in lines:
        verb, _, component = line.partition(":")
        is_part = component.strip().upper() in ("STANDARD", "DAYLIGHT")
        if is_part and verb.upper() == "BEGIN":
            part = {}
        elif is_part and verb.upper() == "END" and part is not None:
            yield part
            part = None
        elif part is not None and (parsed := ics.parse_time(line)):
            part.setdefault(parsed.name, []).append(parsed.value)


def _changes(part: dict[str, list[str]]) -> Iterator[tuple[datetime, timedelta, timedelta]]:
    """When the clock changes, in UTC, from what, and to what."""
    before, after = (_offset(part[name][0]) for name in ("TZOFFSETFROM", "TZOFFSETTO"))
    start = _wall(part["DTSTART"][0])
    onsets = [_wall(value) for values in part.get("RDATE", []) for value in values.split(",")]
    rules = part.get("RRULE", [])
    for rule in rules:
        onsets += _onsets(rule.upper(), start, before)
    for onset in onsets if rules else [start, *onsets]:
        yield max(onset, datetime(2, 1, 1)) - before, before, after  # noqa: DTZ001  # a wall clock


def _onsets(rule: str, start: datetime, before: timedelta) -> Iterator[datetime]:
    from dateutil.rrule import rrulestr

    parts = dict(part.strip().partition("=")[::2] for part in rule.split(";") if part.strip())
    if parts.get("FREQ") != "YEARLY" or any(name in parts for name in _DENSE):
        raise Unusable
    if not _INTERVAL.fullmatch(parts.get("INTERVAL", "1")):
        raise Unusable  # an interval of nothing never ends
    if prod(value.count(",") + 1 for name, value in parts.items() if name.startswith("BY")) > MOST_DAYS:
        raise Unusable
    last = datetime(LAST, 12, 31)  # noqa: DTZ001  # a wall clock
    if until := parts.pop("UNTIL", ""):
        end = _wall(until) + (before if until.endswith("Z") else timedelta(0))
        last = min(last, end if "T" in until else end + _DAY)
    elif "COUNT" not in parts and parts.get("INTERVAL", "1") == "1" and start.year < _LEAP:
        start = start.replace(year=_LEAP)  # what was before that matters to nobody
    bare = ";".join(f"{name}={value}" for name, value in parts.items())
    for onset in rrulestr(bare, dtstart=start):
        if onset > last:
            return
        yield onset


def _offset(text: str) -> timedelta:
    match = _OFFSET.fullmatch(text)
    if match is None:
        raise Unusable
    size = timedelta(hours=int(match[2]), minutes=int(match[3]), seconds=int(match[4] or 0))
    return -size if match[1] == "-" else size


def _wall(text: str) -> datetime:
    match = _TIME.fullmatch(text.strip().upper())
    if match is None:
        raise Unusable
    return datetime.strptime(match[1] + (match[2] or "000000"), "%Y%m%d%H%M%S")  # noqa: DTZ007  # a wall clock
