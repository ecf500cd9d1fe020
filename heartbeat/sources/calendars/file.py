"""An iCalendar file: `{ file = "~/me.ics" }`."""

from __future__ import annotations

from heartbeat.sources.calendars.asking import Asking, Content, Ics, Unchanged
from heartbeat.sources.entries import Entry
from heartbeat.sources.files import fingerprint_of, read_calendar

KIND = "file"
SETTINGS = ()
IS_PATH = True


def read(entry: Entry, ask: Asking) -> Content:
    """The file, unless it is the one that was read before."""
    # Taken before the bytes: what is written in between shows on the next run.
    fingerprint = fingerprint_of([entry.place])
    if ask.known and ask.known == fingerprint:
        return Unchanged()
    return Ics((read_calendar(entry.place),), fingerprint)
