"""Who runs when: the daemon's agenda, the jobs that wait for a worker, and the runs that go on.

Everything but the runs themselves happens in the daemon's main thread.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue
from time import monotonic

from heartbeat.agenda import Agenda, stagger
from heartbeat.beat import Halt, House, tick
from heartbeat.clock import to_seconds, to_text
from heartbeat.errors import LedgerCorrupt, LedgerError, Refused, SlotTaken
from heartbeat.job import Job
from heartbeat.log import event, warn
from heartbeat.model import Fate, JobState
from heartbeat.pingline import Word
from heartbeat.ports import OFF
from heartbeat.pulse import PERIOD
from heartbeat.schedule import identity_of, timing_of
from heartbeat.slots import LATE, Move, first_look, next_move, overlooked, superseded
from heartbeat.troubles import Troubles

_MOST_AT_ONCE = 500
_STUCK = 120.0
_AGAIN, _SOON, _OVERDUE = timedelta(seconds=PERIOD), timedelta(seconds=1), timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Links:
    """What a dispatcher tells the daemon."""

    run_ended: Callable[[], object]
    wake_made: Callable[[], object]
    fatal: Callable[[BaseException], object]
    ping: Callable[[Job, Word], object]


class Dispatcher:
    """Starts what is due, as far as there are workers, and gives every other slot its fate."""

    def __init__(self, house: Callable[[], House], troubles: Troubles, links: Links) -> None:
        self._house = house
        self._troubles = troubles
        self._links = links
        self._workers = house().config.settings.daemon.workers
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="run")
        self._agenda = Agenda()
        self._at_once: list[str] = []  # due while they run or are paused: they need no worker, only a decision
        self._ready: OrderedDict[str, datetime] = OrderedDict()  # due then, and waiting for a worker, in this order
        self._late: set[str] = set()  # those that have been given an instant of their own to start late
        self._running: dict[str, tuple[datetime, Halt]] = {}
        self._waiting: set[str] = set()  # a slot of theirs waits for the end of the run that goes on
        self._ended: SimpleQueue[tuple[str, datetime | None]] = SimpleQueue()

    @property
    def running(self) -> int:
        return len(self._running)

    def next_at(self, now: datetime) -> datetime | None:
        """When there is something to do."""
        if self._at_once or (self._ready and len(self._running) < self._workers):
            return now
        return self._agenda.next_at()

    def plan(self, now: datetime) -> None:
        """Enter every job of the configuration in the agenda, from what the ledger knows of it."""
        house = self._house()
        jobs = house.config.jobs
        wanted = {job.name: identity_of(job.timing) if job.enabled else OFF for job in jobs.values()}
        states = house.ledger.states()
        # Before the jobs begin anew: were we killed in between, nobody would know any more what was owed.
        owed = [(name, fate) for name, state in states.items() for fate in self._owed(state, wanted.get(name), now)]
        gone = [
            (name, fate)
            for name, identity in wanted.items()
            if identity != OFF and (name not in states or states[name].begins_anew_as(identity))
            for fate in overlooked(jobs[name].timing, now)
        ]
        house.ledger.pass_over([*owed, *gone], now, advance=False)
        if house.ledger.enlist(wanted.items(), now):
            states = house.ledger.states()
        self._agenda.clear()
        self._at_once.clear()
        self._ready.clear()
        self._late.clear()
        for job in jobs.values():
            if job.enabled:
                self._agenda.put(job.name, first_look(job.timing, job.policy, states[job.name], now))

    def _owed(self, state: JobState, identity: str | None, now: datetime) -> tuple[Fate, ...]:
        """What is due by a schedule that was replaced or taken away, while heartbeat ran or while it did not."""
        if state.schedule in ("", OFF, identity):
            return ()
        timing = timing_of(state.schedule)
        return superseded(timing, state, now, self._slot_of(state.job)) if timing else ()

    def _slot_of(self, job: str) -> datetime | None:
        """The slot of its run that goes on."""
        return self._running[job][0] if job in self._running else None

    def advance(self, now: datetime) -> None:
        """Do what is due: note what ended, line up what came due, decide, and start."""
        self.take_ended()
        self._line_up(now)
        names = self._next_names()
        try:
            moves = [self._decide(self._house().config.jobs[name], now) for name in names]
            fates = [(job.name, fate) for job, move in moves for fate in move.fates]
            if fates:
                self._house().ledger.pass_over(fates, now)
        except LedgerCorrupt as error:
            self._links.fatal(error)
            return
        except LedgerError as error:
            # For all of them: each further try could wait for the lock of the ledger as long as this one.
            self._troubles.report("slots", error)
            for name in (*names, *self._at_once, *self._ready):
                self._agenda.put(name, now + _AGAIN)
            self._at_once.clear()
            self._ready.clear()
            return
        self._troubles.over("slots")
        for name, fate in fates:
            _tell(name, fate)
        for job, move in moves:
            self._carry_out(job, move, now)

    def stop(self) -> None:
        """Wait for the threads; what waits for a worker is unclaimed, and the next start makes up for it."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def overdue(self, now: datetime) -> str:
        """The job that has waited longest for a worker, when that is over two minutes; else nothing."""
        name = next(iter(self._ready), "")
        waits = now - self._ready[name] if name else timedelta()
        return f"{name} since {to_seconds(self._ready[name])}" if waits > _OVERDUE else ""

    def stuck(self, now: datetime) -> str:
        """What should have gone on and has not, though the loop comes round: only a new start can mend that."""
        for name, (_, halt) in self._running.items():
            if not halt.has_claimed and monotonic() - halt.made_at > _STUCK:
                return f"the start of the job {name}"
        return "the agenda" if now - (self._agenda.next_at() or now) > _OVERDUE else ""

    def take_ended(self) -> int:
        """Forget the runs that are over; how many still go on."""
        while True:
            try:
                name, again = self._ended.get_nowait()
            except Empty:
                return len(self._running)
            self._running.pop(name, None)
            if again is not None:
                self._agenda.hasten(name, again)
            if name in self._waiting:
                self._waiting.discard(name)
                self._ready[name] = self._house().clock()

    def _line_up(self, now: datetime) -> None:
        """What came due waits for a worker; what is late gets an instant of its own first, one after the other."""
        jobs, late = self._house().config.jobs, []
        for at, name in self._agenda.take(now):
            if name in self._running and not self._running[name][1].has_claimed:
                # Were its next slot passed over now, and its claim to fail, nobody would come back to this one.
                self._agenda.put(name, now + _SOON)
            elif name in self._running or (name in jobs and jobs[name].policy.paused):
                self._at_once.append(name)
            elif now - at > LATE and name not in self._late:
                late.append(name)
            else:
                self._late.discard(name)
                self._ready[name] = at
        for name, at in stagger(late, now):
            self._late.add(name)
            self._agenda.put(name, at)

    def _next_names(self) -> list[str]:
        """The jobs to decide about now: every one that runs still, and of those that wait as many as can start."""
        jobs = self._house().config.jobs
        names, self._at_once = self._at_once[:_MOST_AT_ONCE], self._at_once[_MOST_AT_ONCE:]
        free = max(0, self._workers - len(self._running))
        names += [self._ready.popitem(last=False)[0] for _ in range(min(free, len(self._ready)))]
        return [name for name in names if name in jobs and jobs[name].enabled]

    def _decide(self, job: Job, now: datetime) -> tuple[Job, Move]:
        ledger = self._house().ledger
        state = ledger.state(job.name)
        if state is None:
            raise LedgerError(f"cannot find the job {job.name!r} in the ledger: it was emptied; start again")
        move = next_move(job.timing, job.policy, state, now, self._slot_of(job.name))
        if move.rewound:
            warn("clock_set_back", job=job.name, now=to_text(now))
            ledger.move_on(job.name, now)
        return job, move

    def _carry_out(self, job: Job, move: Move, now: datetime) -> None:
        self._agenda.put(job.name, move.next_at)
        if move.waits:
            self._waiting.add(job.name)
        if move.ends_running and job.name in self._running:
            self._running[job.name][1].end_for("a newer slot replaced it")
        if move.start is not None:
            halt = Halt(self._house().stop)
            self._running[job.name] = (move.start, halt)
            self._pool.submit(self._run, job, move, now, halt)

    def _run(self, job: Job, move: Move, now: datetime, halt: Halt) -> None:
        """One run, in a thread of the pool; nothing it raises may end the thread unseen."""
        again = None
        self._links.ping(job, "start")
        try:
            house = self._house()
            with house.progress.working(f"the job {job.name}", job.timeout.total_seconds()):
                ticked = tick(house, job, move.start, now, note=move.note, halt=halt, again=move.again)
            if ticked.judgement is not None:
                self._links.ping(job, "fail" if ticked.judgement.verdict.is_fault else "ok")
            if ticked.wakes:
                self._links.wake_made()
            self._troubles.over(f"run:{job.name}")
        except SlotTaken as error:
            again = now
            event("slot_taken", level=logging.DEBUG, job=job.name, reason=error)
        except Refused as error:
            # Its slot may be unclaimed, and the agenda has moved on: a daily job would wait for a day.
            again = now + _AGAIN
            event("slot_refused", job=job.name, reason=error)
        except LedgerCorrupt as error:
            self._links.fatal(error)
        except LedgerError as error:
            again = now + _AGAIN
            self._troubles.report(f"run:{job.name}", error)
        except Exception as error:  # noqa: BLE001 - one job's bug must not end the others
            self._troubles.report(f"run:{job.name}", error)
        finally:
            self._ended.put((job.name, again))
            self._links.run_ended()


def _tell(job: str, fate: Fate) -> None:
    last = to_text(fate.last) if fate.last != fate.first else None
    fields = {"job": job, "slot": to_text(fate.first), "last": last, "reason": fate.reason}
    event(f"slot_{fate.state}", level=logging.DEBUG, **fields)
