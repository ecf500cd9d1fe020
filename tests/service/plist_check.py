"""Check a launchd property list on any system: well formed, known keys, right types, and the traps that are known.

It knows the public keys; what launchd does with them only macOS can tell (`plutil -lint` there checks syntax alone).
"""

from __future__ import annotations

import plistlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.service.plist_keys import (
    CALENDAR,
    KEEP_ALIVE,
    KEYS,
    OBSOLETE,
    PATHS,
    PROCESS_TYPES,
    SESSIONS,
    Types,
)

LEAST_THROTTLE = 10
SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|API_?KEY", re.IGNORECASE)


def check(file: Path) -> tuple[list[str], list[str]]:
    """What is wrong with it, and what is likely to be."""
    raw = file.read_bytes()
    try:
        root = ET.fromstring(raw)
        plist = plistlib.loads(raw)
    except Exception as error:  # noqa: BLE001 - plistlib raises as it likes
        return [f"no property list: {error!r}"], []
    if not isinstance(plist, dict):
        return ["the top level is no dict"], []
    errors = [*doubled(root), *mistyped("", plist, KEYS), *of_program(plist), *of_values(plist)]
    return errors, [*of_name(plist, file), *of_life(plist), *of_output(plist), *of_environment(plist)]


def doubled(root: ET.Element) -> Iterator[str]:
    """plistlib keeps the last of two equal keys without a word."""
    for table in root.iter("dict"):
        names = [child.text for child in table if child.tag == "key"]
        yield from (f"{name} is there twice in one dict" for name in set(names) if names.count(name) > 1)


def mistyped(where: str, table: dict[str, Any], known: dict[str, Types]) -> Iterator[str]:
    for key, value in table.items():
        if key not in known:
            yield f"unknown key {where}{key}: launchd ignores it silently, and names are case-sensitive"
        elif not is_a(value, known[key]):
            yield f"{where}{key} is a {type(value).__name__}"


def is_a(value: Any, types: Types) -> bool:
    kinds = types if isinstance(types, tuple) else (types,)
    return any(isinstance(value, kind) and (kind is bool or not isinstance(value, bool)) for kind in kinds)


def of_program(plist: dict[str, Any]) -> Iterator[str]:
    if not plist.get("Label"):
        yield "no Label"
    words = plist.get("ProgramArguments", [])
    if not words and "Program" not in plist and "BundleProgram" not in plist:
        yield "neither Program nor ProgramArguments"
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        yield "ProgramArguments must be an array of strings"
    elif words and not words[0].startswith("/") and "Program" not in plist:
        yield f"the program {words[0]!r} is no absolute path, and launchd's PATH is short"
    for key in PATHS:
        value = plist.get(key, "/")
        if isinstance(value, str) and not value.startswith("/"):
            yield f"{key} {value!r} must be absolute: neither ~ nor $HOME is expanded"


def of_values(plist: dict[str, Any]) -> Iterator[str]:
    if isinstance(plist.get("KeepAlive"), dict):
        yield from mistyped("KeepAlive.", plist["KeepAlive"], KEEP_ALIVE)
    if plist.get("ProcessType", "Standard") not in PROCESS_TYPES:
        yield f"ProcessType {plist['ProcessType']!r}"
    sessions = plist.get("LimitLoadToSessionType", [])
    for session in [sessions] if isinstance(sessions, str) else sessions:
        if session not in SESSIONS:
            yield f"LimitLoadToSessionType {session!r}"
    calendar = plist.get("StartCalendarInterval", [])
    for moment in [calendar] if isinstance(calendar, dict) else calendar:
        for key, value in moment.items():
            low, high = CALENDAR.get(key, (0, -1))
            if not is_a(value, int) or not low <= value <= high:
                yield f"StartCalendarInterval.{key} {value!r}: an integer from {low} to {high}, no list and no step"
    for name, value in plist.get("EnvironmentVariables", {}).items():
        if not isinstance(value, str):
            yield f"EnvironmentVariables.{name} must be a string"


def of_name(plist: dict[str, Any], file: Path) -> Iterator[str]:
    label = str(plist.get("Label", ""))
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", label):
        yield f"Label {label!r}: letters, digits, dots and hyphens alone are safe"
    if file.name != f"{label}.plist":
        yield f"the file is not called {label}.plist"


def of_life(plist: dict[str, Any]) -> Iterator[str]:
    keep = plist.get("KeepAlive", False)
    if keep is True:
        yield "KeepAlive true restarts after success as well"
    if isinstance(keep, dict) and len(keep) > 1:
        yield "the conditions of KeepAlive are ORed"
    if isinstance(keep, dict) and keep.get("Crashed") is False:
        yield "KeepAlive.Crashed false restarts after success as well"
    if keep and {"StartInterval", "StartCalendarInterval"} & set(plist):
        yield "KeepAlive and a schedule: one or the other"
    throttle = plist.get("ThrottleInterval")
    if keep and (throttle is None or (isinstance(throttle, int) and throttle < LEAST_THROTTLE)):
        yield "ThrottleInterval is missing or short, and there is no limit of starts"
    if not plist.get("ExitTimeOut"):
        yield "ExitTimeOut is missing (5 s was seen) or 0 (for ever)"
    yield from (f"{key} is obsolete" for key in OBSOLETE if key in plist)


def of_output(plist: dict[str, Any]) -> Iterator[str]:
    for key in ("StandardOutPath", "StandardErrorPath"):
        if str(plist.get(key, "")).startswith(("/tmp/", "/private/tmp/")):
            yield f"{key} in /tmp: shared, and cleared away"


def of_environment(plist: dict[str, Any]) -> Iterator[str]:
    for name, value in plist.get("EnvironmentVariables", {}).items():
        if SECRET.search(name):
            yield f"EnvironmentVariables.{name}: a secret, and `launchctl print` shows it"
        if isinstance(value, str) and ("$" in value or value.startswith("~")):
            yield f"EnvironmentVariables.{name}: neither ~ nor $ is expanded"
