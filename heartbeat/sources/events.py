"""One VEVENT as a frozen record: its times, its place in a series, and whether the owner takes part."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from hashlib import sha256

from heartbeat.sources import ics, zones
from heartbeat.sources.ics import Line
from heartbeat.sources.text import clean_title
from heartbeat.sources.zones import Zones

_TIME = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})?(Z?))?")
_DURATION = re.compile(
    r"\+?P(?:([0-9]{1,5})W)?(?:([0-9]{1,5})D)?(?:T(?:([0-9]{1,5})H)?(?:([0-9]{1,6})M)?(?:([0-9]{1,8})S)?)?"
)
_TIMES = frozenset({"DTSTART", "DTEND", "RECURRENCE-ID", "RDATE", "EXDATE"})
_TEXTS = frozenset(
    {
        "UID", "SUMMARY", "STATUS", "TRANSP", "ATTENDEE", "RRULE", "DURATION", "SEQUENCE", "LAST-MODIFIED", "DTSTAMP",
        "X-MICROSOFT-CDO-ALLDAYEVENT", "X-MICROSOFT-CDO-BUSYSTATUS",
    }
)  # fmt: skip
_ABSENT = frozenset({"DECLINED", "DELEGATED"})
_CALLED_OFF = re.compile(r"(?i)(?:cancell?ed|abgesagt|annulée?|cancelad[oa]|annullat[oa]|geannuleerd) ?: ")
TITLE_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Moment:
    """A point of time as it was written: on a wall clock, in a zone; or a whole day."""

    wall: datetime
    zone: tzinfo
    whole_day: bool = False

    @property
    def utc(self) -> datetime:
        return zones.to_utc(self.wall, self.zone)

    def on_clock_of(self, other: Moment) -> datetime:
        """The wall-clock time of this moment where *other* was written; a day takes the time of *other*."""
        if self.whole_day or other.whole_day:
            return datetime.combine(self.wall, other.wall.time())
        if self.zone is other.zone:
            return self.wall
        return self.utc.astimezone(other.zone).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class Event:
    """What one VEVENT says."""

    uid: str
    title: str
    start: Moment
    end: Moment | None
    slot: Moment | None
    """RECURRENCE-ID: the instance of a series that this event stands for."""
    and_future: bool
    """It stands for all later instances too."""
    rules: tuple[str, ...]
    extra: tuple[Moment, ...]
    excluded: tuple[Moment, ...]
    cancelled: bool
    declined: bool
    """By the owner, or handed on to somebody else."""
    all_day: bool
    revision: tuple[int, str, str, bool]

    @property
    def recurs(self) -> bool:
        return bool(self.rules or self.extra)

    @property
    def duration(self) -> timedelta | None:
        """None when no end was given, or one before the start."""
        length = self.end.utc - self.start.utc if self.end else timedelta(0)
        return length if length > timedelta(0) else None


class UnreadableEvent(Exception):
    """A VEVENT without a usable start."""


def read_event(
    lines: list[str], calendar_zones: Zones, method: str, owner: tuple[str, ...], warnings: list[str]
) -> Event:
    """The event that the raw *lines* of a VEVENT describe; a broken line costs only itself.

    What was guessed or left out is added to *warnings*, in words of our own.
    """
    fields = _fields(lines)
    reader = _TimeReader(calendar_zones, warnings)
    start = next(reader.moments(fields.get("DTSTART", [])), None)
    slot_lines = fields.get("RECURRENCE-ID", [])
    slot = next(reader.moments(slot_lines), None)
    if start is None or (slot_lines and slot is None):
        raise UnreadableEvent
    title = clean_title(ics.unescape(_first(fields, "SUMMARY")), TITLE_LIMIT)
    return Event(
        uid=_first(fields, "UID") or _made_uid(start, title),
        title=title,
        start=start,
        end=_end(fields, start, reader),
        slot=slot,
        and_future=bool(slot_lines) and slot_lines[0].params.get("RANGE", "").upper() == "THISANDFUTURE",
        rules=tuple(line.value.strip() for line in fields.get("RRULE", [])),
        extra=tuple(reader.moments(fields.get("RDATE", []))),
        excluded=tuple(reader.moments(fields.get("EXDATE", []))),
        cancelled=method == "CANCEL"
        or _first(fields, "STATUS").upper() == "CANCELLED"
        or _outlook_cancelled(fields, title),
        declined=_declined(fields.get("ATTENDEE", []), owner),
        all_day=start.whole_day or _first(fields, "X-MICROSOFT-CDO-ALLDAYEVENT").upper() == "TRUE",
        revision=_revision(fields, cancelled=method == "CANCEL"),
    )


def uid_of(lines: list[str]) -> str:
    """The UID of raw lines, without reading the rest; empty when there is none."""
    line = next((line for line in lines if line[:4].upper() in ("UID:", "UID;")), "")
    return line.partition(":")[2].strip()


class _TimeReader:
    """Reads time values in the zones of one calendar object."""

    def __init__(self, calendar_zones: Zones, warnings: list[str]) -> None:
        self._zones = calendar_zones
        self._warnings = warnings

    def moments(self, lines: list[Line]) -> Iterator[Moment]:
        """Every readable value of the lines; of a period, its start."""
        for line in lines:
            for value in line.value.split(","):
                try:
                    yield self._moment(value.partition("/")[0].strip().upper(), line.params.get("TZID", ""))
                except (ValueError, OverflowError):
                    self._warnings.append("an impossible date was left out")

    def _moment(self, value: str, zone_name: str) -> Moment:
        match = _TIME.fullmatch(value)
        if match is None:
            raise ValueError
        year, month, day = int(match[1]), int(match[2]), int(match[3])
        if match[4] is None:
            moment = Moment(datetime(year, month, day), self._zones.floating, whole_day=True)  # noqa: DTZ001  # wall clock
        else:
            second = min(int(match[6] or 0), 59)  # a leap second is the one before it
            wall = datetime(year, month, day, int(match[4]), int(match[5]), second)  # noqa: DTZ001  # wall clock
            moment = Moment(wall, UTC if match[7] else self._zone(zone_name))
        _ = moment.utc  # a year without room for the offset fails here, and not later
        return moment

    def _zone(self, name: str) -> tzinfo:
        if not name:
            return self._zones.floating
        zone = self._zones.find(name)
        if zone is None:
            self._warnings.append("a time in an unknown zone was read in yours")
        return zone or self._zones.floating


def _fields(lines: list[str]) -> dict[str, list[Line]]:
    fields: dict[str, list[Line]] = {}
    for raw in lines:
        name = re.split("[;:]", raw[:40], maxsplit=1)[0].upper()
        line = ics.parse_time(raw) if name in _TIMES else ics.parse(raw) if name in _TEXTS else None
        if line is not None:
            fields.setdefault(name, []).append(line)
    return fields


def _first(fields: dict[str, list[Line]], name: str) -> str:
    lines = fields.get(name)
    return lines[0].value.strip() if lines else ""


def _made_uid(start: Moment, title: str) -> str:
    """A UID for an event without one, the same on every run."""
    return sha256(f"{start.utc.isoformat()} {title}".encode()).hexdigest()


def _end(fields: dict[str, list[Line]], start: Moment, reader: _TimeReader) -> Moment | None:
    end = next(reader.moments(fields.get("DTEND", [])), None)
    match = _DURATION.fullmatch(_first(fields, "DURATION").upper())
    if end is not None or match is None:
        return end
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    try:
        later = start.utc + timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        return None
    return Moment(later.replace(tzinfo=None), UTC)


def _declined(attendees: list[Line], owner: tuple[str, ...]) -> bool:
    """Whether every invitation to the owner was turned down; never judged by the name, which anybody may carry."""
    answers = [line.params.get("PARTSTAT", "").upper() for line in attendees if _addresses(line) & set(owner)]
    return bool(answers) and all(answer in _ABSENT for answer in answers)


def _addresses(attendee: Line) -> set[str]:
    return {text.strip().lower().removeprefix("mailto:") for text in (attendee.value, attendee.params.get("EMAIL", ""))}


def _outlook_cancelled(fields: dict[str, list[Line]], title: str) -> bool:
    """Outlook feeds mark a cancelled meeting by a prefix of the title and free time alone."""
    free = _first(fields, "X-MICROSOFT-CDO-BUSYSTATUS").upper() == "FREE"
    return free and _CALLED_OFF.match(title) is not None


def _revision(fields: dict[str, list[Line]], *, cancelled: bool) -> tuple[int, str, str, bool]:
    """Which of two versions of an event is the later one."""
    sequence = _first(fields, "SEQUENCE")
    number = int(sequence) if re.fullmatch("[0-9]{1,9}", sequence) else 0
    return number, _first(fields, "LAST-MODIFIED"), _first(fields, "DTSTAMP"), cancelled
