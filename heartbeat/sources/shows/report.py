"""From what every source said of every artist to findings, scopes and the state of each source. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from typing import Any

from heartbeat.sources.shows.changes import View, is_over, remembered, standing
from heartbeat.sources.shows.findings import incomplete_finding, sale_findings, show_finding, unresolved_finding
from heartbeat.sources.shows.guard import doubted
from heartbeat.sources.shows.kept import Kept
from heartbeat.sources.shows.region import Home, Where
from heartbeat.sources.shows.same import Listing, gather
from heartbeat.sources.shows.scan import Asked
from heartbeat.sources.shows.scopes import scope_of
from heartbeat.sources.shows.show import Artist, Outcome, Scan

MOST_FINDINGS = 1_000
ROOM = 900_000
"""Bytes for findings and scopes, which must fit into a gate line."""
MOST_DOUBTS = 20
"""Artists that cannot be told apart, or not read whole, told of by each source in one run."""
_EXTRA_ROOM = 40


@dataclass(frozen=True, slots=True)
class Rules:
    """What the owner wants, and when it is."""

    now: datetime
    zone: tzinfo
    home: Home | None
    on_sale_within: timedelta
    elsewhere: bool = True
    """Shows elsewhere are reported too, for the brief."""


@dataclass(frozen=True, slots=True)
class Item:
    """A finding with its place in the line: what does not fit is left out from the end, with its scope."""

    rank: int
    scope: str
    finding: dict[str, Any]


@dataclass(slots=True)
class Report:
    findings: list[dict[str, Any]] = field(default_factory=list)
    scopes: list[str] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    kept: dict[str, list[Kept]] = field(default_factory=dict)
    left_out: int = 0


def report(
    asked: Sequence[Asked], idents: Mapping[Artist, str], kept: Mapping[str, Sequence[Kept]], rules: Rules
) -> Report:
    """What is true now of all artists."""
    made = Report()
    items: list[Item] = []
    open_questions: set[str] = set()
    for artist, ident in idents.items():
        found, remember, is_open = _artist(artist, ident, asked, kept.get(ident, ()), rules)
        items += found
        if remember:
            made.kept[ident] = remember
        if is_open:
            open_questions.add(ident)
    whole = sorted(_whole(asked, idents, made.kept, open_questions, rules))
    items += [Item(1, "", finding) for one in asked for finding in _doubts(one, idents)]
    items.sort(key=lambda item: item.rank)
    fitting = list(_fitting(items, ROOM - len(json.dumps(whole))))
    cut = {item.scope for item in items[len(fitting) :]}
    made.left_out = len(items) - len(fitting)
    made.findings = [item.finding for item in fitting]
    made.scopes = [scope for scope in whole if scope not in cut]
    made.sources = [_state(one) for one in asked]
    return made


def _artist(
    artist: Artist, ident: str, asked: Sequence[Asked], kept: Sequence[Kept], rules: Rules
) -> tuple[list[Item], list[Kept], bool]:
    """The findings of one artist, what to remember, and whether a show may be on at a source that was not heard."""
    scans = {one.entry.name: (rank, one, one.scans.get(artist)) for rank, one in enumerate(asked)}
    listings = [
        Listing(show, one.entry.kind, name, rank)
        for name, (rank, one, scan) in scans.items()
        for show in (scan.shows if scan else ())
    ]
    whole = frozenset(name for name, (_, _, scan) in scans.items() if _is_whole(scan))
    view = View(rules.now, rules.zone, rules.home, whole, frozenset(scans))
    items, remember, is_open = [], [], False
    for group in gather(ident, listings, kept, whole):
        found = standing(group, view)
        memory = remembered(group, found, view)
        if found is not None:
            # Unknown is not far; a show that was to be near is still told of there.
            near = found.is_near or (rules.home is not None and found.where is Where.UNKNOWN)
            scope = scope_of(found.lead.source, ident, near=near)
            rank = 0 if found.is_near else 1 if near else 2
            sales, told = sale_findings(found, view, rules.on_sale_within, scope)
            if near or rules.elsewhere:
                items += [Item(rank, scope, finding) for finding in (show_finding(found, view, scope), *sales)]
            memory = replace(memory, sales=told) if memory else None
        elif memory and memory.sources and not is_over(memory.day, memory.venue, view):
            is_open = True
        if memory:
            remember.append(memory)
    return items, remember, is_open


def _is_whole(scan: Scan | None) -> bool:
    return scan is not None and scan.outcome is Outcome.SCANNED and scan.whole


def _whole(
    asked: Sequence[Asked],
    idents: Mapping[Artist, str],
    kept: Mapping[str, Sequence[Kept]],
    open_questions: set[str],
    rules: Rules,
) -> Iterator[str]:
    """The scopes that were looked at whole: each artist at each source, near home and elsewhere."""
    for one in asked:
        name = one.entry.name
        scanned = {idents[artist] for artist, scan in one.scans.items() if _is_whole(scan)}
        doubts = doubted({ident: kept.get(ident, ()) for ident in scanned}, name, rules.now)
        for ident in scanned - doubts - open_questions:
            yield scope_of(name, ident, near=True)
            if rules.elsewhere:
                yield scope_of(name, ident, near=False)


def _fitting(items: Sequence[Item], room: int) -> Iterator[Item]:
    for item in items[:MOST_FINDINGS]:
        # As the gate writes it: ASCII, instants a little longer than here.
        room -= len(json.dumps(item.finding, default=str)) + _EXTRA_ROOM
        if room < 0:
            return
        yield item


def _doubts(asked: Asked, idents: Mapping[Artist, str]) -> list[dict[str, Any]]:
    name = asked.entry.name
    found = []
    for artist, scan in asked.scans.items():
        if scan.outcome is Outcome.UNRESOLVED:
            found.append(unresolved_finding(artist, idents[artist], name, scan))
        elif asked.lists_shows and scan.outcome is Outcome.SCANNED and not scan.whole:
            found.append(incomplete_finding(artist, idents[artist], name, scan))
    return sorted(found, key=lambda finding: str(finding["key"]))[:MOST_DOUBTS]


def _state(asked: Asked) -> dict[str, Any]:
    """One source of the gate: failed for one or for all is one message."""
    scans = asked.scans.values()
    count = {outcome: sum(scan.outcome is outcome for scan in scans) for outcome in Outcome}
    cut = sum(scan.outcome is Outcome.SCANNED and not scan.whole for scan in scans)
    notes = [asked.fault]
    if failed := count[Outcome.FAILED]:
        why = next(scan.message for scan in scans if scan.outcome is Outcome.FAILED)
        notes.append(f"{failed} of {len(scans)} artists failed: {why}")
    if unresolved := count[Outcome.UNRESOLVED]:
        notes.append(f"{unresolved} of {len(scans)} artists are not resolved")
    if not asked.lists_shows:
        notes.append("it lists no shows")
    elif cut:
        notes.append(f"{cut} of {len(scans)} artists were not read whole")
    return {
        "name": asked.entry.name,
        "ok": not asked.fault and not failed,
        "items": sum(len(scan.shows) for scan in scans),
        "message": "; ".join(note for note in notes if note),
    }
