"""The daemon: one loop that starts what is due, beats on disk, and obeys signals.

The main thread is the loop. It waits for a word: `due` (the alarm rings at the next due instant), `ended` (a run is
over), `reload` (SIGHUP) or `stop` (SIGTERM, SIGINT). Runs go to the dispatcher's threads, the rest to the couriers'.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue
from zoneinfo import ZoneInfo

from heartbeat import __version__
from heartbeat.alarm import Alarm
from heartbeat.beat import House
from heartbeat.clock import Reading, read_clocks
from heartbeat.clockwatch import what_happened
from heartbeat.delivery import Delivery
from heartbeat.dispatch import Dispatcher, Links
from heartbeat.errors import HeartbeatError, LedgerCorrupt, LedgerError
from heartbeat.log import event, warn
from heartbeat.model import ClockEvent
from heartbeat.pings import Pings
from heartbeat.proof import Proof
from heartbeat.pulse import PERIOD
from heartbeat.queue.drop import bring_in
from heartbeat.recovery import clear_up, close_removed, tidy
from heartbeat.safe import Safe
from heartbeat.signals import Heard
from heartbeat.ties import Ties
from heartbeat.troubles import Troubles
from heartbeat.zones import host_zone

Reload = Callable[[House], House]
"""Reads the configuration again; raises HeartbeatError when it is not valid."""

_TIDY_EVERY, _TIDY_FIRST, _TIDY_AFTER_STEP = 6 * 3600.0, 600.0, 3600.0
"""Seconds. A clock that is wrong makes history look old, and nothing brings it back: time to put it right."""
_HURRY = 0.5
"""Seconds beyond the drain within which a ledger that another process has locked must be free for what is left."""
_UPKEEP_EVERY = 1.0
"""Seconds; when runs end by the hundred, not each of them is a reason to beat."""


class Daemon:
    """Runs until it is told to stop."""

    def __init__(self, house: House, reload: Reload, ties: Ties, clocks: Callable[[], Reading] = read_clocks) -> None:
        self._house = house
        self._reload = reload
        self._ties = ties
        self._clocks = clocks
        self._words: SimpleQueue[str] = SimpleQueue()  # its put is reentrant: safe in a signal handler
        self._stop: Heard | None = None
        self._drains_until = 0.0
        self._troubles = Troubles()
        self._delivery = Delivery(lambda: self._house, self._troubles, self._give_up, lambda: self._safe.is_on)
        self._pings = Pings(lambda: self._house, self._troubles)
        links = Links(lambda: self._words.put("ended"), self._delivery.ring, self._give_up, self._pings.job)
        self._dispatcher = Dispatcher(lambda: self._house, self._troubles, links)
        self._started = self._looked = clocks()
        self._safe = Safe(ties.flapping, self._started.running)
        self._proof = Proof(self._started, self._troubles, ties.notifier, ties.dead_man)
        self._zone = host_zone()
        self._is_planned = False
        self._is_closed = True  # whether the incidents of what a new configuration removed are closed
        self._kept_up_at = float("-inf")
        self._tidy_at = self._started.running + _TIDY_FIRST
        self._fatal: BaseException | None = None
        self._alarm = Alarm(lambda: self._words.put("due"))
        self._tidying = ThreadPoolExecutor(1, thread_name_prefix="tidy")

    def run(self) -> None:
        """Beat until SIGTERM or SIGINT, then drain; raises what made going on impossible."""
        self._ties.listen(self._hear)
        self._alarm.start()
        self._delivery.start()
        self._pings.start()
        event("started", version=__version__, jobs=len(self._house.config.jobs), why=self._ties.why)
        try:
            self._loop()
        finally:
            self._drain()
        if self._fatal is not None:
            raise self._fatal
        event("stopped")

    def _loop(self) -> None:
        words = {"due"}
        while "stop" not in words and self._fatal is None:
            if "reload" in words:
                self._take_new_configuration()
            # Before the clock is read: a run is dated by it, and must not seem to begin before a worker was free.
            self._watched("queue", self._bring_in, self._house.clock())
            now = self._look_at_clocks()
            if not self._is_planned:
                self._watched("plan", self._plan, now)
            if not self._safe.rest(self._looked.running):
                self._dispatcher.advance(now)
            self._delivery.advance(now)
            if not words <= {"due", "ended"} or self._looked.running - self._kept_up_at >= _UPKEEP_EVERY:
                self._kept_up_at = self._looked.running
                self._look_at_zone()
                self._upkeep(now)
                self._beat(now)
            words = self._wait(now)

    def _plan(self, now: datetime) -> None:
        self._dispatcher.plan(now)
        self._is_planned = True
        # What stands for long need not be looked through each time that garbage is collected.
        gc.collect()
        gc.freeze()

    def _look_at_clocks(self) -> datetime:
        """The one reading that a pass goes by; what happened to the clock since the last is entered."""
        before, self._looked = self._looked, self._clocks()
        for happened in what_happened(before, self._looked):
            self._note(happened)
            # The instants to look again were reckoned under another clock.
            self._is_planned = self._is_planned and happened.kind != "back"
            self._tidy_at = self._looked.running + _TIDY_AFTER_STEP
        return self._looked.wall

    def _look_at_zone(self) -> None:
        """Take over a new zone of the machine, unless the owner names one."""
        before, self._zone = self._zone, host_zone() or self._zone
        if self._zone != before and "zone" not in self._house.config.settings.owner.model_fields_set:
            detail = f"the machine's zone is {self._zone}, and was {before}"
            self._note(ClockEvent(self._looked.wall, "zone", 0.0, detail))
            self._take_new_configuration()

    def _note(self, happened: ClockEvent) -> None:
        warn("clock", kind=happened.kind, seconds=happened.seconds, detail=happened.detail)
        self._watched("clock", self._house.ledger.note_clock, happened)

    def _wait(self, now: datetime) -> set[str]:
        """Sleep until the next due instant or pulse, or until somebody rings; returns every word heard."""
        # Never further than a period away: what the clock does meanwhile is noticed then at the latest.
        rest = self._safe.rest(self._looked.running)
        latest = now + timedelta(seconds=min(self._proof.period, rest or PERIOD))
        due = None if rest else self._dispatcher.next_at(now)
        self._alarm.set(max(now, min(due or latest, self._delivery.next_at or latest, latest)))
        words = set[str]()
        try:
            # The alarm goes by the wall clock, which may be set back by a month; this bound does not.
            words.add(self._words.get(timeout=self._proof.period))
            while True:
                words.add(self._words.get_nowait())
        except Empty:
            return words

    def _give_up(self, error: BaseException) -> None:
        """Going on is impossible: end, and let the supervisor start anew."""
        self._fatal = error
        self._pings.fail()
        self._words.put("fatal")

    # Beating

    def _bring_in(self, now: datetime) -> None:
        """Take in what other programs dropped for the queue, before the jobs that are due look at it."""
        house = self._house
        taken = bring_in(house.home, house.ledger, lambda: ZoneInfo(house.config.settings.owner.zone), now)
        if taken.items or taken.refused:
            event("queue_taken_in", items=taken.items, refused=taken.refused)
        if taken.problem:
            self._troubles.report("queue_folder", HeartbeatError(taken.problem))
        else:
            self._troubles.over("queue_folder")

    def _upkeep(self, now: datetime) -> None:
        """End what a killed `heartbeat tick` left, ring the couriers, remove what is too old."""
        self._watched("ledger", clear_up, self._house.ledger, now)
        if not self._is_closed:
            self._watched("ledger", self._close_removed, now)
        self._watched("safe_mode", self._safe.look, self._house.ledger, now, self._looked.running)
        self._delivery.ring()
        self._watched("due", self._delivery.look_ahead, self._house.ledger, now)
        if self._looked.running >= self._tidy_at:
            self._tidy_at = self._looked.running + _TIDY_EVERY
            self._tidying.submit(self._watched, "retention", tidy, self._house, now)

    def _close_removed(self, now: datetime) -> None:
        close_removed(self._house, now)
        self._is_closed = True

    def _watched(self, place: str, action: Callable[..., object], *arguments: object) -> None:
        try:
            action(*arguments)
            self._troubles.over(place)
        except LedgerCorrupt as error:
            self._give_up(error)
        except LedgerError as error:
            self._troubles.report(place, error)

    def _beat(self, now: datetime) -> None:
        """Write the proof of life, and let those hear of it who listen elsewhere: this loop came round."""
        next_at, overdue = self._dispatcher.next_at(now), self._dispatcher.overdue(now)
        stuck = "" if self._safe.rest(self._looked.running) else self._dispatcher.stuck(now)
        self._proof.write(self._house, now, next_at, overdue=overdue, safe=self._safe.message, stuck=stuck)
        self._pings.beat(self._looked.running)

    # Signals

    def _hear(self, heard: Heard) -> None:
        if heard.word == "stop" and self._stop is None:
            drain = self._house.config.settings.daemon.drain.total_seconds()
            self._stop, self._drains_until = heard, time.monotonic() + drain
            self._house.ledger.hurry(drain + _HURRY)
        self._words.put(heard.word)

    def _take_new_configuration(self) -> None:
        self._ties.notifier.reloading()
        try:
            house = self._reload(self._house)
        except HeartbeatError as error:
            self._troubles.report("configuration", error)
            return
        self._troubles.over("configuration")
        self._house = house
        self._is_planned = False
        self._kept_up_at = float("-inf")
        self._troubles.keep(place for job in house.config.jobs for place in (f"run:{job}", f"job:{job}"))
        self._is_closed = False
        self._delivery.look_again()
        event("reloaded", jobs=len(house.config.jobs))

    def _drain(self) -> None:
        """Let what runs finish within the bound, then end it; results are written down either way."""
        if self._stop is not None:
            self._ties.stopping(self._stop)
        event("stopping", by=self._stop, running=self._dispatcher.running)
        self._proof.end()
        end = self._drains_until  # reckoned from the signal: the loop may have waited for the ledger since
        while self._dispatcher.take_ended() and self._fatal is None and (left := end - time.monotonic()) > 0:
            with suppress(Empty):
                self._words.get(timeout=min(left, PERIOD))
            self._beat(self._house.clock())
        self._house.stop.set()
        self._alarm.stop()
        self._dispatcher.stop()
        self._tidying.shutdown(wait=True, cancel_futures=True)
        self._delivery.join()
        self._pings.stop()
