"""What travels between providers and the scan: artists, shows, venues, sales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Artist:
    """Somebody the owner follows."""

    name: str
    mbid: str = ""
    """The MusicBrainz id, where it is known: a name alone may mean several."""


@dataclass(frozen=True, slots=True)
class Venue:
    """Where a show is; what nobody said is empty."""

    name: str = ""
    city: str = ""
    region: str = ""
    country: str = ""
    """ISO 3166 code of two letters, upper case."""
    place: tuple[float, float] | None = None
    """Latitude and longitude in degrees."""
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Sale:
    """When tickets can be had."""

    name: str
    """`public`, or the presale's own name."""
    starts_at: datetime


class Status(StrEnum):
    SCHEDULED = "scheduled"
    MOVED = "moved"
    """It has a new date, which is the one given."""
    POSTPONED = "postponed"
    """The date given no longer holds, and no other is known."""
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Show:
    """One show of one followed artist, as one provider lists it."""

    id: str
    """The provider's own, stable."""
    artist: str
    """The followed artist's name."""
    title: str
    day: date | None
    """On the venue's calendar; None: not announced yet."""
    starts: time | None = None
    """On the venue's clock, where it is known."""
    status: Status = Status.SCHEDULED
    venue: Venue = Venue()
    sales: tuple[Sale, ...] = ()
    url: str = ""
    festival: bool = False
    """Many play; the artist is one of them."""


class Outcome(StrEnum):
    SCANNED = "scanned"
    UNRESOLVED = "unresolved"
    """Nobody, or more than one, of this name: the owner has to say who is meant."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Scan:
    """What one provider knows of one artist. No shows, not resolved, and failed are three different things."""

    outcome: Outcome
    shows: tuple[Show, ...] = ()
    whole: bool = True
    """Every page was read: a show that is not here is not listed."""
    message: str = ""
    identity: str = ""
    """By which the service was asked: shows of another one are another question, whatever the name."""
    tried: bool = True
    """False where nobody was asked, so that the artist's turn is still to come."""


class Provider(Protocol):
    """One configured source of shows."""

    name: str

    def scan(self, artist: Artist) -> Scan:
        """All that is listed of *artist* from today on. Never raises; a failure is an outcome."""

    def similar(self, artists: Sequence[Artist]) -> Sequence[Artist] | None:
        """Artists like these that nobody follows yet, best first; None when this source cannot tell."""

    def nearby(self, home: tuple[float, float], radius_km: float, until: date) -> Sequence[Show] | None:
        """All that is listed around *home* up to *until*, whoever plays; None when this source cannot tell."""
