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
# lookahead = "90m"     # how far ahead to look; at least twice `every`, or an event made late is missed
# sources = []          # { file = "~/me.ics" }, { vdir = "~/cal" }, { url = "https://…" }, { url = { env = "NAME" } },
#                       # caldav, gws, icalbuddy; each with a `name` and any of the options below if you like
# all_day = false       # tell of all-day events too
# tentative = true      # and of those that are not certain, by their own word or your answer
# free = true           # and of those during which you are shown as free
# declined = false      # and of those you declined
# min_attendees = 0     # only of those with at least so many people; 2 leaves out what you planned for yourself
# description = false   # with the first 500 characters of what their makers wrote about them
# ///
"""Every event that starts between now and now + lookahead, from files, folders, addresses and calendar services.

It keeps no memory of what it told: a meeting is reported on each run until shortly after it has started, and heartbeat
tells of it once, and again when it moves or is called off. A source that fails costs only itself: its last good copy
stands in for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from heartbeat import tick
from heartbeat.durations import parse_duration, show_duration
from heartbeat.errors import Invalid
from heartbeat.sources.calendars import find_kinds
from heartbeat.sources.entries import Entry, read_entries
from heartbeat.sources.kept import Cupboard
from heartbeat.sources.meetings import Calendar, Wanted, Window, meetings
from heartbeat.sources.occurrence import Occurrence
from heartbeat.sources.reading import Reader
from heartbeat.sources.trust import Seen

LONGEST = timedelta(days=31)
MOST_ATTENDEES = 1000
SOON = timedelta(minutes=15)
MOST_FINDINGS = 120
MOST_DESCRIBED = 60
"""Together they must fit into a gate line."""
CHOICES = tuple(choice.name for choice in fields(Wanted))


@dataclass(frozen=True)
class Source:
    """One calendar, and what is wanted of it."""

    entry: Entry
    wanted: Wanted


def main() -> None:
    options, now = tick.options(__file__), tick.now()
    lookahead = _lookahead(options)
    wanted = _wanted(options)
    kinds = find_kinds()
    settings = {name: (*kind.SETTINGS, *CHOICES) for name, kind in kinds.items()}
    paths = [name for name, kind in kinds.items() if kind.IS_PATH]
    sources = [_source(entry, wanted) for entry in read_entries(options["sources"], settings, paths)]
    if not sources:
        # A failed source, so that a forgotten calendar does not look like a calm day for ever.
        message = 'no calendar is configured; add one to the option sources, such as { file = "~/me.ics" }'
        tick.finish(reason=message, sources=[{"name": "calendar", "ok": False, "message": message}])
        return
    cupboard = Cupboard(tick.cache_dir(), frozenset(CHOICES))
    reader = Reader(kinds, cupboard, now, lookahead, tick.zone(), tick.owner_emails())
    seen = reader.read_all([(source.entry, source.wanted.description) for source in sources])
    tick.finish(**gate(sources, seen, reader))


def gate(sources: Sequence[Source], seen: Sequence[Seen], reader: Reader) -> dict[str, Any]:
    """The findings and the state of every source, as `tick.finish` takes them."""
    until = reader.now + reader.lookahead
    calendars = [
        _calendar(source, one, Window(reader.now, until, one.first_at, one.moved, one.ahead))
        for source, one in zip(sources, seen, strict=True)
    ]
    most = MOST_DESCRIBED if any(source.wanted.description for source in sources) else MOST_FINDINGS
    share = max(1, most // len(sources))
    findings: list[dict[str, Any]] = []
    states = []
    for source, one, calendar, told in zip(sources, seen, calendars, meetings(calendars), strict=True):
        made = [_made(source.entry.name, occurrence, calendar.window, reader) for occurrence in told[:share]]
        findings += [finding for finding in made if finding]
        broken = (calendar.rows is not one.rows and one.rows is not None) or None in made
        states.append(_state(source.entry.name, one, len(told), share, broken=broken))
    failed = sum(not state["ok"] for state in states)
    reason = f"{len(findings) or 'no'} event{'s'[: len(findings) != 1]} within {show_duration(reader.lookahead)}"
    reason += f"; {failed} of {len(states)} sources failed" if failed else ""
    return {"findings": findings, "sources": states, "reason": reason}


def _calendar(source: Source, seen: Seen, window: Window) -> Calendar:
    """What a calendar shows: nothing if that cannot be read, for it must not cost the others anything."""
    calendar = Calendar(() if seen.rows is None else seen.rows, source.wanted, window)
    try:
        window.pick(calendar.rows, source.wanted)
    except Exception:  # noqa: BLE001  # the last wall
        return replace(calendar, rows=())
    return calendar


def _made(name: str, one: Occurrence, window: Window, reader: Reader) -> dict[str, Any] | None:
    try:
        return _finding(name, one, window, reader)
    except Exception:  # noqa: BLE001  # the last wall: a stranger's event costs only itself
        return None


def _finding(name: str, one: Occurrence, window: Window, reader: Reader) -> dict[str, Any]:
    digest = sha256(f"{name}\0{one.uid}\0{one.slot}".encode("utf-8", "replace")).hexdigest()[:32]
    soon = not one.all_day and one.start - window.now <= SOON
    version = f"{_utc(one.start)}/{_utc(one.end) if one.end else ''}"
    return {
        "key": f"{name}:{digest}",
        # That it moved far away is one piece of news, and that it is near another, even if nothing ran in between.
        "version": f"{version}/moved" if window.is_far(one) else version,
        "title": one.title or "(no title)",
        "kind": "meeting",
        "body": "\n".join(filter(None, [_told_time(one, reader), one.description])),
        # No part of the version: what was told is not told again because it comes closer.
        "urgency": "high" if soon else "normal",
        "starts_at": one.start,
        "useful_until": window.useful_until(one),
        "source": name,
        "origin": "third_party",
        "when_absent": "retract",
    }


def _utc(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _told_time(one: Occurrence, reader: Reader) -> str:
    """When it is, and whether the owner will be there."""
    answers = ("tentative" if one.tentative else "", "you declined" if one.declined else "")
    return ", ".join(filter(None, [_local_time(one, reader), *answers]))


def _local_time(one: Occurrence, reader: Reader) -> str:
    now, start = reader.now.astimezone(reader.home), one.start.astimezone(reader.home)
    if one.all_day:
        return f"{start:%Y-%m-%d}, all day"
    text = f"{start:%H:%M}" if start.date() == now.date() else f"{start:%Y-%m-%d %H:%M}"
    if one.end is not None:
        end = one.end.astimezone(reader.home)
        text += f"-{end:%H:%M}" if end.date() == start.date() else f"-{end:%Y-%m-%d %H:%M}"
    return text + (", has begun" if start < now else "")


def _state(name: str, seen: Seen, items: int, share: int, *, broken: bool) -> dict[str, Any]:
    notes = [seen.fault, *seen.warnings]
    if items > share:
        notes.append(f"only the next {share} of {items} events are reported")
    if broken:
        notes.append("an event that cannot be shown was left out; please report this")
    ok = seen.rows is not None and seen.whole and not seen.fault and items <= share and not broken
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


def _wanted(given: Mapping[str, Any]) -> Wanted:
    """The choices among the options, or among the settings of one source."""
    for name in CHOICES:
        value = given.get(name, 0 if name == "min_attendees" else False)
        if name == "min_attendees":
            if type(value) is not int or not 0 <= value <= MOST_ATTENDEES:
                raise Invalid(f"cannot use {name} = {value!r}; write a number from 0 to {MOST_ATTENDEES}")
        elif not isinstance(value, bool):
            raise Invalid(f"cannot use {name} = {value!r}; write true or false")
    return Wanted(**{name: given[name] for name in CHOICES if name in given})


def _source(entry: Entry, wanted: Wanted) -> Source:
    own = {name: value for name, value in entry.settings.items() if name in CHOICES}
    try:
        return Source(entry, _wanted({**asdict(wanted), **own}))
    except Invalid as invalid:
        return Source(replace(entry, fault=str(invalid)), wanted)


if __name__ == "__main__":
    tick.run(main)
