"""Finding the calendars behind an address: that of a server, of a principal, of a calendar home or of one calendar.

The steps are those of RFC 6764 (section 6), without DNS.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote, urljoin, urlsplit

from heartbeat.sources import SourceFailed
from heartbeat.sources.answers import FetchFailed
from heartbeat.sources.dav.multistatus import CALDAV, DAV, Resource
from heartbeat.sources.dav.server import Server
from heartbeat.sources.text import clean_title

_LONGEST_NAME = 100
NONE_THERE = "cannot find a calendar there; check the address, or give that of one calendar"
_UNAUTHORISED = 401
_PRINCIPAL = DAV + "current-user-principal"

Place = tuple[str, str]
"""An address and the depth at which it shows calendars: 0 for a calendar, 1 for what holds some."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """One calendar of a server."""

    name: str
    """What its owner calls it, cleaned; else the last part of its address. A number where the owner wrote that part: it
    may hold a secret."""
    address: str
    version: str
    """What changes with its contents; empty where the server has no such thing."""


def discover(server: Server) -> list[Place]:
    """Where the calendars are listed; raises SourceFailed when none can be found."""
    try:
        places, reason = _behind(server, server.given), SourceFailed(NONE_THERE)
    except FetchFailed as failed:
        if failed.status in (None, _UNAUTHORISED):
            raise
        places, reason = [], failed
    # Of a whole server only: the owner of a calendar that is gone does not mean all the others.
    if not places and urlsplit(server.given).path == "/":
        with suppress(SourceFailed):
            places = _behind(server, urljoin(server.given, "/.well-known/caldav"))
    if not places:
        raise reason
    return places


def list_calendars(server: Server, places: Sequence[Place]) -> list[Calendar]:
    """The calendars at these places, each once."""
    listed = zip(places, server.look_all(places), strict=True)
    found_at = {
        server.resolve(base, resource.href): resource
        for (base, _), found in listed
        for resource in found
        if resource.may_hold_events
    }
    return [
        Calendar(_name(server.given, address, resource, number), address, resource.version)
        for number, (address, resource) in enumerate(found_at.items(), 1)
    ]


def _behind(server: Server, address: str) -> list[Place]:
    here = server.look(address, "0")
    if any(resource.is_calendar for resource in here):
        return [(address, "0")]
    if homes := _homes(server, address, here):
        return homes
    if urlsplit(address).path != "/" and _lists_calendars(server, address):
        return [(address, "1")]
    principals = [server.resolve(address, href) for resource in here for href in resource.hrefs(_PRINCIPAL)]
    return [place for there in principals[:1] for place in _homes(server, there, server.look(there, "0"))]


def _homes(server: Server, base: str, here: list[Resource]) -> list[Place]:
    hrefs = dict.fromkeys(href for resource in here for href in resource.hrefs(CALDAV + "calendar-home-set"))
    return [(server.resolve(base, href), "1") for href in hrefs]


def _lists_calendars(server: Server, address: str) -> bool:
    try:
        return any(resource.is_calendar for resource in server.look(address, "1"))
    except FetchFailed:
        return False


def _name(given: str, address: str, resource: Resource, number: int) -> str:
    last = unquote(urlsplit(address).path.rstrip("/").rpartition("/")[2])
    hidden = not last or last in unquote(given)
    return clean_title(resource.display_name, _LONGEST_NAME) or (
        f"calendar {number}" if hidden else clean_title(last, _LONGEST_NAME)
    )
