"""The thread that hands wakes to the agent while the daemon goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable

from heartbeat.beat import House
from heartbeat.errors import LedgerCorrupt
from heartbeat.lock import KernelLock
from heartbeat.outbox import deliver_due
from heartbeat.process import owner
from heartbeat.troubles import Troubles


class Courier:
    """Sleeps until it is rung, then delivers every wake that is due, one at a time."""

    def __init__(self, house: Callable[[], House], troubles: Troubles, fatal: Callable[[BaseException], None]) -> None:
        self._house = house
        self._troubles = troubles
        self._fatal = fatal
        self._rung = threading.Event()
        self._lock = KernelLock(house().home.agent_lock_file)
        self._thread = threading.Thread(target=self._work, name="courier")

    def start(self) -> None:
        self._thread.start()

    def ring(self) -> None:
        """A wake may be due."""
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
        # Another heartbeat process (`heartbeat tick`) may be calling the agent: the next beat rings again.
        if self._lock.acquire(owner(), patience=0.0):
            try:
                deliver_due(self._house())
            finally:
                self._lock.release()
