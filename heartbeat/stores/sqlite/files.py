"""The ledger's files: private to the owner, created whole, set aside but never overwritten."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from heartbeat.errors import NotFound
from heartbeat.folders import keep_owner, make_private
from heartbeat.stores.sqlite.failures import corrupt, unusable

_BESIDE = ("-wal", "-shm", "-journal")
"""Ends of the names of the files that SQLite keeps beside a database."""


def exists(path: Path) -> bool:
    """Whether there is a ledger; raises LedgerCorrupt for what cannot be one."""
    try:
        # The log is looked for first: whoever creates the ledger right now makes the ledger before its log.
        log = os.path.lexists(f"{path}-wal")
        found = path.stat()
    except FileNotFoundError:
        if log:
            # SQLite would write this log into the next ledger of that name.
            raise corrupt(str(path), f"the file is gone, but its log {path.name}-wal is there") from None
        return False
    except OSError as error:
        raise unusable(str(path), error) from error
    if not stat.S_ISREG(found.st_mode):
        raise corrupt(str(path), "it is not a file")
    if found.st_size == 0:
        # A ledger is never empty, because it is created whole; SQLite would take this for a new one.
        raise corrupt(str(path), "it was cut to nothing")
    return True


def identity(path: Path) -> tuple[int, int] | None:
    """Which file has this name now; None when there is none."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unusable(str(path), error) from error
    return found.st_dev, found.st_ino


def create(path: Path, fill: Callable[[Path], None]) -> None:
    """Make the file with *fill* under another name, then give it its own; one that appeared meanwhile stays."""
    draft = path.with_name(f"{path.name}.new-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        make_private(path.parent)
        handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.fchmod(handle, 0o600)  # whatever the umask
        os.close(handle)
        fill(draft)
        keep_owner(draft)
        _rename(draft, path)
        _sync_folder(path.parent)
    except FileExistsError:
        pass
    except OSError as error:
        raise unusable(str(path), error) from error
    finally:
        for end in ("", *_BESIDE):
            Path(f"{draft}{end}").unlink(missing_ok=True)


def tighten(path: Path) -> None:
    """Take everybody else's access from the files, where they are ours, and give all of them the same."""
    try:
        mode = path.stat().st_mode & 0o600
        for end in ("", *_BESIDE):
            if os.path.exists(f"{path}{end}"):
                _set_mode(f"{path}{end}", mode)
    except FileNotFoundError:
        # The last to close a ledger removes its log.
        pass
    except OSError as error:
        raise unusable(str(path), error) from error


def _set_mode(name: str, mode: int) -> None:
    # A log left read-only, from when the ledger was, would keep the ledger so.
    found = os.stat(name)
    if stat.S_IMODE(found.st_mode) != mode and os.geteuid() in (0, found.st_uid):
        os.chmod(name, mode)


def quarantine(path: Path, now: datetime) -> Path:
    """Move a damaged ledger and its log beside the old name, and return where the file is now.

    Raises NotFound when there is nothing to move. Nobody may have the ledger open.
    """
    found = [end for end in (*_BESIDE, "") if os.path.lexists(f"{path}{end}")]
    if not found:
        raise NotFound(f"cannot set aside the ledger {path}: there is none; nothing needs doing")
    target = _free_name(f"{path}.corrupt-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}")
    try:
        # The log goes first: left alone beside the old name, it would be written into the next ledger.
        for end in found:
            _rename(f"{path}{end}", f"{target}{end}")
        _sync_folder(path.parent)
    except OSError as error:
        raise unusable(str(path), error) from error
    return Path(target)


def _free_name(wanted: str) -> str:
    number, name = 1, wanted
    while any(os.path.lexists(f"{name}{end}") for end in ("", *_BESIDE)):
        number += 1
        name = f"{wanted}-{number}"
    return name


def _rename(source: str | Path, target: str | Path) -> None:
    """Rename without ever replacing *target*; raises FileExistsError."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # A folder, or a file system without hard links.
        if os.path.lexists(target):
            raise FileExistsError(f"cannot rename {source} to {target}: it exists") from None
        os.rename(source, target)
    else:
        os.unlink(source)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
