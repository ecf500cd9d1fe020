"""The durable memory, whole."""

from __future__ import annotations

from typing import Protocol

from heartbeat.ports.beat import BeatLedger
from heartbeat.ports.briefs import BriefLedger
from heartbeat.ports.outbox import MessageLedger, WakeLedger
from heartbeat.ports.reading import QueueLedger, ReadLedger


class Ledger(BeatLedger, WakeLedger, MessageLedger, BriefLedger, QueueLedger, ReadLedger, Protocol):
    """Every method is one transaction; every instant is aware.

    Raises LedgerError when the disk or a lock is in the way (nothing was changed), LedgerCorrupt when
    the file is damaged. Lookups of one thing by id raise NotFound.
    """
