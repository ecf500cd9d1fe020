"""Two small files beside the pulse: that heartbeat is installed as a service, and that its owner asked for a start.

Standard library only: the probe reads them.
"""

from __future__ import annotations

import os

from heartbeat.pulse import plain, read_whole, replace
from heartbeat.record import Record
from heartbeat.starts import instant

FRESH = 120.0
"""Seconds for which an intent holds: a start that comes later was not the one asked for."""
_LIMIT = 65_536
_NAMES = ("manager", "unit", "domain", "version")


class Marker(Record):
    """Which service this installation is.

    `manager` is `systemd`, `launchd` or `none` (detached); `unit` is the name of the unit or the label of the job;
    `domain` is `user` or `system` for systemd, and launchd's domain, such as `gui/501`.
    """

    __slots__ = _NAMES

    def __init__(self, manager: str, unit: str, domain: str, version: str = "") -> None:
        self.manager = manager
        self.unit = unit
        self.domain = domain
        self.version = version


def write_marker(path: str | os.PathLike[str], marker: Marker) -> None:
    """Say that heartbeat is installed here; raises OSError."""
    replace(path, "".join(f"{name}\t{plain(getattr(marker, name))}\n" for name in _NAMES))


def read_marker(path: str | os.PathLike[str]) -> Marker | None:
    """The marker; None when heartbeat is not installed. Raises OSError, and ValueError when it is no marker."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None  # of a folder that is closed to us nothing is known: that is an error
    lines = read_whole(path, _LIMIT).decode().splitlines()
    fields = dict(line.partition("\t")[::2] for line in lines)
    if set(fields) != set(_NAMES) or not fields["manager"] or not fields["unit"]:
        raise ValueError("it is not a whole marker; run `heartbeat install` again")
    return Marker(**fields)


def write_intent(path: str | os.PathLike[str], word: str, by: str, now: float) -> None:
    """Say that the owner wants heartbeat to `start`, `restart` or `stop`, just now; raises OSError."""
    replace(path, f"{plain(word)}\t{now:.3f}\t{plain(by)}\n")


def read_intent(path: str | os.PathLike[str], now: float) -> tuple[str, str]:
    """What was asked for within the last two minutes, and by whom; two empty texts when nothing was."""
    try:
        word, at, by = read_whole(path, _LIMIT).decode().strip("\n").split("\t")
    except (OSError, ValueError):
        return "", ""
    asked_at = instant(at)
    is_fresh = asked_at is not None and 0 <= now - asked_at <= FRESH
    return (word, by) if is_fresh else ("", "")


def forget_intent(path: str | os.PathLike[str]) -> None:
    """It has been fulfilled; raises OSError, but not when there is none."""
    try:  # noqa: SIM105 - contextlib would be slow to load
        os.unlink(path)
    except FileNotFoundError:
        pass
