"""The daemon: one loop that starts what is due, beats on disk, and obeys signals.

The main thread is the loop. It waits for a word: `due` (the alarm rings at the next due instant), `ended` (a run is
over), `reload` (SIGHUP) or `stop` (SIGTERM, SIGINT). Runs go to a pool of threads, wakes to the courier's.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from queue import Empty, SimpleQueue
from zoneinfo import ZoneInfo

from heartbeat import __version__
from heartbeat.alarm import Alarm
from heartbeat.beat import House, tick
from heartbeat.clock import to_text
from heartbeat.courier import Courier
from heartbeat.errors import HeartbeatError, LedgerCorrupt, LedgerError, Refused
from heartbeat.job import Job
from heartbeat.log import event, warn
from heartbeat.process import owner
from heartbeat.pulse import PERIOD, Pulse, write_pulse
from heartbeat.recovery import clear_up, close_removed, tidy
from heartbeat.slots import next_move
from heartbeat.troubles import Troubles

Reload = Callable[[House], House]
"""Reads the configuration again; raises HeartbeatError when it is not valid."""

_TIDY_EVERY = timedelta(hours=6)


class Daemon:
    """Runs until it is told to stop."""

    def __init__(self, house: House, reload: Reload) -> None:
        self._house = house
        self._reload = reload
        self._words: SimpleQueue[str] = SimpleQueue()  # its put is reentrant: safe in a signal handler
        self._running: dict[str, datetime] = {}
        self._next: dict[str, datetime | None] = {}
        self._again: dict[str, datetime] = {}  # jobs whose slot could not be claimed, and when to try once more
        self._troubles = Troubles()
        self._courier = Courier(lambda: self._house, self._troubles, self._give_up)
        self._started = (time.monotonic(), house.clock())
        self._looked_at = self._started[1]
        self._tidied_at: datetime | None = None
        self._fatal: BaseException | None = None
        self._is_draining = False
        self._alarm = Alarm(lambda: self._words.put("due"))
        self._pool = ThreadPoolExecutor(house.config.settings.daemon.workers, thread_name_prefix="run")

    def run(self) -> None:
        """Beat until SIGTERM or SIGINT, then drain; raises what made going on impossible."""
        for number, word in ((signal.SIGTERM, "stop"), (signal.SIGINT, "stop"), (signal.SIGHUP, "reload")):
            signal.signal(number, partial(lambda word, _number, _frame: self._words.put(word), word))
        self._alarm.start()
        self._courier.start()
        event("started", version=__version__, jobs=len(self._house.config.jobs))
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
            now = self._look_at_clock()
            self._start_due(now)
            self._upkeep(now)
            self._beat(now)
            words = self._wait(now)

    def _look_at_clock(self) -> datetime:
        now = self._house.clock()
        if now < self._looked_at:
            # The instants to look again were reckoned under another clock.
            self._next.clear()
        self._looked_at = now
        return now

    def _wait(self, now: datetime) -> set[str]:
        """Sleep until the next due instant or pulse, or until somebody rings; returns every word heard."""
        upcoming = [instant for instant in self._next.values() if instant is not None]
        self._alarm.set(max(now, min([*upcoming, *tuple(self._again.values()), now + timedelta(seconds=PERIOD)])))
        words = set[str]()
        try:
            # The alarm goes by the wall clock, which may be set back by a month; this bound does not.
            words.add(self._words.get(timeout=PERIOD))
            while True:
                words.add(self._words.get_nowait())
        except Empty:
            return words

    def _give_up(self, error: BaseException) -> None:
        """Going on is impossible: end, and let the supervisor start anew."""
        self._fatal = error
        self._words.put("fatal")

    # What is due

    def _start_due(self, now: datetime) -> None:
        for job in self._house.config.jobs.values():
            upcoming, again = self._next.get(job.name, now), self._again.get(job.name)
            is_due = upcoming is not None and upcoming <= now
            if not job.enabled or not (is_due or (again is not None and again <= now)):
                continue
            self._again.pop(job.name, None)
            try:
                self._next[job.name] = self._consider(job, now)
                self._troubles.over(f"job:{job.name}")
            except LedgerCorrupt as error:
                self._give_up(error)
            except LedgerError as error:
                self._next[job.name] = now + timedelta(seconds=PERIOD)
                self._troubles.report(f"job:{job.name}", error)

    def _consider(self, job: Job, now: datetime) -> datetime | None:
        """Start or skip the slot of a job that is due; returns when to look again."""
        ledger, zone = self._house.ledger, ZoneInfo(self._house.config.settings.owner.zone)
        move = next_move(job.schedule, ledger.job_state(job.name, now), now, zone, self._running.get(job.name))
        if move.rewound:
            warn("clock_set_back", job=job.name, now=to_text(now))
            ledger.move_on(job.name, now)
        if move.skip is not None:
            ledger.skip(job.name, move.skip, move.reason, now)
            event("slot_skipped", level=logging.DEBUG, job=job.name, slot=to_text(move.skip), reason=move.reason)
        if move.start is not None:
            self._running[job.name] = move.start
            self._pool.submit(self._run, job, move.start, move.reason)
        return move.next_at

    def _run(self, job: Job, slot: datetime, note: str) -> None:
        """One run, in a thread of the pool; nothing it raises may end the thread unseen."""
        try:
            if self._is_draining:
                return  # it waited for a worker; its slot is unclaimed, and the next start makes up for it
            ticked = tick(self._house, job, slot, self._house.clock(), note=note)
            if ticked.wake_id:
                self._courier.ring()
            self._troubles.over(f"run:{job.name}")
        except Refused as error:
            self._look_again(job.name)
            event("slot_refused", job=job.name, slot=to_text(slot), reason=error)
        except LedgerCorrupt as error:
            self._give_up(error)
        except LedgerError as error:
            self._look_again(job.name)
            self._troubles.report(f"run:{job.name}", error)
        except Exception as error:  # noqa: BLE001 - one job's bug must not end the others
            self._troubles.report(f"run:{job.name}", error)
        finally:
            self._running.pop(job.name, None)
            self._words.put("ended")

    def _look_again(self, job: str) -> None:
        """Its slot may be unclaimed, and the schedule has moved on: a daily job would wait for a day."""
        self._again[job] = self._house.clock() + timedelta(seconds=PERIOD)

    # Beating

    def _upkeep(self, now: datetime) -> None:
        """End what a killed `heartbeat tick` left, ring the courier, remove what is too old."""
        self._watched("ledger", clear_up, self._house.ledger, now)
        self._courier.ring()
        if self._tidied_at is None or not timedelta() <= now - self._tidied_at < _TIDY_EVERY:
            self._tidied_at = now
            self._pool.submit(self._watched, "retention", tidy, self._house, now)

    def _watched(self, place: str, action: Callable[..., object], *arguments: object) -> None:
        try:
            action(*arguments)
            self._troubles.over(place)
        except LedgerCorrupt as error:
            self._give_up(error)
        except LedgerError as error:
            self._troubles.report(place, error)

    def _beat(self, now: datetime) -> None:
        """Write the proof of life: this loop came round."""
        upcoming = [instant for instant in self._next.values() if instant is not None]
        pulse = Pulse(
            owner=owner(),
            monotonic=time.monotonic(),
            started_monotonic=self._started[0],
            started_at=to_text(self._started[1]),
            written_at=to_text(now),
            last_beat_at=to_text(now),
            next_due_at=to_text(min(upcoming)) if upcoming else "",
            jobs=len(self._house.config.jobs),
            version=__version__,
            problems=self._all_problems(),
        )
        try:
            write_pulse(self._house.home.pulse_file, pulse)
            self._troubles.over("pulse")
        except OSError as error:
            # The probe sees the pulse grow old, which is the truth.
            self._troubles.report("pulse", error)

    def _all_problems(self) -> tuple[tuple[str, str], ...]:
        try:
            incidents = self._house.ledger.incidents(open_only=True)
        except LedgerError:
            incidents = []
        return (
            *self._troubles.all(),
            *((incident.code, f"{incident.subject}: {incident.message}") for incident in incidents),
        )

    # Signals

    def _take_new_configuration(self) -> None:
        try:
            house = self._reload(self._house)
        except HeartbeatError as error:
            self._troubles.report("configuration", error)
            return
        self._troubles.over("configuration")
        self._house = house
        self._next = {}
        self._troubles.keep(place for job in house.config.jobs for place in (f"run:{job}", f"job:{job}"))
        close_removed(house, house.clock())
        event("reloaded", jobs=len(house.config.jobs))

    def _drain(self) -> None:
        """Let what runs finish within the bound, then end it; results are written down either way."""
        event("stopping", running=len(self._running))
        self._is_draining = True
        end = time.monotonic() + self._house.config.settings.daemon.drain.total_seconds()
        while self._running and self._fatal is None and (left := end - time.monotonic()) > 0:
            with suppress(Empty):
                self._words.get(timeout=min(left, PERIOD))
            self._beat(self._house.clock())
        self._house.stop.set()
        self._alarm.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._courier.join()
