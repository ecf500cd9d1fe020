#!/usr/bin/env -S python3 -P
# /// script
# requires-python = ">=3.11"
# dependencies = ["heartbeat"]
#
# [tool.heartbeat]
# description = "Tells of every calendar event that starts soon."
# every = "10m"
# timeout = "60s"
# require_token = true
#
# [tool.heartbeat.options]
# lookahead = "90m"    # how far ahead to look; at least twice `every`, or an event made late is missed
# sources = []         # { file = "~/me.ics" }, { vdir = "~/cal" }, { url = "https://…" } or { url = { env = "NAME" } },
#                      # each with a name if you like
# all_day = false      # tell of all-day events too
# ///
"""Every event that starts between now and now + lookahead, from files, folders and addresses.

It keeps no memory: a meeting is reported on each run until it has started, and heartbeat tells of it once, and again
when it moves or is called off. A source that fails costs only itself: its last good copy stands in for it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from heartbeat import tick
from heartbeat.durations import parse_duration, show_duration
from heartbeat.errors import Invalid
from heartbeat.sources import SourceFailed
from heartbeat.sources.cache import AnswerCache
from heartbeat.sources.calendars import KINDS, Seen, Source, read_calendars
from heartbeat.sources.lookahead import Window
from heartbeat.sources.series import Instance
from heartbeat.sources.text import clean_title

LONGEST = timedelta(days=31)
LONGEST_NAME = 100
MOST_FINDINGS = 120
"""Together they must fit into a gate line."""


def main() -> None:
    options = tick.options(__file__)
    now = tick.now()
    window = Window(now, now + _lookahead(options), tick.zone(), tick.owner_emails(), _all_day(options))
    tick.finish(**gate(_sources(options), window, AnswerCache(tick.cache_dir())))


def gate(sources: Sequence[Source], window: Window, cache: AnswerCache) -> dict[str, Any]:
    """The findings and the state of every source, as `tick.finish` takes them."""
    if not sources:
        # A failed source, so that a forgotten calendar does not look like a calm day for ever.
        message = 'no calendar is configured; add one to the option sources, such as { file = "~/me.ics" }'
        return {"reason": message, "sources": [{"name": "calendar", "ok": False, "message": message}]}
    share = max(1, MOST_FINDINGS // len(sources))
    findings: list[dict[str, Any]] = []
    states = []
    for source, seen in read_calendars(sources, window, cache):
        instances = seen.reading.instances if seen.reading else ()
        findings += [_finding(source.name, instance, window) for instance in instances[:share]]
        states.append(_state(source.name, seen, share))
    span = show_duration(window.until - window.now)
    failed = sum(not state["ok"] for state in states)
    reason = f"{len(findings) or 'no'} event{'s'[: len(findings) != 1]} within {span}"
    reason += f"; {failed} of {len(states)} sources failed" if failed else ""
    return {"findings": findings, "sources": states, "reason": reason}


def _finding(name: str, instance: Instance, window: Window) -> dict[str, Any]:
    event, start, end = instance.event, instance.start, instance.end
    digest = sha256(f"{name}\0{event.uid}\0{instance.slot}".encode("utf-8", "replace")).hexdigest()[:32]
    return {
        "key": f"{name}:{digest}",
        "version": f"{_utc(start)}/{_utc(end) if end else ''}",
        "title": event.title or "(no title)",
        "kind": "meeting",
        "body": _local_time(instance, window),
        "starts_at": start,
        # No later than the run that stops reporting it, or its absence would read as a cancellation.
        "useful_until": start + timedelta(days=1) if event.all_day else start,
        "source": name,
        "origin": "third_party",
        "when_absent": "retract",
    }


def _utc(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _local_time(instance: Instance, window: Window) -> str:
    start = instance.start.astimezone(window.home)
    if instance.event.all_day:
        return f"{start:%Y-%m-%d}, all day"
    if instance.end is None:
        return f"{start:%H:%M}"
    end = instance.end.astimezone(window.home)
    return f"{start:%H:%M}-{end:%H:%M}" if end.date() == start.date() else f"{start:%H:%M}-{end:%Y-%m-%d %H:%M}"


def _state(name: str, seen: Seen, share: int) -> dict[str, Any]:
    reading = seen.reading
    items = len(reading.instances) if reading else 0
    notes = [seen.fault, *(reading.warnings if reading else ())]
    if items > share:
        notes.append(f"only the next {share} of {items} events are reported")
    ok = reading is not None and reading.whole and not seen.fault and items <= share
    return {"name": name, "ok": ok, "items": items, "message": "; ".join(note for note in notes if note)}


def _lookahead(options: Mapping[str, Any]) -> timedelta:
    text = options["lookahead"]
    try:
        span = parse_duration(text)
    except (ValueError, TypeError, OverflowError):
        span = timedelta(0)
    if not timedelta(0) < span <= LONGEST:
        raise Invalid(
            f"cannot use lookahead = {text!r}; write a duration up to {show_duration(LONGEST)}, such as '90m'"
        )
    return span


def _all_day(options: Mapping[str, Any]) -> bool:
    if not isinstance(options["all_day"], bool):
        raise Invalid(f"cannot use all_day = {options['all_day']!r}; write true or false")
    return options["all_day"]


def _sources(options: Mapping[str, Any]) -> list[Source]:
    entries = options["sources"]
    if not isinstance(entries, list):
        raise Invalid('cannot use sources: it must be a list, such as [ { file = "~/me.ics" } ]')
    names: dict[str, Source] = {}
    for number, entry in enumerate(entries, 1):
        source = _source(entry, number)
        name, count = source.name, 1
        while name in names:  # findings of two sources must not share their keys
            count += 1
            name = f"{source.name} {count}"
        names[name] = Source(name, source.kind, source.place, source.fault)
    return list(names.values())


def _source(entry: Any, number: int) -> Source:
    """One entry, checked; the values are not quoted, for an address is a secret."""
    shape = "write one of file, vdir or url, and a name if you like"
    name = f"source {number}"
    if not isinstance(entry, dict):
        return Source(name, fault=f"cannot use it: it is no table; {shape}")
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) != 1 or not set(entry) <= {*KINDS, "name"}:
        return Source(name, fault=f"cannot use it: it has the keys {', '.join(map(repr, sorted(entry)))}; {shape}")
    place, given = _value(entry[kinds[0]]), entry.get("name", "")
    if not place or not isinstance(given, str):
        return Source(name, fault=f"cannot use it: its {kinds[0]} or name is no text, or a variable not set; {shape}")
    given = clean_title(given, LONGEST_NAME)
    if kinds[0] == "url":
        return _address(given, name, place)
    path = os.path.join(os.environ.get("HEARTBEAT_HOME", ""), os.path.expanduser(place))
    return Source(given or clean_title(os.path.basename(path.rstrip("/")), LONGEST_NAME) or name, kinds[0], path)


def _value(value: Any) -> str:
    """The text given, or that of the variable meant by `{ env = "NAME" }`; empty when there is none."""
    if isinstance(value, dict) and set(value) == {"env"}:
        value = os.environ.get(str(value["env"]))
    return value if isinstance(value, str) else ""


def _address(given: str, name: str, address: str) -> Source:
    from heartbeat.sources.fetch import host_of  # imported here: httpx costs more than all the rest

    try:
        return Source(given or host_of(address), "url", address)
    except SourceFailed as failed:
        return Source(given or name, fault=str(failed))


if __name__ == "__main__":
    tick.run(main)
