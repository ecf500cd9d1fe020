"""The time zone of this machine: its IANA name, never an offset, and looked up anew each time, for it may change."""

from __future__ import annotations

import os
import re
from datetime import tzinfo
from functools import lru_cache
from zoneinfo import TZPATH, ZoneInfo, ZoneInfoNotFoundError, available_timezones

LOCALTIME = "/etc/localtime"
"""What the C library goes by when TZ says nothing."""

_NAME = re.compile(r"(?!posix/|right/|localtime$|posixrules$|Factory$)[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")
_IN_A_ZONE_FOLDER = re.compile(r".*/zoneinfo[^/]*/(?:posix/|right/)?(.+)")
_MOST_LINKS = 8
_LARGEST = 64 * 1024


def is_zone(name: str) -> bool:
    """Whether *name* is an IANA zone that this machine knows."""
    if not _NAME.fullmatch(name):
        return False
    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):  # not a zone file, a folder, no such name
        return False
    return True


def host_zone() -> str:
    """The IANA name of this machine's zone; empty when it cannot be told."""
    return _of_variable() or _of_link(LOCALTIME) or _of_file(LOCALTIME)


def _of_variable() -> str:
    text = os.environ.get("TZ", "").removeprefix(":")
    return text if is_zone(text) else _in_zone_folder(text)


def _of_link(path: str) -> str:
    """Link by link, not to the end: the name that the owner chose may itself be a link to another name."""
    for _ in range(_MOST_LINKS):
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:  # it is no link, or not there
            break
        if name := _in_zone_folder(path):
            return name
    return ""


def _of_file(path: str) -> str:
    """By what is in it: a container often has the file of its host, and an /etc/timezone that says something else."""
    rules = _read(path)
    if rules is None:
        return "UTC"  # what the C library then takes
    return _with_rules(rules) or _of_other_signs()


@lru_cache(maxsize=4)  # it reads hundreds of files
def _with_rules(rules: bytes) -> str:
    names = (name for name in sorted(available_timezones()) if is_zone(name))
    return next((name for name in names if any(_read(f"{folder}/{name}") == rules for folder in TZPATH)), "")


def _of_other_signs() -> str:
    import tzlocal  # imported here: hardly any machine needs it

    try:
        name = tzlocal.get_localzone_name()
    except (OSError, LookupError, ValueError):  # there are signs, and they contradict each other
        return ""
    return name if name and is_zone(name) else ""


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return None


def _in_zone_folder(path: str) -> str:
    found = _IN_A_ZONE_FOLDER.fullmatch(path)
    return found[1] if found and is_zone(found[1]) else ""


def zone_or(name: str, default: tzinfo) -> tzinfo:
    """The zone of a name that is kept somewhere; *default* when it is empty, or nothing this machine knows."""
    return ZoneInfo(name) if name and is_zone(name) else default
