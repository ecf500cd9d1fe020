"""Scenarios that are idle nearly all the time, and so are played at once: each in a thread, on a home of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest

from tests.slow.clocks import Clock, build_shim
from tests.slow.due import Due
from tests.slow.guarantees import Phase, breaches, misfits, phase_of
from tests.slow.homes import RECORDS, Daemon, Home, wait_for


@dataclass(frozen=True)
class Job:
    """What the configuration says of it, when that makes it due, and what it runs."""

    settings: str
    due: Due
    script: str = RECORDS


@dataclass
class Patient:
    """A home that something is done to."""

    home: Home
    clock: Clock
    jobs: Mapping[str, Job] = field(default_factory=dict)
    before: dict[str, list[Phase]] = field(default_factory=dict)
    """How far each job had come whenever its clock was set back."""
    events: int = 0
    """How many things that happened to the clock were awaited."""
    health: list[tuple[float, str]] = field(default_factory=list, repr=False)
    """By the monotonic clock."""

    def configure(self, jobs: Mapping[str, Job], **more: str) -> None:
        self.jobs = {**self.jobs, **jobs}
        for name, job in jobs.items():
            self.home.script(name, job.script)
        sections = (f"[jobs.{name}]\n{job.settings}\n" for name, job in jobs.items())
        # A clock that is set forward makes everything old.
        self.home.configure("".join(sections) + '[retention]\nhistory = "3660d"', **more)

    def start(self) -> Daemon:
        self.home.now = lambda: self.clock.now().timestamp()
        daemon = self.home.start(**self.clock.environment)
        daemon.wait_for_beat()
        return daemon

    def set_clock(self, seconds: float) -> None:
        if seconds < 0:
            for job in self.jobs:
                self.before.setdefault(job, []).append(phase_of(self.home, job))
        self.clock.set(seconds)

    def ran(self, job: str) -> int:
        """How many runs for a slot have ended."""
        return self.home.count(
            "SELECT count(*) FROM runs WHERE job = ? AND state = 'ended' AND slot_at IS NOT NULL", job
        )

    def wait_for_runs(self, job: str, number: int, seconds: float = 30) -> None:
        """So many more of them."""
        before = self.ran(job)
        what = f"{number} more runs of {job} than {before}"
        wait_for(lambda: self.ran(job) >= before + number, seconds, what, every=0.2)

    def wait_for_event(self, kind: str, length: float = 0) -> None:
        """That the next thing that happened to the clock is this, noticed in time."""
        events = "SELECT kind, seconds FROM clock_events ORDER BY rowid LIMIT 1 OFFSET ?"
        wait_for(
            lambda: self.home.rows(events, self.events), 30, f"the daemon to notice: {kind}, {length} s", every=0.2
        )
        (event,) = self.home.rows(events, self.events)
        self.events += 1
        assert event["kind"] == kind, event
        assert abs(event["seconds"] - length) < 5, event

    def states_since(self, begin: float) -> set[str]:
        return {state for at, state in self.health if at >= begin}

    def faults(self) -> list[str]:
        """All that must hold of its ledger and does not; the daemon has been stopped."""
        due = {name: job.due for name, job in self.jobs.items()}
        return breaches(self.home) + misfits(self.home, due, self.before)


Scenario = Callable[[Patient], None]
Outcomes = Mapping[str, tuple[Patient, Future[None]]]


def at_text(moment: datetime) -> str:
    """As the ledger writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def kinds(home: Home) -> list[str]:
    """What `heartbeat clock` tells, oldest first."""
    return [event["kind"] for event in reversed(home.data("clock")["events"])]


@contextmanager
def played(request: pytest.FixtureRequest, folder: Path, scenarios: Mapping[str, Scenario]) -> Iterator[Outcomes]:
    """Play those that a selected test asks for; each is a home, and the end it came to."""
    library = build_shim(folder)
    wanted = {item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")}
    patients = {
        name: Patient(Home(folder / str(number)), Clock(folder / f"{number}.clock", library))
        for number, name in enumerate(scenarios)
        if name in wanted
    }
    with ThreadPoolExecutor(len(patients) or 1) as pool:
        ends = {name: pool.submit(scenarios[name], patient) for name, patient in patients.items()}
        try:
            while not all(end.done() for end in ends.values()):
                for patient in patients.values():
                    patient.health.append((time.monotonic(), patient.home.health(patient.clock.now()).state))
                time.sleep(0.25)
            yield {name: (patients[name], end) for name, end in ends.items()}
        finally:
            for patient in patients.values():
                patient.home.clear()
