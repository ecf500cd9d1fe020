"""Calendars of a CalDAV server: `{ caldav = "https://host/", user = "me", password = { env = "CAL_PW" } }`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from heartbeat.sources import SourceFailed
from heartbeat.sources.calendars.asking import Asking, Content, Ics, Unchanged
from heartbeat.sources.entries import Entry, path_of, secret

if TYPE_CHECKING:  # httpx and the XML parser cost more than all other kinds together
    from heartbeat.sources.dav.discovery import Calendar, Place
    from heartbeat.sources.dav.multistatus import Resource
    from heartbeat.sources.dav.server import Server

KIND = "caldav"
SETTINGS = ("user", "password", "token", "calendars", "ca_file")
IS_PATH = False

MOST_CALENDARS = 50
_SHOWN = 10
_MARGIN = timedelta(days=1)
"""Floating times are taken for UTC by servers, and an event that ends before it starts is missed by a narrow range."""


def read(entry: Entry, ask: Asking) -> Content:
    """The events of all calendars, or of those that `calendars` names; one that fails does not hide the others."""
    from heartbeat.sources.dav import addresses
    from heartbeat.sources.dav.server import Server
    from heartbeat.sources.fetch import Fetcher

    given, user = addresses.take_apart(entry.place)
    wanted = _names(entry.settings.get("calendars", []))
    token = secret(entry.settings.get("token", ""))
    if name := secret(entry.settings.get("user", "")):
        user = (name, secret(entry.settings.get("password", "")))
    ca_file = secret(entry.settings.get("ca_file", ""))
    with Fetcher(ask.now, path_of(ca_file) if ca_file else "") as fetcher:
        return _read(Server(fetcher, ask, given, None if token else user, token), ask, wanted)


def _names(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name.strip() for name in value):
        raise SourceFailed('cannot use calendars; write a list of names, such as [ "Work", "Home" ]')
    return [name.strip() for name in value]


def choose(calendars: Sequence[Calendar], wanted: Sequence[str]) -> tuple[list[Calendar], list[str]]:
    """The calendars of these names, or all where none are named; and what is wrong with the names."""
    faults = []
    if wanted:
        have = {calendar.name.casefold() for calendar in calendars}
        listed = ", ".join(sorted(repr(calendar.name) for calendar in calendars)[:_SHOWN])
        missing = [name for name in wanted if name.casefold() not in have]
        faults = [f"cannot find the calendar {name!r}; the server has {listed}" for name in missing]
        names = {name.casefold() for name in wanted}
        calendars = [calendar for calendar in calendars if calendar.name.casefold() in names]
        if not calendars:
            raise SourceFailed(faults[0])
    if len(calendars) > MOST_CALENDARS:
        faults.append(f"cannot read more than {MOST_CALENDARS} of {len(calendars)} calendars; name those you want")
    return list(calendars[:MOST_CALENDARS]), faults


def _read(server: Server, ask: Asking, wanted: Sequence[str]) -> Content:
    known = _Known.read(ask.known, server.given)
    places, calendars = _look(server, known.places)
    chosen, faults = choose(calendars, wanted)
    versions = _versions(chosen)
    if not faults and versions and versions == known.versions:
        return Unchanged(replace(known, places=places).text(server.given))
    contents, more = _events(server, ask, chosen)
    faults += more
    if faults:
        return Ics(contents, _Known(places).text(server.given), tuple(faults))
    found = _Known(places, versions, sha256(b"\0".join(sorted(contents))).hexdigest())
    if found.digest == known.digest:
        return Unchanged(found.text(server.given))
    return Ics(contents, found.text(server.given))


def _look(server: Server, places: Sequence[Place]) -> tuple[list[Place], list[Calendar]]:
    """Where the calendars are, and which: at the places known already, else after a search."""
    from heartbeat.sources.dav.discovery import NONE_THERE, discover, list_calendars

    with suppress(SourceFailed):
        if places and (calendars := list_calendars(server, places)):
            return list(places), calendars
    places = discover(server)
    if calendars := list_calendars(server, places):
        return places, calendars
    raise SourceFailed(NONE_THERE)


def _versions(calendars: Sequence[Calendar]) -> str:
    """What changes with the contents of any; empty where a server does not say for one."""
    if not all(calendar.version for calendar in calendars):
        return ""
    facts = sorted((calendar.address, calendar.version) for calendar in calendars)
    return sha256(json.dumps(facts).encode()).hexdigest()


def _events(server: Server, ask: Asking, calendars: Sequence[Calendar]) -> tuple[tuple[bytes, ...], list[str]]:
    """The calendar objects of all calendars, and why some are missing; raises SourceFailed when no calendar answers."""
    answers = server.events([calendar.address for calendar in calendars], ask.since - _MARGIN, ask.until + _MARGIN)
    failures = [answer for answer in answers if isinstance(answer, SourceFailed)]
    if len(failures) == len(calendars):
        raise failures[0]
    contents: list[bytes] = []
    faults = []
    for calendar, answer in zip(calendars, answers, strict=True):
        if isinstance(answer, SourceFailed):
            faults.append(f"calendar {calendar.name!r}: {answer}")
        else:
            contents += _objects(answer)
            faults += [f"calendar {calendar.name!r}: {fault}" for fault in _missing(answer)]
    return tuple(contents), faults


def _objects(found: Sequence[Resource]) -> list[bytes]:
    from heartbeat.sources.dav.multistatus import DATA

    return [text.encode("utf-8", "replace") for resource in found if (text := resource.text(DATA))]


def _missing(found: Sequence[Resource]) -> list[str]:
    """What a server left out of its answer, in our words."""
    from heartbeat.sources.dav.multistatus import DATA, ETAG, was_cut_off

    faults = ["cannot read all of it: the server cuts its answer off"] if was_cut_off(found) else []
    if bare := sum(ETAG in resource.props and not resource.text(DATA) for resource in found):
        faults.append(f"cannot read {bare} of its events: the server sends them without their data")
    return faults


@dataclass(frozen=True, slots=True)
class _Known:
    """What is kept of an answer for the next run: where the calendars are listed, and what their versions were."""

    places: Sequence[Place] = ()
    versions: str = ""
    """Empty: not to be compared."""
    digest: str = ""
    """Of the events; an answer to a later span may be the same, and then holds no more than it did."""

    @classmethod
    def read(cls, text: str, given: str) -> _Known:
        from heartbeat.sources.dav.addresses import resolve

        try:
            facts = json.loads(text)
            places = [(resolve(given, given, str(where)), str(depth)) for where, depth in facts["at"]]
            return cls(places, str(facts["versions"]), str(facts["digest"]))
        except (ValueError, KeyError, TypeError, SourceFailed):
            return cls()

    def text(self, given: str) -> str:
        """Without what the owner wrote: an address may hold a secret."""
        from heartbeat.sources.dav.addresses import relative

        places = [(relative(given, there), depth) for there, depth in self.places]
        return json.dumps({"at": places, "versions": self.versions, "digest": self.digest})
