"""A thread that delivers while the daemon goes on: it sleeps until it is rung, then makes one round."""

from __future__ import annotations

import threading
from collections.abc import Callable

from heartbeat.beat import House
from heartbeat.errors import LedgerCorrupt
from heartbeat.troubles import Troubles

Round = Callable[[House], None]


class Courier:
    """Makes one round at a time; *place* names it where its troubles are told."""

    def __init__(
        self,
        place: str,
        make_round: Round,
        house: Callable[[], House],
        troubles: Troubles,
        fatal: Callable[[BaseException], None],
    ) -> None:
        self._place = place
        self._make_round = make_round
        self._house = house
        self._troubles = troubles
        self._fatal = fatal
        self._rung = threading.Event()
        self._thread = threading.Thread(target=self._work, name=place)

    def start(self) -> None:
        self._thread.start()

    def ring(self) -> None:
        """It is time to look whether something is due."""
        self._rung.set()

    def join(self) -> None:
        """Wait for its end; the house's `stop` is set."""
        self._rung.set()
        self._thread.join()

    def _work(self) -> None:
        while True:
            self._rung.wait()
            self._rung.clear()
            house = self._house()
            if house.stop.is_set():
                return
            try:
                with house.progress.working(f"a round of the courier {self._place!r}", 0):
                    self._make_round(house)
                self._troubles.over(self._place)
            except LedgerCorrupt as error:
                self._fatal(error)
            except Exception as error:  # noqa: BLE001 - the outbox must go on whatever one wake did
                self._troubles.report(self._place, error)
