"""Google calendars through Google's own command `gws`, which keeps the login: `{ gws = "primary" }`.

The raw `events list` is asked, not `+agenda`, which hides failures, answers and every event after the 50th.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

from heartbeat.sources import SourceFailed
from heartbeat.sources.calendars import _listing as listing
from heartbeat.sources.calendars.asking import Asking, Content, Listed
from heartbeat.sources.entries import Entry
from heartbeat.sources.occurrence import Occurrence
from heartbeat.sources.text import clean_title

KIND = "gws"
SETTINGS = ("calendars", "program")
IS_PATH = False

SECONDS = 20.0
MOST_PAGES = 40
_PAGE = 250
_LIST = "calendar#events"
_SOMETHING = re.compile(r"\S")
_NO_MEETINGS = frozenset({"workingLocation", "birthday"})
_FIELDS = (
    "kind,nextPageToken,items(id,iCalUID,status,summary,start,end,originalStartTime,recurringEventId,eventType,"
    "transparency,organizer/email,attendees(email,self,resource,responseStatus){more})"
)
_REMEDIES = {
    1: "see whether the calendar's id is right and shared with you, and whether the Calendar API is enabled",
    2: "log in again: run `gws auth login` as the user that heartbeat runs as",
    3: "check the calendar's id, and update gws",
    4: "see whether the network is up",
}


def read(entry: Entry, ask: Asking) -> Content:
    """The occurrences of each calendar; one that cannot be read does not hide the others."""
    program, names = listing.program_of(entry, "gws"), listing.calendars_of(entry)
    found: list[Occurrence] = []
    warnings: list[str] = []
    failures: list[SourceFailed] = []
    for number, name in enumerate(names):
        # A fair share of what is left: one that hangs must not take the time of the others.
        seconds = min(ask.left, SECONDS) / (len(names) - number)
        try:
            occurrences, missing = parse(_ask(program, name, ask, seconds), ask)
        except SourceFailed as failed:
            failures.append(failed)
            warnings.append(f"calendar {clean_title(name, 100)!r}: {failed}")
        else:
            found += occurrences
            warnings += missing
    if len(failures) == len(names):
        raise failures[0]
    # One id may stand in several calendars; of its versions that which is on wins, then the calendar named first.
    found.sort(key=lambda one: one.cancelled or one.declined)
    once: dict[tuple[str, str], Occurrence] = {}
    for one in found:
        once.setdefault((one.uid, one.slot), one)
    return Listed(tuple(once.values()), warnings=tuple(warnings), whole=not warnings)


def _ask(program: str, calendar: str, ask: Asking, seconds: float) -> bytes:
    from heartbeat.sources.commands import run  # imported here: subprocess is needed by few

    question = {
        "calendarId": calendar,
        "timeMin": _rfc3339(ask.since),
        # It is exclusive, and *until* is wanted too.
        "timeMax": _rfc3339(ask.until + timedelta(seconds=1)),
        "singleEvents": True,
        "orderBy": "startTime",
        "maxResults": _PAGE,
        "fields": _FIELDS.replace("{more}", ",description" if ask.description else ""),
    }
    command = [program, "calendar", "events", "list", "--params", json.dumps(question)]
    output = run([*command, "--page-all", "--page-limit", str(MOST_PAGES)], seconds)
    if output.status:
        raise SourceFailed(_why(output.status, output.stdout))
    return output.stdout


def _why(status: int, stdout: bytes) -> str:
    """What an exit status and the error printed with it mean; Google's own message may quote anything."""
    facts: dict[str, Any] = next(
        (page["error"] for page in documents(stdout) if isinstance(page.get("error"), dict)), {}
    )
    said = [clean_title(str(facts[name]), 40) for name in ("code", "reason") if name in facts]
    shown = f" ({', '.join(said)})" if said else ""
    return f"cannot read it: gws ends with status {status}{shown}; {_REMEDIES.get(status, 'run it by hand to see why')}"


def documents(text: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of an output, one after the other; lines before one that are none are chatter."""
    decoder, whole, place = json.JSONDecoder(), text.decode("utf-8", "replace"), 0
    while match := _SOMETHING.search(whole, place):
        place = match.start()
        if whole[place] != "{":
            place = whole.find("\n", place) % (len(whole) + 1)  # chatter: to the end of its line, or of all
            continue
        try:
            page, place = decoder.raw_decode(whole, place)
        except (ValueError, RecursionError):
            raise SourceFailed("cannot use the answer of gws: it is broken JSON; run it by hand to see why") from None
        yield page


def parse(text: bytes, ask: Asking) -> tuple[list[Occurrence], list[str]]:
    """The occurrences of an answer, and what is missing of it; raises SourceFailed when it is none."""
    pages = list(documents(text))
    if not pages or not all(page.get("kind") == _LIST and isinstance(page.get("items", []), list) for page in pages):
        raise SourceFailed("cannot use the answer of gws: it is no list of events; run it by hand to see why")
    found, unreadable = [], 0
    for item in (item for page in pages for item in page.get("items", [])):
        try:
            if item.get("eventType") not in _NO_MEETINGS:
                found.append(_occurrence(item, ask))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            unreadable += 1
    missing = [listing.left_out(unreadable)] if unreadable else []
    if pages[-1].get("nextPageToken"):
        missing.append(f"only the first {MOST_PAGES * _PAGE} events of a calendar were read")
    return found, missing


def _occurrence(item: dict[str, Any], ask: Asking) -> Occurrence:
    start, all_day = _instant(item["start"], ask)
    original = item.get("originalStartTime")
    invited = [one for one in item.get("attendees", []) if not one.get("resource")]
    answer = next((one.get("responseStatus") for one in invited if _is_owner(one, ask)), "")
    people = {str(one.get("email")).lower() for one in invited}
    organizer = str(item.get("organizer", {}).get("email", "")).lower()
    return Occurrence(
        # The UID that the same meeting has in an iCalendar feed, so that it is told once.
        uid=listing.uid_of(str(item.get("iCalUID") or item.get("recurringEventId") or item["id"])),
        slot=listing.slot_of(_instant(original, ask)[0]) if original else "",
        title=clean_title(str(item.get("summary", "")), listing.TITLE_LIMIT),
        start=start,
        end=_instant(item["end"], ask)[0] if "end" in item else None,
        all_day=all_day,
        cancelled=item.get("status") == "cancelled",
        declined=answer == "declined",
        tentative="tentative" in (item.get("status"), answer),
        free=item.get("transparency") == "transparent",
        attendees=len(people | {organizer}) if people and organizer else len(people),
        description=clean_title(str(item.get("description", "")), listing.DESCRIPTION_LIMIT) if ask.description else "",
    )


def _is_owner(attendee: dict[str, Any], ask: Asking) -> bool:
    return attendee.get("self") is True or str(attendee.get("email", "")).lower() in ask.owner


def _instant(moment: dict[str, str], ask: Asking) -> tuple[datetime, bool]:
    """An instant in UTC, and whether it stands for a whole day."""
    if "date" in moment:
        return listing.midnight(date.fromisoformat(moment["date"]), ask.home), True
    instant = datetime.fromisoformat(moment["dateTime"])
    return (instant if instant.tzinfo else instant.replace(tzinfo=ask.home)).astimezone(UTC), False


def _rfc3339(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
