"""Asking every configured source about every followed artist; a source that fails costs only itself."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Protocol, cast

from heartbeat.sources import SourceFailed, shows
from heartbeat.sources.entries import Entry, read_entries
from heartbeat.sources.shows.ground import Ground
from heartbeat.sources.shows.show import Artist, Outcome, Provider, Scan
from heartbeat.sources.shows.turns import Turns


class Kind(Protocol):
    """What a module of the folder `providers` holds."""

    KIND: str
    SETTINGS: tuple[str, ...]

    @staticmethod
    def make(entry: Entry, ground: Ground) -> Provider:
        """Raises SourceFailed for settings that cannot be used."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one source said of the artists."""

    entry: Entry
    scans: Mapping[Artist, Scan] = field(default_factory=dict)
    fault: str = ""
    """Why nobody could be asked."""

    @property
    def lists_shows(self) -> bool:
        """False for one that only knows who resembles whom."""
        return not self.scans or any(
            scan.whole or scan.shows or scan.outcome is not Outcome.SCANNED for scan in self.scans.values()
        )


def find_kinds() -> dict[str, Kind]:
    """Every kind of provider by its name, in order of their files."""
    package = f"{shows.__name__}.providers"
    folder = os.path.join(os.path.dirname(shows.__file__), "providers")
    files = sorted(name for name in os.listdir(folder) if name.endswith(".py") and not name.startswith("_"))
    modules = [importlib.import_module(f"{package}.{name[:-3]}") for name in files]
    return {module.KIND: cast("Kind", module) for module in modules if hasattr(module, "KIND")}


def entries_of(value: Any, kinds: Mapping[str, Kind]) -> list[Entry]:
    """The option `sources`."""
    return read_entries(value, {name: kind.SETTINGS for name, kind in kinds.items()})


def ask_all(
    entries: Sequence[Entry], artists: Sequence[Artist], kinds: Mapping[str, Kind], ground: Ground
) -> list[Asked]:
    """Each source in turn; each has an equal share of what is left of the time, so that none starves the others."""
    asked = []
    for place, entry in enumerate(entries):
        share = (ground.deadline - monotonic()) / (len(entries) - place)
        asked.append(_ask(entry, artists, kinds, replace(ground, deadline=monotonic() + share), entries))
    return asked


def provider_of(entry: Entry, kinds: Mapping[str, Kind], ground: Ground) -> Provider:
    """Raises SourceFailed."""
    if entry.fault:
        raise SourceFailed(entry.fault)
    return kinds[entry.kind].make(entry, ground)


def identifier(entries: Sequence[Entry], kinds: Mapping[str, Kind], ground: Ground) -> Callable[[Artist], Artist]:
    """What finds the MusicBrainz id of a name, if one of the sources can; else nothing is found."""
    found: list[Callable[[Artist], Artist]] = []

    def identify(artist: Artist) -> Artist:
        if not found:  # made only when somebody is not known: most runs need none
            found.append(next(_identifying(entries, kinds, ground), lambda unknown: unknown))
        return found[0](artist)

    return identify


def _identifying(
    entries: Iterable[Entry], kinds: Mapping[str, Kind], ground: Ground
) -> Iterator[Callable[[Artist], Artist]]:
    for entry in entries:
        with suppress(SourceFailed):  # it is told of where it is asked for shows
            provider = provider_of(entry, kinds, ground)
            if hasattr(provider, "identify"):
                yield provider.identify


def _ask(
    entry: Entry, artists: Sequence[Artist], kinds: Mapping[str, Kind], ground: Ground, entries: Sequence[Entry]
) -> Asked:
    try:
        provider = provider_of(entry, kinds, ground)
    except SourceFailed as failed:
        return Asked(entry, fault=str(failed))
    identify = identifier([other for other in entries if other is not entry], kinds, ground)
    turns = Turns(ground, entry.name)
    scans = {artist: _scan(provider, artist, identify) for artist in turns.order(artists)}
    if not all(scan.tried for scan in scans.values()):
        # Only a run that did not get to everybody has to know whose turn is next.
        for artist, scan in scans.items():
            if scan.tried:  # whoever fails has had a turn too, or would be the first for ever
                turns.done(artist)
    return Asked(entry, scans)


def _scan(provider: Provider, artist: Artist, identify: Callable[[Artist], Artist]) -> Scan:
    try:
        scan = provider.scan(artist)
        if scan.outcome is Outcome.UNRESOLVED and not artist.mbid and (known := identify(artist)).mbid:
            return provider.scan(known)
    except Exception as error:  # noqa: BLE001  # one broken provider must not hide the others; its text may be a secret
        return Scan(Outcome.FAILED, whole=False, message=f"{type(error).__name__} in the provider; please report this")
    return scan
