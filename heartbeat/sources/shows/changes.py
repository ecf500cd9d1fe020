"""What the listings of a show say now, against what is remembered of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from heartbeat.sources.shows.kept import Kept
from heartbeat.sources.shows.region import Home, Where, where
from heartbeat.sources.shows.same import Group, Listing, is_unsaid, venue_token
from heartbeat.sources.shows.show import Show, Status, Venue

UNHEARD = timedelta(days=3)
"""So long another source's word may not move a show whose believed source fails; then that one is believed."""
FORGOTTEN = timedelta(days=30)
"""So long a postponed show that nobody lists is remembered."""
_MOST_IDS = 50
_OFF = (Status.CANCELLED, Status.POSTPONED)


@dataclass(frozen=True, slots=True)
class View:
    """What one artist's shows are looked at with."""

    now: datetime
    zone: tzinfo
    """The owner's; also that of a venue whose own nobody said."""
    home: Home | None = None
    whole: Collection[str] = ()
    """The sources that listed all of this artist's shows in this run."""
    asked: Collection[str] = ()
    """All that are configured."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A show that is listed, and what is to be said of it."""

    kept: Kept
    lead: Listing
    version: str
    where: Where
    listed_by: tuple[str, ...]
    moved: bool = False
    """It is at another day or venue than when it was first seen."""

    @property
    def show(self) -> Show:
        return self.lead.show

    @property
    def is_near(self) -> bool:
        """Also a show that was to be near home matters there."""
        return self.kept.near


def standing(group: Group, view: View) -> Standing | None:
    """None for a show that is over, or that nobody lists; or whose word is not had: a lesser source may be behind."""
    kept = group.kept
    lead = _believed(group, view)
    if lead is None:
        return None
    show = lead.show
    if show.status is not Status.POSTPONED and is_over(show.day, show.venue, view):
        return None
    token = venue_token(lead, kept)
    place = where(show.venue, view.home)
    here = f"{show.day or ''}|{token}"
    first = kept.first if kept and kept.first and not kept.first.startswith("|") else here
    moved = show.status is not Status.POSTPONED and first != here
    now = Kept(
        key=group.key,
        ids=tuple(dict.fromkeys([*(kept.ids if kept else ()), *(each.id for each in group.listings)]))[-_MOST_IDS:],
        lead=lead.source,
        day=show.day,
        # A venue that is no longer said is still the same: the next one is held against it.
        venue=kept.venue if kept and is_unsaid(show.venue) else show.venue,
        token=token,
        first=first,
        starts=show.starts,
        near=place is Where.NEAR or (kept is not None and kept.near),
        sales=kept.sales if kept else {},
        heard=_today(view),
        postponed=show.status is Status.POSTPONED,
    )
    day = "open" if show.status is Status.POSTPONED else show.day or "undated"
    version = f"{day}|{token}|{'postponed' if show.status is Status.POSTPONED else ''}"
    listed_by = tuple(dict.fromkeys(each.source for each in (lead, *group.listings)))
    return Standing(now, lead, version, place, listed_by, moved)


def remembered(group: Group, found: Standing | None, view: View) -> Kept | None:
    """What to remember of the show from now on; None when it is to be forgotten."""
    kept = found.kept if found else group.kept
    before = group.kept
    if kept is None:
        return None
    listing = {each.source for each in group.listings}
    silent = set(view.whole) - listing
    # A source that is no longer configured will never say more.
    sources = (set(before.sources if before else ()) & set(view.asked) - silent) | listing
    gone = {name: day for name, day in (before.gone if before else {}).items() if name not in listing}
    for name in (set(before.sources) & silent) if before else ():
        gone.setdefault(name, _today(view).isoformat())
    ids = dict.fromkeys([*kept.ids, *(each.id for each in group.listings)])
    if not listing and is_over(kept.day, kept.venue, view) and not (kept.postponed and _is_awaited(gone, view)):
        return None
    heard = kept.heard or _today(view)
    return replace(kept, ids=tuple(ids)[-_MOST_IDS:], sources=tuple(sorted(sources)), gone=gone, heard=heard)


def is_over(day: date | None, venue: Venue, view: View) -> bool:
    return day is not None and view.now >= end_of(day, venue, view.zone)


def end_of(day: date, venue: Venue, zone: tzinfo) -> datetime:
    """The midnight that ends *day* at the venue."""
    midnight = datetime.combine(day + timedelta(days=1), time.min, zone_of(venue) or zone)
    return midnight.astimezone(UTC)


def zone_of(venue: Venue) -> tzinfo | None:
    try:
        return ZoneInfo(venue.zone) if venue.zone else None
    except (ValueError, OSError, LookupError):
        return None


def _today(view: View) -> date:
    return view.now.astimezone(UTC).date()


def _is_awaited(gone: Mapping[str, str], view: View) -> bool:
    """Whether a source may still list it, or did so not long ago."""
    return not gone or max(gone.values()) > (_today(view) - FORGOTTEN).isoformat()


def _believed(group: Group, view: View) -> Listing | None:
    """Whose word counts; of those who are heard instead of a failing lead only that the show is off."""
    if not group.listings or not _is_unheard(group, view):
        return group.listings[0] if group.listings else None
    first_of = {each.source: each for each in reversed(group.listings)}
    return next((each for each in group.listings if each.show.status in _OFF and first_of[each.source] is each), None)


def _is_unheard(group: Group, view: View) -> bool:
    """Whether the source that was believed has just failed: another's older date must not read as a new move."""
    kept = group.kept
    if kept is None or kept.lead in view.whole or kept.lead not in view.asked:
        return False
    if any(each.source == kept.lead for each in group.listings):
        return False
    return kept.heard is None or _today(view) - kept.heard < UNHEARD
