"""The Python that runs heartbeat, and the packages that it needs: each there, and of a version that will do."""

from __future__ import annotations

import platform
import re
import sqlite3
import sys
from collections.abc import Iterator
from importlib import metadata

from heartbeat import __version__
from heartbeat.doctor._answer import Answer, fail, ok, skip
from heartbeat.doctor._case import Case

_NEEDS = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*(?P<bounds>[^;]*)(?:;(?P<marker>.*))?")
_BOUND = re.compile(r"(>=|<)\s*([0-9][0-9.]*)")
_OLDEST_SQLITE = (3, 37)


def look(_case: Case) -> Iterator[Answer]:
    """As the metadata of the installed heartbeat names them."""
    yield ok(f"heartbeat {__version__}, Python {platform.python_version()} at {sys.executable}")
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        yield fail(f"SQLite is {sqlite3.sqlite_version}, and heartbeat needs 3.37", "use a newer Python", "SQLite")
    try:
        needs = metadata.requires("heartbeat") or []
    except metadata.PackageNotFoundError:
        yield skip("heartbeat is not installed as a package, so nobody says what it needs", "packages")
        return
    faults = [fault for text in needs if (fault := _fault(text))]
    yield from faults
    if not faults:
        versions = ", ".join(f"{name} {metadata.version(name)}" for name in _names(needs))
        yield ok(f"all that it needs is there: {versions}", "packages")


def _names(needs: list[str]) -> Iterator[str]:
    for text in needs:
        found = _NEEDS.match(text)
        if found and "extra" not in (found["marker"] or ""):
            yield found["name"]


def _fault(text: str) -> Answer | None:
    found = _NEEDS.match(text)
    if found is None or "extra" in (found["marker"] or ""):
        return None
    name, wanted = found["name"], found["bounds"].strip()
    remedy = f"`{sys.executable} -m pip install '{name}{wanted}'`, or install heartbeat anew"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return fail(f"the package {name} is missing", remedy, name)
    has = _release(version)
    for sign, bound in _BOUND.findall(wanted):
        is_low = has < _release(bound)
        if is_low if sign == ">=" else not is_low:
            return fail(f"{name} is {version}, and heartbeat needs {wanted}", remedy, name)
    return None


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, without zeros at the end: 3.0 is 3."""
    numbers = [int(word) for word in re.match(r"[0-9.]*", version)[0].split(".") if word]  # type: ignore[index]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
