"""A stand-in for the web service of MusicBrainz, from its documented parameters and fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.doubles.server import Answer, Asked, Double

_AGENT = re.compile(r"[\w.-]+/[\w.+-]+ \( \S+@\S+ \)")


@dataclass
class Musician:
    """An artist."""

    id: str
    name: str
    aliases: Sequence[str] = ()
    disambiguation: str = ""
    country: str = "GB"
    score: int = 100

    def fields(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "type": "Group",
            "type-id": "e431f5f6-b5d2-343d-8b36-72607fffb74b",
            "score": self.score,
            "name": self.name,
            "sort-name": self.name,
            "country": self.country,
            "area": {"id": "8a754a16", "type": "Country", "name": "United Kingdom", "life-span": {"ended": None}},
            "disambiguation": self.disambiguation,
            "life-span": {"begin": "1970-06-27", "ended": None},
            "aliases": [{"sort-name": alias, "name": alias, "locale": None, "type": None} for alias in self.aliases],
            "tags": [{"count": 1, "name": "rock"}],
        }


@dataclass
class Happening:
    """An event."""

    id: str
    artist: str
    begin: str = "2026-09-18"
    time: str = "20:00"
    cancelled: bool = False
    kind: str = "Concert"
    name: str = "Somebody at Lido"
    place: str = "Lido"

    def fields(self) -> dict[str, Any]:
        place = {
            "id": "a1b2",
            "name": self.place,
            "type": "Venue",
            "address": "Cuvrystr. 7",
            "coordinates": {"latitude": 52.499, "longitude": 13.445},
            "area": {"id": "c9ac1239", "name": "Berlin", "iso-3166-1-codes": ["DE"]},
        }
        return {
            "id": self.id,
            "name": self.name,
            "type": self.kind,
            "type-id": "ef55e8d7",
            "time": self.time,
            "cancelled": self.cancelled,
            "setlist": "",
            "disambiguation": "",
            "life-span": {"begin": self.begin, "end": self.begin, "ended": False},
            "relations": [
                {"type": "held at", "target-type": "place", "direction": "forward", "ended": False, "place": place}
            ],
        }


@dataclass
class Data:
    """What the volunteers have entered."""

    artists: list[Musician] = field(default_factory=list)
    events: list[Happening] = field(default_factory=list)


class MusicBrainz(Double):
    """Artists and events may be changed between two scans. Who does not say who asks is refused."""

    def __init__(self) -> None:
        super().__init__()
        self.data = Data()

    def answer(self, asked: Asked) -> Answer:
        if not _AGENT.fullmatch(asked.headers.get("User-Agent", "")):
            return Answer({"error": "Your application must provide a User-Agent with a contact."}, 403)
        if asked.query.get("fmt") != "json":
            return Answer(b"<metadata/>")
        limit, offset = min(int(asked.query.get("limit", "25")), 100), int(asked.query.get("offset", "0"))
        if asked.path == "/ws/2/artist":
            found = self._search(asked.query["query"])[offset : offset + limit]
            listed = [artist.fields() for artist in found]
            return Answer({"created": "2026-06-10T00:00:00Z", "count": len(found), "offset": offset, "artists": listed})
        if asked.path == "/ws/2/event":
            theirs = sorted((e for e in self.data.events if e.artist == asked.query["artist"]), key=lambda e: e.begin)
            events = [event.fields() for event in theirs[offset : offset + limit]]
            if asked.query.get("inc") != "place-rels":
                events = [{name: value for name, value in event.items() if name != "relations"} for event in events]
            return Answer({"event-count": len(theirs), "event-offset": offset, "events": events})
        return Answer({"error": "Not Found"}, 404)

    def _search(self, query: str) -> list[Musician]:
        """All that share a word with the phrase: the real one is no less generous."""
        words = set(re.findall(r"\w+", query.lower()))
        texts = {artist.id: " ".join((artist.name, *artist.aliases)).lower() for artist in self.data.artists}
        found = [artist for artist in self.data.artists if words & set(re.findall(r"\w+", texts[artist.id]))]
        return sorted(found, key=lambda artist: -artist.score)
