"""One VEVENT as a frozen record: its times, its place in a series, and whether the owner takes part."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, timedelta
from hashlib import sha256

from heartbeat.sources import ics
from heartbeat.sources.ics import Line
from heartbeat.sources.moments import Moment, TimeReader
from heartbeat.sources.occurrence import LONGEST
from heartbeat.sources.text import clean_title
from heartbeat.sources.zones import Zones

_DURATION = re.compile(
    r"\+?P(?:([0-9]{1,5})W)?(?:([0-9]{1,5})D)?(?:T(?:([0-9]{1,5})H)?(?:([0-9]{1,6})M)?(?:([0-9]{1,8})S)?)?"
)
_TIMES = frozenset({"DTSTART", "DTEND", "RECURRENCE-ID", "RDATE", "EXDATE"})
_TEXTS = frozenset(
    {
        "UID", "SUMMARY", "STATUS", "TRANSP", "ATTENDEE", "RRULE", "DURATION", "SEQUENCE", "LAST-MODIFIED", "DTSTAMP",
        "ORGANIZER", "X-MICROSOFT-CDO-ALLDAYEVENT", "X-MICROSOFT-CDO-BUSYSTATUS",
    }
)  # fmt: skip
_ABSENT = frozenset({"DECLINED", "DELEGATED"})
_TENTATIVE = frozenset({"TENTATIVE"})
_THINGS = frozenset({"ROOM", "RESOURCE"})
_CALLED_OFF = re.compile(r"(?i)(?:cancell?ed|abgesagt|annulée?|cancelad[oa]|annullat[oa]|geannuleerd) ?: ")
TITLE_LIMIT = 300
DESCRIPTION_LIMIT = 500


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
    tentative: bool
    """By its own word, or by the owner's answer."""
    free: bool
    attendees: int
    description: str
    revision: tuple[int, str, str, bool]

    @property
    def recurs(self) -> bool:
        return bool(self.rules or self.extra)

    @property
    def duration(self) -> timedelta | None:
        """None when no end was given, one before the start, or one that no meeting has."""
        length = self.end.utc - self.start.utc if self.end else timedelta(0)
        return length if timedelta(0) < length <= LONGEST else None


class UnreadableEvent(Exception):
    """A VEVENT without a usable start."""


def read_event(
    lines: list[str],
    calendar_zones: Zones,
    method: str,
    owner: tuple[str, ...],
    warnings: list[str],
    *,
    description: bool = False,
) -> Event:
    """The event that the raw *lines* of a VEVENT describe; a broken line costs only itself.

    What was guessed or left out is added to *warnings*, in words of our own.
    """
    fields = _fields(lines)
    reader = TimeReader(calendar_zones, warnings)
    start = next(reader.moments(fields.get("DTSTART", [])), None)
    slot_lines = fields.get("RECURRENCE-ID", [])
    slot = next(reader.moments(slot_lines), None)
    if start is None or (slot_lines and slot is None):
        raise UnreadableEvent
    title = clean_title(ics.unescape(_first(fields, "SUMMARY")), TITLE_LIMIT)
    status, busy = _first(fields, "STATUS").upper(), _first(fields, "X-MICROSOFT-CDO-BUSYSTATUS").upper()
    invited = fields.get("ATTENDEE", [])
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
        # Outlook feeds mark a cancelled meeting by a prefix of the title and free time alone.
        cancelled=method == "CANCEL"
        or status == "CANCELLED"
        or (busy == "FREE" and _CALLED_OFF.match(title) is not None),
        declined=_answered(invited, owner, _ABSENT),
        all_day=start.whole_day or _first(fields, "X-MICROSOFT-CDO-ALLDAYEVENT").upper() == "TRUE",
        tentative="TENTATIVE" in (status, busy) or _answered(invited, owner, _TENTATIVE),
        free=busy == "FREE" or _first(fields, "TRANSP").upper() == "TRANSPARENT",
        attendees=_count(invited, fields.get("ORGANIZER", [])),
        description=clean_title(ics.unescape(_description(lines)), DESCRIPTION_LIMIT) if description else "",
        revision=_revision(fields, cancelled=method == "CANCEL"),
    )


def uid_of(lines: list[str]) -> str:
    """The UID of raw lines, without reading the rest; empty when there is none."""
    line = next((line for line in lines if line[:4].upper() in ("UID:", "UID;")), "")
    return line.partition(":")[2].strip()


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


def _end(fields: dict[str, list[Line]], start: Moment, reader: TimeReader) -> Moment | None:
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


def _answered(invited: list[Line], owner: tuple[str, ...], answers: frozenset[str]) -> bool:
    """Whether every invitation to the owner got one of *answers*; never judged by the name, which anybody may carry."""
    given = [line.params.get("PARTSTAT", "").upper() for line in invited if _addresses(line) & set(owner)]
    return bool(given) and all(answer in answers for answer in given)


def _count(invited: list[Line], organizers: list[Line]) -> int:
    """How many people meet: rooms are not among them, and the organizer is, whom Outlook does not list."""
    people = {_mailbox(line) for line in invited if line.params.get("CUTYPE", "").upper() not in _THINGS}
    return len(people | {_mailbox(line) for line in organizers}) if people else 0


def _mailbox(line: Line) -> str:
    return (line.params.get("EMAIL") or line.value).strip().lower().removeprefix("mailto:")


def _description(lines: list[str]) -> str:
    line = next((line for line in lines if line[:12].upper() in ("DESCRIPTION:", "DESCRIPTION;")), "")
    parsed = ics.parse(line)
    return parsed.value if parsed else ""


def _addresses(attendee: Line) -> set[str]:
    return {text.strip().lower().removeprefix("mailto:") for text in (attendee.value, attendee.params.get("EMAIL", ""))}


def _revision(fields: dict[str, list[Line]], *, cancelled: bool) -> tuple[int, str, str, bool]:
    """Which of two versions of an event is the later one."""
    sequence = _first(fields, "SEQUENCE")
    number = int(sequence) if re.fullmatch("[0-9]{1,9}", sequence) else 0
    return number, _first(fields, "LAST-MODIFIED"), _first(fields, "DTSTAMP"), cancelled
