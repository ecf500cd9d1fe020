"""Who heartbeat itself is, from the evidence in its own folders."""

from __future__ import annotations

import os

from heartbeat.folders import LOCK, MARKER, STARTS, find_folders
from heartbeat.lock import holder_of
from heartbeat.marker import read_marker
from heartbeat.probe.restarters.deeds import SYSTEM_HOME
from heartbeat.probe.restarters.search import user_name
from heartbeat.probe.restarters.subject import NAMED, UNNAMED, UNREAD, Subject
from heartbeat.starts import read_starts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from heartbeat.marker import Marker
    from heartbeat.starts import Start

RECENT = 3600.0
"""Seconds for which somebody who ended a life counts as ending lives: longer than any loop worth the name is slow."""
_SIGNALLED = ("stopped", "killed")


def subject_of(config: str, state: str, *, now: float) -> Subject:
    """The heartbeat whose configuration and state lie in these folders; never raises."""
    marker, kept = _marker(f"{state}/{MARKER}")
    places = {name: value for name, value in os.environ.items() if name.startswith("XDG_")}
    is_default = config == find_folders(None, places)[0]
    has_usual_names = is_default or config == SYSTEM_HOME
    units, labels = (["heartbeat.service"], ["local.heartbeat"]) if has_usual_names else ([], [])
    scope = "system" if config == SYSTEM_HOME else "user" if is_default else ""
    if marker is not None and marker.manager == "systemd":
        units, scope = [marker.unit], "system" if marker.domain == "system" else "user"
    elif marker is not None and marker.manager == "launchd":
        labels, scope = [marker.unit], "system" if marker.domain == "system" else "user"
    pid_file = f"{state}/{LOCK}"
    try:
        endings = recent_endings(read_starts(f"{state}/{STARTS}"), now)
    except OSError:
        endings = ()
    return Subject(
        units=units,
        labels=labels,
        scope=scope,
        user=_owner(state),
        commands=("heartbeat",),
        home=config,
        is_default=is_default,
        pid=_pid(pid_file),
        pid_files=(pid_file,),
        endings=endings,
        kept=kept,
    )


def recent_endings(starts: Iterable[Start], now: float) -> tuple[tuple[str, str], ...]:
    """The (sender, words) of the lives that a signal has ended within the last hour, oldest first."""
    ended = [
        start for start in starts if start.sender and start.how in _SIGNALLED and 0 <= now - start.ended_at <= RECENT
    ]
    return tuple((start.sender, start.ending) for start in ended)


def _marker(path: str) -> tuple[Marker | None, str]:
    try:
        marker = read_marker(path)
    except (OSError, ValueError):
        return None, UNREAD
    return marker, UNNAMED if marker is None or marker.manager == "none" else NAMED


def _owner(state: str) -> str:
    try:
        return user_name(os.stat(state).st_uid)
    except OSError:
        return ""


def _pid(lock_file: str) -> int | None:
    try:
        digits = (holder_of(lock_file) or "").partition(":")[0]
    except OSError:
        return None
    return int(digits) if digits.isascii() and digits.isdigit() else None
