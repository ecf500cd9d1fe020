"""Who holds the lock: whether the very process it names still runs, and whose it is. Standard library only."""

from __future__ import annotations

import os

from heartbeat.probe.processes import find_process
from heartbeat.record import Record

_BOOT = "/proc/sys/kernel/random/boot_id"


class Holder(Record):
    """The process that a held lock names; `uid` is whose it is, None if unknown."""

    __slots__ = ("is_alive", "is_stopped", "uid")

    def __init__(self, *, is_alive: bool, is_stopped: bool = False, uid: int | None = None) -> None:
        self.is_alive = is_alive
        self.is_stopped = is_stopped
        self.uid = uid


def look_at(holder: str) -> Holder:
    """What became of `PID:START@BOOT`: a pid alone names nobody for long, a pid and its start does."""
    pid = pid_of(holder)
    process = find_process(pid) if pid else None
    if process is None or not process.alive:
        return Holder(is_alive=False)
    start, _, boot = holder.partition(":")[2].partition("@")
    # Where the kernel shows no ticks, it is hidden from us or there is no /proc: the pulse decides.
    is_it = process.ticks is None or (start == str(process.ticks) and boot in ("", _boot()))
    return Holder(is_alive=is_it, is_stopped=process.is_stopped, uid=_uid(process.pid))


def pid_of(holder: str) -> int | None:
    """The pid in front of the colon, if there is one."""
    digits = holder.split(":", 1)[0]
    # The length keeps a pid inside what the kernel can hold.
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None  # noqa: PLR2004 see above


def _uid(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def _boot() -> str:
    try:
        with open(_BOOT, "rb", buffering=0) as file:
            return (file.read(64) or b"").decode(errors="replace").strip()
    except OSError:
        return ""
