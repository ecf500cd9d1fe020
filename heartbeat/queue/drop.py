"""The queue folder: any program may leave an item there as a file. Taken in before due jobs run.

A file is read, entered in the ledger in one transaction, and only then removed: whoever is killed in between leaves it
to the next, for whom its items are there already, by their keys. One process at a time takes in; a file is moved to a
name of our own before it is removed, so that one which replaced it meanwhile is seen, and read as well.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from heartbeat.errors import HeartbeatError, LedgerCorrupt, LedgerError
from heartbeat.paths import Home
from heartbeat.ports import Ledger
from heartbeat.queue.files import Refusal, Vanished, is_same, look_at, read_file
from heartbeat.queue.items import Zone
from heartbeat.queue.refused import FOLDER, OWN, REFUSED, dropped_as, is_dropped, is_in_the_way, set_aside

GRACE = 10.0
"""Seconds for which a file that cannot be read is left alone: it may be half written."""
MOST_FILES, _MOST_NAMES = 200, 20_000
"""In one pass; the rest is for the next."""
_MOST_STUCK = 5 * MOST_FILES

step_hooks: list[Callable[[str], None]] = []
"""Called after each step with its name; a test ends the process there."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What one pass came to."""

    items: int = 0
    refused: int = 0
    problem: str = ""
    """What kept it from going on; nothing is lost by that."""


def bring_in(home: Home, ledger: Ledger, zone: Zone, now: datetime, *, patience: float = 0.0) -> Taken:
    """Make the queue ready for due jobs; raises LedgerError. *patience*: seconds to wait for another who takes in."""
    folder = str(home.config / FOLDER)
    try:
        taken = _Pass(folder, ledger, zone, now).run(patience) if _names(folder) else Taken()
    except OSError as error:
        taken = Taken(problem=f"cannot take in what lies in {folder}: {error.strerror}; mend that, it is tried again")
    ledger.withdraw_overtaken(now)
    return taken


def has_dropped(home: Home) -> bool:
    """Whether something lies there to be looked at."""
    try:
        return bool(_names(str(home.config / FOLDER)))
    except OSError:
        return True  # to be complained of where it is taken in


def _names(folder: str) -> list[str]:
    """The files to look at; what an earlier pass left under a name of ours comes first."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _MOST_NAMES) if is_dropped(entry.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(names, key=lambda name: (not name.startswith(OWN), _changed(folder, name), name))


def _changed(folder: str, name: str) -> int:
    with suppress(OSError):
        return os.lstat(os.path.join(folder, name)).st_mtime_ns
    return 0


class _Pass:
    """One going through the folder, alone."""

    def __init__(self, folder: str, ledger: Ledger, zone: Zone, now: datetime) -> None:
        self._folder = folder
        self._ledger = ledger
        self._zone = zone
        self._now = now
        self._items = self._refused = 0
        self._stuck: list[str] = []
        """Of each file that can be neither removed nor set aside, what is wrong."""

    def run(self, patience: float) -> Taken:
        with _alone(self._folder, patience) as is_alone:
            done = 0
            for name in _names(self._folder) if is_alone else ():
                if done == MOST_FILES or len(self._stuck) == _MOST_STUCK:
                    break
                done += self._try(name)
        more = f" (and {len(self._stuck) - 1} more)" if len(self._stuck) > 1 else ""
        return Taken(self._items, self._refused, f"{self._stuck[0]}{more}" if self._stuck else "")

    def _try(self, name: str) -> bool:
        """Whether the file was dealt with; one that cannot be is in nobody's way."""
        try:
            self._take(name)
        except Vanished:
            pass
        except OSError as error:
            remedy = f"make {self._folder} and the file writable, or remove the file"
            if is_in_the_way(self._folder):
                remedy = f"move away {os.path.join(self._folder, REFUSED)}, which must be a folder"
            what = f"cannot move {dropped_as(name)!r} out of {self._folder}: {error.strerror}"
            self._stuck.append(f"{what}; {remedy}; it is tried again")
            return False
        return True

    def _take(self, name: str) -> None:
        """Take in one file, or set it aside."""
        path = os.path.join(self._folder, name)
        seen = look_at(path)
        reason = self._enter(path, seen)
        if reason is None:
            return
        own = self._claim(name)
        if not is_same(look_at(own), seen):
            return  # replaced, or written to: it has a name of ours now, and the next pass reads it anew
        _passed("claim")
        if reason:
            plain = dropped_as(name)
            set_aside(self._folder, own, plain, f"cannot take in {plain!r}: {reason}")
            self._refused += 1
        else:
            os.unlink(own)

    def _enter(self, path: str, seen: os.stat_result) -> str | None:
        """Enter its items in the ledger; what is wrong with the file, or None to leave it alone for now."""
        try:
            found = read_file(path, self._folder, self._zone, self._now)
            if found.items:
                self._ledger.enqueue_all(found.items, self._now)
                self._items += len(found.items)
                _passed("commit")
        except Refusal as refusal:
            is_fresh = abs(self._now.timestamp() - seen.st_mtime) < GRACE
            return None if refusal.may_pass and is_fresh else str(refusal)
        except Vanished:
            raise
        except Exception as error:
            if isinstance(error, LedgerCorrupt) or (isinstance(error, LedgerError) and error.retryable):
                raise
            # Whatever one file holds, the others and the daemon go on.
            return f"it cannot be entered: {error if isinstance(error, HeartbeatError) else type(error).__name__}"
        return found.complaint

    def _claim(self, name: str) -> str:
        """Move it to a name nobody else writes to; raises Vanished."""
        path = os.path.join(self._folder, name)
        if name.startswith(OWN):
            return path
        own = os.fsencode(f"{OWN}{os.urandom(4).hex()}-{name}")[:255]
        target = os.path.join(self._folder, os.fsdecode(own))
        try:
            os.rename(path, target)
        except FileNotFoundError:
            raise Vanished from None
        return target


def _passed(step: str) -> None:
    for hook in step_hooks:
        hook(step)


@contextmanager
def _alone(folder: str, patience: float) -> Iterator[bool]:
    """Hold the folder's lock, which dies with the process; False when another one goes on holding it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    end = time.monotonic() + patience
    try:
        while not (is_alone := _lock(descriptor)) and time.monotonic() < end:
            time.sleep(0.02)
        yield is_alone
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: keys keep items from being doubled all the same
    return True
