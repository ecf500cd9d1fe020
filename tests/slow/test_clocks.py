"""Somebody sets the clock under a running daemon: jobs go on, no slot runs twice, and health tells the truth."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.slow.clocks import HOUR, MONTH, Clock, build_shim
from tests.slow.guarantees import breaches
from tests.slow.homes import Daemon, Home, wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets us move the clock of one process"),
]

STEPS = {
    "a minute back": (-60,),
    "an hour back": (-HOUR,),
    "a month back": (-MONTH,),
    "a minute on": (60,),
    "an hour on": (HOUR,),
    "a month on": (MONTH,),
    "a month on and back": (MONTH, -MONTH),
    "an hour back and on": (-HOUR, HOUR),
}
WATCHED = 100.0
"""Seconds; a job may stand still for a minute when the clock was set back a minute."""

# One finding that is there all the time, and one for each run.
ALWAYS = """#!/bin/sh
echo "{\\"wakeAgent\\":true,\\"findings\\":[{\\"key\\":\\"always\\",\\"title\\":\\"Always\\"}]}"
"""
FAILS = """#!/bin/sh
exit 3
"""
NEWS = """#!/bin/sh
[ -e "$HEARTBEAT_HOME/news" ] || exec echo '{"wakeAgent": false}'
echo '{"wakeAgent": true, "findings": [{"key": "news", "title": "News"}]}'
"""


@dataclass
class Patient:
    """One daemon with a clock of its own."""

    home: Home
    clock: Clock
    daemon: Daemon
    runs_before: int = 0
    states: list[tuple[float, str]] = field(default_factory=list)
    """Its health, by seconds since its clock was first set."""

    def runs(self, job: str) -> int:
        return self.home.count("SELECT count(*) FROM runs WHERE job = ? AND state = 'ended'", job)


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Patient]]:
    """All of them at once: each is idle nearly all the time."""
    folder = tmp_path_factory.mktemp("clocks")
    library = build_shim(folder)
    found = {name: begin(folder / str(number), library) for number, name in enumerate(STEPS)}
    try:
        for patient in found.values():
            settle_down(patient)
        watch(found)
        yield found
    finally:
        for patient in found.values():
            patient.home.clear()


def begin(folder: Path, library: Path) -> Patient:
    home = Home(folder)
    home.script("always", ALWAYS)
    home.script("fails", FAILS)
    home.script("news", NEWS)
    jobs = "".join(f'[jobs.{job}]\nevery = "1s"\n' for job in ("always", "fails", "news"))
    home.configure(jobs + '[retention]\nhistory = "366d"')
    clock = Clock(folder / "clock", library)
    return Patient(home, clock, home.start(**clock.environment))


def settle_down(patient: Patient) -> None:
    """Everything that the clock may spoil is there: slots, a job that backs off, a wake that waits for a next try."""
    home = patient.home
    wait_for(lambda: home.count("SELECT count(*) FROM wakes WHERE state = 'settled'"), 60, "the first wake")
    home.file("agent-fails", "")
    home.file("news", "")
    wait_for(lambda: home.count("SELECT count(*) FROM wakes WHERE state = 'pending' AND attempts = 1"), 60, "a failure")
    wait_for(
        lambda: home.count("SELECT count(*) FROM jobs WHERE backoff_until IS NOT NULL"), 60, "a job that backs off"
    )


def watch(patients: dict[str, Patient]) -> None:
    for name, patient in patients.items():
        patient.runs_before = patient.runs("always")
        patient.clock.set(STEPS[name][0])
        (patient.home.folder / "agent-fails").unlink()
    began, stepped_again = time.monotonic(), False
    while (passed := time.monotonic() - began) < WATCHED:
        if passed > WATCHED / 3 and not stepped_again:
            stepped_again = True
            for name, patient in patients.items():
                for step in STEPS[name][1:]:
                    patient.clock.set(step)
        for patient in patients.values():
            patient.states.append((passed, patient.home.health(patient.clock.now()).state))
        time.sleep(0.25)


@pytest.mark.parametrize("name", STEPS)
def test_a_clock_that_is_set_stops_nothing_and_doubles_nothing(patients: dict[str, Patient], name: str) -> None:
    patient = patients[name]
    home = patient.home
    runs = patient.runs("always") - patient.runs_before
    print(home.report())
    assert patient.daemon.process.poll() is None
    # At most a minute, and the time until a beat comes that needs no clock, are lost.
    assert (15 if name == "a minute back" else 40) < runs < WATCHED + 20, runs
    assert [(at, state) for at, state in patient.states if state == "stalled"] == []
    # What waits for a try under the old clock is tried.
    assert home.count("SELECT count(*) FROM findings WHERE key = 'news' AND state = 'told'") == 1
    # A job that backs off for a minute is not held for a month; set back a minute, for two.
    assert patient.runs("fails") >= (1 if name == "a minute back" else 2)
    assert patient.daemon.stop() == 0
    assert breaches(home) == []
    assert home.count("SELECT count(*) FROM findings WHERE state = 'told' AND key = 'always'") == 1
