"""The processes of this machine: from /proc, or from `ps` where there is none."""

from __future__ import annotations

import os

from heartbeat.ask import ask
from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PROC = "/proc"
_LONGEST = 65_536
_PS = ("ps", "-axww", "-o", "pid=,ppid=,uid=,tty=,command=")


class Peer(Record):
    """One process; `start` is empty where nothing tells it, `has_terminal` says that one is attached to it."""

    __slots__ = ("argv", "has_terminal", "name", "parent", "pid", "start", "uid")

    def __init__(
        self, pid: int, *, parent: int, uid: int, name: str, start: str, has_terminal: bool, argv: Sequence[str]
    ) -> None:
        self.pid = pid
        self.parent = parent
        self.uid = uid
        self.name = name
        self.start = start
        self.has_terminal = has_terminal
        self.argv = tuple(argv)


def peers() -> tuple[list[Peer], str]:
    """Every process that can be seen, and why they cannot (empty: they can)."""
    if not has_proc():
        return _ask_ps()
    try:
        names = os.listdir(_PROC)
    except OSError as error:
        return [], str(error)
    found = [peer_of(int(name)) for name in names if name.isdigit()]
    return [peer for peer in found if peer is not None], ""


def peer_of(pid: int) -> Peer | None:
    """The process of this pid; None when there is none, or it has ended and waits for its parent."""
    if not has_proc():
        return next((peer for peer in _ask_ps()[0] if peer.pid == pid), None)
    stat = _read(f"{_PROC}/{pid}/stat")
    head, _, tail = stat.rpartition(")")
    facts = tail.split()
    if len(facts) < 20 or facts[0] in {"Z", "X"}:  # noqa: PLR2004 the start time is field 22 of proc(5)
        return None
    try:
        uid = os.stat(f"{_PROC}/{pid}").st_uid
    except OSError:
        return None
    return Peer(
        pid,
        parent=int(facts[1]),
        uid=uid,
        name=head.partition("(")[2],
        start=facts[19],
        has_terminal=facts[4] != "0",
        argv=_read(f"{_PROC}/{pid}/cmdline").rstrip("\0").split("\0"),
    )


def ancestors(pid: int, known: Mapping[int, Peer]) -> set[int]:
    """The pid, and those of its parents."""
    line: set[int] = set()
    while pid > 1 and pid not in line:
        line.add(pid)
        pid = known[pid].parent if pid in known else 0
    return line


def folder_of(pid: int) -> str:
    """Where the process is; empty when we may not know."""
    try:
        return os.readlink(f"{_PROC}/{pid}/cwd")
    except OSError:
        return ""


def is_elsewhere(pid: int) -> bool:
    """Whether the process is seen to live in a container of its own: what it restarts is there as well."""
    try:
        return os.readlink(f"{_PROC}/{pid}/ns/pid") != os.readlink(f"{_PROC}/self/ns/pid")
    except OSError:
        return False


def unit_of(pid: int) -> tuple[str, str]:
    """The service in which the process runs, and whether it is the `user` manager's or the `system`'s."""
    for line in _read(f"{_PROC}/{pid}/cgroup").split("\n"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        last = path.rpartition("/")[2]
        if controllers in {"", "name=systemd"} and last.endswith(".service") and not last.startswith("user@"):
            return last, "user" if "/user@" in path else "system"
    return "", ""


def boot_id() -> str:
    """The kernel's name for the time since it booted."""
    return _read(f"{_PROC}/sys/kernel/random/boot_id").strip()


def has_proc() -> bool:
    """Whether this kernel tells of its processes in files."""
    return os.path.exists(f"{_PROC}/self/stat")


def _ask_ps() -> tuple[list[Peer], str]:
    answer = ask(_PS)
    if answer.status != 0:
        return [], answer.fault or answer.text.strip() or "ps failed"
    found = []
    for line in answer.text.split("\n"):
        fields = line.split(None, 4)
        if len(fields) == 5 and all(field.isdigit() for field in fields[:3]):  # noqa: PLR2004 the columns asked for
            pid, parent, uid = map(int, fields[:3])
            argv = fields[4].split(" ")
            name = argv[0].rpartition("/")[2]
            terminal = fields[3] not in {"?", "??", "-"}
            found.append(Peer(pid, parent=parent, uid=uid, name=name, start="", has_terminal=terminal, argv=argv))
    return found, ""


def _read(path: str) -> str:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(_LONGEST).decode(errors="replace")
    except OSError:
        return ""
