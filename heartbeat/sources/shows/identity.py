"""Who an artist is at a service: looked up once, and again from time to time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from heartbeat.sources.shows import fields
from heartbeat.sources.shows.naming import plain_name
from heartbeat.sources.shows.notes import Notes
from heartbeat.sources.shows.show import Artist

UNKNOWN_FOR = timedelta(days=7)
"""How long nobody is asked again about a name that could not be settled."""
_LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class Identity:
    """The service's own id of an artist, or in words why there is none."""

    id: str = ""
    why: str = ""


class Identities:
    """The known ones, kept for *known_for*."""

    def __init__(self, notes: Notes, known_for: timedelta) -> None:
        self._notes, self._known_for = notes, known_for

    def of(self, artist: Artist, look_up: Callable[[Artist], Identity]) -> Identity:
        """The kept identity, else what *look_up* says, which may raise SourceFailed."""
        # Another id given by the owner is another question.
        key = f"{artist.mbid} {plain_name(artist.name)}"
        if known := fields.ident(self._notes.get(f"id {key}", self._known_for)):
            return Identity(id=known)
        if why := fields.text(self._notes.get(f"why {key}", UNKNOWN_FOR), limit=_LONGEST_REASON):
            return Identity(why=why)
        found = look_up(artist)
        kind = "id" if found.id else "why"
        self._notes.put(f"{kind} {key}", found.id or found.why)
        return found
