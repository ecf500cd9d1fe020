"""A DAV server, asked with the owner's credentials: PROPFIND and REPORT, and what their answers mean.

Imports httpx; import this module only when there is something to ask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from heartbeat.sources import SourceFailed
from heartbeat.sources.calendars.asking import Asking
from heartbeat.sources.dav.addresses import resolve
from heartbeat.sources.dav.multistatus import Resource, resources
from heartbeat.sources.fetch import Fetcher, Request

_LONGEST = 25.0
"""Seconds for one exchange, whatever the deadline."""
_MULTI_STATUS = frozenset({207})
_LISTING = b"""<?xml version="1.0" encoding="utf-8"?>
<propfind xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:s="http://calendarserver.org/ns/"><prop>
<resourcetype/><displayname/><current-user-principal/><sync-token/>
<c:calendar-home-set/><c:supported-calendar-component-set/><s:getctag/>
</prop></propfind>"""
# Expanding is our own work: servers were seen to lose shifted series, and to lack an idea of the owner's zone.
_EVENTS = """<?xml version="1.0" encoding="utf-8"?>
<c:calendar-query xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><prop><getetag/><c:calendar-data/></prop>
<c:filter><c:comp-filter name="VCALENDAR"><c:comp-filter name="VEVENT"><c:time-range start="{since}" end="{until}"/>
</c:comp-filter></c:comp-filter></c:filter></c:calendar-query>"""


@dataclass(frozen=True, slots=True)
class Server:
    """Where to ask, as whom, and until when."""

    fetcher: Fetcher
    ask: Asking
    given: str
    """The address the owner wrote, without user and password."""
    credentials: tuple[str, str] | None = None
    token: str = ""

    def resolve(self, base: str, href: str) -> str:
        return resolve(self.given, base, href)

    def look(self, address: str, depth: str) -> list[Resource]:
        """What is at an address (depth 0), or also in it (depth 1)."""
        return self.look_all([(address, depth)])[0]

    def look_all(self, places: Sequence[tuple[str, str]]) -> list[list[Resource]]:
        """The same of several, side by side; raises the first failure."""
        requests = {str(number): self._request("PROPFIND", *place, _LISTING) for number, place in enumerate(places)}
        answers = self._exchange(requests)
        return [_or_raise(answers[name]) for name in requests]

    def events(self, addresses: Sequence[str], since: datetime, until: datetime) -> list[list[Resource] | SourceFailed]:
        """The calendar objects of each calendar with an instance between two instants, or why there are none."""
        body = _EVENTS.format(since=_utc(since), until=_utc(until)).encode()
        requests = {str(number): self._request("REPORT", there, "1", body) for number, there in enumerate(addresses)}
        answers = self._exchange(requests)
        return [answers[name] for name in requests]

    def _request(self, method: str, address: str, depth: str, body: bytes) -> Request:
        headers = {"Depth": depth, "Content-Type": "application/xml; charset=utf-8"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return Request(
            address, method=method, body=body, headers=headers, credentials=self.credentials, accepted=_MULTI_STATUS
        )

    def _exchange(self, requests: Mapping[str, Request]) -> dict[str, list[Resource] | SourceFailed]:
        found: dict[str, list[Resource] | SourceFailed] = {}
        for name, answer in self.fetcher.fetch_all(requests, min(self.ask.left, _LONGEST)).items():
            try:
                found[name] = answer if isinstance(answer, SourceFailed) else list(resources(answer.body))
            except SourceFailed as failed:
                found[name] = failed
        return found


def _or_raise(answer: list[Resource] | SourceFailed) -> list[Resource]:
    if isinstance(answer, SourceFailed):
        raise answer
    return answer


def _utc(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%Y%m%dT%H%M%SZ}"
