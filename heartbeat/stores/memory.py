"""The ledger in memory, for tests and trials: the same code and tables, gone when it is closed."""

from __future__ import annotations

from heartbeat.stores.sqlite import SqliteLedger


def open_memory() -> SqliteLedger:
    return SqliteLedger(None)
