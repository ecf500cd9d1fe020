"""What SQLite's errors mean to a person: LedgerError (trying again can help), LedgerCorrupt or LedgerMistake."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from heartbeat.errors import LedgerCorrupt, LedgerError, LedgerMistake, LedgerMoved

_SET_ASIDE = "start `heartbeat run`, which sets it aside and says so, or run `heartbeat ledger quarantine`"
_NOT_OPENED = "it or its folder cannot be opened for writing; give this user access to both"
_LOCKED = "another process has kept it locked for over 5 s; try again when that one is done"

_PASSING = {
    sqlite3.SQLITE_PERM: _NOT_OPENED,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_READONLY: "it or its disk is read-only; make both writable for this user",
    sqlite3.SQLITE_IOERR: "the disk reports an input or output error; look at the disk and the system log",
    sqlite3.SQLITE_FULL: "the disk is full; free some space, then it goes on by itself",
    sqlite3.SQLITE_CANTOPEN: _NOT_OPENED,
    sqlite3.SQLITE_PROTOCOL: _LOCKED,
}
_LOCKS = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
# SQLite reports these under its general code, as it does a mistake in our own SQL.
_DAMAGE_WORDS = ("no such table", "no such column", "has no column", "unsupported file format", "Could not decode")


class Damaged(Exception):
    """A row holds what no heartbeat ever wrote. It never leaves the store: `explained` makes it LedgerCorrupt."""


def corrupt(name: str, cause: str) -> LedgerCorrupt:
    return LedgerCorrupt(f"cannot use the ledger {name}: {cause}; {_SET_ASIDE}")


def moved(name: str) -> LedgerMoved:
    """For a file that lost its name while it was open."""
    return LedgerMoved(f"cannot go on with the ledger {name}: it was taken away or replaced meanwhile; start again")


def unusable(name: str, error: OSError) -> LedgerError:
    """For what the operating system refuses before SQLite is asked."""
    cause = os.strerror(error.errno) if error.errno else str(error)
    return LedgerError(f"cannot use the ledger {name}: {cause}; mend that, then try again")


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Raise SQLite's errors as ours, naming the ledger *name*; a mistake in our own SQL passes unchanged."""
    try:
        yield
    except Damaged as error:
        raise corrupt(name, f"a row is damaged ({error})") from error
    except UnicodeDecodeError as error:
        # What Python makes of an SQLite message that quotes damaged text.
        raise corrupt(name, f"it is damaged ({error})") from error
    except sqlite3.DatabaseError as error:
        known = _explain(name, error)
        if known is None:
            raise
        raise known from error


def is_locked(error: LedgerError) -> bool:
    """Whether it is only that another process has the ledger."""
    return getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF in _LOCKS


def _explain(name: str, error: sqlite3.DatabaseError) -> LedgerError | None:
    # The low byte is the kind, the rest the detail. Python's own errors have no code.
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if kind in _DAMAGE or any(words in str(error) for words in _DAMAGE_WORDS):
        return corrupt(name, f"it is damaged ({error})")
    if kind == sqlite3.SQLITE_CONSTRAINT:
        return LedgerMistake(f"cannot record this in the ledger {name}: {error}; please report this")
    if kind in _PASSING:
        return LedgerError(f"cannot use the ledger {name}: {_PASSING[kind]} ({error})")
    return None
