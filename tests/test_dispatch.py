"""Who runs when: a dispatcher whose runs the test begins, claims and ends, on a real ledger and a clock set by hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from heartbeat import dispatch
from heartbeat.beat import Halt, House, Ticked
from heartbeat.clock import new_id
from heartbeat.dispatch import Dispatcher, Links
from heartbeat.errors import LedgerError
from heartbeat.job import Job
from heartbeat.model import Execution, Judgement, Plan, Run, Verdict
from heartbeat.pulse import PERIOD
from heartbeat.troubles import Troubles
from tests.conftest import NOW, Bench

SECONDS = 30
"""How long a thread may take on a busy machine."""


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


@dataclass
class Began:
    """One run that a thread of the pool has begun, which goes on until the test lets it."""

    job: str
    slot: datetime
    note: str
    halt: Halt
    may_claim: threading.Event = field(default_factory=threading.Event)
    fails: bool = False
    claimed: threading.Event = field(default_factory=threading.Event)
    may_end: threading.Event = field(default_factory=threading.Event)


class Stage:
    """A dispatcher with a stand-in for `tick` that claims and records, but starts no program."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench = bench
        self.house = bench.house()
        self.began: list[Began] = []
        self.claims = True
        self.pings: list[tuple[str, str]] = []
        self._ended = threading.Event()
        self._begun = threading.Condition()
        monkeypatch.setattr(dispatch, "tick", self._tick)

    def configure(self, jobs: str, workers: int = 8) -> None:
        text = f"[owner]\nzone = 'UTC'\n[daemon]\nworkers = {workers}\n{jobs}"
        self.bench.place.configure(text)
        self.house = self.bench.house()

    def begin(self, jobs: str, workers: int = 8) -> None:
        self.configure(jobs, workers)
        links = Links(self._ended.set, lambda: None, self._fatal, lambda job, word: self.pings.append((job.name, word)))
        self.dispatcher = Dispatcher(lambda: self.house, Troubles(), links)
        self.dispatcher.plan(NOW)

    def _fatal(self, error: BaseException) -> None:
        raise AssertionError(error)

    def _tick(self, house: House, job: Job, slot: datetime, now: datetime, **more: Any) -> Ticked:
        run = Began(job.name, slot, more["note"], more["halt"])
        if self.claims:
            run.may_claim.set()
        with self._begun:
            self.began.append(run)
            self._begun.notify_all()
        assert run.may_claim.wait(SECONDS)
        if run.fails:
            raise LedgerError("the ledger is locked")
        entered = Run(new_id("run", now), job.name, "schedule", slot, now)
        house.ledger.claim(entered, "1:1", note=run.note, again=more["again"])
        run.halt.has_claimed = True
        run.claimed.set()
        assert run.may_end.wait(SECONDS)
        execution, judgement = Execution(now, now, 0), Judgement(Verdict.QUIET, "quiet", "")
        house.ledger.record(entered, execution, judgement, lambda _view: Plan())
        return Ticked(entered.id, execution, judgement)

    def advance(self, seconds: float, begins: int = 0) -> list[Began]:
        """Look once; the runs that begin then, which must be so many."""
        before = len(self.began)
        self.dispatcher.advance(at(seconds))
        with self._begun:
            assert self._begun.wait_for(lambda: len(self.began) - before >= begins, SECONDS)
        new = self.began[before:]
        assert len(new) == begins
        if self.claims:
            assert all(run.claimed.wait(SECONDS) for run in new)
        return new

    def end(self, *runs: Began) -> None:
        for run in runs:
            self._ended.clear()
            run.may_claim.set()
            run.may_end.set()
            assert self._ended.wait(SECONDS)

    def fates(self, job: str) -> list[tuple[float, str]]:
        found = reversed(self.bench.ledger.slots(job, limit=1000))
        return [((slot.slot_at - NOW).total_seconds(), str(slot.state)) for slot in found]

    def close(self) -> None:
        for run in self.began:
            run.may_claim.set()
            run.may_end.set()
        self.dispatcher.stop()


@pytest.fixture
def stage(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    made = Stage(bench, monkeypatch)
    yield made
    made.close()


def jobs(count: int, text: str) -> str:
    return "".join(f"[jobs.job-{number}]\nscript = 'jobs/check.sh'\n{text}\n" for number in range(count))


TENS = "[jobs.check]\ncron = '*/10 * * * * *'\n"


def test_what_is_due_begins_and_is_looked_at_again_at_its_next_slot(stage: Stage) -> None:
    stage.begin(TENS)
    stage.advance(9.9)
    [run] = stage.advance(10, begins=1)
    assert (run.slot, stage.dispatcher.running, stage.dispatcher.next_at(at(10))) == (at(10), 1, at(20))
    stage.end(run)
    stage.advance(11)
    assert (stage.dispatcher.running, stage.fates("check")) == (0, [(10, "ran")])


def test_a_slot_whose_claim_failed_is_not_lost_behind_the_slots_that_came_meanwhile(stage: Stage) -> None:
    stage.claims = False
    stage.begin(TENS)
    [run] = stage.advance(10, begins=1)
    stage.advance(20)  # that run is neither claimed nor over
    stage.advance(21)
    assert stage.fates("check") == []
    run.fails = True
    stage.end(run)
    stage.claims = True
    stage.advance(22, begins=1)
    assert stage.fates("check") == [(10, "skipped"), (20, "claimed")]


def test_a_slot_that_could_not_be_claimed_is_tried_again_also_when_no_other_comes(stage: Stage) -> None:
    stage.claims = False
    stage.begin("[jobs.check]\ncron = '10 0 8 * * *'\n")
    [run] = stage.advance(10, begins=1)
    run.fails = True
    stage.end(run)
    stage.claims = True
    stage.advance(11)
    assert stage.dispatcher.next_at(at(11)) == at(10 + PERIOD)
    stage.advance(10 + PERIOD, begins=1)


def test_overlap_is_decided_at_once_when_the_run_before_is_in_the_ledger(stage: Stage) -> None:
    stage.begin(TENS, workers=1)
    [run] = stage.advance(10, begins=1)
    stage.advance(20)
    assert stage.fates("check") == [(10, "claimed"), (20, "skipped")]
    stage.end(run)


def test_a_slot_that_waits_begins_when_the_run_before_has_ended(stage: Stage) -> None:
    stage.begin(TENS.replace("cron", "overlap = 'queue'\ncron"))
    [run] = stage.advance(10, begins=1)
    stage.advance(20)
    stage.end(run)
    [later] = stage.advance(21, begins=1)
    assert (later.slot, stage.fates("check")) == (at(20), [(10, "ran"), (20, "claimed")])


def test_a_newer_slot_ends_the_run_before_if_the_job_says_so(stage: Stage) -> None:
    stage.begin(TENS.replace("cron", "overlap = 'replace'\ncron"))
    [run] = stage.advance(10, begins=1)
    assert not run.halt.is_set()
    stage.advance(20)
    assert (run.halt.is_set(), run.halt.reason) == (True, "a newer slot replaced it")
    stage.end(run)
    assert stage.advance(20.1, begins=1)[0].slot == at(20)


def test_no_more_begin_than_there_are_workers_and_the_others_follow(stage: Stage) -> None:
    stage.begin(jobs(5, "every = '1h'"), workers=2)
    first = stage.advance(0, begins=2)
    assert stage.dispatcher.next_at(at(0)) == at(3600)
    stage.end(*first)
    assert len(stage.advance(1, begins=2)) == 2


def test_paused_jobs_take_no_turn_of_a_worker(stage: Stage) -> None:
    paused = jobs(30, "paused = true\ncron = '*/10 * * * * *'")
    stage.begin(paused + TENS, workers=1)
    assert [run.job for run in stage.advance(10, begins=1)] == ["check"]
    assert stage.fates("job-29") == [(10, "skipped")]


def test_jobs_that_are_late_begin_one_a_second_and_what_is_on_time_goes_first(stage: Stage) -> None:
    stage.begin(jobs(40, "cron = '10 0 8 * * *'") + "[jobs.check]\ncron = '0 10 8 * * *'\n", workers=64)
    assert [run.job for run in stage.advance(600, begins=1)] == ["check"]
    assert len(stage.advance(600, begins=1)) == 1
    for second in range(1, 40):
        [run] = stage.advance(600 + second, begins=1)
        assert (run.slot, run.note) == (
            at(10),
            f"{9 + (50 + second) // 60}m{(50 + second) % 60}s late".replace("m0s", "m"),
        )


def test_what_is_due_when_its_schedule_is_replaced_or_taken_away_is_skipped(stage: Stage) -> None:
    stage.begin(jobs(3, "cron = '*/10 * * * * *'"))
    text = jobs(2, "cron = '*/10 * * * * *'").replace("*/10", "*/15", 1)
    stage.configure(text)
    stage.dispatcher.plan(at(25))
    assert [stage.fates(f"job-{number}") for number in range(3)] == [
        [(10, "skipped"), (20, "skipped")],
        [],
        [(10, "skipped"), (20, "skipped")],
    ]
    stage.advance(25, begins=1)
    assert stage.fates("job-1") == [(10, "skipped"), (20, "claimed")]


def test_a_schedule_that_was_changed_while_heartbeat_was_down_still_gets_its_fates(stage: Stage) -> None:
    stage.begin(TENS)
    stage.close()
    stage.configure(TENS.replace("*/10", "*/15"))
    links = Links(lambda: None, lambda: None, stage._fatal, lambda _job, _word: None)
    stage.dispatcher = Dispatcher(lambda: stage.house, Troubles(), links)
    stage.dispatcher.plan(at(47))
    assert stage.fates("check") == [(second, "skipped") for second in (10, 20, 30, 40)]
    stage.advance(47)
    assert stage.dispatcher.next_at(at(47)) == at(60)


def test_an_instant_that_had_passed_is_missed_and_brings_in_nothing_else_of_the_past(stage: Stage) -> None:
    past = at(-600).isoformat()
    stage.begin(f"[jobs.check]\ncatch_up = 'all'\nschedule = ['at {past}', '0 * * * *']\n")
    assert stage.fates("check") == [(-600, "missed")]
    stage.advance(0)
    assert stage.dispatcher.next_at(at(0)) == at(3600)


def test_a_clock_set_back_in_the_middle_of_a_run_does_not_hold_up_the_job(stage: Stage) -> None:
    stage.begin("[jobs.check]\nevery = '10s'\n")
    [run] = stage.advance(0, begins=1)
    stage.dispatcher.plan(at(-3000))
    stage.advance(-3000)
    stage.end(run)
    stage.advance(-2999)
    assert stage.dispatcher.next_at(at(-2999)) == at(-2990)
    assert stage.advance(-2990, begins=1)[0].slot == at(-2990)


def test_a_run_that_never_comes_to_its_claim_is_stuck_after_two_minutes_and_no_longer_when_it_does(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.begin("[jobs.check]\nevery = '10s'\n")
    stage.claims = False
    [run] = stage.advance(0, begins=1)
    began = run.halt.made_at
    monkeypatch.setattr(dispatch, "monotonic", lambda: began + 120)
    assert stage.dispatcher.stuck(at(120)) == ""
    monkeypatch.setattr(dispatch, "monotonic", lambda: began + 121)
    assert stage.dispatcher.stuck(at(121)) == "the start of the job check"
    run.may_claim.set()
    assert run.claimed.wait(SECONDS)
    assert stage.dispatcher.stuck(at(121)) == ""
    stage.end(run)


def test_an_agenda_that_nobody_looks_at_is_stuck(stage: Stage) -> None:
    stage.begin("[jobs.check]\nevery = '10s'\n")
    assert stage.dispatcher.stuck(at(119)) == ""
    assert stage.dispatcher.stuck(at(121)) == "the agenda"


def test_a_job_that_waits_for_a_worker_is_overdue_after_two_minutes_and_nothing_is_stuck(stage: Stage) -> None:
    stage.begin(
        "[jobs.a]\nscript = 'jobs/check.sh'\nevery = '1h'\n[jobs.b]\nscript = 'jobs/check.sh'\nevery = '1h'\n", 1
    )
    [run] = stage.advance(0, begins=1)
    waiting = "b" if run.job == "a" else "a"
    stage.advance(120)
    assert stage.dispatcher.overdue(at(120)) == ""
    assert stage.dispatcher.overdue(at(121)) == f"{waiting} since 2026-06-10T08:00:00Z"
    assert stage.dispatcher.stuck(at(121)) == ""
    stage.end(run)
