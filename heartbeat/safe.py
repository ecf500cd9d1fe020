"""Safe mode: after too many starts that nobody asked for, tick and record, but wake nobody until it is quiet again."""

from __future__ import annotations

from datetime import datetime

from heartbeat.flapping import BURST, CHAIN, WINDOW, Flapping
from heartbeat.log import event, warn
from heartbeat.ports import Ledger

SUBJECT = "daemon"
_FIRST_REST, _LONGEST_REST = 5.0, 120.0
HOW_TO_LEAVE = "it ends by itself after 10 minutes without a new start, and at once with `heartbeat restart`"


def rest_of(flapping: Flapping) -> float:
    """Seconds to wait before anything is run: twice as long with each start that comes on top."""
    over = len(flapping.starts) - (BURST if flapping.kind == "burst" else CHAIN)
    return min(_FIRST_REST * 2.0 ** min(over, 10), _LONGEST_REST)


class Safe:
    """Of one daemon, which *started* then (a reading of the running clock); off when the starts do not flap."""

    def __init__(self, flapping: Flapping | None, started: float) -> None:
        self._flapping = flapping
        self._rests_until = started + rest_of(flapping) if flapping else started
        self._ends_at = started + WINDOW
        self._was_told = False

    @property
    def is_on(self) -> bool:
        return self._flapping is not None

    @property
    def message(self) -> str:
        """What it is about, and how to leave it; empty when it is off."""
        if self._flapping is None:
            return ""
        return f"{self._flapping.message}; safe mode: jobs run but nobody is woken; {HOW_TO_LEAVE}"

    def rest(self, running: float) -> float:
        """Seconds for which nothing is run yet."""
        return max(0.0, self._rests_until - running)

    def look(self, ledger: Ledger, now: datetime, running: float) -> bool:
        """Raise its one incident, and resolve it when it is over; whether it has just ended. Raises LedgerError."""
        if self._flapping is not None and running >= self._ends_at:
            self._flapping = None
            self._was_told = False
            event("safe_mode_over")
        if self._was_told:
            return False
        if self._flapping is None:
            is_over = ledger.recover(SUBJECT, now) is not None
            self._was_told = True
            return is_over
        warn("safe_mode", reason=self.message)
        ledger.fault(SUBJECT, "flapping", self.message, now)
        self._was_told = True
        return False
