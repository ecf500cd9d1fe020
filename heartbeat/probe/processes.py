"""What the system says of a process: whether it is there, and when it began. Standard library only."""

from __future__ import annotations

import os
import time

from heartbeat.record import Record

_STATE, _PARENT, _THREADS, _START = 0, 1, 17, 19  # of the fields of proc(5) behind the name
_SLACK = 2.0  # seconds by which two ways to tell the start of a process differ
_FIRST, _LAST = 1e9, 1e10  # seconds since 1970 of any process that can be met


class Process(Record):
    """One process just now.

    `alive` is false only when the system says that there is none, or only its remains. `ticks` is its start since
    boot, as /proc counts it, `started_at` that in seconds since 1970; both None where the system does not tell.
    """

    __slots__ = ("alive", "is_stopped", "parent", "pid", "started_at", "ticks")

    def __init__(
        self,
        pid: int,
        *,
        alive: bool = True,
        is_stopped: bool = False,
        ticks: int | None = None,
        started_at: float | None = None,
        parent: int | None = None,
    ) -> None:
        self.pid = pid
        self.alive = alive
        self.is_stopped = is_stopped
        self.ticks = ticks
        self.started_at = started_at
        self.parent = parent


def find_process(pid: int, *, proc: str = "/proc") -> Process:
    """What is known of *pid*; only «no such process» proves that it is dead: another user's may not be signalled."""
    try:
        if pid <= 0:
            return Process(pid, alive=False)  # 0 and below are groups, and would always be there
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return Process(pid, alive=False)
    except PermissionError:
        pass
    return _from_proc(pid, proc) if os.path.isdir(f"{proc}/self") else _from_ps(pid)


def has_started(process: Process, recorded: object) -> bool | None:
    """Whether *recorded* is the start of the process, in whatever unit; None when one of them is not known.

    A time that is no tick count may be later than the start: programs write down when their own work began. That is
    still proof, for whoever had the number before was dead by then.
    """
    if isinstance(recorded, bool) or not isinstance(recorded, int | float) or process.started_at is None:
        return None
    if process.ticks is not None and recorded == process.ticks:
        return True
    if not 0 < recorded < _LAST * 1000:
        return False  # a file may hold a number that no float can
    instants = (recorded / unit for unit in (1, 100, 1000))
    return any(_FIRST <= at < _LAST and process.started_at - _SLACK <= at <= _now() for at in instants)


def was_written_by(process: Process, written_at: float) -> bool | None:
    """Whether a file can be of this process: one that was last written before it began is of its predecessor."""
    return None if process.started_at is None else written_at >= process.started_at - _SLACK


def elapsed(etime: str) -> float | None:
    """The seconds that `ps` writes as `[[dd-]hh:]mm:ss`; None for anything else."""
    days, _, clock = etime.rpartition("-")
    parts = clock.split(":")
    digits = [*([days] if days or "-" in etime else []), *parts]
    if not all(part.isascii() and part.isdigit() for part in digits) or len(parts) not in (2, 3):
        return None
    hours, minutes, seconds = map(int, ["0", *parts][-3:])
    return int(days or 0) * 86400.0 + hours * 3600 + minutes * 60 + seconds


def _from_proc(pid: int, proc: str) -> Process:
    try:
        with open(f"{proc}/{pid}/stat", "rb", buffering=0) as file:
            # The name may hold anything, but no reader of it comes behind the last bracket.
            facts = file.read(4096).rpartition(b")")[2].decode().split()
        if facts[_STATE] in ("Z", "X") and facts[_THREADS] in ("0", "1"):
            return Process(pid, alive=False)  # with threads left, only its first has ended
        ticks = int(facts[_START])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return Process(pid)  # hidden from us
    return Process(
        pid,
        is_stopped=facts[_STATE] == "T",
        ticks=ticks,
        started_at=_now() - age,
        parent=int(facts[_PARENT]),
    )


def _from_ps(pid: int) -> Process:
    from heartbeat.ask import ask  # here: where there is a /proc nobody waits for it

    words = ask(["ps", "-o", "ppid=,stat=,etime=", "-p", str(pid)], {**os.environ, "LC_ALL": "C"}).text.split()
    if len(words) != 3 or not words[0].isdigit():  # noqa: PLR2004 - as many as are asked for
        return Process(pid)
    age = elapsed(words[2])
    return Process(
        pid,
        alive=not words[1].startswith("Z"),
        is_stopped=words[1].startswith("T"),
        started_at=None if age is None else _now() - age,
        parent=int(words[0]),
    )


def _now() -> float:
    return time.time()
