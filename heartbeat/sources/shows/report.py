"""From what every source said of every artist to findings, scopes and the state of each source. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from heartbeat.sources.shows.changes import View, is_over, remembered, standing
from heartbeat.sources.shows.findings import (
    incomplete_finding,
    lost_sales,
    sale_findings,
    show_finding,
    unresolved_finding,
)
from heartbeat.sources.shows.guard import PATIENCE, doubted, gone_since
from heartbeat.sources.shows.kept import Kept
from heartbeat.sources.shows.region import Home, Where, question_of
from heartbeat.sources.shows.same import Listing, gather
from heartbeat.sources.shows.scan import Asked
from heartbeat.sources.shows.scopes import Question
from heartbeat.sources.shows.show import Artist, Outcome, Scan

MOST_FINDINGS = 1_000
ROOM = 900_000
"""Bytes for findings and scopes, which must fit into a gate line."""
MOST_DOUBTS = 20
"""Artists that cannot be told apart, or not read whole, told of by each source in one run."""
_EXTRA_ROOM = 40
_AWAY = timedelta(days=2)
"""Three whole scans have missed a show that has been away so long."""


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
class Looked:
    """One artist, after all sources were asked."""

    items: list[Item] = field(default_factory=list)
    remember: list[Kept] = field(default_factory=list)
    unsettled: set[str] = field(default_factory=set)
    """Sources that stopped to list a show of which another, that was not heard, may still know."""
    lost: list[Kept] = field(default_factory=list)
    """Shows that are away, so that their sales are off."""


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
    looked = {artist: _artist(artist, ident, asked, kept.get(ident, ()), rules) for artist, ident in idents.items()}
    made.kept = {idents[artist]: one.remember for artist, one in looked.items() if one.remember}
    questions = dict(_whole(asked, idents, looked, rules))
    whole = sorted(question.scope(near=near) for question in questions.values() for near in _halves(rules))
    items = [item for one in looked.values() for item in one.items]
    for artist, one in looked.items():
        gone = [kept for kept in one.lost if (kept.lead, artist) in questions]
        view = View(rules.now, rules.zone)
        items += [Item(1, "", finding) for each in gone for finding in lost_sales(artist.name, each, view)]
    items += [Item(1, "", finding) for one in asked for finding in _doubts(one, idents)]
    items.sort(key=lambda item: item.rank)
    fitting = list(_fitting(items, ROOM - len(json.dumps(whole))))
    out = items[len(fitting) :]
    cut = {item.scope for item in out}
    made.left_out = len(out)
    made.findings = [item.finding for item in fitting]
    made.scopes = [scope for scope in whole if scope not in cut]
    made.sources = [_state(one, [item for item in out if item.finding["source"] == one.entry.name]) for one in asked]
    return made


def _artist(artist: Artist, ident: str, asked: Sequence[Asked], kept: Sequence[Kept], rules: Rules) -> Looked:
    scans = {one.entry.name: (rank, one, one.scans.get(artist)) for rank, one in enumerate(asked)}
    listings = [
        Listing(show, one.entry.kind, name, rank)
        for name, (rank, one, scan) in scans.items()
        for show in (scan.shows if scan else ())
    ]
    whole = frozenset(name for name, (_, _, scan) in scans.items() if _is_whole(scan))
    view = View(rules.now, rules.zone, rules.home, whole, frozenset(scans))
    looked = Looked()
    for group in gather(ident, listings, kept, whole):
        found = standing(group, view)
        memory = remembered(group, found, view)
        if found is not None:
            # Unknown is not far; a show that was to be near is still told of there.
            near = found.is_near or (rules.home is not None and found.where is Where.UNKNOWN)
            scan = scans[found.lead.source][2]
            scope = _question(found.lead.source, ident, scan, rules).scope(near=near)
            rank = 0 if found.is_near else 1 if near else 2
            sales, told = sale_findings(found, view, rules.on_sale_within)
            if near or rules.elsewhere:
                looked.items.append(Item(rank, scope, show_finding(found, view, scope)))
                looked.items += [Item(rank, "", finding) for finding in sales]
            memory = replace(memory, sales=told) if memory else None
        elif memory:
            _miss(looked, memory, view)
        if memory:
            looked.remember.append(memory)
    return looked


def _miss(looked: Looked, memory: Kept, view: View) -> None:
    """What it means that nobody who was heard lists a show."""
    away = gone_since(memory, memory.lead)
    span = view.now.astimezone(UTC).date() - away if away else timedelta(0)
    if memory.sources and not is_over(memory.day, memory.venue, view):
        # A source that fails for good must not keep the question open for ever.
        if away and span < PATIENCE:
            looked.unsettled.add(memory.lead)
    elif not memory.sources and span >= _AWAY:
        looked.lost.append(memory)


def _question(source: str, ident: str, scan: Scan | None, rules: Rules) -> Question:
    return Question(source, ident, scan.identity if scan else "", question_of(rules.home))


def _halves(rules: Rules) -> tuple[bool, ...]:
    return (True, False) if rules.elsewhere else (True,)


def _is_whole(scan: Scan | None) -> bool:
    return scan is not None and scan.outcome is Outcome.SCANNED and scan.whole


def _whole(
    asked: Sequence[Asked], idents: Mapping[Artist, str], looked: Mapping[Artist, Looked], rules: Rules
) -> Iterator[tuple[tuple[str, Artist], Question]]:
    """What was looked at whole, by source and artist."""
    for one in asked:
        name = one.entry.name
        scanned = {artist: scan for artist, scan in one.scans.items() if _is_whole(scan)}
        doubts = doubted({idents[artist]: looked[artist].remember for artist in scanned}, name, rules.now)
        for artist, scan in scanned.items():
            if idents[artist] not in doubts and name not in looked[artist].unsettled:
                yield (name, artist), _question(name, idents[artist], scan, rules)


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


def _state(asked: Asked, out: Sequence[Item]) -> dict[str, Any]:
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
    if out:
        notes.append(f"{len(out)} of its findings are left out: more than one run can report")
    return {
        "name": asked.entry.name,
        "ok": not asked.fault and not failed and all(item.rank > 1 for item in out),
        "items": sum(len(scan.shows) for scan in scans),
        "message": "; ".join(note for note in notes if note),
    }
