"""Once a week: who is like those who are followed and plays near home; where no source can tell, the agent is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo
from hashlib import sha256
from typing import Any

from heartbeat.sources.shows.changes import View, end_of, is_over
from heartbeat.sources.shows.fields import link
from heartbeat.sources.shows.findings import day_text, place_text
from heartbeat.sources.shows.naming import plain_name
from heartbeat.sources.shows.notes import Notes
from heartbeat.sources.shows.region import Home, Where, where
from heartbeat.sources.shows.show import Artist, Provider, Show, Status
from heartbeat.sources.text import clean_title

AHEAD = timedelta(days=60)
MOST = 10
"""Ideas a week."""
_ABLE_FOR = timedelta(days=35)
_DONE, _ABLE = "discovery done in", "discovery works"
_NAMES_ROOM = 3_000


@dataclass(frozen=True, slots=True)
class Week:
    """Whose week it is, and where."""

    now: datetime
    zone: tzinfo
    home: Home
    artists: Sequence[Artist]

    @property
    def name(self) -> str:
        year, week, _ = self.now.astimezone(self.zone).isocalendar()
        return f"{year}-W{week:02}"

    @property
    def end(self) -> datetime:
        today = self.now.astimezone(self.zone).date()
        return datetime.combine(today + timedelta(days=8 - today.isoweekday()), time.min, self.zone)


def discover(
    week: Week, providers: Callable[[], Iterable[Provider]], identify: Callable[[Artist], Artist], notes: Notes
) -> tuple[list[dict[str, Any]], bool]:
    """The findings of this week, and whether any source can tell at all.

    What was asked this week is not asked again; the ledger keeps it.
    """
    if notes.get(_DONE) == week.name:
        return [], True
    able = notes.get(_ABLE, _ABLE_FOR) is not None
    if week.home.place is None:
        return [], able
    asked = list(providers())
    until = (week.now + AHEAD).date()
    similar = _first(one.similar([identify(artist) for artist in week.artists]) for one in asked)
    if similar is None:
        return [], able
    for provider in asked:
        shows = provider.nearby(week.home.place, week.home.radius_km, until)
        if shows is not None:
            notes.put(_ABLE, "yes")
            notes.put(_DONE, week.name)
            return _findings(shows, similar, provider.name, week), True
    return [], able


def sweep_finding(week: Week, *, sources: bool) -> dict[str, Any]:
    """The request to the agent; the same all week, so it is made once."""
    place = clean_title(week.home.city, 80) or _rough(week.home)
    lacking = "no source of shows is configured" if not sources else "no configured source can tell who is like them"
    whom = "the artists below, or artists like them," if not sources else "artists like those below"
    return {
        "key": f"sweep:{week.name}",
        "title": f"Search the web for shows near {place} of {'artists like ' if sources else ''}the followed artists",
        "kind": "sweep",
        "body": f"Why: {lacking}, so once a week you are asked. Look for shows of {whom} near {place} in the next "
        f"{AHEAD.days} days; tell only what is certain, with date, venue and link. Followed: {_names(week.artists)}",
        "urgency": "normal",
        "useful_until": week.end,
        "source": "artists",
        "origin": "owner",
        "when_absent": "keep",
    }


def _first(answers: Iterable[Sequence[Artist] | None]) -> Sequence[Artist] | None:
    return next((answer for answer in answers if answer is not None), None)


def _findings(shows: Sequence[Show], similar: Sequence[Artist], source: str, week: Week) -> list[dict[str, Any]]:
    followed = {plain_name(artist.name) for artist in week.artists}
    ranks = {plain_name(artist.name): rank for rank, artist in reversed(list(enumerate(similar)))}
    view = View(week.now, week.zone, week.home)
    best: dict[str, tuple[int, Show]] = {}
    for show in shows:
        rank = ranks.get(plain_name(show.artist))
        if rank is None or plain_name(show.artist) in followed or not _is_on(show, view):
            continue
        best.setdefault(_key(show), (rank, show))
    ordered = sorted(best.items(), key=lambda item: (item[1][0], str(item[1][1].day), item[0]))
    return [_finding(key, show, source, view) for key, (_, show) in ordered[:MOST]]


def _is_on(show: Show, view: View) -> bool:
    if show.day is None or show.status in (Status.CANCELLED, Status.POSTPONED):
        return False
    return not is_over(show.day, show.venue, view) and where(show.venue, view.home) is not Where.FAR


def _key(show: Show) -> str:
    text = f"{plain_name(show.artist)}|{show.day}|{plain_name(show.venue.name)}"
    return f"discovery:{sha256(text.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _finding(key: str, show: Show, source: str, view: View) -> dict[str, Any]:
    assert show.day is not None
    at = place_text(show.venue, abroad=False)
    artist = clean_title(show.artist, 120)
    finding = {
        "key": key,
        "title": f"Like those you follow: {artist}, {day_text(show.day)}{f', {at}' if at else ''}",
        "kind": "discovery",
        "urgency": "low",
        "useful_until": end_of(show.day, show.venue, view.zone),
        "source": source,
        "origin": "third_party",
        # It is reported in one run a week.
        "when_absent": "keep",
    }
    return finding | ({"url": url} if (url := link(show.url)) else {})


def _rough(home: Home) -> str:
    if home.place:
        return f"{home.place[0]:.1f}, {home.place[1]:.1f} (within {home.radius_km:.0f} km)"
    return clean_title(", ".join(part for part in (home.region, home.country) if part), 80)


def _names(artists: Sequence[Artist]) -> str:
    text, more = "", 0
    for artist in artists:
        if len(text) + len(artist.name) > _NAMES_ROOM:
            more += 1
        else:
            text += f"{', ' if text else ''}{artist.name}"
    return f"{text} and {more} more" if more else text
