"""Faults that no section has by itself: two of them do not go together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from heartbeat.config.secret import expand
from heartbeat.config.settings import Settings
from heartbeat.config.wording import dotted, show
from heartbeat.errors import Problem

_MONDAY = date(2026, 1, 5)


def crossing_problems(settings: Settings, file: Path) -> Iterator[Problem]:
    """What keeps sections, each of which is valid, from being used together."""
    if _is_never_made(settings):
        message = f"cannot make the brief at {show(settings.brief.at)}: it is quiet then until the day is over"
        remedy = 'write a time that is not in [quiet], or after which the quiet ends the same day, or "off"'
        yield Problem(str(file), "brief.at", message, remedy)
    for name, own in settings.channels.items():
        if own.kind == "file" and settings.brief.file and _same(own.path, settings.brief.file, file.parent):
            message = f"cannot put the brief into {show(settings.brief.file)}: the channel {show(name)} appends to it"
            remedy = f"give the brief a file of its own, or change {dotted(('channels', name, 'path'))}"
            yield Problem(str(file), "brief.file", message, remedy)


def _is_never_made(settings: Settings) -> bool:
    brief, at = settings.brief, settings.brief.time_of_day
    # What nobody would take is not made in any case.
    if at is None or not (settings.channels or brief.file or brief.agent):
        return False
    quiet = replace(settings.quiet.hours(ZoneInfo("UTC")), holidays=frozenset())
    for weekday in brief.weekdays:
        day = _MONDAY + timedelta(days=weekday)
        end = quiet.until(datetime.combine(day, at, UTC))
        if end is None or end.date() == day:
            return False
    return True


def _same(first: str, second: str, folder: Path) -> bool:
    return len({os.path.normpath(expand(name, folder, os.environ)) for name in (first, second)}) == 1
