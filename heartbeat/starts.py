"""The log of the daemon's lives: when each began and why, how it ended, and who ended it. Read by the probe.

One line a start, its fields parted by TABs; the whole file is replaced, so that a reader never sees half of it.
Standard library only.
"""

from __future__ import annotations

import os

from heartbeat.folders import make_private
from heartbeat.pulse import plain, replace
from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

WHYS = ("boot", "asked", "crash", "watchdog", "unknown")
"""Why a daemon started: the machine did, the owner asked, the one before crashed or hung, or nobody knows."""
HOWS = ("stopped", "failed", "watchdog", "killed", "lost")
"""How a life ended: by a signal that asks, by an error it told, hung, by a signal that kills, or without a word."""
_AT_TERMINAL = " at a terminal"
"""How `by` ends when somebody sat there and asked for it."""
KEPT = 200
_LIMIT = 262_144
_LONGEST = 300
_LATEST = 1e11  # seconds since 1970; beyond lie milliseconds and nonsense


class Start(Record):
    """One life of the daemon.

    `at` and `ended_at` are seconds since 1970; `owner` is `PID:START@BOOT`; `by` says who asked for it, `how` (of HOWS)
    is empty while it lasts or when nobody wrote it down; `ending` is that in words; `sender` (`PID:START@BOOT`) is who
    sent the signal that ended it, where the kernel told.
    """

    __slots__ = ("at", "by", "ended_at", "ending", "how", "owner", "sender", "why")

    def __init__(
        self,
        at: float,
        why: str = "unknown",
        *,
        owner: str = "",
        by: str = "",
        ended_at: float = 0.0,
        how: str = "",
        ending: str = "",
        sender: str = "",
    ) -> None:
        self.at = at
        self.why = why
        self.owner = owner
        self.by = by
        self.ended_at = ended_at
        self.how = how
        self.ending = ending
        self.sender = sender

    @property
    def is_evidence(self) -> bool:
        """Whether it counts as flapping: neither the owner nor the machine's own start asked for it."""
        return self.why not in ("asked", "boot")

    @property
    def boot(self) -> str:
        return self.owner.partition("@")[2]

    def ended(self, at: float, how: str, ending: str, sender: str = "") -> Start:
        """The same life, and how it ended."""
        return Start(
            self.at,
            self.why,
            owner=self.owner,
            by=self.by,
            ended_at=at,
            how=how,
            ending=ending,
            sender=sender,
        )


def log_start(path: str | os.PathLike[str], start: Start) -> None:
    """Add a start to the log, which keeps the latest 200; raises OSError."""
    _write(path, [*read_starts(path), start])


def log_ending(path: str | os.PathLike[str], owner: str, *, at: float, how: str, ending: str, sender: str = "") -> bool:
    """Write down how the life of *owner* ended, unless that is known; whether it was news. Raises OSError."""
    starts = read_starts(path)
    for index in range(len(starts) - 1, -1, -1):
        if starts[index].owner == owner:
            if starts[index].how:
                return False
            starts[index] = starts[index].ended(at, how, ending, sender)
            _write(path, starts)
            return True
    return False


def read_starts(path: str | os.PathLike[str]) -> list[Start]:
    """The log, oldest first; lines that tell of no instant are left out. Raises OSError."""
    return list(read_log(path)[0])


def read_log(path: str | os.PathLike[str]) -> tuple[tuple[Start, ...], bool]:
    """The log, oldest first, and whether all that the file holds was a start; raises OSError."""
    try:
        content, is_cut = _read_tail(path)
    except FileNotFoundError:
        return (), True
    lines = content.decode(errors="replace").split("\n")
    starts = [start for line in lines if (start := _read_line(line)) is not None]
    is_whole = not is_cut and len(starts) == sum(map(bool, lines))
    return tuple(starts), is_whole


def _read_tail(path: str | os.PathLike[str]) -> tuple[bytes, bool]:
    """The end of the file, where the latest starts are, and whether there is more in front of it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe in its place must not block
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        before = os.fstat(descriptor).st_size - _LIMIT
        if before >= 0:
            file.seek(before)
        content = file.read(_LIMIT) or b""  # None: a pipe that somebody may yet write to
    return (content.partition(b"\n")[2], True) if before >= 0 else (content, len(content) == _LIMIT)


def evidence_of(starts: Iterable[Start]) -> list[float]:
    """The instants that may show flapping: those after the last start that was asked for, which began anew."""
    instants: list[float] = []
    for start in starts:
        if start.why == "asked":
            instants.clear()
        elif start.is_evidence:
            instants.append(start.at)
    return instants


def asked_by_programs(starts: Iterable[Start], since: float, until: float) -> list[Start]:
    """Those that a program asked for, not somebody at a terminal."""
    asked = (start for start in starts if start.why == "asked" and since <= start.at <= until)
    return [start for start in asked if start.by and not f" at {start.by}".endswith(_AT_TERMINAL)]


def _read_line(line: str) -> Start | None:
    fields = [*line.split("\t"), *[""] * 7][:8]
    at = instant(fields[0])
    if at is None:
        return None
    why = fields[1] if fields[1] in WHYS else "unknown"
    how = fields[5] if fields[5] in HOWS else ""
    start = Start(at, why, owner=fields[2], by=fields[3])
    return start.ended(instant(fields[4]) or 0.0, how, fields[6], fields[7]) if how else start


def instant(text: str) -> float | None:
    """Seconds since 1970, when that is what the text says; milliseconds and words are not."""
    try:
        at = float(text)
    except ValueError:
        return None
    return at if 0 < at < _LATEST else None


def _write(path: str | os.PathLike[str], starts: list[Start]) -> None:
    make_private(os.path.dirname(path) or ".")
    lines = [f"{_line(start)}\n" for start in starts[-KEPT:]]
    # What strangers' long command lines made of it must not grow past what is read back.
    while sum(len(line.encode()) for line in lines) >= _LIMIT:
        del lines[0]
    replace(path, "".join(lines))


def _line(start: Start) -> str:
    ended = f"{start.ended_at:.3f}" if start.ended_at else ""
    fields = (f"{start.at:.3f}", start.why, start.owner, start.by, ended, start.how, start.ending, start.sender)
    return "\t".join(plain(field)[:_LONGEST] for field in fields)
