"""The daemon's proof of life on disk: written by the daemon, read by the probe.

Plain records, paths and lines instead of dataclasses, pathlib and JSON: those imports alone would take longer than
the rest of the probe.
"""

from __future__ import annotations

import os

from heartbeat.record import Record

PERIOD = 15.0
"""Seconds between two pulses."""
_PULSE_LIMIT = 1_048_576
_MOST_PROBLEMS, _LONGEST_PROBLEM = 50, 1000
_LONGEST_COUNT = 12
_LATEST = 1e11  # seconds since 1970; beyond lie milliseconds and nonsense

_FIELDS = (  # in the order of their lines; the problems follow
    "owner",
    "monotonic",
    "started_monotonic",
    "started_at",
    "written_at",
    "last_beat_at",
    "last_run_at",
    "next_due_at",
    "overdue",
    "wedged",
    "jobs",
    "items",
    "findings",
    "wakes",
    "messages",
    "version",
)


class Pulse(Record):
    """One proof of life.

    It counts only when `owner` (`PID:START`) is who holds the lock. Then it is of this boot, and ages can be taken from
    the monotonic clock: neither a step of the wall clock nor a suspend makes it look older or younger than it is.
    `monotonic` and `written_at` are readings of the two clocks at one moment; `last_run_at` is empty until a run is
    over, `next_due_at` when nothing is due. `overdue` names the job that has waited longest for a worker,
    `wedged` what has been worked at beyond its time: empty when all is well. `jobs`, `items` (of the queue), `findings`
    (not yet told), `wakes` and `messages` (not yet delivered) are counts; `problems` are what is wrong though it
    beats, as (code, message).
    """

    __slots__ = (*_FIELDS, "problems")

    def __init__(
        self,
        *,
        owner: str,
        monotonic: float,
        started_monotonic: float,
        started_at: str,
        written_at: str,
        last_beat_at: str,
        next_due_at: str,
        jobs: int,
        version: str,
        last_run_at: str = "",
        overdue: str = "",
        wedged: str = "",
        items: int = 0,
        findings: int = 0,
        wakes: int = 0,
        messages: int = 0,
        problems: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.owner = owner
        self.monotonic = monotonic
        self.started_monotonic = started_monotonic
        self.started_at = started_at
        self.written_at = written_at
        self.last_beat_at = last_beat_at
        self.last_run_at = last_run_at
        self.next_due_at = next_due_at
        self.overdue = overdue
        self.wedged = wedged
        self.jobs = jobs
        self.items = items
        self.findings = findings
        self.wakes = wakes
        self.messages = messages
        self.version = version
        self.problems = problems


def write_pulse(path: str | os.PathLike[str], pulse: Pulse) -> None:
    """Replace the pulse file, a line `name TAB value` for each field; raises OSError."""
    lines = [f"{name}\t{plain(str(getattr(pulse, name)))}" for name in _FIELDS]
    # A pulse that grew with what scripts say would grow past what the probe reads.
    told = pulse.problems[:_MOST_PROBLEMS]
    lines += [f"problem\t{plain(code)}\t{plain(message[:_LONGEST_PROBLEM])}" for code, message in told]
    replace(path, "\n".join([*lines, "end", ""]))


def read_pulse(path: str | os.PathLike[str]) -> Pulse | None:
    """The pulse, or None when there is none; raises OSError, and ValueError when the file is no pulse."""
    try:
        text = read_whole(path, _PULSE_LIMIT).decode()
    except FileNotFoundError:
        return None
    if not text.endswith("\nend\n"):
        raise ValueError("it is no whole pulse")
    count = len(_FIELDS)
    pairs = [line.split("\t") for line in text.removesuffix("\nend\n").split("\n")]
    names = [pair[0] for pair in pairs]
    if names != [*_FIELDS, *["problem"] * (len(pairs) - count)]:
        raise ValueError("it is not a pulse of this version")
    values = dict(pairs[:count])
    problems = tuple((code, message) for _, code, message in pairs[count:])
    monotonic, started = float(values["monotonic"]), float(values["started_monotonic"])
    # Not a number, infinity, and a start after the pulse itself: no clock shows these.
    if not 0 <= started <= monotonic < _LATEST:
        raise ValueError("its instants make no sense")
    if any(len(values[name]) > _LONGEST_COUNT for name in ("jobs", "items", "findings", "wakes", "messages")):
        raise ValueError("its counts make no sense")
    return Pulse(
        owner=values["owner"],
        monotonic=monotonic,
        started_monotonic=started,
        started_at=values["started_at"],
        written_at=values["written_at"],
        last_beat_at=values["last_beat_at"],
        last_run_at=values["last_run_at"],
        next_due_at=values["next_due_at"],
        overdue=values["overdue"],
        wedged=values["wedged"],
        jobs=int(values["jobs"]),
        items=int(values["items"]),
        findings=int(values["findings"]),
        wakes=int(values["wakes"]),
        messages=int(values["messages"]),
        version=values["version"],
        problems=problems,
    )


def plain(text: str) -> str:
    """The text without what would end a field or a line, or steer the terminal that `health` prints it on."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def replace(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file as a whole, so that a reader never sees half of it; raises OSError."""
    temporary = f"{os.fspath(path)}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:  # unlike os.write, it never writes only a part without saying so
            file.write(text.encode())
        os.replace(temporary, path)
    except OSError:
        try:  # noqa: SIM105 - contextlib would be slow to load
            os.unlink(temporary)
        except OSError:
            pass
        raise


def read_whole(path: str | os.PathLike[str], limit: int) -> bytes:
    """At most *limit* bytes of a file, whatever stands in its place; raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe in its place must not block
    with os.fdopen(descriptor, "rb") as file:
        return file.read(limit) or b""  # None: a pipe that somebody may yet write to
