#!/usr/bin/env -S python3 -P
# /// script
# requires-python = ">=3.11"
# dependencies = ["heartbeat"]
#
# [tool.heartbeat]
# description = "Tells of new, moved and cancelled shows of the artists you follow, and of sales that begin."
# cron = "15 9 * * *"
# timeout = "10m"
# require_token = true
#
# [tool.heartbeat.options]
# artists = []            # "Name", or { name = "Name", mbid = "its MusicBrainz id" }
# artists_from = []       # files: a Markdown table with a column Artist (stars mark favourites), or one name a line
# sources = []            # { ticketmaster = { env = "TM_KEY" } }, { bandsintown = { env = "BIT_APP" } },
#                         # { musicbrainz = "https://musicbrainz.org" }, { venue = "https://…ics", city = "…" }, …
# home = {}               # { lat = 52.52, lon = 13.40, radius = "60km", city = "…", region = "…", country = "DE" }
# on_sale_within = "72h"  # tell of a sale this long before it begins
# elsewhere = true        # report shows that are not near home too, for the brief
# discovery = true        # once a week: shows near home by artists like those you follow
# sweep = true            # where no source can tell that, ask the agent to look, once a week
# ///
"""Every announced show of the followed artists, from several sources, with what has changed about it.

It keeps no list of what was told: each show is reported on each run, under a key that it keeps when it moves. A cache
remembers which listings are which show; losing it costs at most one repeated message a show.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from heartbeat import tick
from heartbeat.durations import parse_duration, show_duration
from heartbeat.errors import Invalid
from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry
from heartbeat.sources.fetch import Fetcher
from heartbeat.sources.shows import fields
from heartbeat.sources.shows import kept as memory
from heartbeat.sources.shows.artists import Followed, read_followed
from heartbeat.sources.shows.ground import Ground
from heartbeat.sources.shows.notes import Notes
from heartbeat.sources.shows.region import read_home
from heartbeat.sources.shows.report import Report, Rules, report
from heartbeat.sources.shows.scan import Kind, ask_all, entries_of, find_kinds, identifier, provider_of
from heartbeat.sources.shows.scopes import share
from heartbeat.sources.shows.show import Artist, Provider
from heartbeat.sources.shows.weekly import Week, discover, sweep_finding

LONGEST = timedelta(days=31)
SCAN_SECONDS = 480.0
WEEKLY_SECONDS = 80.0
"""Both together, and a start, are less than the time limit."""
IDENTIFY_SECONDS = 25.0


def main() -> None:
    options = tick.options(__file__)
    home, within = read_home(options["home"]), _within(options)
    elsewhere, discovery, sweep = (_flag(options, name) for name in ("elsewhere", "discovery", "sweep"))
    rules = Rules(tick.now(), tick.zone(), home, within, elsewhere)
    followed = read_followed(options["artists"], options["artists_from"])
    kinds = find_kinds()
    entries = entries_of(options["sources"], kinds)
    contact = next(iter(tick.owner_emails()), "")
    with Fetcher(rules.now) as fetcher:
        ground = Ground(rules.now, rules.zone, tick.cache_dir(), 0.0, fetcher, contact)
        made = _scan(entries, followed, rules, kinds, ground)
        if home and followed.artists and discovery:
            week = Week(rules.now, rules.zone, home, followed.artists)
            made.findings += _weekly(entries, week, kinds, ground, sweep=sweep)
    states = [_artists_state(followed), *made.sources]
    if followed.artists and not entries:
        states.append(_no_source(asks=bool(home and discovery and sweep)))
    tick.finish(made.findings, sources=states, scopes=made.scopes, reason=_reason(made, states))


def _scan(
    entries: Sequence[Entry], followed: Followed, rules: Rules, kinds: Mapping[str, Kind], ground: Ground
) -> Report:
    most, room = share(len(followed.artists), len(entries))
    idents = dict(list(followed.idents().items())[:most])
    ground = replace(ground, deadline=time.monotonic() + SCAN_SECONDS)
    asked = ask_all(entries, list(idents), kinds, ground)
    notes = Notes(ground.cache, "scan", "", ground.now)
    before = notes.get("shows")
    stored = before if isinstance(before, dict) else {}
    kept = {ident: memory.from_json(stored.get(ident)) for ident in idents.values()}
    made = report(asked, idents, kept, replace(rules, elsewhere=rules.elsewhere and room))
    # Those of a list that cannot be read today are followed again tomorrow.
    others = {ident: shows for ident, shows in stored.items() if followed.faults and ident not in kept}
    notes.put("shows", others | {ident: memory.to_json(shows) for ident, shows in made.kept.items()})
    _tell_age(made.sources, notes, rules.now)
    if most < len(followed.artists):
        for state in made.sources:
            state["ok"] = False
            state["message"] += f"; only {most} artists can be watched at {len(entries)} sources; follow fewer"
    return made


def _tell_age(states: Sequence[dict[str, Any]], notes: Notes, now: datetime) -> None:
    """What a failing source listed before still stands; since when, is said."""
    before = notes.get("heard")
    heard = dict(before) if isinstance(before, dict) else {}
    for state in states:
        if state["ok"]:
            heard[state["name"]] = now.isoformat()
        elif (last := fields.instant(heard, state["name"])) and last < now:
            state["message"] += f"; what it listed {show_duration(now - last)} ago still stands"
    names = {state["name"] for state in states}
    notes.put("heard", {name: at for name, at in heard.items() if name in names})


def _weekly(
    entries: Sequence[Entry], week: Week, kinds: Mapping[str, Kind], ground: Ground, *, sweep: bool
) -> list[dict[str, Any]]:
    ground = replace(ground, deadline=time.monotonic() + WEEKLY_SECONDS)

    def providers() -> Iterator[Provider]:
        for entry in entries:
            with suppress(SourceFailed):  # the scan has told of it
                yield provider_of(entry, kinds, ground)

    identify, until = identifier(entries, kinds, ground), time.monotonic() + IDENTIFY_SECONDS

    def identified(artist: Artist) -> Artist:
        # What was found is kept, so the next weeks know more of them.
        return artist if artist.mbid or time.monotonic() > until else identify(artist)

    found, able = discover(week, providers, identified, Notes(ground.cache, "weekly", "", ground.now))
    return found if able or not sweep else [*found, sweep_finding(week, sources=bool(entries))]


def _artists_state(followed: Followed) -> dict[str, Any]:
    message = "; ".join(followed.faults)
    if not followed.artists and not message:
        message = 'no artist is followed; add them to the option artists, such as artists = ["Name"]'
    return {"name": "artists", "ok": not message, "items": len(followed.artists), "message": message}


def _no_source(*, asks: bool) -> dict[str, Any]:
    """A scan that can find nothing must not look like a calm world; unless the agent is asked to look instead."""
    message = "no source of shows is configured; add one to the option sources, such as ticketmaster"
    return {"name": "shows", "ok": asks, "items": 0, "message": message}


def _reason(made: Report, states: Sequence[Mapping[str, Any]]) -> str:
    shows = sum(finding["key"].startswith("show:") for finding in made.findings)
    failed = sum(not state["ok"] for state in states)
    text = f"{shows or 'no'} show{'s'[: shows != 1]} of {states[0]['items']} artists"
    text += f"; {failed} of {len(states)} sources failed" if failed else ""
    return text + (f"; {made.left_out} more findings are left out" if made.left_out else "")


def _within(options: Mapping[str, Any]) -> timedelta:
    text = options["on_sale_within"]
    try:
        span = parse_duration(text)
    except (ValueError, TypeError, OverflowError):
        span = timedelta(-1)
    if not timedelta(0) <= span <= LONGEST:
        raise Invalid(
            f"cannot use on_sale_within = {text!r}; write a duration up to {show_duration(LONGEST)}, such as '72h'"
        )
    return span


def _flag(options: Mapping[str, Any], name: str) -> bool:
    value = options[name]
    if not isinstance(value, bool):
        raise Invalid(f"cannot use {name} = {value!r}; write true or false")
    return value


if __name__ == "__main__":
    tick.run(main)
