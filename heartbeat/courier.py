"""The thread that hands wakes to the agent while the daemon goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable

from heartbeat.beat import House
from heartbeat.errors import LedgerCorrupt
from heartbeat.lock import KernelLock
from heartbeat.outbox import deliver_due
from heartbeat.process import is_alive, owner
from heartbeat.slots import CLOCK_STEP
from heartbeat.troubles import Troubles


class Courier:
    """Sleeps until it is rung, then delivers every wake that is due, one at a time."""

    def __init__(self, house: Callable[[], House], troubles: Troubles, fatal: Callable[[BaseException], None]) -> None:
        self._house = house
        self._troubles = troubles
        self._fatal = fatal
        self._rung = threading.Event()
        self._lock = KernelLock(house().home.agent_lock_file)
        self._looked_at = house().clock()
        self._thread = threading.Thread(target=self._work, name="courier")

    def start(self) -> None:
        self._thread.start()

    def ring(self) -> None:
        """It is time to look whether a wake is due."""
        self._rung.set()

    def join(self) -> None:
        """Wait for its end; the house's `stop` is set."""
        self._rung.set()
        self._thread.join()

    def _work(self) -> None:
        while True:
            self._rung.wait()
            self._rung.clear()
            if self._house().stop.is_set():
                return
            try:
                self._deliver()
                self._troubles.over("outbox")
            except LedgerCorrupt as error:
                self._fatal(error)
            except Exception as error:  # noqa: BLE001 - the outbox must go on whatever one wake did
                self._troubles.report("outbox", error)

    def _deliver(self) -> None:
        house = self._house()
        now = house.clock()
        if self._looked_at - now > CLOCK_STEP:
            # The instants of their next attempts were reckoned under a clock that was wrong.
            house.ledger.release_wakes(is_alive, now)
        self._looked_at = now
        # Another heartbeat process (`heartbeat tick`) may be calling the agent: the next beat rings again.
        if house.ledger.due_wakes(now) and self._lock.acquire(owner(), patience=0.0):
            try:
                deliver_due(house)
            finally:
                self._lock.release()
