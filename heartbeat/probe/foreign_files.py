"""The files by which another daemon says that it lives, read with bounds and taken at no more than they prove.

Standard library only.
"""

from __future__ import annotations

import os
import stat

from heartbeat.probe.processes import find_process
from heartbeat.pulse import plain, read_whole
from heartbeat.record import Record
from heartbeat.starts import instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heartbeat.probe.watched import Target

_LARGEST = 1024 * 1024
_STARTS = 65_536
_MOST_FILES, _MOST_PLATFORMS, _LONGEST = 20, 100, 200
_MILLISECONDS = (1e11, 1e14)
_LARGEST_PID = 2**31
_HOMES = ("hermes_home", "stateDir", "configPath")
"""Keys by which a pid file in a folder shared with others says whose it is."""


class Reading(Record):
    """What one file says; `fault` (code, message) when it says nothing that can be used.

    `start` is the start of its process in whatever unit; `stamp` is when it was written by its own account,
    `written_at` by the file system's, which is all there is of a file that only is touched (`is_touched`). `monotonic`
    is a reading of that clock; `platforms` are (name, state, error).
    """

    __slots__ = (
        "fault",
        "is_touched",
        "monotonic",
        "path",
        "phase",
        "pid",
        "platforms",
        "stamp",
        "start",
        "written_at",
    )

    def __init__(
        self,
        path: str,
        *,
        fault: tuple[str, str] | None = None,
        pid: int | None = None,
        start: object = None,
        stamp: float | None = None,
        written_at: float = 0.0,
        monotonic: float | None = None,
        phase: str | None = None,
        platforms: tuple[tuple[str, str, str], ...] = (),
        is_touched: bool = False,
    ) -> None:
        self.path = path
        self.fault = fault
        self.pid = pid
        self.start = start
        self.stamp = stamp
        self.written_at = written_at
        self.monotonic = monotonic
        self.phase = phase
        self.platforms = platforms
        self.is_touched = is_touched


def read_record(kind: str, path: str, target: Target) -> Reading | None:
    """The file of a *kind* (`state`, `heartbeat`, `pid_file`); None when there is none."""
    if not path or not os.path.lexists(path):
        return None
    try:
        written_at = _written_at(path)
        text = read_whole(path, _LARGEST).decode("utf-8-sig")
        return _understood(kind, path, text.strip(), written_at, target)
    except OSError as error:
        return Reading(path, fault=(f"{kind}_unreadable", f"cannot read {path}: {error.strerror or error}"))
    except (ValueError, RecursionError) as error:
        return Reading(path, fault=(f"{kind}_corrupt", f"cannot understand {path}: {plain(str(error))[:_LONGEST]}"))


def read_pid_files(target: Target) -> Reading | None:
    """Of the files that may hold the pid, the one whose process lives, else the latest."""
    paths = [path for pattern in target.pid_file for path in _matching(pattern)]
    readings = [reading for path in paths if (reading := read_record("pid_file", path, target))]
    readings.sort(key=lambda each: each.written_at)
    alive = [each for each in readings if each.pid is not None and find_process(each.pid).alive]
    return next(reversed(alive or readings), None)


def read_starts_log(path: str) -> tuple[float, ...]:
    """The instants of the starts that nobody asked for; raises OSError, and ValueError when no line holds an instant.

    A line is seconds since 1970, alone or as in our own log; the last 64 KiB of the file count.
    """
    if not path or not os.path.lexists(path):
        return ()
    _written_at(path)
    with open(path, "rb", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _STARTS, 0))
        lines = (file.read(_STARTS) or b"").decode("utf-8-sig", errors="replace").split("\n")
    told = []
    for line in lines[1:] if size > _STARTS else lines:  # the first may be cut
        at, why = [*line.split("\t", 2), ""][:2]
        seconds = instant(at)
        if seconds is not None:
            told.append((seconds, why))
    if not told and any(map(str.strip, lines)):
        raise ValueError("no line holds an instant")
    return tuple(seconds for seconds, why in told if why not in ("asked", "boot"))


def moment(value: object) -> float | None:
    """Seconds since 1970 that a record means by a number (milliseconds too) or an ISO 8601 text; else None."""
    if isinstance(value, str):
        from datetime import UTC, datetime

        try:
            at = datetime.fromisoformat(value)
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            value = instant(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    low, high = _MILLISECONDS
    return value / 1000 if low <= value < high else float(value) if 0 < value < low else None


def _written_at(path: str) -> float:
    """When a file was last written; raises OSError, also for what is no file, such as a pipe."""
    facts = os.stat(path)
    if not stat.S_ISREG(facts.st_mode):
        raise OSError("it is no regular file")
    return facts.st_mtime


def _understood(kind: str, path: str, text: str, written_at: float, target: Target) -> Reading:
    """Raises ValueError for what such a file cannot hold."""
    if text.startswith("{") or kind == "state":
        return _of_json(path, text, written_at, target)
    if kind == "heartbeat":  # touched at each beat
        if text and instant(text) is None:
            raise ValueError("it is neither a JSON object nor empty")
        return Reading(path, stamp=written_at, written_at=written_at, is_touched=True)
    if not text:
        raise ValueError("it is empty")
    return Reading(path, pid=_pid(int(text.split(maxsplit=1)[0])), stamp=written_at, written_at=written_at)


def _of_json(path: str, text: str, written_at: float, target: Target) -> Reading:
    import json  # here: many targets have no such file

    record = json.loads(text)
    if not isinstance(record, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - like any other content that cannot be used
    monotonic, phase = record.get("monotonic"), _at(record, target.phase_key)
    return Reading(
        path,
        pid=_pid(_at(record, target.pid_key)) if _is_ours(record, target.home) else None,
        start=_at(record, target.start_key),
        stamp=moment(_at(record, target.updated_key)),
        written_at=written_at,
        monotonic=float(monotonic)
        if isinstance(monotonic, int | float) and 0 <= monotonic < _MILLISECONDS[0]
        else None,
        phase=plain(phase)[:_LONGEST] if isinstance(phase, str) else None,
        platforms=_platforms(_at(record, target.platforms_key)),
    )


def _at(record: dict[str, object], key: str) -> object:
    """The value of a key; dots lead into objects."""
    value: object = record
    for part in key.split(".") if key else [""]:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _is_ours(record: dict[str, object], home: str) -> bool:
    """Whether the record is of this home, as far as it says."""
    named = [value for key in _HOMES if isinstance(value := record.get(key), str) and os.path.isabs(value)]
    ours = os.path.realpath(home)
    return not home or all(os.path.commonpath([ours, os.path.realpath(name)]) == ours for name in named)


def _pid(value: object) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 < value < _LARGEST_PID else None  # type: ignore[operator,return-value]


def _platforms(value: object) -> tuple[tuple[str, str, str], ...]:
    found = []
    for name, said in list(value.items())[:_MOST_PLATFORMS] if isinstance(value, dict) else ():
        facts = said if isinstance(said, dict) else {}
        error = facts.get("error_message") or facts.get("error_code") or ""
        found.append(tuple(plain(str(part))[:_LONGEST] for part in (name, facts.get("state", "unknown"), error)))
    return tuple(found)  # type: ignore[arg-type]


def _matching(pattern: str) -> list[str]:
    if "*" not in pattern:
        return [pattern]
    import glob  # here: only presets and few sections have patterns

    return sorted(glob.glob(pattern))[:_MOST_FILES]
