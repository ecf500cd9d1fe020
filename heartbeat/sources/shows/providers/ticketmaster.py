"""Shows from Ticketmaster's Discovery API: `{ ticketmaster = { env = "TM_KEY" } }`, the place being the API key.

An artist is looked up once and from then on asked for by id alone: a search for a name also finds its tributes. One
call an artist and day is far below the quota, so artists are not asked for together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, timedelta
from typing import Any

from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry, secret
from heartbeat.sources.fetch import host_of
from heartbeat.sources.shows import fields
from heartbeat.sources.shows.asking import Asker, failed_scan
from heartbeat.sources.shows.discovery import attraction_of, names_of, pick, show_of
from heartbeat.sources.shows.geohash import geohash
from heartbeat.sources.shows.ground import Ground
from heartbeat.sources.shows.identity import Identities, Identity
from heartbeat.sources.shows.notes import Notes
from heartbeat.sources.shows.quota import Quota
from heartbeat.sources.shows.show import Artist, Outcome, Scan, Show, Status

KIND = "ticketmaster"
SETTINGS = ("address",)
"""`address` stands before /attractions.json and /events.json, for a server that stands in for Ticketmaster's."""
ADDRESS = "https://app.ticketmaster.com/discovery/v2"
PACE = 0.25
"""Seconds between requests: five a second are allowed."""
A_DAY = 5000
RESERVE = 200
RESOLVED_FOR = timedelta(days=30)
SIZE = 200
DEEPEST = 1000
"""Items that cannot be had by paging: size * page has to stay below."""
SOURCES = "ticketmaster,universe,frontgate"
"""All but tmr, where tickets are sold on."""
MOST_ON_BILL = 20
_EVERYTHING = {"locale": "*", "size": str(SIZE)}
_SHOWS = {"includeTBA": "yes", "includeTBD": "yes", "includeTest": "no", "source": SOURCES, "sort": "date,asc"}


def make(entry: Entry, ground: Ground) -> Ticketmaster:
    """Raises SourceFailed for settings that cannot be used."""
    key = entry.place.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise SourceFailed(
            "cannot use the API key: it is no single word; copy it again from developer.ticketmaster.com"
        )
    address = secret(entry.settings.get("address", ADDRESS)).rstrip("/")
    host_of(address)
    return Ticketmaster(entry.name, key, address, ground)


class Ticketmaster:
    """One API key."""

    def __init__(self, name: str, key: str, address: str, ground: Ground) -> None:
        self.name = name
        self._key, self._address, self._now = key, address, ground.now
        self._identities = Identities(Notes(ground.cache, KIND, key, ground.now), RESOLVED_FOR)
        # A file of its own: it is written with each request, and is small.
        asked = Notes(ground.cache, f"{KIND}-quota", key, ground.now)
        quota = Quota(asked, ground.now, ground.zone, A_DAY, RESERVE)
        self._asker = Asker(ground, pace=PACE, secret=key, quota=quota)

    def scan(self, artist: Artist) -> Scan:
        """All that is listed of *artist*. Never raises."""
        try:
            identity = self._identities.of(artist, self._look_up)
            if not identity.id:
                return Scan(Outcome.UNRESOLVED, message=identity.why)
            return self._scan(artist, identity.id)
        except SourceFailed as failed:
            return failed_scan(failed)

    def similar(self, artists: Sequence[Artist]) -> None:  # noqa: ARG002  # nobody can be asked for that here
        return None

    def nearby(self, home: tuple[float, float], radius_km: float, until: date) -> list[Show] | None:
        """Each music event around *home*, once for each of those who play. None when it cannot be had."""
        query = {
            "geoPoint": geohash(home),
            "radius": str(max(1, round(radius_km))),
            "unit": "km",
            "classificationName": "music",
            "startDateTime": f"{self._now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "endDateTime": f"{until:%Y-%m-%d}T23:59:59Z",
        }
        try:
            events, _ = self._events(query)
        except SourceFailed:
            return None
        bills = ((event, name) for event in events for _, name in names_of(event)[:MOST_ON_BILL] if name)
        shows = (show_of(event, name) for event, name in bills)
        return [show for show in shows if show and self._to_come(show)]

    def _look_up(self, artist: Artist) -> Identity:
        query = {**_EVERYTHING, "keyword": artist.name, "sort": "relevance,desc"}
        if not artist.mbid:  # an id is certain enough for somebody who is filed wrongly
            query["classificationName"] = "music"
        answer = self._ask("attractions", query, _is_search)
        found = map(attraction_of, fields.rows(answer, "_embedded", "attractions"))
        return pick([one for one in found if one], artist)

    def _scan(self, artist: Artist, identity: str) -> Scan:
        events, whole = self._events({"attractionId": identity})
        theirs = [event for event in events if identity in (one for one, _ in names_of(event))]
        shows = (show_of(event, artist.name) for event in theirs)
        message = "" if whole else f"only {len(events)} of the listed events could be read"
        return Scan(
            Outcome.SCANNED, tuple(show for show in shows if show and self._to_come(show)), whole, message, identity
        )

    def _events(self, query: dict[str, str]) -> tuple[list[Any], bool]:
        """The events of every page that may be asked for, and whether that is all of them."""
        events: dict[str, Any] = {}  # pages shift while they are read, so one event may come twice and hide another
        total = nameless = 0
        for page in range(DEEPEST // SIZE):
            answer = self._ask("events", {**_EVERYTHING, **_SHOWS, **query, "page": str(page)}, _is_list)
            total = _total(answer) or 0
            found = fields.rows(answer, "_embedded", "events")
            events |= {identity: event for event in found if (identity := fields.ident(event, "id"))}
            nameless += sum(not fields.ident(event, "id") for event in found)  # cannot be told, but cuts nothing off
            if not found or (page + 1) * SIZE >= total:
                break
        return list(events.values()), len(events) + nameless >= total

    def _ask(self, what: str, query: dict[str, str], holds: Callable[[Any], bool]) -> Any:
        return self._asker.ask(f"{self._address}/{what}.json", {**query, "apikey": self._key}, holds)

    def _to_come(self, show: Show) -> bool:
        """Not surely over: the day before today's may still be going on somewhere."""
        if show.day is None or show.status is Status.POSTPONED:  # then the day says nothing
            return True
        return show.day >= (self._now.astimezone(UTC) - timedelta(days=1)).date()


def _total(answer: Any) -> int | None:
    """How many there are in all."""
    return fields.count(answer, "page", "totalElements")


def _is_search(answer: Any) -> bool:
    """Nobody is found only where it says so: what it says is kept for days."""
    return _total(answer) == 0 or (_is_list(answer) and bool(fields.rows(answer, "_embedded", "attractions")))


def _is_list(answer: Any) -> bool:
    return _total(answer) is not None
