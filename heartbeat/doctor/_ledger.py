"""The ledger, only to be looked at: nothing is written to it or beside it, and no look takes for ever."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heartbeat.errors import HeartbeatError, LedgerCorrupt, LedgerError, LedgerTooNew, NotFound
from heartbeat.paths import share
from heartbeat.stores.sqlite.database import Database
from heartbeat.stores.sqlite.failures import corrupt, explained, is_locked, unusable
from heartbeat.stores.sqlite.files import exists
from heartbeat.stores.sqlite.migrations import migrations, version
from heartbeat.stores.sqlite.part_beat import BeatPart
from heartbeat.stores.sqlite.part_outbox import OutboxPart
from heartbeat.stores.sqlite.part_reading import ReadingPart

SECONDS = 1.5
_STEPS = 10_000
"""Of SQLite's machine between two looks at the clock."""


class Look(ReadingPart, OutboxPart, BeatPart):
    """What a ledger holds; its verbs that write are refused by SQLite."""


def newest() -> int:
    """The format that this heartbeat writes."""
    return max(migrations(share("ledger")))


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that can only read, and is interrupted after SECONDS; raises NotFound and LedgerError."""
    if not exists(path):
        raise NotFound("nothing was recorded yet")
    with _in_our_words(path), explained(str(path)):
        db = sqlite3.connect(_address(path), timeout=0.5, isolation_level=None, uri=True)
        try:
            until = time.monotonic() + SECONDS
            db.row_factory = sqlite3.Row
            db.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
            yield db
        finally:
            db.close()


@contextmanager
def _in_our_words(path: Path) -> Iterator[None]:
    """The store speaks of its own patience, which is longer than that of a look."""
    try:
        yield
    except LedgerError as error:
        if not is_locked(error):
            raise
        why = "another process keeps it locked"
        raise LedgerError(f"cannot read the ledger {path} just now: {why}; ask again when that one is done") from error


@contextmanager
def opened(path: Path) -> Iterator[Look]:
    """The ledger, of this heartbeat's own format; raises NotFound and LedgerError."""
    with connected(path) as db:
        if (found := version(db)) < 1:
            raise corrupt(str(path), "it is a database, but not heartbeat's")
        if found != newest():
            raise LedgerTooNew(f"its format is {found}, and this heartbeat reads {newest()}")
        yield Look(Database(db, str(path)))


def why_not(error: HeartbeatError) -> str:
    """Why something that is kept in the ledger cannot be told."""
    if isinstance(error, NotFound):
        return "nothing was recorded yet"
    kind = "damaged" if isinstance(error, LedgerCorrupt) else "not readable just now"
    return f"the ledger is {kind}; see the answer to the question ledger"


def _address(path: Path) -> str:
    # Without a log nobody writes; SQLite would leave an empty one behind, and root's would lock the owner out.
    how = "mode=ro" if os.path.lexists(f"{path}-wal") else "immutable=1"
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as error:
        raise unusable(str(path), error) from error
    return f"{path.absolute().as_uri()}?{how}"
