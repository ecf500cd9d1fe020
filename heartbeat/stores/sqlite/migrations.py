"""Bring a database to the newest format: numbered `.sql` files, forward only, each whole or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from heartbeat.errors import LedgerError, LedgerTooNew


def migrations(folder: Path) -> dict[int, Path]:
    """The files of *folder* by number, in order: `0001_first_beat.sql` is 1."""
    return {int(file.name.split("_")[0]): file for file in sorted(folder.glob("[0-9]*_*.sql"))}


def version(db: sqlite3.Connection) -> int:
    """How many migrations the database has seen; 0 for an empty one."""
    number: int = db.execute("PRAGMA user_version").fetchone()[0]
    return number


def migrate(db: sqlite3.Connection, folder: Path, name: str) -> None:
    """Apply what is missing to the ledger *name*; an error leaves the version before it, untouched."""
    files = migrations(folder)
    newest = max(files)
    found = version(db)
    if found > newest:
        raise LedgerTooNew(
            f"cannot use the ledger {name}: its format is {found} and this heartbeat knows formats up to {newest}; "
            "upgrade heartbeat, or give it another home"
        )
    for number in range(found + 1, newest + 1):
        _apply(db, number, files[number], name)


def _apply(db: sqlite3.Connection, number: int, file: Path, name: str) -> None:
    try:
        db.execute("BEGIN IMMEDIATE")
        # Another process may have been faster.
        if version(db) == number - 1:
            for statement in _statements(file.read_text("utf-8")):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number:d}")
        db.execute("COMMIT")
    except BaseException as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
            raise LedgerError(
                f"cannot bring the ledger {name} to format {number} with {file.name}: {error}; "
                "it is unchanged: go back to the heartbeat used before, and report this"
            ) from error
        raise


def _statements(script: str) -> Iterator[str]:
    """The statements one by one: `executescript` would commit before the first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
