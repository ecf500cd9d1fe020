"""What the daemon stands on: its ledger and the disk below, looked at from outside. Standard library only.

SQLite is not asked: a look at a few bytes and at the permissions tells what a monitor must know, and writes nothing.
"""

from __future__ import annotations

import os
import stat

LEDGER = "ledger.db"
_MAGIC = b"SQLite format 3\0"
_SMALLEST = 512  # a page
_SCARCE = 1024 * 1024
"""With less than this left, the next run can hardly be recorded."""


def look_at_ground(state: str, uid: int | None, *, is_used: bool) -> tuple[tuple[str, str], ...]:
    """What is wrong below the state folder, as (code, message).

    *uid* is who must be able to write, None if unknown; *is_used* says that a daemon has begun to use the ledger, which
    then must be there.
    """
    faults = _of_disk(state)
    file = f"{state}/{LEDGER}"
    try:
        head, size = _head(file)
    except FileNotFoundError:
        if is_used:
            faults.append(
                ("ledger_missing", f"{file} is gone while the daemon runs; restart it, and find who removed it")
            )
        return tuple(faults)
    except OSError as error:
        faults.append(("ledger_unreadable", f"cannot read {file}: {error.strerror or error}"))
        return tuple(faults)
    # One that a start has only just made is empty.
    if (size or is_used) and (head != _MAGIC or size < _SMALLEST):
        remedy = "restart heartbeat, which sets it aside and begins a new one"
        faults.append(("ledger_corrupt", f"{file} is no SQLite database; {remedy}"))
    if uid and not any(code == "disk_read_only" for code, _ in faults):
        faults += [
            _closed(path, uid) for path in (state, file, f"{file}-wal", f"{file}-shm") if not _may_write(path, uid)
        ]
    return tuple(faults)


def _of_disk(state: str) -> list[tuple[str, str]]:
    try:
        disk = os.statvfs(state)
    except OSError:
        return []  # no folder, or one that is closed to us: other evidence says so
    if disk.f_flag & os.ST_RDONLY:
        return [("disk_read_only", f"the disk below {state} can only be read; see `dmesg`, mount it for writing again")]
    free = disk.f_bavail * disk.f_frsize
    if free < _SCARCE:
        return [("disk_full", f"{free // 1024} KiB are left on the disk below {state}; make room there")]
    if disk.f_files and not disk.f_favail:
        return [("disk_full", f"the disk below {state} takes no more files; remove some there")]
    return []


def _head(path: str) -> tuple[bytes, int]:
    """The first bytes of a file, and its size; raises OSError, and for what is no file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe in its place must not block
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError("it is no regular file")
        return os.pread(descriptor, len(_MAGIC), 0), facts.st_size
    finally:
        os.close(descriptor)


def _closed(path: str, uid: int) -> tuple[str, str]:
    return "ledger_not_writable", f"the daemon's user ({uid}) cannot write {path}; `chown {uid} {path}`"


def _may_write(path: str, uid: int) -> bool:
    """Whether the user may, as far as the mode shows; what is not there is no obstacle."""
    if uid == os.geteuid():
        return os.access(path, os.W_OK) or not os.path.lexists(path)
    try:
        facts = os.stat(path)
    except OSError:
        return True
    if facts.st_uid == uid:
        return bool(facts.st_mode & stat.S_IWUSR)
    return bool(facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH))  # which groups it has is not looked up
