"""What lies on disk at one moment, and what the kernel says of the process it names. Standard library only.

Reads, never writes, never asks the daemon, waits for nothing.
"""

from __future__ import annotations

import os

from heartbeat.folders import LOCK, MARKER, PULSE, STARTS
from heartbeat.lock import holder_of
from heartbeat.marker import Marker, read_marker
from heartbeat.probe.ground import look_at_ground
from heartbeat.probe.holder import Holder, look_at
from heartbeat.pulse import Pulse, read_pulse
from heartbeat.record import Record
from heartbeat.starts import Start, read_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heartbeat.probe.supervisor import Supervised


class Evidence(Record):
    """Everything that is known of one installation.

    `holder` is whom the held lock names (`PID:START`), None when nobody holds it; `holder_alive` says whether that
    process runs, `holder_stopped` whether somebody stopped it (SIGSTOP). `faults` is evidence that could not be read,
    `ground` what is wrong with ledger and disk, each as (code, message). `was_started` says that one of the files a
    start makes is there, whatever it holds, `is_installed` that a service was installed. `supervised` is what the
    supervisor says, None when it was not asked or there is none; `marker` is the name of the service, None where none
    can be read.
    """

    __slots__ = (
        "faults",
        "ground",
        "holder",
        "holder_alive",
        "holder_stopped",
        "is_installed",
        "lock_file",
        "marker",
        "pulse",
        "starts",
        "supervised",
        "was_started",
    )

    def __init__(
        self,
        *,
        starts: tuple[Start, ...] = (),
        holder: str | None = None,
        holder_alive: bool = True,
        holder_stopped: bool = False,
        lock_file: str = LOCK,
        pulse: Pulse | None = None,
        faults: tuple[tuple[str, str], ...] = (),
        ground: tuple[tuple[str, str], ...] = (),
        was_started: bool = False,
        is_installed: bool = False,
        marker: Marker | None = None,
        supervised: Supervised | None = None,
    ) -> None:
        self.starts = starts
        self.holder = holder
        self.holder_alive = holder_alive
        self.holder_stopped = holder_stopped
        self.lock_file = lock_file
        self.pulse = pulse
        self.faults = faults
        self.ground = ground
        self.was_started = was_started
        self.is_installed = is_installed
        self.marker = marker
        self.supervised = supervised


def gather(state: str) -> Evidence:
    """Read the evidence; what cannot be read is a fault, never a reason to call it healthy."""
    starts_file, lock_file, pulse_file, marker_file = (f"{state}/{name}" for name in (STARTS, LOCK, PULSE, MARKER))
    faults: list[tuple[str, str]] = []
    starts: tuple[Start, ...] = ()
    holder: str | None = None
    pulse: Pulse | None = None
    try:
        starts, is_whole = read_log(starts_file)
        if not is_whole:
            faults.append(("starts_malformed", f"{starts_file} holds lines that are no starts; starts may be missing"))
    except OSError as error:
        faults.append(_unreadable("starts_unreadable", starts_file, error))
    try:
        holder = holder_of(lock_file)
    except OSError as error:
        faults.append(_unreadable("lock_unreadable", lock_file, error))
    try:
        pulse = read_pulse(pulse_file)
    except (OSError, ValueError) as error:
        faults.append(_unreadable("pulse_unreadable", pulse_file, error))
    marker, unread = _marker(marker_file)
    process = look_at(holder) if holder else Holder(is_alive=True)
    return Evidence(
        starts=starts,
        holder=holder,
        holder_alive=process.is_alive,
        holder_stopped=process.is_stopped,
        lock_file=lock_file,
        pulse=pulse,
        faults=(*faults, *unread),
        ground=look_at_ground(state, _user(state, process), is_used=_has_beaten(holder, pulse)),
        was_started=any(map(os.path.lexists, (starts_file, lock_file, pulse_file))),
        is_installed=marker is not None or bool(unread),
        marker=marker,
    )


def _marker(path: str) -> tuple[Marker | None, tuple[tuple[str, str], ...]]:
    try:
        return read_marker(path), ()
    except (OSError, ValueError) as error:
        return None, (_unreadable("marker_unreadable", path, error),)


def _has_beaten(holder: str | None, pulse: Pulse | None) -> bool:
    """Whether a daemon runs that has opened the ledger: it does that before its first beat."""
    return pulse is not None and pulse.owner == holder and bool(pulse.last_beat_at)


def _user(state: str, process: Holder) -> int | None:
    """Who must be able to write: whose process it is, else whose folder."""
    if process.uid is not None:
        return process.uid
    try:
        return os.stat(state).st_uid
    except OSError:
        return None


def _unreadable(code: str, path: str, error: Exception) -> tuple[str, str]:
    reason = getattr(error, "strerror", None) or error
    return code, f"cannot read {path}: {reason}"
