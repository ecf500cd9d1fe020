"""The proof of life: what the pulse says, and when the watchdogs are fed."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest

from heartbeat.clock import Reading
from heartbeat.errors import HeartbeatError
from heartbeat.model import QueueItem
from heartbeat.notify import Notifier
from heartbeat.progress import GRACE, Progress
from heartbeat.proof import Proof
from heartbeat.pulse import PERIOD, Pulse, read_pulse
from heartbeat.troubles import Troubles
from tests.conftest import NOW, Bench, at


class Listener(Notifier):
    """A supervisor that writes down what it hears."""

    def __init__(self, watchdog: str = "") -> None:
        super().__init__({"WATCHDOG_USEC": watchdog})
        self.heard: list[str] = []

    def _say(self, words: str) -> None:
        self.heard.append(words)


def proof(notifier: Notifier, troubles: Troubles | None = None) -> Proof:
    return Proof(Reading(NOW, time.monotonic(), time.monotonic()), troubles or Troubles(), notifier)


def pulse_of(bench: Bench) -> Pulse:
    found = read_pulse(bench.house().home.pulse_file)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("watchdog", "period"), [("", PERIOD), ("90000000", PERIOD), ("45000000", PERIOD), ("6000000", 2.0), ("x", PERIOD)]
)
def test_a_proof_is_given_three_times_within_what_the_watchdog_allows(watchdog: str, period: float) -> None:
    assert proof(Listener(watchdog)).period == period


def test_a_watchdog_of_another_process_is_not_ours() -> None:
    assert Notifier({"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}).watchdog is None


def test_the_supervisor_hears_how_things_stand_in_whole_words(bench: Bench) -> None:
    listener = Listener()
    proof(listener).write(bench.house(), NOW, None)
    assert listener.heard[-1].endswith("STATUS=1 job, nothing due; 0 findings, 0 wakes and 0 messages wait")
    bench.place.finds({"key": "a"}, wake=False)
    bench.tick(0)
    proof(listener).write(bench.house(), NOW, at(5), safe="why it is safe")
    assert listener.heard[-1].endswith(
        "STATUS=1 job, next due 2026-06-10T08:05:00 UTC; 1 finding, 0 wakes and 0 messages wait; 1 problem: safe_mode"
    )


def test_the_pulse_says_how_much_waits_and_when_a_run_was_last_over(bench: Bench) -> None:
    bench.place.finds({"key": "a"}, {"key": "b"})
    bench.tick(0)
    bench.ledger.enqueue(QueueItem("item_1", "later", "Later", at(60)), NOW)
    proof(Listener()).write(
        bench.house(), NOW, at(5), overdue="check since 2026-06-10T07:00:00Z", safe="why it is safe"
    )
    pulse = pulse_of(bench)
    assert (pulse.jobs, pulse.items, pulse.findings, pulse.wakes, pulse.messages) == (1, 1, 2, 1, 0)
    assert pulse.last_run_at.startswith("2026-")
    assert pulse.overdue == "check since 2026-06-10T07:00:00Z"
    assert pulse.problems[0] == ("safe_mode", "why it is safe")


def test_a_worker_that_hangs_is_named_and_starves_the_watchdog(bench: Bench) -> None:
    clock = [0.0]
    listener, progress = Listener(), Progress(lambda: clock[0])
    house = bench.house(progress=progress)
    given = proof(listener)
    with progress.working("the job check", 60):
        given.write(house, NOW, None)
        assert (len(listener.heard), pulse_of(bench).wedged) == (1, "")
        clock[0] += 60 + GRACE + 1
        given.write(house, at(4), None)
        assert (len(listener.heard), pulse_of(bench).wedged) == (1, "the job check")
    given.write(house, at(5), None)
    assert (len(listener.heard), pulse_of(bench).wedged) == (2, "")


def test_what_does_not_go_on_though_the_loop_comes_round_starves_the_watchdog_too(bench: Bench) -> None:
    listener = Listener()
    given = proof(listener)
    given.write(bench.house(), NOW, None, stuck="the agenda")
    assert (listener.heard, pulse_of(bench).wedged) == ([], "the agenda")
    given.write(bench.house(), at(1), None)
    assert (len(listener.heard), pulse_of(bench).wedged) == (1, "")


def test_nothing_is_fed_once_it_is_stopping(bench: Bench) -> None:
    listener = Listener()
    given = proof(listener)
    given.write(bench.house(), NOW, None)
    given.end()
    given.write(bench.house(), at(1), None)
    assert [words.partition("=")[0] for words in listener.heard] == ["READY", "STOPPING"]
    assert pulse_of(bench).written_at == "2026-06-10T08:01:00.000000Z"


def test_troubles_and_incidents_are_in_the_pulse_and_in_the_status_line(bench: Bench) -> None:
    troubles = Troubles()
    troubles.report("ledger", HeartbeatError("the disk is full"))
    bench.ledger.fault("agent:command", "agent_failed", "it is not there", NOW)
    listener = Listener()
    proof(listener, troubles).write(bench.house(), NOW + timedelta(), None)
    assert pulse_of(bench).problems == (
        ("ledger_trouble", "the disk is full"),
        ("agent_failed", "agent:command: it is not there"),
    )
    assert listener.heard[0].endswith("; 2 problems: ledger_trouble")


def test_a_pulse_that_cannot_be_written_is_a_trouble_and_the_watchdog_is_fed(bench: Bench, tmp_path: Path) -> None:
    bench.house().home.pulse_file.mkdir(parents=True)
    troubles, listener = Troubles(), Listener()
    proof(listener, troubles).write(bench.house(), NOW, None)
    assert [code for code, _ in troubles.all()] == ["pulse_trouble"]
    assert len(listener.heard) == 1
