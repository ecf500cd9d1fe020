"""A folder with a file an event, as vdirsyncer and khal keep it: `{ vdir = "~/calendars/home" }`."""

from __future__ import annotations

import os

from heartbeat.sources import SourceFailed, files
from heartbeat.sources.calendars.asking import Asking, Content, Ics, Unchanged
from heartbeat.sources.entries import Entry

KIND = "vdir"
SETTINGS = ()
IS_PATH = True


def read(entry: Entry, ask: Asking) -> Content:
    """The calendar that the files of the folder are together; one that cannot be read does not hide the others."""
    paths = files.calendar_files(entry.place)
    fingerprint = files.fingerprint_of(paths)
    if ask.known and ask.known == fingerprint:
        return Unchanged()
    contents, names, missing, faults, size = [], [], [], [], 0
    for path in paths:
        try:
            contents.append(files.read_calendar(path))
        except SourceFailed as failed:
            faults.append(str(failed))
            missing.append(os.path.basename(path))
            continue
        names.append(os.path.basename(path))
        size += len(contents[-1])
        if size > files.MAX_BYTES:
            raise SourceFailed(f"cannot read the folder: it is over {files.MAX_BYTES >> 20} MiB; split it")
    more = f" (and {len(faults) - 1} more files)" if len(faults) > 1 else ""
    return Ics(
        tuple(contents),
        "" if faults else fingerprint,
        faults=(faults[0] + more,) if faults else (),
        names=tuple(names),
        missing=tuple(missing),
    )
