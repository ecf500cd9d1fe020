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
findings, messages or the cache, which keeps only at which places of the list one was when positions last were sure.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from heartbeat import tick
from heartbeat.durations import parse_duration
from heartbeat.errors import Invalid
from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import path_of
from heartbeat.sources.place import STAY, Area, Fix, age_of, check_time, is_at, read_areas, read_fix
from heartbeat.sources.text import clean_title

SOURCE = "phone"
LARGEST = 64 * 1024
NOTE = "at.json"


def main() -> None:
    options, now = tick.options(__file__), tick.now()
    areas = read_areas(options["places"])
    faults = [{"name": area.name, "ok": False, "message": area.fault} for area in areas if area.fault]
    try:
        fix = _position(options, areas, now)
    except SourceFailed as failed:
        tick.finish(reason=str(failed), sources=[{"name": SOURCE, "ok": False, "message": str(failed)}, *faults])
        return
    was_at, age = _noted(), now - fix.at
    fresh, stays = age <= _max_age(options), age <= STAY
    here = [area for area in areas if not area.fault and _is_there(area, fix, area.name in was_at, fresh, stays)]
    _note([area.name for area in here], was_at)
    message = "" if fresh else f"the phone last wrote {age_of(fix, now)} ago"
    tick.finish(
        [_finding(area) for area in here],
        sources=[{"name": SOURCE, "ok": True, "items": len(here), "message": message}, *faults],
        reason="at " + (", ".join(area.name for area in here) or "no known place"),
    )


def _is_there(area: Area, fix: Fix, was_at: bool, fresh: bool, stays: bool) -> bool:
    return is_at(area, fix, was_at=was_at) if fresh else stays and was_at


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


def _noted() -> frozenset[str]:
    """The places one was at; none when nobody noted, which at worst tells a visit again."""
    folder = tick.cache_dir()
    if folder is None:
        return frozenset()
    try:
        with open(os.path.join(folder, NOTE), encoding="utf-8") as file:
            names = json.load(file)
        return frozenset(name for name in names if isinstance(name, str))
    except (OSError, ValueError, TypeError, RecursionError):
        return frozenset()


def _note(names: Sequence[str], before: frozenset[str]) -> None:
    folder = tick.cache_dir()
    if folder is None or before == set(names):
        return
    new = os.path.join(folder, f"{NOTE}.new")
    with suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(names, file)
        os.replace(new, os.path.join(folder, NOTE))


if __name__ == "__main__":
    tick.run(main)
