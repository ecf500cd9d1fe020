"""A stand-in for Ticketmaster's Discovery API, from its documented parameters and fields."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.doubles.server import Answer, Asked, Double

MUSIC = {"segment": {"id": "KZFzniwnSyZfZ7v7nJ", "name": "Music"}}
BASE = "/discovery/v2"
_ALPHABET = "0123456789bcdefghjkmnpqrstuvwxyz"


@dataclass
class Act:
    """An attraction."""

    id: str
    name: str
    mbid: str = ""
    genre: str = "Rock"
    music: bool = True
    more: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        segment = MUSIC if self.music else {"segment": {"id": "KZFzniwnSyZfZ7v7na", "name": "Arts & Theatre"}}
        return {
            "name": self.name,
            "type": "attraction",
            "id": self.id,
            "test": False,
            "url": f"https://www.ticketmaster.com/artist/{self.id}",
            "locale": "en-us",
            "externalLinks": {
                "homepage": [{"url": "https://example.org/"}],
                **(
                    {"musicbrainz": [{"id": self.mbid, "url": f"https://musicbrainz.org/artist/{self.mbid}"}]}
                    if self.mbid
                    else {}
                ),
            },
            "images": [
                {"ratio": "16_9", "url": "https://s1.ticketm.net/x.jpg", "width": 205, "height": 115, "fallback": False}
            ],
            "classifications": [
                {"primary": True, **segment, "genre": {"id": "KnvZfZ7vAeA", "name": self.genre}, "family": False}
            ],
            "upcomingEvents": {"_total": 1, "_filtered": 0},
            "_links": {"self": {"href": f"/discovery/v2/attractions/{self.id}?locale=en-us"}},
            **self.more,
        }


@dataclass
class Hall:
    """A venue."""

    name: str = "Lido"
    city: str = "Berlin"
    country: str = "DE"
    latitude: float = 52.499
    longitude: float = 13.445
    zone: str = "Europe/Berlin"

    def fields(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": "venue",
            "id": "KovZ9177",
            "test": False,
            "locale": "en-us",
            "postalCode": "10997",
            "timezone": self.zone,
            "city": {"name": self.city},
            "state": {"name": "Berlin", "stateCode": "BE"},
            "country": {"name": "Germany", "countryCode": self.country},
            "address": {"line1": "Cuvrystr. 7"},
            "location": {"longitude": f"{self.longitude}", "latitude": f"{self.latitude}"},
        }


@dataclass
class Gig:
    """An event."""

    id: str
    acts: Sequence[Act]
    day: str = "2026-09-18"
    time: str = "20:00:00"
    status: str = "onsale"
    hall: Hall = field(default_factory=Hall)
    name: str = ""
    source: str = "ticketmaster"
    test: bool = False
    foreign: bool = False
    """Listed in another language only: found with locale=* alone."""
    start: Mapping[str, Any] = field(default_factory=dict)
    sales: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        start = {
            "localDate": self.day,
            "localTime": self.time,
            "dateTime": f"{self.day}T18:00:00Z",
            "dateTBD": False,
            "dateTBA": False,
            "timeTBA": False,
            "noSpecificTime": False,
            **self.start,
        }
        return {
            "name": self.name or (self.acts[0].name if self.acts else "Somebody"),
            "type": "event",
            "id": self.id,
            "test": self.test,
            "url": f"https://www.ticketmaster.de/event/{self.id}",
            "locale": "en-us",
            "sales": {
                "public": {
                    "startDateTime": "2026-06-12T08:00:00Z",
                    "startTBD": False,
                    "endDateTime": "2026-09-18T18:00:00Z",
                },
                **self.sales,
            },
            "dates": {
                "start": start,
                "timezone": self.hall.zone,
                "status": {"code": self.status},
                "spanMultipleDays": False,
            },
            "classifications": [{"primary": True, **MUSIC, "family": False}],
            "_links": {"self": {"href": f"/discovery/v2/events/{self.id}?locale=en-us"}},
            "_embedded": {"venues": [self.hall.fields()], "attractions": [act.fields() for act in self.acts]},
            **self.more,
        }

    @property
    def undated(self) -> bool:
        return bool(self.start.get("dateTBD") or self.start.get("dateTBA") or self.start.get("timeTBA"))


class Ticketmaster(Double):
    """Acts and gigs may be changed between two scans."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key
        self.acts: list[Act] = []
        self.gigs: list[Gig] = []
        self.limits: dict[str, str] = {}
        """Headers of every good answer, such as Rate-Limit-Available."""

    @property
    def base(self) -> str:
        return self.address + BASE

    def answer(self, asked: Asked) -> Answer:
        query = asked.query
        if query.get("apikey") != self.key:
            fault = {"faultstring": "Invalid ApiKey", "detail": {"errorcode": "oauth.v2.InvalidApiKey"}}
            return Answer({"fault": fault}, 401)
        size, page = int(query.get("size", "20")), int(query.get("page", "0"))
        if size * page >= 1000:
            detail = "API Limits Exceeded: Max paging depth exceeded. (page * size) must be less than 1,000"
            return Answer({"errors": [{"code": "DIS1035", "detail": detail, "status": "400"}]}, 400)
        if asked.path == f"{BASE}/attractions.json":
            return self._page("attractions", [act.fields() for act in self._acts(query)], size, page)
        if asked.path == f"{BASE}/events.json":
            return self._page("events", [gig.fields() for gig in self._gigs(query)], size, page)
        return Answer({"errors": [{"code": "DIS1004", "detail": "Resource not found", "status": "404"}]}, 404)

    def _acts(self, query: Mapping[str, str]) -> list[Act]:
        words = set(query.get("keyword", "").lower().split())
        found = [act for act in self.acts if words <= set(act.name.lower().split())]
        return [act for act in found if act.music or query.get("classificationName", "").lower() != "music"]

    def _gigs(self, query: Mapping[str, str]) -> list[Gig]:
        wanted = set(filter(None, query.get("attractionId", "").split(",")))
        gigs = [gig for gig in self.gigs if not wanted or wanted & {act.id for act in gig.acts}]
        if query.get("includeTest", "no") == "no":
            gigs = [gig for gig in gigs if not gig.test or gig.more.get("leaks")]
        if query.get("locale", "en") != "*":
            gigs = [gig for gig in gigs if not gig.foreign]
        if "source" in query:
            gigs = [gig for gig in gigs if gig.source in query["source"].split(",")]
        begin, end = query.get("startDateTime", ""), query.get("endDateTime", "9")
        gigs = [gig for gig in gigs if begin <= f"{gig.day}T18:00:00Z" <= end]
        dated = "startDateTime" in query or "endDateTime" in query
        if dated and (query.get("includeTBA"), query.get("includeTBD")) != ("yes", "yes"):
            gigs = [gig for gig in gigs if not gig.undated]
        if "geoPoint" in query:
            unit = 1.0 if query.get("unit") == "km" else 1.609344
            around, most = decoded(query["geoPoint"]), float(query.get("radius", "0")) * unit
            gigs = [gig for gig in gigs if kilometres(around, (gig.hall.latitude, gig.hall.longitude)) <= most]
        return sorted(gigs, key=lambda gig: gig.day) if query.get("sort") == "date,asc" else gigs

    def _page(self, what: str, found: list[dict[str, Any]], size: int, page: int) -> Answer:
        body: dict[str, Any] = {
            "_links": {"self": {"href": f"{BASE}/{what}.json"}},
            "page": {
                "size": size,
                "totalElements": len(found),
                "totalPages": math.ceil(len(found) / size),
                "number": page,
            },
        }
        if part := found[page * size : (page + 1) * size]:
            body["_embedded"] = {what: part}
        return Answer(body, 200, self.limits)


def decoded(geohash: str) -> tuple[float, float]:
    """The middle of a cell."""
    bits = "".join(f"{_ALPHABET.index(c):05b}" for c in geohash)
    middles = []
    for span, own in ((90.0, bits[1::2]), (180.0, bits[0::2])):
        cell = 2 * span / 2 ** len(own)
        middles.append(-span + cell * (int(own, 2) + 0.5))
    return middles[0], middles[1]


def kilometres(one: tuple[float, float], other: tuple[float, float]) -> float:
    (a, b), (c, d) = [tuple(map(math.radians, place)) for place in (one, other)]
    half = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * 6371 * math.asin(math.sqrt(half))
