"""What the tests of providers share: one run of the scan, and JSON of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from hypothesis import strategies as st

from heartbeat.sources.answers import Response
from heartbeat.sources.fetch import Fetcher, Request
from heartbeat.sources.shows import asking
from heartbeat.sources.shows.ground import Ground

NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
CONTACT = "me@example.org"
HOME = (52.52, 13.405)


@contextmanager
def run(cache: Path | None, now: datetime = NOW, *, seconds: float = 60.0, contact: str = CONTACT) -> Iterator[Ground]:
    """The ground of one run that may last so long."""
    with Fetcher(now) as fetcher:
        yield ground(fetcher, cache, now, seconds, contact)


def ground(
    fetcher: Fetcher, cache: Path | None, now: datetime = NOW, seconds: float = 60.0, contact: str = CONTACT
) -> Ground:
    folder = str(cache) if cache else None
    return Ground(now, ZoneInfo("Europe/Berlin"), folder, monotonic() + seconds, fetcher, contact)


def without_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nobody sleeps; what would have been slept."""
    slept: list[float] = []
    monkeypatch.setattr(asking, "sleep", slept.append)
    return slept


class Canned:
    """A fetcher that has one body for everybody."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def fetch(self, request: Request, seconds: float) -> Response:
        return Response(200, self.body)


def canned(body: bytes) -> Fetcher:
    return cast("Fetcher", Canned(body))


_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**300, max_value=10**301)
    | st.floats()
    | st.text()
    | st.sampled_from(
        [
            "0001-01-01",
            "9999-12-31",
            "9999-12-31T23:59:59-14:00",
            "0001-01-01T00:00:00+14:00",
            "24:00",
            "1e999",
            "\ud800",
        ]
    )
)
any_json = st.recursive(_scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)


def spoiled(whole: Any) -> st.SearchStrategy[Any]:
    """*whole*, some of its fields replaced by anything or missing."""
    places = st.sampled_from(list(_places(whole)))
    return st.dictionaries(places, any_json | st.just(_MISSING), min_size=1, max_size=6).map(
        lambda changes: _changed(whole, (), changes)
    )


_MISSING = object()
_Place = tuple[str | int, ...]


def _places(value: Any, at: _Place = ()) -> Iterator[_Place]:
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _places(inner, (*at, key))


def _changed(value: Any, at: _Place, changes: dict[_Place, Any]) -> Any:
    if at in changes:
        return None if changes[at] is _MISSING and not at else changes[at]
    if isinstance(value, dict):
        inner = {key: _changed(part, (*at, key), changes) for key, part in value.items()}
        return {key: part for key, part in inner.items() if part is not _MISSING}
    if isinstance(value, list):
        parts = [_changed(part, (*at, place), changes) for place, part in enumerate(value)]
        return [part for part in parts if part is not _MISSING]
    return value
