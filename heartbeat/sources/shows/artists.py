"""Who is followed: names in the options, and lists in files; an empty or lost list is a fault, not `follow nobody`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import path_of
from heartbeat.sources.shows.naming import plain_name
from heartbeat.sources.shows.show import Artist
from heartbeat.sources.shows.tables import is_table, rows_of
from heartbeat.sources.text import clean_title

MOST_ARTISTS = 2_000
MOST_BYTES = 1024 * 1024
LONGEST_NAME = 150
_MBID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_BULLET = re.compile(r"^[-*+][ \t]+")
_GUEST = re.compile(r"(?i)\s+[(\[]?(?:feat\.?|ft\.|featuring)\s.*$")
_NOBODY = frozenset({"various artists", "various", "unknown artist", "unknown"})
"""How music lists name what nobody in particular plays."""
_SHAPE = 'write a name, or { name = "…", mbid = "…" } with the MusicBrainz id'


@dataclass(frozen=True, slots=True)
class Followed:
    """Everybody the owner follows, each once, and what kept others out."""

    artists: tuple[Artist, ...]
    faults: tuple[str, ...] = ()

    def idents(self) -> dict[Artist, str]:
        """What stands for each artist in keys and scopes: the plain name, with the id where two share one."""
        plain = [plain_name(artist.name) for artist in self.artists]
        return {
            artist: f"{name} {artist.mbid}".strip() if plain.count(name) > 1 else name
            for artist, name in zip(self.artists, plain, strict=True)
        }


def read_followed(given: Any, lists: Any) -> Followed:
    """The artists of the options `artists` and `artists_from`."""
    faults: list[str] = []
    found = [*_given(given, faults), *_listed(lists, faults)]
    once = list(_once(found))
    if len(once) > MOST_ARTISTS:
        faults.append(f"only the first {MOST_ARTISTS} of {len(once)} artists are followed; follow fewer")
    return Followed(tuple(once[:MOST_ARTISTS]), tuple(faults))


def _given(given: Any, faults: list[str]) -> Iterator[Artist]:
    if not isinstance(given, list):
        faults.append(f"cannot use artists: it is no list; {_SHAPE} for each")
        return
    for number, value in enumerate(given, 1):
        table = {"name": value} if isinstance(value, str) else value
        artist = _artist(table.get("name"), table.get("mbid", "")) if isinstance(table, dict) else None
        if artist is None or not set(table) <= {"name", "mbid"}:
            faults.append(f"cannot use artist {number}: {_SHAPE}")
        else:
            yield artist


def _artist(name: Any, mbid: Any) -> Artist | None:
    if not isinstance(name, str) or not isinstance(mbid, str):
        return None
    clean, ident = clean_title(name, LONGEST_NAME + 1), mbid.strip().lower()
    # A shortened name would be another one's.
    if not 0 < len(clean) <= LONGEST_NAME or not plain_name(clean) or (ident and not _MBID.fullmatch(ident)):
        return None
    return Artist(clean, ident)


def _listed(lists: Any, faults: list[str]) -> Iterator[Artist]:
    if not isinstance(lists, list):
        faults.append('cannot use artists_from: it is no list; write [ "~/music.md" ]')
        return
    for path in lists:
        try:
            yield from _of_file(path)
        except SourceFailed as failed:
            faults.append(str(failed))


def _of_file(path: Any) -> list[Artist]:
    if not isinstance(path, str) or not path:
        raise SourceFailed("cannot use an entry of artists_from: it is no path; write it in quotes")
    name = clean_title(os.path.basename(path.rstrip("/")), 100)
    text = _read(path_of(path), name)
    lines = text.replace("\r\n", "\n").split("\n")
    pairs = rows_of(lines) if is_table(lines) else _plain(lines)
    found = [artist for pair in pairs if (artist := _artist(_GUEST.sub("", pair[0]), _mbid(pair[1]))) is not None]
    named = [artist for artist in found if plain_name(artist.name) not in _NOBODY]
    if not named:
        raise SourceFailed(f"cannot use {name!r}: it names no artist; write one on each line, or a table")
    return named


def _mbid(text: str) -> str:
    """An id in a cell, bare or in an address; one that is none costs only itself."""
    found = _MBID.search(text.lower())
    return found[0] if found else ""


def _plain(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield _BULLET.sub("", stripped), ""


def _read(path: str, name: str) -> str:
    try:
        # Without O_NONBLOCK a named pipe would hold the script until somebody writes.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or "it is not a path"
        raise SourceFailed(f"cannot read {name!r}: {why}; mend the path or its permissions") from None
    if len(content) > MOST_BYTES:
        raise SourceFailed(f"cannot read {name!r}: it is over {MOST_BYTES >> 20} MiB; name a smaller list")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SourceFailed(f"cannot read {name!r}: it is not UTF-8 text; save it as such") from None


def _once(found: Sequence[Artist]) -> Iterator[Artist]:
    """Each artist once; a name without an id is the one of that name with an id."""
    by_name: dict[str, dict[str, Artist]] = {}
    for artist in found:
        by_name.setdefault(plain_name(artist.name), {}).setdefault(artist.mbid, artist)
    for same in by_name.values():
        yield from [artist for artist in same.values() if artist.mbid] or same.values()
