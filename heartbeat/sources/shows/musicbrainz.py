"""Answers of MusicBrainz as artists and shows, whatever is missing or wrong in them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from heartbeat.sources.shows import fields
from heartbeat.sources.shows.identity import Identity
from heartbeat.sources.shows.naming import same_name
from heartbeat.sources.shows.show import Artist, Show, Status, Venue

MOST_NAMED = 5
LEAST_SCORE = 50.0
"""Of 100, by which the search ranks; what is below shares a word at most."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Somebody whom a search found."""

    mbid: str
    name: str
    aliases: tuple[str, ...]
    about: str

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(filter(None, (self.about, self.mbid)))})"


def candidates_of(answer: Any) -> list[Candidate]:
    """Best first, as the search ranks them."""
    found = []
    for row in fields.rows(answer, "artists"):
        mbid, name, score = fields.ident(row, "id"), fields.text(row, "name"), fields.number(row, "score")
        if mbid and name and (score is None or score >= LEAST_SCORE):
            aliases = tuple(filter(None, (fields.text(alias, "name") for alias in fields.rows(row, "aliases"))))
            about = fields.text(row, "disambiguation", limit=60) or fields.country(row, "country")
            found.append(Candidate(mbid, name, aliases, about))
    return found


def pick(found: list[Candidate], artist: Artist) -> Identity:
    """Who of *found* is meant, if that is certain: an own name goes before an alias."""
    named = [one for one in found if same_name(one.name, artist.name)]
    named = named or [one for one in found if any(same_name(alias, artist.name) for alias in one.aliases)]
    if len(named) == 1:
        return Identity(id=named[0].mbid)
    listed = ", ".join(map(str, (named or found)[:MOST_NAMED]))
    if named:
        return Identity(why=f"{len(named)} have this name: {listed}; say who is meant by the MusicBrainz id")
    near = f"; near it are {listed}" if listed else ""
    return Identity(why=f"MusicBrainz knows nobody of this name{near}; check the name, or give the MusicBrainz id")


def show_of(event: Any, artist: str, today: date) -> Show | None:
    """The show that *event* is for *artist*; None for what is over, or has no id."""
    identity = fields.ident(event, "id")
    begins = fields.text(event, "life-span", "begin", limit=20)
    # A date may be a year or a month: it is over when the same part of today's is past it.
    if not identity or (begins and begins < today.isoformat()[: len(begins)]):
        return None
    return Show(
        id=identity,
        artist=artist,
        title=fields.text(event, "name") or artist,
        day=fields.day(event, "life-span", "begin"),
        starts=fields.clock(event, "time"),
        status=Status.CANCELLED if fields.flag(event, "cancelled") else Status.SCHEDULED,
        venue=_venue(event),
        url=f"https://musicbrainz.org/event/{identity}",
        festival=fields.text(event, "type").lower() == "festival",
    )


def _venue(event: Any) -> Venue:
    places = [fields.dig(relation, "place") for relation in fields.rows(event, "relations")]
    place = next((place for place in places if isinstance(place, dict)), None)
    return Venue(
        name=fields.text(place, "name"),
        city=fields.text(place, "area", "name"),
        country=fields.country(place, "area", "iso-3166-1-codes", 0),
        place=fields.point(fields.dig(place, "coordinates")),
    )
