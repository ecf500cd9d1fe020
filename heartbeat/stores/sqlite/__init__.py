"""The ledger in SQLite: one file, written by the daemon and by every command at the same time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from heartbeat.errors import NotFound
from heartbeat.stores.sqlite import files
from heartbeat.stores.sqlite.files import quarantine
from heartbeat.stores.sqlite.queue import due_items

if TYPE_CHECKING:
    from heartbeat.stores.sqlite.ledger import SqliteLedger

__all__ = ["SqliteLedger", "due_items", "open_existing", "open_ledger", "quarantine"]


def open_ledger(path: Path, *, check: bool = False) -> SqliteLedger:
    """The ledger at *path*, made if there is none; with *check*, all of it is looked through first."""
    from heartbeat.stores.sqlite.ledger import SqliteLedger  # imported here: see below

    return SqliteLedger(path, check=check)


def open_existing(path: Path) -> SqliteLedger:
    """The ledger at *path*; raises NotFound when there is none."""
    if not files.exists(path):
        raise NotFound(
            f"cannot read the ledger {path}: nothing recorded yet; start `heartbeat run`, or run `heartbeat tick JOB`"
        )
    return open_ledger(path)


def __getattr__(name: str) -> object:
    # The script that reads the queue each minute would pay for the whole ledger otherwise.
    if name == "SqliteLedger":
        from heartbeat.stores.sqlite.ledger import SqliteLedger

        return SqliteLedger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
