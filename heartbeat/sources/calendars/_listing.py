"""What the kinds have in common that run a program which lists occurrences."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, tzinfo
from hashlib import sha256

from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry, path_of, secret

TITLE_LIMIT = 300
DESCRIPTION_LIMIT = 500
_LONGEST_UID = 200


def program_of(entry: Entry, usual: str) -> str:
    """The program to run: the setting `program`, a name or a path, else the usual one."""
    given = secret(entry.settings.get("program", usual))
    return path_of(given) if "/" in given or given.startswith("~") else given


def calendars_of(entry: Entry) -> list[str]:
    """The place and the setting `calendars`, each once: names or ids of calendars."""
    more = entry.settings.get("calendars", [])
    if not isinstance(more, list) or not all(isinstance(name, str) and name.strip() for name in more):
        raise SourceFailed('cannot use calendars; write a list of names, such as [ "Work", "Home" ]')
    return list(dict.fromkeys(name.strip() for name in (entry.place, *more)))


def midnight(day: date, home: tzinfo) -> datetime:
    """The beginning of a day of the owner, in UTC."""
    return datetime.combine(day, time(), home).astimezone(UTC)


def slot_of(instant: datetime) -> str:
    """An original start as the text that names an instance of a series."""
    return f"{instant.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def left_out(count: int) -> str:
    """The warning about so many events."""
    return f"an event without a usable start was left out{f' ({count} times)' if count > 1 else ''}"


def uid_of(text: str) -> str:
    return text if len(text) <= _LONGEST_UID else sha256(text.encode("utf-8", "replace")).hexdigest()
