"""What the tests of the calendar kinds ask, and how they look at the answer."""

from __future__ import annotations

import os
import stat
import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from heartbeat.sources.calendars import find_kinds
from heartbeat.sources.calendars.asking import Asking
from heartbeat.sources.entries import Entry
from heartbeat.sources.kept import Cupboard
from heartbeat.sources.reading import Reader
from heartbeat.sources.rows import from_row
from heartbeat.sources.trust import Seen

NOW = datetime(2026, 6, 10, 7, 45, tzinfo=UTC)
HOME = ZoneInfo("Europe/Berlin")
LOOKAHEAD = timedelta(minutes=90)


def asking(hours: float = 4, **more: Any) -> Asking:
    """From NOW on, so many hours."""
    return Asking(**{"now": NOW, "since": NOW, "until": NOW + timedelta(hours=hours), "home": HOME, **more})


def entry(kind: str, place: str, **settings: Any) -> Entry:
    return Entry("mine", kind, place, settings)


def see(one: Entry, folder: Path | None = None, now: datetime = NOW, home: ZoneInfo = HOME) -> Seen:
    """What the whole way of a calendar shows, with its expansion and what is kept in *folder*."""
    reader = Reader(find_kinds(), Cupboard(str(folder) if folder else None), now, LOOKAHEAD, home)
    (seen,) = reader.read_all([(one, False)])
    return seen


def starts(seen: Seen) -> list[tuple[str, str]]:
    """Title and start of what is shown between NOW and the end of the lookahead, all-day events aside."""
    shown = [from_row(row) for row in seen.rows or []]
    return [
        (one.title, f"{one.start:%H:%M}")
        for one in shown
        if NOW <= one.start <= NOW + LOOKAHEAD and not one.all_day and not one.cancelled
    ]


def ics(*events: str) -> str:
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//tests", *events, "END:VCALENDAR", ""])


def event(uid: str, start: str = "20260610T080000Z", *lines: str) -> str:
    """A VEVENT; *start* may bring its own parameters, as in `;TZID=Europe/Berlin:20260610T100000`."""
    start = start if start.startswith((";", ":")) else f":{start}"
    return "\r\n".join(
        [
            "BEGIN:VEVENT",
            f"UID:{uid}",
            "DTSTAMP:20260101T000000Z",
            f"DTSTART{start}",
            f"SUMMARY:{uid}",
            *lines,
            "END:VEVENT",
        ]
    )


def install(folder: Path, name: str, double: str) -> Path:
    """Put a program of tests/doubles on a PATH of its own, under the name that is looked for."""
    bin_folder = folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    program = bin_folder / name
    program.write_bytes((Path(__file__).parents[1] / "doubles" / double).read_bytes())
    program.chmod(stat.S_IRWXU)
    return bin_folder


def path_with(folder: Path) -> str:
    return os.pathsep.join([str(folder), os.environ["PATH"]])


def is_clean(title: str) -> bool:
    """Whether it is one line, and nothing in it steers or hides."""
    return not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in title)
