"""The option `sources` of a script: a list of tables, one a source; one that cannot be used costs only itself."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from heartbeat.sources import SourceFailed
from heartbeat.sources.text import clean_title

LONGEST_NAME = 100
_ADDRESSES = ("http", "https", "webcal", "webcals", "imap", "imaps")


@dataclass(frozen=True, slots=True)
class Entry:
    """One source: `{ KIND = PLACE, name = "…", … }`; *fault* says why it cannot be used."""

    name: str
    """Unique among the entries; what findings, messages and incidents call it."""
    kind: str = ""
    place: str = ""
    """A path that is absolute, an address (a secret: never print it), or whatever the kind wants."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What else stands in the table; secrets among it are still to be read with `secret`."""
    fault: str = ""


def read_entries(value: Any, kinds: Mapping[str, Collection[str]], paths: Collection[str] = ()) -> list[Entry]:
    """The entries of an option, in order.

    *kinds* are the known ones, each with the names of its settings; the places of *paths* are files or folders,
    relative ones below the home. Nothing of a value is ever quoted: it may be a secret.
    """
    if not isinstance(value, list):
        return [Entry("sources", fault=f"cannot use sources: it is no list; write [ {{ {next(iter(kinds))} = … }} ]")]
    return list(_unique(_entry(table, f"source {number}", kinds, paths) for number, table in enumerate(value, 1)))


def secret(value: Any) -> str:
    """The text of a setting: given as it is, or `{ env = "NAME" }`, which is what heartbeat makes of every secret.

    Raises SourceFailed when it cannot be had.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("env"), str):
        raise SourceFailed('cannot use a setting: write text, or a secret such as { env = "NAME" }')
    if fault := value.get("fault"):
        raise SourceFailed(str(fault))
    text = os.environ.get(value["env"], "")
    if not text:
        raise SourceFailed(f"cannot find the variable {value['env']}; set it in heartbeat's environment")
    return text


def path_of(text: str) -> str:
    """An absolute path: `~` is the home folder, a relative one lies below heartbeat's home."""
    return os.path.join(os.environ.get("HEARTBEAT_HOME", ""), os.path.expanduser(text))


def host_of(address: str) -> str:
    """The host that an address names, the only part of it that may be shown; empty when there is none."""
    try:
        return urlsplit(address.strip()).hostname or ""
    except ValueError:
        return ""


def _entry(table: Any, name: str, kinds: Mapping[str, Collection[str]], paths: Collection[str]) -> Entry:
    if not isinstance(table, dict):
        return Entry(name, fault=f"cannot use it: it is no table; write one of {', '.join(kinds)}")
    label = table.get("name", "")
    shown = clean_title(label, LONGEST_NAME) if isinstance(label, str) else ""
    try:
        kind = _kind(table, kinds)
        place = _place(table, kind)
    except SourceFailed as failed:
        return Entry(shown or name, fault=str(failed))
    place = path_of(place) if kind in paths else place
    shown = shown or clean_title(_short(kind, place, paths), LONGEST_NAME) or name
    return Entry(shown, kind, place, {key: value for key, value in table.items() if key not in (kind, "name")})


def _kind(table: Mapping[str, Any], kinds: Mapping[str, Collection[str]]) -> str:
    given = [kind for kind in kinds if kind in table]
    if len(given) != 1:
        has = ", ".join(clean_title(repr(key), 40) for key in sorted(table)) or "no key"
        raise SourceFailed(f"cannot tell what it is: it has {has}; write exactly one of {', '.join(kinds)}")
    kind = given[0]
    if unknown := sorted(set(table) - {kind, "name"} - set(kinds[kind])):
        raise SourceFailed(_unknown_key(unknown[0], kind, kinds[kind]))
    return kind


def _place(table: Mapping[str, Any], kind: str) -> str:
    place = secret(table[kind])
    if not place or not isinstance(table.get("name", ""), str):
        raise SourceFailed(f"cannot use it: its {kind} is empty, or its name is no text; write both in quotes")
    return place


def _short(kind: str, place: str, paths: Collection[str]) -> str:
    """A name for a source that was given none: of an address only the host, the rest is a secret."""
    if kind in paths:
        return os.path.basename(place.rstrip("/"))
    return host_of(place) if place.partition(":")[0].lower() in _ADDRESSES else kind


def _unknown_key(key: str, kind: str, known: Collection[str]) -> str:
    import difflib  # imported here: only for a key that is wrong

    close = difflib.get_close_matches(key, ["name", *known], n=1)
    suggestion = f"did you mean {close[0]!r}? " if close else ""
    listed = ", ".join(["name", *known])
    return f"cannot use the key {clean_title(key, 40)!r}: {suggestion}{kind} knows {listed}"


def _unique(entries: Iterator[Entry]) -> Iterator[Entry]:
    """Findings of two sources must not share their keys."""
    taken: set[str] = set()
    for entry in entries:
        name, count = entry.name, 1
        while name in taken:
            count += 1
            name = f"{entry.name} {count}"
        taken.add(name)
        yield replace(entry, name=name)
