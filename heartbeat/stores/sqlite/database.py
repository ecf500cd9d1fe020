"""One connection to one ledger file: opened with care, shared by threads, one transaction at a time."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from heartbeat.errors import LedgerError
from heartbeat.paths import share
from heartbeat.stores.sqlite import files
from heartbeat.stores.sqlite.failures import corrupt, explained, moved
from heartbeat.stores.sqlite.migrations import migrate, version

_BUSY_SECONDS = 5.0
_TURN_MS, _BETWEEN = 100, 0.02
"""How long one thread tries before it lets others have the connection, and how long (s) they have it then."""
_MEMORY = ":memory:"


class Database:
    """The connection, behind a lock; other processes are kept apart by SQLite."""

    def __init__(self, connection: sqlite3.Connection, name: str, path: Path | None = None) -> None:
        self._connection = connection
        self._name = name
        self._path = path
        self._identity = files.identity(path) if path else None
        self.patience = _BUSY_SECONDS
        """How long a transaction waits for one of another process."""
        self._hurries_until: float | None = None
        # Re-entrant, so that a transaction inside another is SQLite's plain error and not a silent stop.
        self._lock = threading.RLock()

    def hurry(self, seconds: float) -> None:
        """Wait for no transaction of another process for longer than that, however many of ours have to."""
        self._hurries_until = time.monotonic() + seconds

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view."""
        with self._transaction(lambda db: db.execute("BEGIN")) as db:
            yield db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, on disk when the block ends; an error undoes all of it."""
        # IMMEDIATE waits for the other writer here; a read that turns into a write could only fail.
        with self._transaction(_begin_writing) as db:
            yield db

    @contextmanager
    def outside(self) -> Iterator[sqlite3.Connection]:
        """No transaction: for pragmas that have their own."""
        with self._lock, explained(self._name):
            yield self._connection

    def close(self) -> None:
        with self._lock, explained(self._name):
            self._connection.close()

    @contextmanager
    def _transaction(self, begin: Callable[[sqlite3.Connection], object]) -> Iterator[sqlite3.Connection]:
        db = self._connection
        with explained(self._name):
            self._begin(begin)
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                # A full disk has rolled back by itself already.
                if db.in_transaction:
                    with suppress(sqlite3.Error):
                        db.execute("ROLLBACK")
                raise
            finally:
                self._lock.release()

    def _begin(self, begin: Callable[[sqlite3.Connection], object]) -> None:
        """Take our own lock, then SQLite's; our own is let go in between, or all threads would wait one by one."""
        until = time.monotonic() + self.patience
        while True:
            if self._hurries_until is not None:
                until = min(until, self._hurries_until)
            self._lock.acquire()
            try:
                self._require_in_place()
                begin(self._connection)
            except sqlite3.OperationalError as error:
                self._lock.release()
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                    raise
            except BaseException:
                self._lock.release()
                raise
            else:
                return
            time.sleep(_BETWEEN)

    def _require_in_place(self) -> None:
        # SQLite would go on in a file that has no name any more, and all of it would be lost in the end.
        if self._path and files.identity(self._path) != self._identity:
            raise moved(self._name)


def _begin_writing(db: sqlite3.Connection) -> None:
    db.execute(f"PRAGMA busy_timeout = {_TURN_MS:d}")
    try:
        db.execute("BEGIN IMMEDIATE")
    finally:
        db.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS * 1000:.0f}")


def open_memory() -> Database:
    """An empty ledger that is gone when closed."""
    db = _connect(_MEMORY)
    migrate(db, share("ledger"), _MEMORY)
    return Database(db, _MEMORY)


def open_file(path: Path, *, migrations: Path | None = None, check: bool = False) -> Database:
    """Open the ledger at *path*, creating it if there is none; with *check*, look through all of it first."""
    folder = migrations or share("ledger")
    if not files.exists(path):
        files.create(path, lambda draft: _fill(draft, folder, str(path)))
    files.tighten(path)
    with explained(str(path)):
        db = _connect(_address(path, "rw"))
        try:
            _require_ours(db, str(path))
            migrate(db, folder, str(path))
            if check:
                _check(db, folder, str(path))
        except BaseException:
            db.close()
            raise
    return Database(db, str(path), path)


@contextmanager
def reading_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection for one look, which changes nothing and checks nothing."""
    with explained(str(path)):
        db = _connect(_address(path, "ro"))
        try:
            yield db
        finally:
            db.close()


def _address(path: Path, mode: str) -> str:
    # With `rw`, a file that vanished meanwhile is an error; SQLite's default would create it, readable by all.
    return f"{path.absolute().as_uri()}?mode={mode}"


def _connect(address: str) -> sqlite3.Connection:
    db = sqlite3.connect(address, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=True)
    try:
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA fullfsync = ON")  # on macOS a plain fsync may stop in the drive's cache
    except BaseException:
        db.close()
        raise
    return db


def _fill(draft: Path, folder: Path, name: str) -> None:
    """Make an empty ledger of the newest format."""
    if sqlite3.sqlite_version_info < (3, 37):
        raise LedgerError(f"cannot use SQLite {sqlite3.sqlite_version}: heartbeat needs 3.37; use a newer Python")
    with explained(name):
        db = _connect(_address(draft, "rw"))
        try:
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only possible before anything else is written
            migrate(db, folder, name)
            # Last, so that all of it is in the one file that gets the ledger's name, and nothing in a log.
            db.execute("PRAGMA journal_mode = WAL")
        finally:
            db.close()


def _require_ours(db: sqlite3.Connection, name: str) -> None:
    # A ledger gets its name when its tables are in it.
    if version(db) < 1:
        raise corrupt(name, "it is a database, but not heartbeat's")


def _check(db: sqlite3.Connection, folder: Path, name: str) -> None:
    """Raise LedgerCorrupt when a page is damaged or a table or index is missing."""
    found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise corrupt(name, f"it is damaged ({' '.join(found.split())})")
    pristine = _connect(_MEMORY)
    migrate(pristine, folder, name)
    missing = _objects(pristine) - _objects(db)
    pristine.close()
    if missing:
        raise corrupt(name, f"it lacks {', '.join(sorted(missing))}")


def _objects(db: sqlite3.Connection) -> set[str]:
    return {row["name"] for row in db.execute("SELECT name FROM sqlite_schema")}
