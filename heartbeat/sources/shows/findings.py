"""Shows, sales and doubts about artists as findings."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from hashlib import sha256
from typing import Any

from heartbeat.sources.shows.changes import Standing, View, end_of, zone_of
from heartbeat.sources.shows.fields import instant, link
from heartbeat.sources.shows.kept import Kept
from heartbeat.sources.shows.region import Where
from heartbeat.sources.shows.show import Artist, Sale, Scan, Status, Venue
from heartbeat.sources.text import clean_title

ABSENCES = 3
"""So many whole scans in a row must miss a show before it counts as gone."""
SALE_GRACE = timedelta(hours=6)
"""So long a sale that has begun is still news."""
_LONGEST = 120
_NAMED = 4


def show_finding(found: Standing, view: View, scope: str) -> dict[str, Any]:
    """One for each show; its version changes with the day, the venue and whether it is postponed."""
    show = found.show
    finding: dict[str, Any] = {
        "key": found.kept.key,
        "version": found.version,
        "title": _title(found, view),
        "kind": _kind(found),
        "body": _body(found, view),
        "urgency": "normal" if found.is_near else "low",
        "source": found.lead.source,
        "origin": "third_party",
        "when_absent": "retract",
        "absences": ABSENCES,
        "scope": scope,
    }
    if url := link(show.url):
        finding["url"] = url
    if show.status is Status.CANCELLED:
        finding["retract"] = True
    if show.day and (show.status is not Status.POSTPONED or view.now < end_of(show.day, show.venue, view.zone)):
        finding["useful_until"] = end_of(show.day, show.venue, view.zone)
    zone = zone_of(show.venue)
    if show.day and show.starts and zone and show.status is not Status.POSTPONED:
        finding["starts_at"] = datetime.combine(show.day, show.starts, zone).astimezone(UTC)
    return finding


def sale_findings(found: Standing, view: View, within: timedelta) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """One for each sale that begins soon, or was reported and now begins at another time; and what was reported.

    Of no scope: what is to come is news at the first look too.
    """
    told: dict[str, str] = {}
    findings = []
    if found.show.status in (Status.CANCELLED, Status.POSTPONED):
        lost = lost_sales(found.show.artist, found.kept, view)
        return lost, dict(found.kept.sales) if lost else told
    for name, sale in _named(found.show.sales):
        start = sale.starts_at.astimezone(UTC)
        text = f"{start:%Y-%m-%dT%H:%M:%SZ}"
        before = found.kept.sales.get(name)
        if start + SALE_GRACE < view.now:
            continue
        if start - view.now <= within or before not in (None, text):
            findings.append(_sale(found, name, start, view))
            told[name] = text
        elif before:
            told[name] = before
    return findings, told


def lost_sales(artist: str, kept: Kept, view: View) -> list[dict[str, Any]]:
    """What takes back the sales that were reported, and have not passed, of a show that is off."""
    findings = []
    for name in kept.sales:
        start = instant(kept.sales, name)
        if start and start + SALE_GRACE >= view.now:
            about = f"the show of {day_text(kept.day)}, {place_text(kept.venue, abroad=not kept.near)}, is off"
            findings.append(
                {
                    "key": _sale_key(kept, name),
                    "title": f"{clean_title(artist, _LONGEST)}: no sale on {_clock(start, view.zone)}, {about}",
                    "kind": "on-sale",
                    "urgency": "normal" if kept.near else "low",
                    "source": kept.lead,
                    "origin": "third_party",
                    "useful_until": start + SALE_GRACE,
                    "retract": True,
                }
            )
    return findings


def unresolved_finding(artist: Artist, ident: str, source: str, scan: Scan) -> dict[str, Any]:
    """Somebody who cannot be asked about until the owner says who is meant."""
    return {
        "key": f"unresolved:{_digest(f'{source}|{ident}')}",
        "title": f"{artist.name}: {source} cannot tell who is meant",
        "kind": "artist-unresolved",
        "body": clean_title(scan.message, 600),
        "urgency": "low",
        "source": source,
        "origin": "owner",
        "when_absent": "forget",
    }


def incomplete_finding(artist: Artist, ident: str, source: str, scan: Scan) -> dict[str, Any]:
    """Somebody of whom a source lists more than can be read."""
    return {
        "key": f"incomplete:{_digest(f'{source}|{ident}')}",
        "title": f"{artist.name}: not all that {source} lists can be read; what is new there may be missed",
        "kind": "artist-incomplete",
        "body": clean_title(scan.message, 600),
        "urgency": "low",
        "source": source,
        "origin": "owner",
        "when_absent": "forget",
    }


def place_text(venue: Venue, *, abroad: bool) -> str:
    region = venue.region if abroad and venue.country in ("US", "CA", "AU") else ""
    parts = [venue.name, venue.city, region, venue.country if abroad else ""]
    return clean_title(", ".join(dict.fromkeys(clean_title(part, _LONGEST) for part in parts if part)), 2 * _LONGEST)


def day_text(day: date | None) -> str:
    return f"{day:%a} {day.day} {day:%b %Y}" if day else "date open"


def _kind(found: Standing) -> str:
    if found.show.status is Status.POSTPONED:
        return "show-postponed"
    if found.show.status is Status.CANCELLED:
        return "show-cancelled"
    return "show-moved" if found.moved or found.show.status is Status.MOVED else "show"


def _title(found: Standing, view: View) -> str:
    show, kind = found.show, _kind(found)
    artist, day = clean_title(show.artist, _LONGEST), day_text(show.day)
    at = place_text(show.venue, abroad=found.where is not Where.NEAR)
    at = f", {at}" if at else ""
    match kind:
        case "show-cancelled":
            return f"{artist}: cancelled, {day}{at}"
        case "show-postponed":
            known = show.day and view.now < end_of(show.day, show.venue, view.zone)
            return f"{artist}: postponed, new date open{f' (listed for {day})' if known else ''}{at}"
        case "show-moved":
            # From where is not said: what the owner was told last is known elsewhere.
            return f"{artist}: moved to {day}{at}"
    festival = clean_title(show.title, _LONGEST) if show.festival else ""
    return f"{artist} plays at {festival}, {day}{at}" if festival else f"{artist}: {day}{at}"


def _body(found: Standing, view: View) -> str:
    show = found.show
    parts = []
    if show.starts and show.status is not Status.POSTPONED:
        parts.append(f"starts {show.starts:%H:%M} local time")
    if show.title and not show.festival:
        parts.append(f"listed as {clean_title(show.title, _LONGEST)}")
    public = [sale.starts_at for sale in show.sales if sale.name == "public"]
    if public and show.status in (Status.SCHEDULED, Status.MOVED):
        begun = public[0] <= view.now
        parts.append("tickets are on sale" if begun else f"tickets from {_clock(public[0], view.zone)}")
    if found.where is Where.UNKNOWN and view.home and not found.is_near:
        parts.append("distance unknown" if show.venue.city else "place unknown")
    more = len(found.listed_by) - _NAMED
    parts.append(f"by {', '.join(found.listed_by[:_NAMED])}{f' and {more} more' if more > 0 else ''}")
    return "; ".join(parts)


def _named(sales: tuple[Sale, ...]) -> Iterator[tuple[str, Sale]]:
    """Each sale under a name of its own."""
    taken: dict[str, int] = {}
    for sale in sorted(sales, key=lambda sale: sale.starts_at):
        name = clean_title(sale.name, 80) or "sale"
        taken[name] = taken.get(name, 0) + 1
        yield (name if taken[name] == 1 else f"{name} {taken[name]}"), sale


def _sale(found: Standing, name: str, start: datetime, view: View) -> dict[str, Any]:
    show = found.show
    at = place_text(show.venue, abroad=found.where is not Where.NEAR)
    what = "tickets" if name == "public" else f"presale {name}"
    finding = {
        "key": _sale_key(found.kept, name),
        "version": f"{start:%Y-%m-%dT%H:%M:%SZ}",
        "title": f"{clean_title(show.artist, _LONGEST)}: {what} from {_clock(start, view.zone)}, for the show of "
        f"{day_text(show.day)}{f', {at}' if at else ''}",
        "kind": "on-sale",
        "urgency": "normal" if found.is_near else "low",
        "starts_at": start,
        "useful_until": start + SALE_GRACE,
        "source": found.lead.source,
        "origin": "third_party",
        # A show that is called off takes its sale along, by name.
        "when_absent": "keep",
    }
    return finding | ({"url": url} if (url := link(show.url)) else {})


def _sale_key(kept: Kept, name: str) -> str:
    return f"sale:{kept.key.partition(':')[2]}:{_digest(name)}"


def _clock(instant: datetime, zone: tzinfo) -> str:
    local = instant.astimezone(zone)
    return f"{day_text(local.date())} {local:%H:%M}"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:20]
