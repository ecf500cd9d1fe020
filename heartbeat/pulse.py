"""The daemon's proof of life on disk, and the log of its starts: written by the daemon, read by the probe."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path

PERIOD = 15.0
"""Seconds between two pulses."""
_KEPT_STARTS = 200
_STARTS_LIMIT = 65_536
_PULSE_LIMIT = 1_048_576
_LATEST = 1e11  # seconds since 1970; beyond lie milliseconds and nonsense


@dataclass(frozen=True, slots=True)
class Pulse:
    """One proof of life.

    It counts only when `owner` is who holds the lock. Then it is of this boot, and ages can be taken from the monotonic
    clock: neither a step of the wall clock nor a suspend makes it look older or younger than it is.
    """

    owner: str
    """`PID:START`, as the holder of the lock writes it."""
    monotonic: float
    """When it was written; the wall clock's reading of the same moment is `written_at`."""
    started_monotonic: float
    started_at: str
    written_at: str
    last_beat_at: str
    next_due_at: str | None
    jobs: int
    version: str
    problems: tuple[tuple[str, str], ...] = ()
    """What is wrong though it beats: (code, message)."""


_TYPES: dict[str, type | tuple[type, ...]] = {
    "owner": str,
    "monotonic": float,
    "started_monotonic": float,
    "started_at": str,
    "written_at": str,
    "last_beat_at": str,
    "next_due_at": (str, type(None)),
    "jobs": int,
    "version": str,
    "problems": list,
}


def write_pulse(path: Path, pulse: Pulse) -> None:
    """Replace the pulse file; raises OSError."""
    _replace(path, json.dumps(asdict(pulse)))


def read_pulse(path: Path) -> Pulse | None:
    """The pulse, or None when there is none; raises OSError, and ValueError when the file is no pulse."""
    try:
        raw = _read(path, _PULSE_LIMIT)
    except FileNotFoundError:
        return None
    try:
        fields = json.loads(raw)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(fields, dict) or set(fields) != set(_TYPES):
        raise ValueError("it is not a pulse of this version")
    problems = fields["problems"]
    if not all(isinstance(fields[name], kind) for name, kind in _TYPES.items()) or not all(map(_is_problem, problems)):
        raise ValueError("its fields have the wrong type")
    # Not a number, infinity, and a start after the pulse itself: no clock shows these.
    if not 0 <= fields["started_monotonic"] <= fields["monotonic"] < math.inf:
        raise ValueError("its instants make no sense")
    return Pulse(**{**fields, "problems": tuple((code, message) for code, message in problems)})


def log_start(path: Path, now: float) -> None:
    """Add a start to the log (seconds since 1970, one a line), which keeps the latest 200."""
    lines = [f"{start:.3f}" for start in [*read_starts(path)[1 - _KEPT_STARTS :], now]]
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _replace(path, "\n".join([*lines, ""]))


def read_starts(path: Path) -> list[float]:
    """The starts in the log; lines that are no instant are left out. Reads at most 64 KiB."""
    try:
        raw = _read(path, _STARTS_LIMIT)
    except FileNotFoundError:
        return []
    starts = []
    for line in raw.split(b"\n"):
        try:
            start = float(line)
        except ValueError:
            continue
        if 0 < start < _LATEST:
            starts.append(start)
    return starts


def _is_problem(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair)  # noqa: PLR2004 - code, message


def _replace(path: Path, text: str) -> None:
    """Replace a file as a whole, so that a reader never sees half of it."""
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:  # unlike os.write, it never writes only a part without saying so
        file.write(text.encode())
    os.replace(temporary, path)


def _read(path: Path, limit: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe in its place must not block
    with os.fdopen(descriptor, "rb") as file:
        return file.read(limit) or b""  # None: a pipe that somebody may yet write to
