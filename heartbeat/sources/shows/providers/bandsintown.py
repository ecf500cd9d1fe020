"""Shows from Bandsintown: `{ bandsintown = { env = "BIT_APP_ID" } }`, the place being the app id.

App ids are given to artists and partners only, and nothing of the answers may be kept beyond a session; so nothing is.
What is called off is simply gone there.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, timedelta
from typing import Any
from urllib.parse import quote

from heartbeat.sources import SourceFailed
from heartbeat.sources.answers import FetchFailed
from heartbeat.sources.entries import Entry, secret
from heartbeat.sources.fetch import host_of
from heartbeat.sources.shows import fields
from heartbeat.sources.shows.asking import Asker, failed_scan
from heartbeat.sources.shows.ground import Ground
from heartbeat.sources.shows.naming import same_name
from heartbeat.sources.shows.show import Artist, Outcome, Sale, Scan, Show, Venue

KIND = "bandsintown"
SETTINGS = ("address",)
ADDRESS = "https://rest.bandsintown.com"
PACE = 0.5
FESTIVAL = 6
"""So many on one bill are no tour with its support."""
_NOBODY = 404


def make(entry: Entry, ground: Ground) -> Bandsintown:
    """Raises SourceFailed for settings that cannot be used."""
    address = secret(entry.settings.get("address", ADDRESS)).rstrip("/")
    host_of(address)
    return Bandsintown(entry.name, entry.place.strip(), address, ground)


class Bandsintown:
    """One app id."""

    def __init__(self, name: str, app_id: str, address: str, ground: Ground) -> None:
        self.name = name
        self._app_id, self._address = app_id, address
        self._today = (ground.now.astimezone(UTC) - timedelta(days=1)).date()
        self._asker = Asker(ground, pace=PACE, secret=app_id)

    def scan(self, artist: Artist) -> Scan:
        """All that is listed of *artist*. Never raises."""
        address = f"{self._address}/artists/{escaped(artist.name)}/events"
        query = {"app_id": self._app_id, "date": "upcoming"}
        try:
            answer = self._asker.ask(address, query, lambda answer: isinstance(answer, list))
        except SourceFailed as failed:
            if isinstance(failed, FetchFailed) and failed.status == _NOBODY:
                return Scan(Outcome.UNRESOLVED, message="nobody of this name is listed there; check the name")
            return failed_scan(failed)
        theirs = [event for event in answer if _plays(event, artist)]
        if answer and not theirs:
            return Scan(Outcome.UNRESOLVED, message="the events there are those of somebody else; check the name")
        shows = [show_of(event, artist.name) for event in theirs]
        coming = tuple(show for show in shows if show and (show.day is None or show.day >= self._today))
        return Scan(Outcome.SCANNED, coming, identity=artist.mbid)

    def similar(self, artists: Sequence[Artist]) -> None:  # noqa: ARG002  # nobody can be asked for that here
        return None

    def nearby(self, home: tuple[float, float], radius_km: float, until: date) -> None:  # noqa: ARG002  # the same
        return None


def escaped(name: str) -> str:
    """*name* in a path: what would end it, or means something there, is escaped twice."""
    return quote("".join(quote(c, safe="") if c in '/?*"' else c for c in name), safe="")


def show_of(event: Any, artist: str) -> Show | None:
    """The show that *event* is for *artist*; None for what has no id. Its times are the venue's, without a zone."""
    identity = fields.ident(event, "id")
    if not identity:
        return None
    venue = fields.dig(event, "venue")
    begins = fields.moment(event, "datetime")
    sale = fields.instant(event, "on_sale_datetime")
    return Show(
        id=identity,
        artist=artist,
        title=fields.text(event, "title") or artist,
        day=begins.date() if begins else None,
        starts=begins.time().replace(microsecond=0) if begins else None,
        venue=Venue(
            name=fields.text(venue, "name"),
            city=fields.text(venue, "city"),
            region=fields.text(venue, "region"),
            country=fields.country(venue, "country"),
            place=fields.point(venue),
        ),
        sales=(Sale("public", sale),) if sale else (),
        url=fields.link(event, "url", query=False),  # the query holds the app id
        festival=len(fields.rows(event, "lineup")) >= FESTIVAL,
    )


def _plays(event: Any, artist: Artist) -> bool:
    """By id where both sides have one, else by the names on the bill; one without names is believed."""
    mbid = fields.ident(event, "artist", "mbid")
    if mbid and artist.mbid:
        return mbid.lower() == artist.mbid.lower()
    bill = [fields.text(name) for name in fields.rows(event, "lineup")]
    return not bill or any(same_name(name, artist.name) for name in bill)
