"""A small world of shows for tests: sources whose listings the test sets, and the report of one scan of them."""

from __future__ import annotations

import contextlib
import io
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from heartbeat import decide, gate, tick
from heartbeat.absence import missed_once_more
from heartbeat.clock import new_id
from heartbeat.model import Action, Captured, Execution, Plan, Reply, Run, Target, View
from heartbeat.sources.entries import Entry
from heartbeat.sources.shows.kept import Kept, from_json, to_json
from heartbeat.sources.shows.region import Home
from heartbeat.sources.shows.report import Report, Rules, report
from heartbeat.sources.shows.scan import Asked
from heartbeat.sources.shows.show import Artist, Outcome, Sale, Scan, Show, Venue
from heartbeat.stores.sqlite import SqliteLedger

NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
BERLIN = Home((52.52, 13.40), 60.0, "Berlin", "", "DE")
HALL = Venue("Columbiahalle", "Berlin", "", "DE", (52.4847, 13.3917), "Europe/Berlin")
ARENA = Venue("Uber Arena", "Berlin", "", "DE", (52.5058, 13.4434), "Europe/Berlin")
PARIS = Venue("Le Bataclan", "Paris", "", "FR", (48.863, 2.3706), "Europe/Paris")
FORUM = Venue("Forum", "Los Angeles", "CA", "US", (33.9583, -118.3419), "America/Los_Angeles")
BAND = Artist("The Band")
DAY = date(2026, 9, 12)
FREE = decide.Budget(timedelta(), None, None)


def show(ident: str = "a", day: date | None = DAY, venue: Venue = HALL, **more: Any) -> Show:
    return Show(**{"id": ident, "artist": BAND.name, "title": "The Band", "day": day, "venue": venue, **more})


def sale(hours: float, name: str = "public") -> Sale:
    """One that begins so many hours after NOW."""
    return Sale(name, NOW + timedelta(hours=hours))


def listed(*shows: Show, whole: bool = True) -> Scan:
    return Scan(Outcome.SCANNED, shows, whole)


FAILED = Scan(Outcome.FAILED, message="cannot fetch: the server answers 500")


@dataclass
class World:
    """Scans one after the other, the cache carried along as the script does."""

    home: Home | None = BERLIN
    now: datetime = NOW
    elsewhere: bool = True
    kept: Mapping[str, Sequence[Kept]] = field(default_factory=dict)

    def scan(self, *scans: Scan, names: Sequence[str] = ("ticketmaster", "bandsintown")) -> Report:
        """What the sources, in order, say of one artist."""
        return self.scan_all([{BAND: scan} for scan in scans], names)

    def scan_all(self, scans: Sequence[Mapping[Artist, Scan]], names: Sequence[str] = ("ticketmaster",)) -> Report:
        asked = [Asked(Entry(name, name), each) for name, each in zip(names, scans, strict=False)]
        idents = {artist: artist.name.lower().removeprefix("the ") for each in scans for artist in each}
        rules = Rules(self.now, ZoneInfo("Europe/Berlin"), self.home, timedelta(hours=72), self.elsewhere)
        made = report(asked, idents, self.kept, rules)
        self.kept = {ident: from_json(to_json(shows)) for ident, shows in made.kept.items()}
        return made

    def later(self, **span: float) -> None:
        self.now += timedelta(**span)


def shows_of(made: Report) -> list[dict[str, Any]]:
    return [finding for finding in made.findings if finding["key"].startswith("show:")]


def only(made: Report) -> dict[str, Any]:
    """The one show."""
    (finding,) = shows_of(made)
    return finding


class Owner:
    """Somebody behind a real ledger, who hears of everything at once: by the agent, or by a brief right after."""

    def __init__(self) -> None:
        self.ledger = SqliteLedger(None)
        weakref.finalize(self, self.ledger.close)  # hypothesis makes hundreds of owners

    def hears(self, made: Report, now: datetime) -> list[tuple[str, str]]:
        """What is told of one scan's report: what kind of change, and of which key."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            tick.finish(made.findings, sources=made.sources, scopes=made.scopes)
        ended = Execution(now, now, exit_code=0, stdout=Captured(head=printed.getvalue().encode()))
        judgement = gate.judge(ended, token="", require_token=False, dialect="strict")
        assert judgement.gate is not None, judgement
        run = Run(new_id("run", now), "artist-scan", "manual", None, now)
        self.ledger.claim(run, "1:1")

        def choose(view: View) -> Plan:
            decisions = decide.decide(judgement, view, decide.Rules(target=Target("agent"), budget=FREE), now)
            return Plan(decisions, missed=missed_once_more(judgement, view))

        plan, wakes = self.ledger.record(run, ended, judgement, choose)
        for wake in wakes:
            self.ledger.begin_wake(wake, "1:1", now)
            self.ledger.settle_wake(wake, Reply(), (), now)
        self.ledger.consume_brief(now)
        told = [one for one in plan.decisions if one.action in (Action.WAKE, Action.BRIEF)]
        return [(str(one.change), one.finding.key) for one in told]
