"""Stop, go on, end, reload: whatever signals the daemon gets, and however many."""

from __future__ import annotations

import random
import signal
import time

import pytest

from tests.slow.guarantees import breaches
from tests.slow.homes import Home, wait_for

pytestmark = pytest.mark.slow

NEWS = """#!/bin/sh
echo '{"wakeAgent": true, "findings": [{"key": "news", "title": "News"}]}'
"""
STUBBORN = """#!/bin/sh
trap '' TERM
setsid sh -c "trap '' TERM; sleep 1000; sleep 1000" &
sleep 1000
sleep 1000
"""


def test_a_daemon_that_was_stopped_for_a_minute_is_called_stalled_and_runs_one_slot_for_all(home: Home) -> None:
    home.script("calm")
    home.configure('[jobs.calm]\nevery = "2s"')
    daemon = home.start()
    wait_for(lambda: home.count("SELECT count(*) FROM runs WHERE state = 'ended'") >= 2, 30, "two runs")
    daemon.process.send_signal(signal.SIGSTOP)
    time.sleep(1)
    before = home.count("SELECT count(*) FROM runs")
    time.sleep(59)
    assert home.health().state == "stalled"
    assert home.run("health", "--assert-live")[0] == 1
    daemon.process.send_signal(signal.SIGCONT)
    wait_for(lambda: home.health().state == "up", 10, "health to be up")
    wait_for(lambda: home.count("SELECT count(*) FROM runs") >= before + 3, 30, "three more runs")
    assert daemon.stop() == 0
    assert breaches(home) == []
    catching_up = home.rows("SELECT * FROM slots WHERE reason LIKE 'stands for every slot since%'")
    assert [row["state"] for row in catching_up] == ["ran"]
    others = home.rows("SELECT DISTINCT state, reason FROM slots WHERE state <> 'ran'")
    assert others == [{"state": "skipped", "reason": f"coalesced into {catching_up[0]['slot_at'][:19]}Z"}]


def test_a_second_daemon_is_refused_and_told_who_runs(home: Home) -> None:
    home.script("calm")
    home.configure('[jobs.calm]\nevery = "1s"')
    first = home.start()
    first.wait_for_beat()
    for _ in range(3):
        second = home.start()
        assert second.wait(30) == 5
        assert f"cannot start: process {first.process.pid} already runs heartbeat in {home.state}; stop" in second.log
    assert home.health().state == "up"
    assert home.health().pid == first.process.pid
    assert home.health().recent_starts == 1
    assert first.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_ending_daemon_leaves_no_process_and_sends_the_wake_again_later(home: Home, number: signal.Signals) -> None:
    home.script("news", NEWS)
    home.script("stubborn", STUBBORN)
    home.script("finishes", "#!/bin/sh\nsleep 1.5\necho '{\"wakeAgent\": false}'\n")
    home.file("agent-takes", "1000")
    home.configure(
        "".join(f'[jobs.{job}]\nevery = "1h"\n' for job in ("news", "stubborn", "finishes")),
        agent='timeout = "1h"',
        daemon='drain = "3s"',
    )
    daemon = home.start()
    wait_for(home.handed, 30, "the agent to be called")
    wait_for(lambda: len(home.offspring()) >= 5, 30, "both scripts and the agent")
    began = time.monotonic()
    daemon.process.send_signal(number)
    daemon.process.send_signal(number)
    assert daemon.wait(20) == 0
    assert time.monotonic() - began < 3 + 5
    assert list(home.offspring().values()) == []
    assert home.rows("SELECT job, state FROM runs WHERE job <> 'news' ORDER BY job") == [
        {"job": "finishes", "state": "ended"},
        {"job": "stubborn", "state": "interrupted"},
    ]
    assert home.rows("SELECT state, attempts FROM wakes") == [{"state": "pending", "attempts": 1}]

    (home.folder / "agent-takes").unlink()
    daemon = home.start()
    wait_for(lambda: home.count("SELECT count(*) FROM wakes WHERE state = 'settled'"), 30, "the settlement")
    assert daemon.stop() == 0
    assert breaches(home) == []
    assert len({wake for wake, _ in home.handed()}) == 1
    assert len(home.handed()) == 2


def test_what_waits_for_a_worker_when_the_daemon_is_stopped_is_not_started_any_more(home: Home) -> None:
    home.script("one", "#!/bin/sh\nsleep 1\necho '{\"wakeAgent\": false}'\n")
    jobs = [f'[jobs.job-{number}]\nscript = "jobs/one.sh"\nevery = "1h"' for number in range(20)]
    home.configure("\n".join(jobs), daemon='workers = 2\ndrain = "8s"')
    daemon = home.start()
    wait_for(lambda: home.count("SELECT count(*) FROM runs") >= 2, 30, "two runs")
    began = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - began < 6
    assert home.count("SELECT count(*) FROM runs") <= 4
    assert home.count("SELECT count(*) FROM runs WHERE state <> 'ended'") == 0
    daemon = home.start()
    wait_for(lambda: home.count("SELECT count(*) FROM runs WHERE state = 'ended'") == 20, 60, "the other runs")
    assert daemon.stop() == 0
    assert breaches(home) == []


BROKEN = ("[jobs", "[jobs.nowhere]\nevery = '1s'", "[jobs.calm]\nevery = 'often'", "surprise = 1")


def test_a_storm_of_reloads_ends_with_the_last_valid_configuration(home: Home) -> None:
    chance = random.Random(8)
    home.script("calm")
    home.script("late")
    valid = ('[jobs.calm]\nevery = "1s"', '[jobs.calm]\nevery = "1s"\n[jobs.late]\nevery = "1h"\nenabled = false')
    home.configure(valid[0])
    daemon = home.start()
    daemon.wait_for_beat()
    began = time.monotonic()
    for number in range(150):
        home.configure(chance.choice(BROKEN if number % 3 else valid))
        daemon.process.send_signal(signal.SIGHUP)
        time.sleep(chance.uniform(0, 0.05))
    home.configure("[jobs.unheard-of]")
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "unheard-of" in str(home.health().problems), 30, "health to name the broken configuration")
    assert home.health().state == "degraded"
    passed = time.monotonic() - began
    assert home.count("SELECT count(*) FROM runs WHERE job = 'calm'") > passed / 2 - 2

    home.configure('[jobs.calm]\nevery = "1s"\n[jobs.late]\nevery = "1h"')
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: home.count("SELECT count(*) FROM runs WHERE job = 'late' AND state = 'ended'"), 30, "the new job")
    wait_for(lambda: home.health().state == "up", 30, "health to be up")
    assert daemon.stop() == 0
    assert breaches(home) == []
