"""Finds and ends everything that a run started, wherever it hid.

A process belongs to a run when it descends from the run's leader, shares its session or group, was once
seen to belong, or carries the run's mark in its initial environment. As subreaper we inherit every orphan,
so at any instant all that lives of a run hangs below a child of ours.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable

from heartbeat.log import warn
from heartbeat.process import pids
from heartbeat.process.pids import Peer

_KILL_WITHIN = 5.0  # seconds; what is then left cannot be killed
_KILL_EVERY = 0.01
_LOOKS = 50  # at something that changes while we look
_PR_SET_CHILD_SUBREAPER = 36

# Held while a child is started and made known, and while children are waited for: so that nobody takes
# another thread's child for an orphan.
_lock = threading.Lock()
_leaders: set[int] = set()
_candidates: dict[Peer, frozenset[int]] = {}
"""For each orphan that may be any run's: the leaders that ran when it was first seen, of which one began it."""
_spared: set[Peer] = set()
"""Our children from before we inherited orphans: whoever became heartbeat by exec started them."""
_is_reaper = False
# To init comes whatever daemonises in its container: an orphan without a mark need not be a run's.
_is_init = os.getpid() == 1


def become_reaper() -> None:
    """Inherit the orphans of our runs instead of leaving them to init; once, in the main thread.

    From then on a child of this process that `execute` did not start counts as an orphan of a run if it
    has a session of its own: start no such child by other means.
    """
    global _is_reaper, _spared  # noqa: PLW0603 they are properties of the process
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        # Inherited from whoever started us: the kernel would wait for our children and hide how they ended.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if sys.platform == "linux":
        _spared = set(pids.children(os.getpid()))
        _is_reaper = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


class Tree:
    """All that one run started, from its leader down."""

    def __init__(self, start: Callable[[], subprocess.Popen[bytes]], mark: str) -> None:
        with _lock:
            self.leader = start()
            _leaders.add(self.leader.pid)
        self._mark = mark
        self._known: set[Peer] = set()
        self._is_lost = False
        self._first = pids.look(self.leader.pid)

    def has_ended(self) -> bool:
        """Whether the leader has; it stays unwaited for, so that its pid, group and session name nobody else."""
        if not hasattr(os, "waitid"):
            return self.leader.poll() is not None
        try:
            return os.waitid(os.P_PID, self.leader.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            # Somebody else waited for it. Popen would call that success.
            self._is_lost = True
            return True

    def living(self) -> set[Peer]:
        """Every living process of the run, the leader included; cheap when nothing but a dead leader is left."""
        if _is_reaper:
            roots = {peer for peer in _adopted() if self._owns(peer)}
            if self._first and self._first.lives():
                roots.add(self._first)
            found = _with_descendants(roots, pids.children)
        else:
            with _lock:
                table = pids.table()
                roots = {peer for peer in table.values() if self._owns(peer)}
            found = _with_descendants(roots, pids.by_parent(table))
        self._known |= found
        return {peer for peer in found if not peer.dead}

    def terminate(self) -> set[Peer]:
        """Ask all of it to end; returns whom."""
        asked = self.living()
        self._signal(asked, signal.SIGTERM)
        # A stopped process would not hear it.
        self._signal(asked, signal.SIGCONT)
        return asked

    def kill(self, pause: Callable[[float], object]) -> None:
        """End all of it, until a look at every process finds nothing more."""
        self._signal((), signal.SIGSTOP)
        _, survivors = _kill_all(self.living, pause)
        if survivors:
            warn("processes_survived", mark=self._mark, pids=sorted(peer.pid for peer in survivors))

    def close(self) -> int | None:
        """Wait for the leader, which has ended, and return how, as Popen does; None when that cannot be known."""
        with _lock:
            _leaders.discard(self.leader.pid)
            if self.has_ended() and not self._is_lost:
                return self.leader.wait()
        # Somebody else took the status, or not even SIGKILL ended it (a dead disk or network drive); then a later
        # run will wait for it as for an orphan.
        self.leader.returncode = -signal.SIGKILL
        return None

    def _signal(self, peers: Collection[Peer], number: signal.Signals) -> None:
        """Signal the leader's group at once, so that no parent sees its child end first, and other peers singly."""
        has_group = self.leader.returncode is None and not self._is_lost
        if has_group:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.leader.pid, number)
        for peer in peers:
            if not (has_group and peer.group == self.leader.pid):
                pids.send(peer, number)

    def _owns(self, peer: Peer) -> bool:
        leader = self.leader.pid
        if leader in (peer.pid, peer.group, peer.session) or peer in self._known:
            return True
        others = _leaders - {leader}
        if peer.session == os.getsid(0) or peer.pid in others or peer.session in others:
            return False
        if peer in _candidates and not _candidates[peer] & others:
            # An orphan that hides its origin is ended as soon as it can be no other running run's.
            return True
        is_older = self._first is not None and peer.start < self._first.start
        return not is_older and self._mark in pids.marks(peer.pid)


def end_strays(marks: Collection[str]) -> int:
    """Kill what an earlier process left behind of the runs and wakes with these marks; returns how many."""
    wanted = set(marks)

    def strays() -> set[Peer]:
        table = pids.table()
        spared = _own_line(table)
        marked = {peer for peer in table.values() if wanted & pids.marks(peer.pid)}
        found = _with_descendants(marked, pids.by_parent(table), spared)
        return {peer for peer in found if not peer.dead}

    killed, survivors = _kill_all(strays, time.sleep) if wanted else (set(), set())
    if survivors:
        warn("processes_survived", pids=sorted(peer.pid for peer in survivors))
    return len(killed)


def _own_line(table: dict[int, Peer]) -> set[int]:
    """We and our ancestors: heartbeat may itself have been started from within a run."""
    line, pid = set(), os.getpid()
    while pid in table and pid not in line:
        line.add(pid)
        pid = table[pid].parent
    return line


def _with_descendants(
    roots: set[Peer], children: Callable[[int], Iterable[Peer]], spared: Collection[int] = ()
) -> set[Peer]:
    found, waiting = set[Peer](), list(roots)
    while waiting:
        peer = waiting.pop()
        if peer not in found and peer.pid not in spared:
            found.add(peer)
            waiting += children(peer.pid)
    return found


def _kill_all(find: Callable[[], set[Peer]], pause: Callable[[float], object]) -> tuple[set[Peer], set[Peer]]:
    """Kill what *find* finds until it finds nothing, within a bound; returns the killed, and who is left."""
    until, killed = time.monotonic() + _KILL_WITHIN, set[Peer]()
    while (living := _freeze(find) or _freeze(find)) and time.monotonic() < until:
        killed |= living
        for peer in living:
            pids.send(peer, signal.SIGKILL)
        pause(_KILL_EVERY)
    reap_orphans()
    return killed - living, living


def _freeze(find: Callable[[], set[Peer]]) -> set[Peer]:
    """Stop all of a tree before any of it is killed: one that forks faster than we look could outrun us."""
    frozen = set[Peer]()
    for _ in range(_LOOKS):
        fresh = find() - frozen
        if not fresh:
            break
        for peer in fresh:
            pids.send(peer, signal.SIGSTOP)
        frozen |= fresh
    return frozen


def reap_orphans() -> None:
    """Wait for the orphans that have ended, as init would: whoever looks for their pids should find them gone."""
    if _is_reaper:
        _adopted()


def _adopted() -> list[Peer]:
    """The living orphans that we have inherited; the dead ones are waited for."""
    with _lock:
        for _ in range(_LOOKS):
            strangers = [peer for peer in pids.children(os.getpid()) if peer.pid not in _leaders]
            orphans = [peer for peer in strangers if peer.session != os.getsid(0)]
            dead = [peer for peer in orphans if peer.dead]
            for peer in dead:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(peer.pid, os.WNOHANG)
            if not dead:
                break
            # One that died just now may have left us a child since we looked.
        living = [peer for peer in orphans if not peer.dead]
        _note_candidates(living)
    return living


def _note_candidates(orphans: Collection[Peer]) -> None:
    for gone in _candidates.keys() - set(orphans):
        del _candidates[gone]
    if not _is_init:
        for peer in set(orphans) - _spared:
            _candidates.setdefault(peer, frozenset(_leaders))
