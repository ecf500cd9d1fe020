"""The daemon's proof of life: what its pulse says, written by the loop itself."""

from __future__ import annotations

import time
from datetime import datetime

from heartbeat import __version__
from heartbeat.beat import House
from heartbeat.clock import Reading, to_text
from heartbeat.errors import LedgerError
from heartbeat.process import owner
from heartbeat.pulse import Pulse, write_pulse
from heartbeat.troubles import Troubles


class Proof:
    """Of one daemon, which *started* then."""

    def __init__(self, started: Reading, troubles: Troubles) -> None:
        self._started = started
        self._troubles = troubles

    def write(self, house: House, now: datetime, next_at: datetime | None) -> None:
        """This loop came round."""
        pulse = Pulse(
            owner=owner(),
            monotonic=time.monotonic(),
            started_monotonic=self._started.running,
            started_at=to_text(self._started.wall),
            written_at=to_text(now),
            last_beat_at=to_text(now),
            next_due_at=to_text(next_at) if next_at else "",
            jobs=len(house.config.jobs),
            version=__version__,
            problems=(*self._troubles.all(), *_incidents(house)),
        )
        try:
            write_pulse(house.home.pulse_file, pulse)
            self._troubles.over("pulse")
        except OSError as error:
            # The probe sees the pulse grow old, which is the truth.
            self._troubles.report("pulse", error)


def _incidents(house: House) -> list[tuple[str, str]]:
    try:
        incidents = house.ledger.incidents(open_only=True)
    except LedgerError:
        return []
    return [(incident.code, f"{incident.subject}: {incident.message}") for incident in incidents]
