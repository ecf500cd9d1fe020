#!/usr/bin/env -S python3 -P
# /// script
# requires-python = ">=3.11"
# dependencies = ["heartbeat"]
#
# [tool.heartbeat]
# description = "Proposes what you wanted to be reminded of when your phone is at one of your places."
# every = "5m"
# timeout = "10s"
# require_token = true
#
# [tool.heartbeat.options]
# file = ""             # what a shortcut of the phone writes again and again, and a synced folder brings here:
#                       # { "lat": 52.52, "lon": 13.4, "at": "2026-06-10T08:00:00+02:00", "accuracy": 20 }, or a line
#                       # 52.52,13.4,2026-06-10T08:00:00+02:00
# max_age = "30m"       # what is older begins no visit (1m to 1d)
# places = []           # { name = "Office", lat = 52.52, lon = 13.4, radius = "150m", says = "Ask for the badge?" };
#                       # of any other place nothing is ever said
# ///
"""Every place of the owner's list that the phone is at now. Off unless a job `place` is configured.

A visit is told once: while it lasts the finding is reported with each run, and leaving ends it. A position that is old
begins no visit; without a newer one, a visit that has begun lasts six hours. Where one is appears nowhere: not in
findings, messages or the cache, which keeps only at which places of the list one was when positions last were sure,
and when the newest was written.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from heartbeat import tick
from heartbeat.clock import from_text, to_text
from heartbeat.durations import parse_duration
from heartbeat.errors import Invalid
from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import path_of
from heartbeat.sources.place import SKEW, STAY, Area, Fix, age_of, check_time, is_at, read_areas, read_fix
from heartbeat.sources.text import clean_title

SOURCE = "phone"
LARGEST = 64 * 1024
NOTE = "at.json"


class Noted(NamedTuple):
    """What is remembered from one run to the next."""

    at: frozenset[str] = frozenset()
    """The places one was at."""
    newest: datetime | None = None
    """When the newest position was written down; not where."""


def main() -> None:
    options, now = tick.options(__file__), tick.now()
    areas = read_areas(options["places"])
    faults = [{"name": area.name, "ok": False, "message": area.fault} for area in areas if area.fault]
    try:
        fix = _position(options, areas, now)
    except SourceFailed as failed:
        tick.finish(reason=str(failed), sources=[{"name": SOURCE, "ok": False, "message": str(failed)}, *faults])
        return
    noted = _noted(now)
    # A synced folder may bring an older file back, which says nothing of now.
    newest = max(fix.at, noted.newest or fix.at)
    fresh, stays = now - newest <= _max_age(options), now - newest <= STAY
    is_news = fresh and newest == fix.at
    here = [area for area in areas if not area.fault and _is_there(area, fix, area.name in noted.at, is_news, stays)]
    _note(Noted(frozenset(area.name for area in here), newest), noted)
    message = "" if fresh else f"the phone last wrote {age_of(newest, now)} ago"
    tick.finish(
        [_finding(area) for area in here],
        sources=[{"name": SOURCE, "ok": True, "items": len(here), "message": message}, *faults],
        reason="at " + (", ".join(area.name for area in here) or "no known place"),
    )


def _is_there(area: Area, fix: Fix, was_at: bool, is_news: bool, stays: bool) -> bool:
    return is_at(area, fix, was_at=was_at) if is_news else stays and was_at


def _position(options: Mapping[str, Any], areas: Sequence[Area], now: datetime) -> Fix:
    """Where the phone is now; raises SourceFailed when that is not known, or of no use."""
    if not areas:
        raise SourceFailed("cannot look for a place: none is configured; list yours in the option places")
    fix = read_fix(_content(options["file"]))
    check_time(fix, now)
    return fix


def _finding(area: Area) -> dict[str, Any]:
    return {
        "key": f"place:{area.name}",
        "title": area.says or f"You are at {area.name}",
        "body": f"at {area.name}" if area.says else "",
        "kind": "place",
        "source": SOURCE,
        "origin": "owner",
        "when_absent": "forget",
    }


def _content(file: Any) -> bytes:
    if not isinstance(file, str) or not file:
        raise SourceFailed("cannot look for the phone: no file is configured; name what it writes in the option file")
    name = clean_title(os.path.basename(file), 100)
    try:
        # Without O_NONBLOCK a named pipe would hold the script until somebody writes.
        descriptor = os.open(path_of(file), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            content = opened.read(LARGEST + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except FileNotFoundError:
        raise SourceFailed(f"cannot find {name!r}; let the phone write it, or correct the option file") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no path"
        raise SourceFailed(f"cannot read {name!r}: {why}; correct the option file or its permissions") from None
    if content is None or len(content) > LARGEST:
        raise SourceFailed(f"cannot use {name!r}: it is not a file of at most 64 KiB; name what the phone writes")
    return content


def _max_age(options: Mapping[str, Any]) -> timedelta:
    text = options["max_age"]
    try:
        age = parse_duration(text)
    except (ValueError, TypeError):
        age = timedelta(0)
    if not timedelta(minutes=1) <= age <= timedelta(days=1):
        raise Invalid(f"cannot use max_age = {text!r}; write a duration from 1m to 1d, such as '30m'")
    return age


def _noted(now: datetime) -> Noted:
    """What was noted; nothing when nobody did, which at worst tells a visit again."""
    folder = tick.cache_dir()
    if folder is None:
        return Noted()
    try:
        with open(os.path.join(folder, NOTE), encoding="utf-8") as file:
            note = json.load(file)
        newest = from_text(note["newest"])
        at = frozenset(name for name in note["at"] if isinstance(name, str))
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return Noted()
    # One that was noted under a clock that was wrong would make every later position an older one.
    return Noted(at, newest if newest <= now + SKEW else None)


def _note(noted: Noted, before: Noted) -> None:
    folder = tick.cache_dir()
    if folder is None or noted.newest is None or noted == before:
        return
    new = os.path.join(folder, f"{NOTE}.new")
    with suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump({"at": sorted(noted.at), "newest": to_text(noted.newest)}, file)
        os.replace(new, os.path.join(folder, NOTE))


if __name__ == "__main__":
    tick.run(main)
