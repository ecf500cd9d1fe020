"""Time zones: the owner's, this machine's and the daemon's; and how old their rules are."""

from __future__ import annotations

import os
import zoneinfo
from collections.abc import Iterator
from datetime import timedelta
from importlib import metadata

from heartbeat.doctor._answer import Answer, fail, ok, warn
from heartbeat.doctor._case import Case
from heartbeat.zones import host_zone, is_zone

_OLD = timedelta(days=730)


def look(case: Case) -> Iterator[Answer]:
    """What is named counts; what is not named is this machine's, which may differ between a shell and a service."""
    named = "zone" in case.settings.owner.model_fields_set
    owner, machine = case.settings.owner.zone, host_zone()
    write = f"write zone = 'Europe/Berlin', or where you are, under [owner] in {case.home.config_file}"
    if not owner or not is_zone(owner):
        yield fail("the time zone of this machine cannot be told, and none is named", write, "owner")
    elif named:
        yield ok(f"the owner's is {owner}, as configured; this machine's is {machine or 'not to be told'}", "owner")
    else:
        yield ok(f"the owner's is this machine's, {owner}", "owner")
    inside = case.inside
    if inside is not None and not named and inside.zone != machine:
        seen = (
            f"the daemon took {inside.zone or 'none'} for this machine's zone, and this shell takes {machine or 'none'}"
        )
        because = f": TZ is {os.environ['TZ']!r} here" if os.environ.get("TZ") else ""
        yield warn(seen + because, write, "daemon")
    yield _rules(case)


def _rules(case: Case) -> Answer:
    try:
        version = metadata.version("tzdata")
    except metadata.PackageNotFoundError:
        return fail(
            "the package tzdata is not installed: zones may be missing or wrong", "`pip install tzdata`", "tzdata"
        )
    folders = [folder for folder in zoneinfo.TZPATH if os.path.isdir(folder)]
    seen = f"tzdata {version}; the rules are those of {folders[0] if folders else 'that package'}"
    year = version.partition(".")[0]
    if year.isdigit() and case.now.year - int(year) > _OLD.days // 365:
        return warn(f"{seen}, which are old: countries change them each year", "`pip install -U tzdata`", "tzdata")
    return ok(seen, "tzdata")
