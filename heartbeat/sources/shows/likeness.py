"""From who resembles each followed artist to who resembles them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from heartbeat.sources.shows.naming import plain_name
from heartbeat.sources.shows.show import Artist

MOST = 100
MOST_ASKED = 25
"""Followed artists asked about in one run: this is for ideas, and each costs a question."""


@dataclass(frozen=True, slots=True)
class Like:
    """Somebody like one followed artist, and how much so."""

    artist: Artist
    score: float


def some_of(artists: Sequence[Artist], now: datetime) -> list[Artist]:
    """Those to ask about; in another week others, if they are many."""
    start = now.date().toordinal() // 7 * MOST_ASKED % max(len(artists), 1)
    return [*artists[start:], *artists[:start]][:MOST_ASKED]


def best(lists: Iterable[Sequence[Like]], followed: Iterable[Artist]) -> list[Artist]:
    """Those who resemble most of the followed ones most, best first. Scores are comparable within one list only."""
    known = {key for artist in followed for key in (artist.mbid, plain_name(artist.name)) if key}
    found: dict[str, Artist] = {}
    scores: dict[str, float] = {}
    for likes in lists:
        highest = max((like.score for like in likes), default=0.0)
        for like in likes:
            name = plain_name(like.artist.name)
            if highest <= 0 or like.score <= 0 or not name or name in known or like.artist.mbid in known:
                continue
            key = like.artist.mbid or name
            found.setdefault(key, like.artist)
            scores[key] = scores.get(key, 0.0) + like.score / highest
    return [found[key] for key in sorted(found, key=lambda key: (-scores[key], found[key].name))[:MOST]]
