"""A word on backups: whether there is one, nobody here can know."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from heartbeat.doctor._answer import Answer, skip
from heartbeat.doctor._case import Case


def look(case: Case) -> Iterator[Answer]:
    """What is worth one, and how it is made while the daemon runs."""
    if not case.home.ledger_file.exists():
        yield skip("there is nothing to keep yet")
        return
    copy = f"sqlite3 {shlex.quote(str(case.home.ledger_file))} '.backup COPY.db'"
    seen = f"whether {case.home.config} and the ledger are in a backup cannot be seen from here"
    yield skip(seen, remedy=f"copy the ledger with `{copy}`: a plain copy of a ledger in use may be torn")
