"""The daemon's proof of life, given by the loop itself: the pulse on disk, and a word to whoever supervises it."""

from __future__ import annotations

import time
from datetime import datetime

from heartbeat import __version__
from heartbeat.beat import House
from heartbeat.clock import Reading, to_text
from heartbeat.deadman import DeadMan
from heartbeat.errors import LedgerError
from heartbeat.log import warn
from heartbeat.model import Depths
from heartbeat.notify import Notifier
from heartbeat.process import owner
from heartbeat.pulse import PERIOD, Pulse, write_pulse
from heartbeat.troubles import Troubles

_SHORTEST = 0.1


class Proof:
    """Of one daemon, which *started* then; where no supervisor has a watchdog, a dead man hears of it too."""

    def __init__(
        self, started: Reading, troubles: Troubles, notifier: Notifier, dead_man: DeadMan | None = None
    ) -> None:
        self._started = started
        self._troubles = troubles
        self._notifier = notifier
        self._dead_man = dead_man
        self._wedged: tuple[tuple[str, float], ...] = ()
        self._has_ended = False
        # A watchdog that wants to hear of us more often does.
        self.period = max(_SHORTEST, min(PERIOD, (notifier.watchdog or 3 * PERIOD) / 3))

    def write(
        self,
        house: House,
        now: datetime,
        next_at: datetime | None,
        *,
        overdue: str = "",
        safe: str = "",
        stuck: str = "",
    ) -> None:
        """This loop came round; *safe*: it wakes nobody, and why; *stuck*: what does not go on all the same."""
        self._look_at_workers(house, stuck)
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
        if self._dead_man is not None:
            self._dead_man.stop()
        self._notifier.stopping()

    def _look_at_workers(self, house: House, stuck: str) -> None:
        before, self._wedged = self._wedged, house.progress.wedged()
        if stuck:
            self._wedged += ((stuck, 0.0),)
        if self._wedged and not before:
            at, seconds = self._wedged[0]
            warn("wedged", at=at, over=round(seconds), number=len(self._wedged))

    def _feed(self, pulse: Pulse) -> None:
        """Keep the watchdogs from biting: not when a worker hangs, which only a new start can mend."""
        self._notifier.alive(_status(pulse))
        if self._dead_man is not None:
            self._dead_man.proof()


def _status(pulse: Pulse) -> str:
    counts = (_count(pulse.findings, "finding"), _count(pulse.wakes, "wake"), _count(pulse.messages, "message"))
    problems = f"; {_count(len(pulse.problems), 'problem')}: {pulse.problems[0][0]}" if pulse.problems else ""
    due = f"next due {pulse.next_due_at[:19]} UTC" if pulse.next_due_at else "nothing due"
    return f"{_count(pulse.jobs, 'job')}, {due}; {counts[0]}, {counts[1]} and {counts[2]} wait{problems}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _ledger(house: House, now: datetime) -> tuple[Depths, list[tuple[str, str]]]:
    try:
        incidents = house.ledger.incidents(open_only=True)
        depths = house.ledger.depths(now)
    except LedgerError:
        return Depths(), []
    return depths, [(incident.code, f"{incident.subject}: {incident.message}") for incident in incidents]
