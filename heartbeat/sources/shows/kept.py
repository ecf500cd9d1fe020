"""What the scan remembers of a show between runs, in the cache: losing it costs at most one repeated message a show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from typing import Any

from heartbeat.sources.shows import fields
from heartbeat.sources.shows.show import Venue


@dataclass(frozen=True, slots=True)
class Kept:
    """One show under its key, as the last scan that listed it saw it."""

    key: str
    ids: tuple[str, ...]
    """Under which providers have ever listed it, each with the provider's kind before it."""
    lead: str
    """The source that was believed."""
    day: date | None
    venue: Venue
    token: str
    """What stands for the venue in the version; a venue that is merely named otherwise keeps it."""
    first: str
    """Day and venue when it was first seen."""
    starts: time | None = None
    near: bool = False
    sources: tuple[str, ...] = ()
    """Which listed it when they were last asked."""
    gone: Mapping[str, str] = field(default_factory=dict)
    """Since which day a source that was asked no longer lists it."""
    sales: Mapping[str, str] = field(default_factory=dict)
    """The sales that were reported, with their start."""
    heard: date | None = None
    """When the word of the believed source was last had."""
    postponed: bool = False
    """The day no longer holds, so that the show is not over after it."""


def to_json(shows: Iterable[Kept]) -> list[dict[str, Any]]:
    return [
        {
            "key": kept.key,
            "ids": list(kept.ids),
            "lead": kept.lead,
            "day": kept.day.isoformat() if kept.day else "",
            "venue": _venue_to_json(kept.venue),
            "token": kept.token,
            "first": kept.first,
            "starts": kept.starts.isoformat() if kept.starts else "",
            "near": kept.near,
            "sources": list(kept.sources),
            "gone": dict(kept.gone),
            "sales": dict(kept.sales),
            "heard": kept.heard.isoformat() if kept.heard else "",
            "postponed": kept.postponed,
        }
        for kept in shows
    ]


def from_json(value: Any) -> tuple[Kept, ...]:
    """What can be read of it: anybody may write into a cache, and an older heartbeat may have."""
    read = (_read(row) for row in (value if isinstance(value, list) else ()))
    return tuple(kept for kept in read if kept is not None)


def _read(row: Any) -> Kept | None:
    kept = Kept(
        key=fields.text(row, "key"),
        ids=_texts(row, "ids"),
        lead=fields.text(row, "lead"),
        day=fields.day(row, "day"),
        venue=_venue(fields.dig(row, "venue")),
        token=fields.text(row, "token"),
        first=fields.text(row, "first"),
        starts=fields.clock(row, "starts"),
        near=fields.flag(row, "near"),
        sources=_texts(row, "sources"),
        gone=_pairs(row, "gone"),
        sales=_pairs(row, "sales"),
        heard=fields.day(row, "heard"),
        postponed=fields.flag(row, "postponed"),
    )
    return kept if kept.key and kept.ids else None


def _venue(value: Any) -> Venue:
    return Venue(
        name=fields.text(value, "name"),
        city=fields.text(value, "city"),
        region=fields.text(value, "region"),
        country=fields.country(value, "country"),
        place=fields.point(value),
        zone=fields.zone(value, "zone"),
    )


def _venue_to_json(venue: Venue) -> dict[str, Any]:
    told = {name: getattr(venue, name) for name in ("name", "city", "region", "country", "zone")}
    if venue.place:
        told |= {"latitude": venue.place[0], "longitude": venue.place[1]}
    return {name: value for name, value in told.items() if value != ""}


def _texts(row: Any, name: str) -> tuple[str, ...]:
    return tuple(text for text in fields.rows(row, name) if isinstance(text, str))


def _pairs(row: Any, name: str) -> dict[str, str]:
    found = fields.dig(row, name)
    return {key: value for key, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}
