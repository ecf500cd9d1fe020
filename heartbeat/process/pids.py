"""What the kernel says of processes: who lives, whose child it is, with which mark it was started.

A pid alone names nobody for long; a pid together with its start time does. Standard library only on
Linux; elsewhere psutil answers.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache

_MARKS = ("HEARTBEAT_RUN_ID", "HEARTBEAT_WAKE_ID", "HEARTBEAT_MESSAGE_ID")
_LOOKS = 10
_HAS_PROC = sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class Peer:
    """A process; equal to another when pid and start time are."""

    pid: int
    start: int
    """In the kernel's own unit; ordered."""
    parent: int = field(compare=False)
    group: int = field(compare=False)
    session: int = field(compare=False)
    dead: bool = field(compare=False)
    """Ended, and not yet waited for by its parent."""

    def lives(self) -> bool:
        """Whether it still does."""
        now = look(self.pid)
        return now == self and now is not None and not now.dead


def look(pid: int) -> Peer | None:
    """The process that has this pid now."""
    return _read_stat(pid) if _HAS_PROC else _ask_psutil(pid)


def table() -> dict[int, Peer]:
    """Every process there is, by pid; not of one instant."""
    return {pid: peer for pid in _pids() if (peer := look(pid))}


def by_parent(table: Mapping[int, Peer]) -> Callable[[int], list[Peer]]:
    """A function that gives the children of a pid."""
    families: dict[int, list[Peer]] = {}
    for peer in table.values():
        families.setdefault(peer.parent, []).append(peer)
    return lambda pid: families.get(pid, [])


def children(pid: int) -> list[Peer]:
    """The children of a process, dead ones included; much cheaper than a table where the kernel lists them."""
    if not _lists_children():
        return by_parent(table())(pid)
    seen: set[int] = set()
    for _ in range(_LOOKS):
        # The kernel may skip one child while another is being waited for; then two looks differ.
        before, seen = seen, _listed_children(pid)
        if seen == before:
            break
    return [peer for child in seen if (peer := look(child)) and peer.parent == pid]


def marks(pid: int) -> set[str]:
    """The ids of run, wake and message in the environment this process was started with; none where we may not look."""
    if _HAS_PROC:
        pairs = (entry.partition(b"=") for entry in _read(f"/proc/{pid}/environ").split(b"\0"))
        return {os.fsdecode(value) for name, _, value in pairs if os.fsdecode(name) in _MARKS}
    return _marks_by_psutil(pid)


def send(peer: Peer, number: signal.Signals) -> None:
    """Signal exactly this process; one that has since taken its pid gets nothing."""
    handle = open_handle(peer.pid)
    try:
        if look(peer.pid) != peer:
            return
        # Gone meanwhile, or another user's (a setuid program): nothing more can be done.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if handle is None:
                os.kill(peer.pid, number)
            else:
                signal.pidfd_send_signal(handle, number)
    finally:
        if handle is not None:
            os.close(handle)


def open_handle(pid: int) -> int | None:
    """A descriptor that stands for this process and turns readable when it ends; None where there is no such thing."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def owner(pid: int | None = None) -> str:
    """This process (or that one) as a lasting text, `PID:START`; its start is 0 when it is gone."""
    pid = os.getpid() if pid is None else pid
    return f"{pid}:{_start_text(look(pid))}"


def command_of(pid: int) -> str:
    """How a process was called, its words parted by spaces; empty when it is gone, or where we may not look."""
    if not _HAS_PROC:
        return ""
    words = _read(f"/proc/{pid}/cmdline").rstrip(b"\0").replace(b"\0", b" ")
    return (words or _read(f"/proc/{pid}/comm").strip()).decode(errors="replace")


def is_alive(owner: str) -> bool:
    """Whether the very process that an owner text names still runs."""
    pid_text, _, start = owner.partition(":")
    # The length keeps a pid inside what the kernel can hold.
    if not (pid_text.isascii() and pid_text.isdigit() and len(pid_text) < 10 and int(pid_text)):  # noqa: PLR2004 see above
        return False
    peer = look(int(pid_text))
    if peer is None:
        return _answers(int(pid_text))
    return not peer.dead and _start_text(peer) == start


def _answers(pid: int) -> bool:
    """Whether a process exists whose facts are hidden from us (`hidepid`)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _start_text(peer: Peer | None) -> str:
    # Start times count from boot: without the boot's own id, an early process of the last boot could look alive.
    return f"{peer.start if peer else 0}{_boot()}"


@cache
def _boot() -> str:
    text = _read("/proc/sys/kernel/random/boot_id").decode("ascii").strip() if _HAS_PROC else ""
    return f"@{text}" if text else ""


def _pids() -> Collection[int]:
    if _HAS_PROC:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    import psutil  # Only where there is no /proc: it is not needed on Linux, and slow to load.

    return psutil.pids()


def _read_stat(pid: int) -> Peer | None:
    # The name in parentheses may hold anything, even ") R 1 1"; what follows the last one is fixed.
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) < 20:  # noqa: PLR2004 the start time is field 22 of proc(5), the twentieth after the name
        return None
    # A zombie with threads left is a program whose first thread has ended: it lives on.
    dead = fields[0] in (b"Z", b"X") and int(fields[17]) <= 1
    return Peer(pid, int(fields[19]), int(fields[1]), int(fields[2]), int(fields[3]), dead)


@cache
def _lists_children() -> bool:
    return _HAS_PROC and os.path.exists("/proc/thread-self/children")


def _listed_children(pid: int) -> set[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return set()
    return {int(child) for thread in threads for child in _read(f"/proc/{pid}/task/{thread}/children").split()}


def _read(path: str) -> bytes:
    """The whole of a small kernel file; empty when it is gone or closed to us."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    parts = []
    try:
        while part := os.read(descriptor, 65536):
            parts.append(part)
    except OSError:
        pass
    finally:
        os.close(descriptor)
    return b"".join(parts)


def _ask_psutil(pid: int) -> Peer | None:
    import psutil

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            start, parent = int(process.create_time() * 1_000_000), process.ppid()
            dead = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        return Peer(pid, start, parent, os.getpgid(pid), os.getsid(pid), dead)
    except (psutil.Error, OSError):
        return None


def _marks_by_psutil(pid: int) -> set[str]:
    import psutil

    try:
        environment = psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return set()
    return {environment[name] for name in _MARKS if name in environment}
