"""The daemon's proof of life, given by the loop itself: the pulse on disk, and a word to whoever supervises it."""

from __future__ import annotations

import faulthandler
import time
from datetime import datetime
from typing import IO

from heartbeat import __version__
from heartbeat.beat import House
from heartbeat.clock import Reading, to_text
from heartbeat.errors import LedgerError
from heartbeat.log import warn
from heartbeat.model import Depths
from heartbeat.notify import Notifier
from heartbeat.process import owner
from heartbeat.pulse import PERIOD, Pulse, write_pulse
from heartbeat.troubles import Troubles

DEAD_AFTER = 180.0
"""Seconds without a proof after which a daemon that nobody else watches ends itself."""


class Proof:
    """Of one daemon, which *started* then.

    With *dump*, where no supervisor has a watchdog (launchd), a timer of the interpreter's own writes there what every
    thread is at and ends the process when no proof came for three minutes.
    """

    def __init__(self, started: Reading, troubles: Troubles, notifier: Notifier, dump: IO[str] | None = None) -> None:
        self._started = started
        self._troubles = troubles
        self._notifier = notifier
        self._dump = dump
        self._wedged: tuple[tuple[str, float], ...] = ()
        self._has_ended = False
        # A watchdog that wants to hear of us more often does.
        self.period = min(PERIOD, (notifier.watchdog or 3 * PERIOD) / 3)

    def write(self, house: House, now: datetime, next_at: datetime | None, overdue: str = "", safe: str = "") -> None:
        """This loop came round; *safe* says that, and why, it wakes nobody."""
        self._look_at_workers(house)
        depths, incidents = _ledger(house, now)
        pulse = Pulse(
            owner=owner(),
            monotonic=time.monotonic(),
            started_monotonic=self._started.running,
            started_at=to_text(self._started.wall),
            written_at=to_text(now),
            last_beat_at=to_text(now),
            last_run_at=to_text(depths.last_run_at) if depths.last_run_at else "",
            next_due_at=to_text(next_at) if next_at else "",
            overdue=overdue,
            wedged="; ".join(at for at, _ in self._wedged),
            jobs=len(house.config.jobs),
            items=depths.items,
            findings=depths.findings,
            wakes=depths.wakes,
            messages=depths.messages,
            version=__version__,
            problems=(*((("safe_mode", safe),) if safe else ()), *self._troubles.all(), *incidents),
        )
        try:
            write_pulse(house.home.pulse_file, pulse)
            self._troubles.over("pulse")
        except OSError as error:
            # The probe sees the pulse grow old, which is the truth.
            self._troubles.report("pulse", error)
        if not self._wedged and not self._has_ended:
            self._feed(pulse)

    def end(self) -> None:
        """The daemon stops, and need give no proof any more."""
        self._has_ended = True
        faulthandler.cancel_dump_traceback_later()
        self._notifier.stopping()

    def _look_at_workers(self, house: House) -> None:
        before, self._wedged = self._wedged, house.progress.wedged()
        if self._wedged and not before:
            at, seconds = self._wedged[0]
            warn("wedged", at=at, over=round(seconds), number=len(self._wedged))

    def _feed(self, pulse: Pulse) -> None:
        """Keep the watchdogs from biting: not when a worker hangs, which only a new start can mend."""
        self._notifier.alive(_status(pulse))
        if self._dump is not None:
            faulthandler.dump_traceback_later(DEAD_AFTER, exit=True, file=self._dump)


def _status(pulse: Pulse) -> str:
    waiting = f"{pulse.findings} findings, {pulse.wakes} wakes and {pulse.messages} messages wait"
    problems = f"; {len(pulse.problems)} problems: {pulse.problems[0][0]}" if pulse.problems else ""
    return f"{pulse.jobs} jobs, next due {pulse.next_due_at[:19] or 'never'} UTC; {waiting}{problems}"


def _ledger(house: House, now: datetime) -> tuple[Depths, list[tuple[str, str]]]:
    try:
        incidents = house.ledger.incidents(open_only=True)
        depths = house.ledger.depths(now)
    except LedgerError:
        return Depths(), []
    return depths, [(incident.code, f"{incident.subject}: {incident.message}") for incident in incidents]
