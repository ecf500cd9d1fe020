"""Who resembles the followed artists, from Last.fm: `{ lastfm = { env = "LASTFM_KEY" } }`, the place being the API key.

It lists no shows. A refusal comes as a number in the body, often under the status 200.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry, secret
from heartbeat.sources.fetch import host_of
from heartbeat.sources.shows import fields
from heartbeat.sources.shows.asking import Asker
from heartbeat.sources.shows.ground import Ground
from heartbeat.sources.shows.likeness import Like, best, some_of
from heartbeat.sources.shows.show import Artist, Outcome, Scan

KIND = "lastfm"
SETTINGS = ("address",)
ADDRESS = "https://ws.audioscrobbler.com/2.0/"
PACE = 0.25
_STOP = {
    4: "the key may not ask for this",
    10: "the API key is not valid; copy it again from last.fm/api",
    26: "the API key is suspended; ask Last.fm why",
    29: "too many requests; the rest is asked in the next run",
}
"""Errors that every further question would meet too."""


def make(entry: Entry, ground: Ground) -> LastFm:
    """Raises SourceFailed for settings that cannot be used."""
    address = secret(entry.settings.get("address", ADDRESS))
    host_of(address)
    return LastFm(entry.name, entry.place.strip(), address, ground)


class LastFm:
    """One API key."""

    def __init__(self, name: str, key: str, address: str, ground: Ground) -> None:
        self.name = name
        self._key, self._address, self._now = key, address, ground.now
        self._asker = Asker(ground, pace=PACE, secret=key)

    def scan(self, artist: Artist) -> Scan:  # noqa: ARG002  # it lists nobody's shows
        return Scan(Outcome.SCANNED, whole=False, message="it lists no shows, it only knows who resembles whom")

    def similar(self, artists: Sequence[Artist]) -> Sequence[Artist] | None:
        """Artists like these, best first; None when none of them could be asked about."""
        lists = list(self._lists(some_of(artists, self._now)))
        return best(lists, artists) if lists else None

    def nearby(self, home: tuple[float, float], radius_km: float, until: date) -> None:  # noqa: ARG002  # no shows
        return None

    def _lists(self, artists: Sequence[Artist]) -> Iterator[list[Like]]:
        for artist in artists:
            try:
                answer = self._ask(artist)
            except SourceFailed:
                continue  # one of many; when the service is off, the others cost nothing
            found = fields.dig(answer, "similarartists", "artist")
            if isinstance(found, list):
                yield [like for row in found if (like := _like(row))]

    def _ask(self, artist: Artist) -> Any:
        who = {"mbid": artist.mbid} if artist.mbid else {"artist": artist.name, "autocorrect": "0"}
        query = {"method": "artist.getsimilar", **who, "limit": "100", "format": "json", "api_key": self._key}
        answer = self._asker.ask(self._address, query, _is_answer)
        if why := _STOP.get(fields.count(answer, "error") or 0):
            self._asker.stop(why)
        return answer


def _is_answer(answer: Any) -> bool:
    return isinstance(answer, dict) and ("similarartists" in answer or "error" in answer)


def _like(row: Any) -> Like | None:
    name, match = fields.text(row, "name"), fields.number(row, "match")
    return Like(Artist(name, fields.ident(row, "mbid")), match) if name and match is not None else None
