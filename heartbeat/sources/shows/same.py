"""Which listings are one show, and the key that a show keeps when it moves, is listed anew or by another provider.

One artist, one day on the venue's calendar, one venue: one show. Of two sources that list it the first configured one
is believed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import time
from hashlib import sha256

from heartbeat.sources.shows.kept import Kept
from heartbeat.sources.shows.naming import plain_name
from heartbeat.sources.shows.region import distance_km
from heartbeat.sources.shows.show import Show, Status, Venue

_EXTRA = re.compile(
    r"(?i)\b(?:vip|parking|upgrades?|packages?|hospitality|resale|meet (?:and|&) greet|add-?ons?|lounge access)\b"
)
"""How ticket sellers name what is sold for a show beside its tickets."""
_SAME_KM = 1.0
"""Two sources may place one house so far apart."""
_SAME_HOUSE_KM = 0.05
"""What one source places so near to where it was is the same house under a new name."""
_NAMESAKES_KM = 50.0
"""Two places of one name further apart are two houses of a chain; within it one of them was placed roughly."""
_LATER_MINUTES = 90
_GONE, _MOVED = 10_000, 20_000
_NO_TIME = 1


@dataclass(frozen=True, slots=True)
class Listing:
    """A show as one source lists it."""

    show: Show
    kind: str
    source: str
    rank: int
    """The place of its source among the configured ones."""

    @property
    def id(self) -> str:
        return f"{self.kind}:{self.show.id}"

    @property
    def is_extra(self) -> bool:
        """It is something sold for a show, not the show."""
        return _EXTRA.search(self.show.title) is not None

    @property
    def order(self) -> tuple[int, bool, bool, time, str]:
        """Who is believed first: of one source never what is sold beside it, nor what was replaced."""
        cancelled = self.show.status is Status.CANCELLED
        return self.rank, self.is_extra, cancelled, self.show.starts or time.min, self.show.id


@dataclass(slots=True)
class Group:
    """All listings of one show, the believed one first."""

    key: str
    kept: Kept | None = None
    listings: list[Listing] = field(default_factory=list)

    @property
    def lead(self) -> Listing:
        return self.listings[0]


def gather(ident: str, listings: Iterable[Listing], kept: Sequence[Kept], whole: Collection[str]) -> list[Group]:
    """The shows of one artist; those remembered that nobody lists now have no listings.

    *whole* are the sources that listed all they have.
    """
    groups = {one.key: Group(one.key, one) for one in kept}
    by_id = {ident_of: groups[one.key] for one in kept for ident_of in one.ids}
    loose = []
    for listing in sorted(listings, key=lambda listing: listing.order):
        known = by_id.get(listing.id)
        if known is None or _has_left(listing, known):
            loose.append(listing)
        else:
            known.listings.append(listing)
    for listing in loose:
        group = _best(listing, groups.values(), whole) or Group(_new_key(ident, listing, groups))
        groups[group.key] = group
        group.listings.append(listing)
        group.listings.sort(key=lambda each: each.order)
    return list(groups.values())


def _best(listing: Listing, groups: Iterable[Group], whole: Collection[str]) -> Group | None:
    """The show that this is another listing of."""
    fitting = [(cost, group) for group in groups if (cost := _cost(listing, group, whole)) >= 0]
    return min(fitting, key=lambda pair: pair[0])[1] if fitting else None


def same_venue(one: Venue, other: Venue) -> bool:
    """Whether they can be one place; what nobody said is no contradiction."""
    if is_unsaid(one) or is_unsaid(other):
        return _same_or_unsaid(one.city, other.city)
    same_name = one.name != "" and plain_name(one.name) == plain_name(other.name)
    if one.place and other.place:
        return distance_km(one.place, other.place) <= (_NAMESAKES_KM if same_name else _SAME_KM)
    return same_name and _same_or_unsaid(one.city, other.city)


def venue_token(lead: Listing, kept: Kept | None) -> str:
    """What stands for the venue in a version: the same as before unless it is certainly another."""
    venue = lead.show.venue
    if kept is not None:
        stays = _same_house if lead.source == kept.lead else same_venue
        if stays(venue, kept.venue):
            return kept.token
    name = plain_name(venue.name) or plain_name(venue.city) or str(venue.place or "")
    return _digest(f"{name}, {plain_name(venue.city)}", 10) if name else "open"


def _same_house(one: Venue, other: Venue) -> bool:
    """As `same_venue`, for two words of one source: what it calls otherwise is the house next door."""
    if _bare(one) == _bare(other):
        return same_venue(replace(one, name=other.name), other)
    if not (one.name and other.name):
        return same_venue(one, other)
    return bool(one.place and other.place and distance_km(one.place, other.place) <= _SAME_HOUSE_KM)


def _bare(venue: Venue) -> str:
    """The name without its city and spaces: the Lido Berlin is the Lido."""
    words = plain_name(venue.name).split()
    return "".join(word for word in words if word not in plain_name(venue.city).split()) or "".join(words)


def _has_left(listing: Listing, group: Group) -> bool:
    """Whether an id that stood for this show is now that of another one, beside it, of the same source."""
    lead = group.listings[0] if group.listings else None
    if lead is None or lead.kind != listing.kind or listing.is_extra:
        return False
    return listing.show.day != lead.show.day and Status.CANCELLED not in (listing.show.status, lead.show.status)


def _cost(listing: Listing, group: Group, whole: Collection[str]) -> int:
    """How badly the listing fits into the group; negative when it does not."""
    show = listing.show
    if not group.listings:
        return _cost_of_return(listing, group.kept, may_move=listing.source in whole)
    lead = group.lead.show
    if show.day != lead.day or not same_venue(show.venue, lead.venue):
        return -1
    apart = _minutes(show.starts, lead.starts)
    rivals = [each for each in group.listings if each.kind == listing.kind and not each.is_extra]
    early_and_late = any((_minutes(show.starts, each.show.starts) or 0) > 0 for each in rivals)
    if early_and_late and not listing.is_extra:
        return -1
    return _NO_TIME if apart is None else apart


def _cost_of_return(listing: Listing, kept: Kept | None, *, may_move: bool) -> int:
    """For a show that is remembered and that nobody lists under the ids it had.

    At another day it can only be one that is said to have moved, and only where the old one is certainly gone.
    """
    show = listing.show
    if kept is None or not same_venue(show.venue, kept.venue):
        return -1
    if show.day == kept.day:
        apart = _minutes(show.starts, kept.starts) or 0
        return _GONE + apart if apart <= _LATER_MINUTES else -1
    same_source = any(ident.startswith(f"{listing.kind}:") for ident in kept.ids)
    return _MOVED if may_move and same_source and show.status is not Status.SCHEDULED else -1


def _minutes(one: time | None, other: time | None) -> int | None:
    if one is None or other is None:
        return None
    return abs(one.hour * 60 + one.minute - other.hour * 60 - other.minute)


def _new_key(ident: str, listing: Listing, taken: dict[str, Group]) -> str:
    """Of what anybody can see of the show, so that it is the same one for a scan that has lost its memory."""
    show = listing.show
    rare = (plain_name(show.venue.city), str(show.starts), listing.id)
    names = [f"{ident}\0{show.day}"] if show.day else []
    # Two shows of one artist and day are rare; then whatever tells them apart.
    names += [f"{ident}\0{show.day}\0{' '.join(rare[:more])}" for more in (1, 2, 3) if show.day or more == len(rare)]
    keys = [f"show:{_digest(name, 24)}" for name in names]
    return next((key for key in keys if key not in taken), keys[-1])


def is_unsaid(venue: Venue) -> bool:
    return not venue.name and venue.place is None


def _same_or_unsaid(one: str, other: str) -> bool:
    return not one or not other or plain_name(one) == plain_name(other)


def _digest(text: str, length: int) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:length]
