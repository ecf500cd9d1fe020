"""Who resembles the followed artists, from ListenBrainz: `{ listenbrainz = "https://labs.api.listenbrainz.org" }`.

By what people play in one sitting. Artists are known there by their MusicBrainz id alone. It lists no shows.
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

KIND = "listenbrainz"
SETTINGS = ("algorithm",)
PACE = 1.0
ALGORITHM = "session_based_days_7500_session_300_contribution_5_threshold_10_limit_100_filter_True_skip_30"
"""The server knows a few by name and refuses all others."""


def make(entry: Entry, ground: Ground) -> ListenBrainz:
    """Raises SourceFailed for settings that cannot be used."""
    place = entry.place.strip().rstrip("/")
    address = place if "://" in place else f"https://{place}"
    host_of(address)
    return ListenBrainz(entry.name, address, secret(entry.settings.get("algorithm", ALGORITHM)), ground)


class ListenBrainz:
    """One server."""

    def __init__(self, name: str, address: str, algorithm: str, ground: Ground) -> None:
        self.name = name
        self._address, self._algorithm, self._now = address, algorithm, ground.now
        self._asker = Asker(ground, pace=PACE)

    def scan(self, artist: Artist) -> Scan:  # noqa: ARG002  # it lists nobody's shows
        return Scan(Outcome.SCANNED, whole=False, message="it lists no shows, it only knows who resembles whom")

    def similar(self, artists: Sequence[Artist]) -> Sequence[Artist] | None:
        """Artists like these, best first; None when none of them could be asked about."""
        lists = list(self._lists(some_of([artist for artist in artists if artist.mbid], self._now)))
        return best(lists, artists) if lists else None

    def nearby(self, home: tuple[float, float], radius_km: float, until: date) -> None:  # noqa: ARG002  # no shows
        return None

    def _lists(self, artists: Sequence[Artist]) -> Iterator[list[Like]]:
        for artist in artists:
            query = {"artist_mbids": artist.mbid, "algorithm": self._algorithm}
            try:
                answer = self._asker.ask(f"{self._address}/similar-artists/json", query, _is_list)
            except SourceFailed:
                continue  # one of many; when the server is down, the others cost nothing
            yield [like for row in answer if (like := _like(row))]


def _is_list(answer: Any) -> bool:
    return isinstance(answer, list)


def _like(row: Any) -> Like | None:
    name, score = fields.text(row, "name"), fields.number(row, "score")
    return Like(Artist(name, fields.ident(row, "artist_mbid")), score) if name and score is not None else None
