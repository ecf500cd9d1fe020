"""A venue's own calendar: `{ venue = "https://…ics", name = "Lido", city = "Berlin", lat = 52.499, lon = 13.445 }`.

No key, and small acts that ticket sellers do not have. Artists are found by name in the titles of events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from hashlib import sha256
from time import monotonic
from typing import Any
from zoneinfo import ZoneInfo

from heartbeat.sources import SourceFailed
from heartbeat.sources.apart import expand_apart
from heartbeat.sources.calendars.asking import Asking
from heartbeat.sources.entries import Entry, host_of
from heartbeat.sources.fetch import Request
from heartbeat.sources.ics import holds_calendar
from heartbeat.sources.occurrence import Occurrence
from heartbeat.sources.rows import from_row
from heartbeat.sources.shows import fields
from heartbeat.sources.shows.ground import Ground
from heartbeat.sources.shows.show import Artist, Outcome, Scan, Show, Status, Venue
from heartbeat.sources.shows.titles import Titles

KIND = "venue"
SETTINGS = ("city", "region", "country", "lat", "lon", "zone")
SECONDS = 30.0
LEAST_SECONDS = 0.5
MAX_BYTES = 20 * 1024 * 1024
AHEAD = timedelta(days=400)
MOST_SHOWS = 200
"""Of one artist at one venue."""


def make(entry: Entry, ground: Ground) -> VenueCalendar:
    """Raises SourceFailed for settings that cannot be used."""
    if not host_of(entry.place):
        raise SourceFailed("cannot use the address; write it like https://host/path, with http, https or webcal")
    return VenueCalendar(entry, _venue(entry), ground)


@dataclass(frozen=True, slots=True)
class _Programme:
    """What the calendar holds."""

    events: Sequence[Occurrence]
    titles: Titles
    whole: bool
    message: str


class VenueCalendar:
    """One address, asked once."""

    def __init__(self, entry: Entry, venue: Venue, ground: Ground) -> None:
        self.name = entry.name
        self._address, self._venue, self._ground = entry.place, venue, ground
        self._zone: tzinfo = ZoneInfo(venue.zone) if venue.zone else ground.zone
        self._programme: _Programme | SourceFailed | None = None

    def scan(self, artist: Artist) -> Scan:
        """The events whose title names *artist*. Never raises."""
        if self._programme is None:
            try:
                self._programme = self._read()
            except SourceFailed as failed:
                self._programme = failed
        programme = self._programme
        if isinstance(programme, SourceFailed):
            return Scan(Outcome.FAILED, whole=False, message=str(programme))
        found = [self._show(programme.events[place], artist) for place in programme.titles.naming(artist.name)]
        whole = programme.whole and len(found) <= MOST_SHOWS
        return Scan(Outcome.SCANNED, tuple(found[:MOST_SHOWS]), whole, programme.message)

    def similar(self, artists: Sequence[Artist]) -> None:  # noqa: ARG002  # a hall has no opinion of likeness
        return None

    def nearby(self, home: tuple[float, float], radius_km: float, until: date) -> None:  # noqa: ARG002  # titles are no names
        return None

    def _read(self) -> _Programme:
        ground = self._ground
        left = ground.deadline - monotonic()
        if left < LEAST_SECONDS:
            raise SourceFailed("the time of this run is used up; the calendar is asked in the next run")
        request = Request(self._address, max_bytes=MAX_BYTES, tries=2)
        body = ground.fetcher.fetch(request, min(SECONDS, left)).body
        if not holds_calendar(body):
            raise SourceFailed("cannot use the answer: it is no calendar; check the address")
        since, until = ground.now - timedelta(days=1), ground.now + AHEAD
        ask = Asking(ground.now, since, until, self._zone, deadline=min(ground.deadline, monotonic() + 2 * SECONDS))
        found = expand_apart((body,), ask)
        events = [from_row(row) for row in found.rows]
        whole = found.whole and found.until >= until
        return _Programme(events, Titles([event.title for event in events]), whole, "; ".join(found.warnings))

    def _show(self, event: Occurrence, artist: Artist) -> Show:
        local: datetime = event.start.astimezone(self._zone)
        identity = f"{self.name}\0{event.uid}\0{event.slot}"
        return Show(
            id=sha256(identity.encode("utf-8", "replace")).hexdigest()[:24],
            artist=artist.name,
            title=event.title,
            day=local.date(),
            starts=None if event.all_day else local.time().replace(second=0, microsecond=0),
            status=Status.CANCELLED if event.cancelled else Status.SCHEDULED,
            venue=self._venue,
        )


def _venue(entry: Entry) -> Venue:
    given = entry.settings
    for name in ("city", "region", "country", "zone"):
        if not isinstance(given.get(name, ""), str):
            raise SourceFailed(f"cannot use {name}: it is no text; write it in quotes")
    venue = Venue(
        entry.name, fields.text(given, "city"), fields.text(given, "region"), fields.country(given, "country")
    )
    if given.get("country") and not venue.country:
        raise SourceFailed('cannot use country: write the ISO code of two letters, such as "DE"')
    if given.get("zone") and not fields.zone(given, "zone"):
        raise SourceFailed("cannot use zone: write an IANA name such as Europe/Berlin")
    return replace(venue, place=_place(given), zone=fields.zone(given, "zone"))


def _place(given: Any) -> tuple[float, float] | None:
    if "lat" not in given and "lon" not in given:
        return None
    place = fields.point({"latitude": given.get("lat"), "longitude": given.get("lon")})
    if place is None:
        raise SourceFailed("cannot use lat and lon: write both in degrees, such as lat = 52.499, lon = 13.445")
    return place
