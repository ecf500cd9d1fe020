"""Whether the ledger is whole, of our format, and open to its owner alone."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Iterator

from heartbeat.doctor._answer import Answer, count, fail, ok, skip, warn
from heartbeat.doctor._case import Case, name_of
from heartbeat.doctor._ledger import SECONDS, connected, newest
from heartbeat.errors import LedgerCorrupt, LedgerError, NotFound
from heartbeat.stores.sqlite.migrations import version


def look(case: Case) -> Iterator[Answer]:
    """Its pages, as far as there is time; its format; its owner; those that were set aside."""
    file = case.home.ledger_file
    try:
        with connected(file) as db:
            yield _format(version(db), case)
            yield _whole(db, case)
    except NotFound:
        yield skip("nothing was recorded yet")
    except LedgerCorrupt as error:
        yield fail(str(error).rpartition("; ")[0] or str(error), _quarantine(case))
    except LedgerError as error:
        yield fail(
            str(error).partition("; ")[0],
            f"see `ls -l {shlex.quote(str(file))}*`; run `{case.as_owner}heartbeat doctor`",
        )
    yield from _owner(case)
    yield from _aside(case)


def _format(found: int, case: Case) -> Answer:
    if found > newest():
        seen = f"its format is {found}, written by a later heartbeat; this one knows formats up to {newest()}"
        return fail(seen, "upgrade heartbeat, or run the newer one", "format")
    if found < 1:
        return fail("it is a database, but not heartbeat's", _quarantine(case), "format")
    later = "" if found == newest() else f"; the next start brings it to {newest()}"
    return ok(f"its format is {found}{later}", "format")


def _whole(db: sqlite3.Connection, case: Case) -> Answer:
    command = f"sqlite3 {shlex.quote(str(case.home.ledger_file))} 'PRAGMA quick_check'"
    try:
        found = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_INTERRUPT:
            raise
        return warn(
            f"no damage was found in {SECONDS:g} s, which was too short for all of it", f"run `{command}`", "whole"
        )
    if found == "ok":
        return ok("all of it was looked through: it is whole", "whole")
    return fail(f"it is damaged: {' '.join(found.split())[:200]}", _quarantine(case), "whole")


def _quarantine(case: Case) -> str:
    return f"`{case.as_owner}heartbeat ledger quarantine` sets it aside; a backup may be put in its place"


def _owner(case: Case) -> Iterator[Answer]:
    """A file of root's beside it locks the owner out."""
    for end in ("", "-wal", "-shm"):
        path = f"{case.home.ledger_file}{end}"
        try:
            facts = os.stat(path)
        except OSError:
            continue
        if facts.st_uid != case.owner:
            seen = f"{path} belongs to {name_of(facts.st_uid)}, and heartbeat runs as {case.owner_name}"
            yield fail(seen, f"`sudo chown {case.owner_name} {shlex.quote(path)}`", "owner")
        elif facts.st_mode & 0o077:
            yield fail(f"others may read or change {path}", f"`chmod 600 {shlex.quote(path)}`", "owner")


def _aside(case: Case) -> Iterator[Answer]:
    file = case.home.ledger_file
    try:
        names = sorted(os.listdir(file.parent))
    except OSError:
        return
    found = [name for name in names if name.startswith(f"{file.name}.corrupt-") and not name.endswith(("-wal", "-shm"))]
    if found:
        seen = f"set aside: {count(len(found), 'damaged ledger')}, the last as {file.parent / found[-1]}"
        yield warn(seen, "what they held may have been told twice; delete them when you miss nothing", "set aside")
