"""Ids of artists, and the few shows that volunteers enter: `{ musicbrainz = "https://musicbrainz.org" }`.

The place is the server, which may be one's own copy. It asks for one request a second, and for a way to reach whoever
asks: the owner's mail address, or the setting `contact`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, timedelta
from typing import Any

import heartbeat
from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry, secret
from heartbeat.sources.fetch import host_of
from heartbeat.sources.shows import fields
from heartbeat.sources.shows.asking import Asker, failed_scan
from heartbeat.sources.shows.ground import Ground
from heartbeat.sources.shows.identity import Identities, Identity
from heartbeat.sources.shows.musicbrainz import candidates_of, pick, show_of
from heartbeat.sources.shows.notes import Notes
from heartbeat.sources.shows.show import Artist, Outcome, Scan, Show

KIND = "musicbrainz"
SETTINGS = ("contact",)
PACE = 1.0
"""Seconds between requests; who asks more often is answered 503, and in the end not at all."""
RESOLVED_FOR = timedelta(days=90)
SIZE = 100
MOST_PAGES = 10
"""An act of many years has thousands of events, nearly all of them over."""
_CONTACT = re.compile(r"[\x21-\x27\x2a-\x7e]{3,200}")
"""What may stand in a header, and in its brackets."""


def make(entry: Entry, ground: Ground) -> MusicBrainz:
    """Raises SourceFailed for settings that cannot be used."""
    contact = secret(entry.settings.get("contact", ground.contact)).strip()
    if not _CONTACT.fullmatch(contact):
        raise SourceFailed(
            'cannot ask MusicBrainz: it wants to know who asks; set [owner] emails, or contact = "me@example.org"'
        )
    place = entry.place.strip().rstrip("/")
    address = place if "://" in place else f"https://{place}"
    host_of(address)
    return MusicBrainz(entry.name, address, contact, ground)


class MusicBrainz:
    """One server."""

    def __init__(self, name: str, address: str, contact: str, ground: Ground) -> None:
        self.name = name
        self._address = address
        self._today = (ground.now.astimezone(UTC) - timedelta(days=1)).date()
        self._identities = Identities(Notes(ground.cache, KIND, address, ground.now), RESOLVED_FOR)
        agent = f"heartbeat/{heartbeat.__version__} ( {contact} )"
        self._asker = Asker(ground, pace=PACE, headers={"User-Agent": agent, "Accept": "application/json"})

    def identify(self, artist: Artist) -> Artist:
        """*artist* with its id, where the name leaves no doubt; else as it was given. Never raises."""
        try:
            return artist if artist.mbid else replace(artist, mbid=self._identities.of(artist, self._look_up).id)
        except SourceFailed:
            return artist

    def scan(self, artist: Artist) -> Scan:
        """All that is listed of *artist*. Never raises."""
        try:
            identity = Identity(artist.mbid) if artist.mbid else self._identities.of(artist, self._look_up)
            if not identity.id:
                return Scan(Outcome.UNRESOLVED, message=identity.why)
            return self._scan(artist, identity.id)
        except SourceFailed as failed:
            return failed_scan(failed)

    def similar(self, artists: Sequence[Artist]) -> None:  # noqa: ARG002  # it has no opinion of likeness
        return None

    def nearby(self, home: tuple[float, float], radius_km: float, until: date) -> None:  # noqa: ARG002  # too thin
        return None

    def _look_up(self, artist: Artist) -> Identity:
        # A phrase: within one, only the quote and the backslash mean something to the search.
        phrase = artist.name.replace("\\", "\\\\").replace('"', '\\"')
        answer = self._ask("artist", {"query": f'"{phrase}"', "limit": "25"}, _is_search)
        return pick(candidates_of(answer), artist)

    def _scan(self, artist: Artist, mbid: str) -> Scan:
        shows: dict[str, Show] = {}
        seen: set[str] = set()
        offset = total = nameless = 0
        for page in range(MOST_PAGES):
            query = {"artist": mbid, "inc": "place-rels", "limit": f"{SIZE}", "offset": f"{offset}"}
            answer = self._ask("event", query, _is_listing)
            found, total = fields.rows(answer, "events"), fields.count(answer, "event-count") or 0
            seen |= {fields.ident(event, "id") for event in found} - {""}
            nameless += sum(not fields.ident(event, "id") for event in found)  # cannot be told, but cuts nothing off
            listed = (show_of(event, artist.name, self._today) for event in found)
            shows |= {show.id: show for show in listed if show}
            offset += SIZE
            if not found or offset >= total:
                break
            if page == 0:  # of too many to read, the last ones: they are listed by date
                offset = max(offset, total - (MOST_PAGES - 1) * SIZE)
        whole = len(seen) + nameless >= total
        message = "" if whole else f"only {len(seen)} of {total} listed events could be read"
        return Scan(Outcome.SCANNED, tuple(shows.values()), whole, message, mbid)

    def _ask(self, what: str, query: dict[str, str], holds: Callable[[Any], bool]) -> Any:
        return self._asker.ask(f"{self._address}/ws/2/{what}", {**query, "fmt": "json"}, holds)


def _is_search(answer: Any) -> bool:
    return isinstance(fields.dig(answer, "artists"), list)


def _is_listing(answer: Any) -> bool:
    return fields.count(answer, "event-count") is not None
