"""Live processes that restart the subject: loops, and whoever was seen sending it the signal that ended it."""

from __future__ import annotations

import os

from heartbeat.probe.restarters.peers import Peer, ancestors, boot_id, folder_of, is_elsewhere, peers, unit_of
from heartbeat.probe.restarters.search import Search, told, uid_of, user_name
from heartbeat.probe.restarters.subject import Restarter, quote, short, unseen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_MANAGERS = frozenset({"systemd", "launchd", "init", "(sd-pam)", "runit", "s6-svscan"})
_OFTEN = 2


def look(search: Search) -> tuple[list[Restarter], list[tuple[str, str]]]:
    """The processes found, and why they could not be looked at."""
    seen, fault = peers()
    known = {peer.pid: peer for peer in seen}
    innocent = ancestors(os.getpid(), known) | {1, search.subject.pid or 1}
    suspects = {peer.pid: peer for peer in seen if peer.pid not in innocent}
    found = [*_senders(search, suspects, known), *_loops(search, suspects, known)]
    return found, [unseen("the processes", fault)] if fault else []


def _loops(search: Search, suspects: Mapping[int, Peer], known: Mapping[int, Peer]) -> list[Restarter]:
    found = []
    target = known.get(search.subject.pid or 0)
    uids = {0, os.geteuid(), uid_of(search.owner), target.uid if target else 0}
    users = {uid: user_name(uid) for uid in uids if uid is not None}
    for pid in sorted(suspects):
        peer = suspects[pid]
        # Nobody else's process could end it; and what strangers may write into their command lines is theirs.
        if peer.uid not in users or not peer.argv[0]:
            continue
        if peer.argv[0].rpartition("/")[2] == "systemd-run":
            continue  # the unit that it has made is what runs
        step = search.restarting(peer.argv, user=users[peer.uid], folder=folder_of(pid))
        if step is None or not step.looped or is_elsewhere(pid) or _is_told(search, peer, known):
            continue
        search.seen_pids.add(pid)
        message = f"process {pid} of {users[peer.uid]} runs {told(step)} in a loop"
        found.append(Restarter("process", str(pid), message, _remedy(search, peer)))
    return found


def _senders(search: Search, suspects: Mapping[int, Peer], known: Mapping[int, Peer]) -> list[Restarter]:
    """Those still alive that were seen to end the subject."""
    found = []
    boot = boot_id()
    times: dict[str, list[str]] = {}
    for sender, words in search.subject.endings:
        times.setdefault(sender, []).append(words)
    target = known.get(search.subject.pid or 0)
    parent = target.parent if target else 0
    for sender, endings in times.items():
        peer = _alive(sender, suspects, boot)
        if peer is None or peer.name in _MANAGERS or peer.pid == parent or _is_told(search, peer, known):
            continue
        if peer.has_terminal and len(endings) < _OFTEN:
            continue  # the owner, once, by hand
        search.seen_pids.add(peer.pid)
        often = "once" if len(endings) == 1 else f"{len(endings)} times"
        command = short(peer.argv) or peer.name
        message = f"process {peer.pid} (`{command}`) sent the signal that ended it, {often}"
        found.append(Restarter("sender", str(peer.pid), message, _remedy(search, peer)))
    return found


def _alive(sender: str, suspects: Mapping[int, Peer], boot: str) -> Peer | None:
    """The very process that `PID:START@BOOT` names, if it still runs."""
    pid, _, rest = sender.partition(":")
    start, _, when = rest.partition("@")
    peer = suspects.get(int(pid)) if pid.isascii() and pid.isdigit() else None
    is_same = peer is not None and bool(start) and peer.start == start and when in {"", boot}
    return peer if is_same else None


def _is_told(search: Search, peer: Peer, known: Mapping[int, Peer]) -> bool:
    """Whether it belongs to a restarter that has been named."""
    if ancestors(peer.pid, known) & (search.seen_pids - {0, 1}):
        return True
    return unit_of(peer.pid)[0] in search.seen_units


def _remedy(search: Search, peer: Peer) -> str:
    """A service would start it again, so that is what must be stopped."""
    unit, scope = unit_of(peer.pid)
    own = search.subject.units
    if unit and unit not in own:
        user = () if search.owner == search.me else ("-M", f"{search.owner}@")
        words = ("systemctl", *(("--user", *user) if scope == "user" else ()), "stop", unit)
        return search.as_root(*words) if scope == "system" else quote(words)
    words = ("kill", str(peer.pid))
    return quote(words) if peer.uid == os.geteuid() else search.as_root(*words)
