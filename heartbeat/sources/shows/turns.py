"""Whose turn it is: a run that has no time for all artists takes those first whose last turn is longest ago."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from heartbeat.sources.shows.ground import Ground
from heartbeat.sources.shows.notes import Notes
from heartbeat.sources.shows.show import Artist

_NEVER = datetime.min.replace(tzinfo=UTC)


class Turns:
    """The turns at one source, by its name."""

    def __init__(self, ground: Ground, source: str) -> None:
        self._notes = Notes(ground.cache, "turns", source, ground.now)

    def order(self, artists: Iterable[Artist]) -> list[Artist]:
        """Those never asked about, then those asked about longest ago; else as they were given."""
        return sorted(artists, key=lambda artist: self._notes.at(_key(artist)) or _NEVER)

    def done(self, artist: Artist) -> None:
        """*artist* was asked about now, with or without success."""
        self._notes.put(_key(artist), True)  # only the instant matters


def _key(artist: Artist) -> str:
    return artist.mbid or artist.name
