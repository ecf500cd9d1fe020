"""Answers of Ticketmaster's Discovery API as attractions and shows, whatever is missing or wrong in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heartbeat.sources.shows import fields
from heartbeat.sources.shows.identity import Identity
from heartbeat.sources.shows.naming import same_name
from heartbeat.sources.shows.show import Artist, Sale, Show, Status, Venue

FESTIVAL = 6
"""So many on one bill are no tour with its support."""
MOST_SALES = 20
MOST_NAMED = 5
_MUSIC_ID = "KZFzniwnSyZfZ7v7nJ"
_STATUS = {
    "canceled": Status.CANCELLED,
    "cancelled": Status.CANCELLED,
    "postponed": Status.POSTPONED,
    "rescheduled": Status.MOVED,
}
"""What is not named here, such as offsale, says nothing of the show itself."""
_RESALE = "tmr"


@dataclass(frozen=True, slots=True)
class Attraction:
    """Somebody, or something, who can be seen."""

    id: str
    name: str
    genre: str
    mbids: tuple[str, ...]
    music: bool

    def __str__(self) -> str:
        known = [self.genre or "no genre", f"MusicBrainz id {self.mbids[0]}" if self.mbids else f"id {self.id}"]
        return f"{self.name} ({', '.join(known)})"


def attraction_of(value: Any) -> Attraction | None:
    """None for what cannot be asked for."""
    identity, name = fields.ident(value, "id"), fields.text(value, "name")
    if not identity or not name:
        return None
    kinds = fields.rows(value, "classifications")
    mbids = tuple(filter(None, (fields.ident(row, "id") for row in fields.rows(value, "externalLinks", "musicbrainz"))))
    genre = next(filter(None, (fields.text(kind, "genre", "name", limit=40) for kind in kinds)), "")
    return Attraction(identity, name, genre, mbids, any(map(_is_music, kinds)))


def pick(found: list[Attraction], artist: Artist) -> Identity:
    """Who of *found* is meant, if that is certain."""
    wanted = artist.mbid.lower()
    for one in found:
        if wanted and wanted in (mbid.lower() for mbid in one.mbids):
            return Identity(id=one.id)
    # Somebody who is known to be another one is no candidate, whatever the name.
    musical = [one for one in found if one.music and not (wanted and one.mbids)]
    named = [one for one in musical if same_name(one.name, artist.name)]
    if len(named) == 1:
        return Identity(id=named[0].id)
    listed = ", ".join(map(str, (named or musical)[:MOST_NAMED]))
    if named:
        return Identity(why=f"{len(named)} have this name: {listed}; say who is meant by the MusicBrainz id")
    near = f"; near it are {listed}" if listed else ""
    return Identity(why=f"nobody of this name makes music there{near}; check the name, or give the MusicBrainz id")


def names_of(event: Any) -> list[tuple[str, str]]:
    """Id and name of everybody on the bill, in its order."""
    bill = fields.rows(event, "_embedded", "attractions")
    return [(fields.ident(one, "id"), fields.text(one, "name")) for one in bill]


def show_of(event: Any, artist: str) -> Show | None:
    """The show that *event* is for *artist*; None for what is none: tests, resale, what has no id."""
    identity = fields.ident(event, "id")
    if not identity or fields.flag(event, "test") or _is_resale(event):
        return None
    start = fields.dig(event, "dates", "start")
    undated = fields.flag(start, "dateTBD") or fields.flag(start, "dateTBA")
    untimed = undated or fields.flag(start, "timeTBA") or fields.flag(start, "noSpecificTime")
    code = fields.text(event, "dates", "status", "code").lower()
    return Show(
        id=identity,
        artist=artist,
        title=fields.text(event, "name") or artist,
        # The date on the venue's calendar: dateTime is UTC, where an evening in America is the next day.
        day=None if undated else fields.day(start, "localDate"),
        starts=None if untimed else fields.clock(start, "localTime"),
        status=_STATUS.get(code, Status.SCHEDULED),
        venue=_venue(event),
        sales=_sales(event),
        url=fields.link(event, "url"),
        festival=len(names_of(event)) >= FESTIVAL or any(map(_is_festival, fields.rows(event, "classifications"))),
    )


def _is_resale(event: Any) -> bool:
    source = fields.dig(event, "source")
    return _RESALE in (fields.text(given).lower() for given in (source, fields.dig(source, "id")))


def _is_music(kind: Any) -> bool:
    return fields.ident(kind, "segment", "id") == _MUSIC_ID or fields.text(kind, "segment", "name").lower() == "music"


def _is_festival(kind: Any) -> bool:
    return "festival" in (fields.text(kind, part, "name").lower() for part in ("type", "subType"))


def _venue(event: Any) -> Venue:
    venue = fields.dig(event, "_embedded", "venues", 0)
    return Venue(
        name=fields.text(venue, "name"),
        city=fields.text(venue, "city", "name"),
        region=fields.text(venue, "state", "stateCode") or fields.text(venue, "state", "name"),
        country=fields.country(venue, "country", "countryCode"),
        place=fields.point(fields.dig(venue, "location")),
        zone=fields.zone(event, "dates", "timezone") or fields.zone(venue, "timezone"),
    )


def _sales(event: Any) -> tuple[Sale, ...]:
    """When they begin; a beginning in 1900, or one still to be told, is none."""
    public = fields.dig(event, "sales", "public")
    told = not fields.flag(public, "startTBD") and not fields.flag(public, "startTBA")
    begins = fields.instant(public, "startDateTime") if told else None
    sales = [Sale("public", begins)] if begins else []
    for presale in fields.rows(event, "sales", "presales")[:MOST_SALES]:
        begins = fields.instant(presale, "startDateTime")
        if begins:
            sales.append(Sale(fields.text(presale, "name", limit=100) or "presale", begins))
    return tuple(sales)
