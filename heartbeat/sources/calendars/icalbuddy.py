"""The calendars of macOS through `icalBuddy`: `{ icalbuddy = "all" }`, or the title or UID of one instead of `all`.

It prints text only, no answers, status or series; the account's own CalDAV or ICS address says more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from heartbeat.sources import SourceFailed
from heartbeat.sources.calendars import _listing as listing
from heartbeat.sources.calendars.asking import Asking, Content, Listed
from heartbeat.sources.entries import Entry
from heartbeat.sources.occurrence import Occurrence
from heartbeat.sources.text import clean_title

KIND = "icalbuddy"
SETTINGS = ("calendars", "program")
IS_PATH = False

SECONDS = 20.0
_ALL = "all"
_ORDER = "datetime,uid,title"
_WHEN = re.compile(r"\s*(\d{4}-\d\d-\d\d)(?:(?! - ).{1,30}?(\d\d:\d\d:\d\d [+-]\d{4}))?", re.ASCII | re.DOTALL)
"""A date, and perhaps a time after words of the owner's language such as ` at `."""
_REFUSED = (
    "cannot read the calendars: macOS shows none to this program; allow it under System Settings, Privacy & Security, "
    "Calendars, for the program that starts heartbeat, or use the address of the calendar itself"
)


def read(entry: Entry, ask: Asking) -> Content:
    """The occurrences that macOS knows of."""
    import secrets  # imported here, as the next: few need them

    from heartbeat.sources.commands import run

    marks = Marks(secrets.token_hex(12), secrets.token_hex(12))
    command = arguments(listing.program_of(entry, "icalBuddy"), _names(entry), marks, ask)
    output = run(command, min(ask.left, SECONDS))
    said = output.stderr.decode("utf-8", "replace")
    if "No calendars" in said or "access denied" in said:
        raise SourceFailed(_REFUSED)
    if output.status:
        raise SourceFailed(f"cannot read the calendars: icalBuddy ends with status {output.status}; run it by hand")
    return parse(output.stdout.decode("utf-8", "replace"), marks, ask)


def _names(entry: Entry) -> list[str]:
    names = listing.calendars_of(entry)
    if any("," in name for name in names):
        raise SourceFailed(
            "cannot name a calendar with a comma to icalBuddy; write its UID, as `icalBuddy calendars` says"
        )
    return [] if _ALL in names else names


@dataclass(frozen=True, slots=True)
class Marks:
    """What stands before an event and between its parts: random, so that no title can hold it and forge an event."""

    event: str
    part: str


def arguments(program: str, names: list[str], marks: Marks, ask: Asking) -> list[str]:
    """The command: every format set by us, whatever its configuration file and the owner's language say."""
    since, until = (f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S} +0000" for instant in (ask.since, ask.until))
    formats = ["-nc", "-nrd", "-npn", "-uid", "-df", "%Y-%m-%d", "-tf", "%H:%M:%S %z"]
    parts = ["-iep", _ORDER, "-po", _ORDER, "-b", marks.event, "-ps", f"|{marks.part}|"]
    only = ["-ic", ",".join(names)] if names else []  # an empty list would mean none
    return [program, "-cf", "", *formats, *parts, *only, f"eventsFrom:{since}", f"to:{until}"]


def parse(text: str, marks: Marks, ask: Asking) -> Listed:
    """The occurrences in an output; raises SourceFailed when it is none of these arguments."""
    before, *blocks = text.split(marks.event)
    if before.strip():
        raise SourceFailed("cannot use the answer of icalBuddy: it ignores the formats asked for; update it")
    found, unreadable = [], 0
    for block in blocks:
        try:
            found.append(_occurrence(block.split(marks.part), ask))
        except (ValueError, OverflowError):
            unreadable += 1
    if blocks and not found:
        raise SourceFailed("cannot use the answer of icalBuddy: no event in it has a date as asked for; update it")
    warnings = (listing.left_out(unreadable),) if unreadable else ()
    return Listed(tuple(found), warnings=warnings, whole=not unreadable)


def _occurrence(parts: list[str], ask: Asking) -> Occurrence:
    when, uid, title = (*parts, "", "")[:3]
    first = _WHEN.match(when)
    if first is None:
        raise ValueError(when)
    start, all_day = _instant(first[1], first[2], ask)
    return Occurrence(
        uid=listing.uid_of(uid.strip()),
        # Every instance of a series carries its UID, and nothing says which it was before it moved.
        slot=listing.slot_of(start),
        title=clean_title(title, listing.TITLE_LIMIT),
        start=start,
        end=_end(when[first.end() :].partition(" - ")[2].strip(), first[1], ask, all_day=all_day),
        all_day=all_day,
    )


def _end(text: str, day: str, ask: Asking, *, all_day: bool) -> datetime | None:
    """The end of what starts on *day*: with a date, or a time alone; of whole days the last, or nothing."""
    later = _WHEN.match(text)
    if all_day:
        last = date.fromisoformat(later[1] if later else day)
        return listing.midnight(last + timedelta(days=1), ask.home)
    if later is not None:
        return _instant(later[1], later[2], ask)[0]
    return _instant(day, text, ask)[0] if text else None


def _instant(day: str, time: str | None, ask: Asking) -> tuple[datetime, bool]:
    """An instant in UTC, and whether it stands for a whole day."""
    if time is None:
        return listing.midnight(date.fromisoformat(day), ask.home), True
    return datetime.strptime(f"{day} {time}", "%Y-%m-%d %H:%M:%S %z").astimezone(UTC), False
