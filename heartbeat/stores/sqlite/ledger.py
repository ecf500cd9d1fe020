"""The ledger in SQLite: what a caller asks for, each in one transaction, done by the module that knows how."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from heartbeat.stores.sqlite.database import open_file, open_memory
from heartbeat.stores.sqlite.part_beat import BeatPart
from heartbeat.stores.sqlite.part_briefs import BriefPart
from heartbeat.stores.sqlite.part_outbox import OutboxPart
from heartbeat.stores.sqlite.part_reading import ReadingPart


class SqliteLedger(BeatPart, OutboxPart, BriefPart, ReadingPart):
    """`ports.Ledger` over one connection, which all threads of a process may share; without a path, in memory."""

    def __init__(self, path: Path | None, *, check: bool = False) -> None:
        super().__init__(open_memory() if path is None else open_file(path, check=check))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()
