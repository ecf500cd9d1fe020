"""The daemon as a supervisor sees it: a real process, its signals, its exit status, and what it leaves."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest

from heartbeat.lock import KernelLock
from tests.conftest import CONFIG, Place, wait_for

EVERY_SECOND = CONFIG.replace('"10m"', '"1s"')
SECONDS = 40
"""How long anything may take on a busy machine."""


class Daemon:
    """`heartbeat run` in a home."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        """Returns when it beats."""
        self.process = self.place.start("run")
        until(lambda: self.health()["pid"] == self.pid and self.health()["last_beat_at"])

    def stop(self, number: signal.Signals = signal.SIGTERM) -> str:
        """Ask it to end, which it must do well; returns what it logged."""
        self.signal(number)
        status, log = self.ended()
        assert status == 0, log
        return log

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def ended(self) -> tuple[int, str]:
        assert self.process is not None
        out, log = self.process.communicate(timeout=SECONDS)
        assert out == b""
        status, self.process = self.process.returncode, None
        return status, log.decode()

    def health(self) -> Any:
        return self.place.data("health")


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def runs(place: Place) -> list[dict[str, Any]]:
    """Those that have ended, newest first."""
    found: list[dict[str, Any]] = place.data("runs")["runs"]
    return [run for run in found if run["state"] != "running"]


def slots(place: Place) -> list[tuple[str, str]]:
    db = sqlite3.connect(f"file:{place.state}/ledger.db?mode=ro", uri=True)
    found = db.execute("SELECT state, reason FROM slots ORDER BY slot_at").fetchall()
    db.close()
    return found


def marked(mark: str) -> list[int]:
    """The processes that carry a mark in their command line."""
    return [process.pid for process in psutil.process_iter(["cmdline"]) if mark in (process.info["cmdline"] or [])]


@pytest.fixture
def daemon(place: Place) -> Iterator[Daemon]:
    made = Daemon(place)
    yield made
    if made.process is not None:
        made.process.kill()
        made.process.communicate()


# Its life


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_is_absent_then_up_then_down(daemon: Daemon, number: signal.Signals) -> None:
    live = ("health", "--assert-live")
    assert (daemon.health()["state"], daemon.place.call(*live).status) == ("absent", 0)
    daemon.start()
    health = daemon.health()
    assert daemon.place.call(*live) == daemon.place.run(*live)
    assert daemon.place.call(*live).status == 0
    assert (health["state"], health["pid"], health["problems"]) == ("up", daemon.pid, [])
    assert 0 <= health["uptime_seconds"] < SECONDS
    assert datetime.fromisoformat(health["last_beat_at"]).utcoffset() == timedelta()
    assert health["recent_starts"] == 1
    log = daemon.stop(number)
    assert log.splitlines()[0].split()[2] == "started"
    assert log.splitlines()[-1].endswith(" stopped")
    down = daemon.health()
    assert (down["state"], down["pid"], down["problems"][0]["code"]) == ("down", None, "not_running")
    asserted = daemon.place.call(*live)
    assert (asserted.status, asserted.out, asserted.err.count("\n")) == (1, "", 1)


def test_a_second_daemon_is_refused_and_told_who_holds_the_lock(daemon: Daemon) -> None:
    daemon.start()
    second = daemon.place.run("run")
    assert (second.status, second.out) == (5, "")
    assert f"process {daemon.pid} already runs heartbeat in {daemon.place.state}" in second.err
    enveloped = daemon.place.run("run", "--json").envelope
    assert (enveloped["command"], enveloped["error"]["code"]) == ("run", "refused")
    assert daemon.health()["state"] == "up"
    assert daemon.health()["recent_starts"] == 1


def test_what_it_keeps_is_for_the_owner_alone(daemon: Daemon) -> None:
    daemon.start()
    daemon.stop()
    assert daemon.place.state.stat().st_mode & 0o777 == 0o700
    for file in daemon.place.state.iterdir():
        assert file.stat().st_mode & 0o077 == 0, file


# Running jobs


def test_it_runs_what_is_due_and_wakes_the_agent_once_for_what_it_finds(daemon: Daemon) -> None:
    place = daemon.place
    place.configure(EVERY_SECOND + "[jobs.due-queue]\nenabled = false\n")
    place.finds({"key": "k"})
    daemon.start()
    until(lambda: len(runs(place)) >= 3)
    daemon.stop()
    assert len(place.agent_calls) == 1
    assert {run["job"] for run in runs(place)} == {"check"}
    found = runs(place)
    assert {run["trigger"] for run in found} == {"schedule"}
    at = [datetime.fromisoformat(run["slot_at"]) for run in reversed(found)]
    assert all((later - earlier) % timedelta(seconds=1) == timedelta() for earlier, later in pairwise(at))
    assert len(set(at)) == len(at)


def test_an_interval_goes_on_from_its_anchor_over_a_restart(daemon: Daemon) -> None:
    place = daemon.place
    place.configure(CONFIG.replace('"10m"', '"1h"'))
    daemon.start()
    until(lambda: len(runs(place)) == 1)
    daemon.stop()
    coming = place.data("next", "-n", "1")
    daemon.start()
    until(lambda: daemon.health()["state"] == "up")
    assert place.data("next", "-n", "1") == coming
    daemon.stop()
    (only,) = runs(place)
    first_slot = datetime.fromisoformat(only["slot_at"])
    assert datetime.fromisoformat(coming["next"][0]["at"]) == first_slot + timedelta(hours=1)


def test_a_slot_that_comes_while_the_run_before_goes_on_is_recorded_as_skipped(daemon: Daemon) -> None:
    place = daemon.place
    place.configure(EVERY_SECOND)
    place.script("check", "#!/bin/sh\nsleep 2.5\necho '{\"wakeAgent\": false}'\n")
    daemon.start()
    until(lambda: len(runs(place)) >= 1)
    daemon.stop()
    skipped = [reason for state, reason in slots(place) if state == "skipped"]
    assert skipped
    assert set(skipped) == {"overlap: the run before was still going"}


def test_a_job_that_fails_backs_off(daemon: Daemon) -> None:
    place = daemon.place
    place.configure(EVERY_SECOND)
    place.says("check", "", 1)
    daemon.start()
    until(lambda: [state for state, _ in slots(place)].count("skipped") >= 2)
    daemon.stop()
    assert len(runs(place)) == 1
    assert all(reason.startswith("backing off until ") for state, reason in slots(place) if state == "skipped")


def test_no_more_jobs_run_at_once_than_there_are_workers(daemon: Daemon) -> None:
    place = daemon.place
    names = [f"job-{number}" for number in range(4)]
    place.configure("[daemon]\nworkers = 2\n" + "".join(f'[jobs.{name}]\nevery = "1h"\n' for name in names))
    for name in names:
        place.script(
            name,
            '#!/bin/sh\nlog="$HEARTBEAT_HOME/log"\necho begin >> "$log"\nsleep 0.5\necho end >> "$log"\n'
            "echo '{\"wakeAgent\": false}'\n",
        )
    daemon.start()
    until(lambda: len(runs(place)) == 4)
    daemon.stop()
    at_once, most = 0, 0
    for word in (place.folder / "log").read_text().split():
        at_once += 1 if word == "begin" else -1
        most = max(most, at_once)
    assert most == 2


def test_a_slow_agent_holds_up_no_job(daemon: Daemon) -> None:
    place = daemon.place
    place.configure(EVERY_SECOND)
    place.finds({"key": "k"})
    place.file("agent.sh", '#!/bin/sh\ntouch "$HEARTBEAT_HOME/called"\nexec sleep 600\n')
    daemon.start()
    wait_for(place.folder / "called", SECONDS)
    before = len(runs(place))
    until(lambda: len(runs(place)) >= before + 2)
    assert daemon.health()["state"] == "up"
    daemon.stop()
    assert [wake["state"] for wake in place.data("wakes", "list")["wakes"]] == ["pending"]


def test_a_job_that_the_daemon_runs_is_refused_by_hand_and_the_other_way_round(daemon: Daemon) -> None:
    place = daemon.place
    place.configure(EVERY_SECOND)
    place.script("check", '#!/bin/sh\necho x >> "$HEARTBEAT_HOME/begun"\nsleep 1.5\necho \'{"wakeAgent": false}\'\n')
    daemon.start()
    wait_for(place.folder / "begun", SECONDS)
    assert place.call("tick", "check").status == 5
    daemon.stop()
    assert [run["state"] for run in runs(place)] == ["ended"] * len(runs(place))


def test_while_another_process_is_with_the_agent_the_daemon_waits_without_labour(daemon: Daemon) -> None:
    place = daemon.place
    place.finds({"key": "k"})
    place.state.mkdir(mode=0o700)
    lock = KernelLock(place.state / "agent.lock")
    assert lock.acquire("1:1")
    daemon.start()
    until(lambda: place.data("wakes", "list")["wakes"])
    busy = psutil.Process(daemon.pid).cpu_times()
    time.sleep(2)
    after = psutil.Process(daemon.pid).cpu_times()
    assert (after.user + after.system) - (busy.user + busy.system) < 0.5
    assert place.agent_calls == []
    lock.release()
    daemon.signal(signal.SIGHUP)  # or the next beat, within 15 s
    until(lambda: place.agent_calls)
    daemon.stop()


def test_what_a_script_printed_cannot_forge_a_line_of_the_log(daemon: Daemon) -> None:
    place = daemon.place
    place.says("check", '\x1b[2J\u202e\n2026-06-10T08:00:00+0000 INFO stopped\r{"wakeAgent": "\x1b[31m"}')
    daemon.start()
    until(lambda: runs(place))
    log = daemon.stop()
    assert log.isascii()
    assert "\x1b" not in log
    assert len([line for line in log.splitlines() if line.split()[2] == "stopped"]) == 1


# Ending


def test_a_short_run_may_finish_while_it_stops(daemon: Daemon) -> None:
    place = daemon.place
    place.script("check", '#!/bin/sh\ntouch "$HEARTBEAT_HOME/begun"\nsleep 1\necho \'{"wakeAgent": false}\'\n')
    daemon.start()
    wait_for(place.folder / "begun", SECONDS)
    daemon.stop()
    assert [(run["state"], run["verdict"]) for run in runs(place)] == [("ended", "quiet")]


def test_a_long_run_and_all_it_started_is_ended_and_recorded(daemon: Daemon, tmp_path: Path) -> None:
    place = daemon.place
    place.configure('[daemon]\ndrain = "0s"\n' + CONFIG)
    mark = str(tmp_path)
    place.script(
        "check",
        f"#!/bin/sh\ntrap '' TERM\nsetsid sh -c 'sleep 600; :' {mark} &\nsh -c 'sleep 600; :' {mark} &\n"
        'sleep 0.3\ntouch "$HEARTBEAT_HOME/begun"\nsleep 600\n',
    )
    daemon.start()
    wait_for(place.folder / "begun", SECONDS)
    assert len(marked(mark)) == 2
    began = time.monotonic()
    daemon.stop()
    assert time.monotonic() - began < 20
    assert marked(mark) == []
    assert [(run["state"], run["verdict"], run["reason"]) for run in runs(place)] == [
        ("interrupted", None, "heartbeat was stopping")
    ]
    assert [state for state, _ in slots(place)] == ["interrupted"]


def test_a_wake_the_agent_refused_is_tried_at_once_by_the_next_daemon_under_the_same_id(daemon: Daemon) -> None:
    place = daemon.place
    place.finds({"key": "k"})
    place.file("agent.status", "1")
    daemon.start()
    until(lambda: [wake["attempts"] for wake in place.data("wakes", "list")["wakes"]] == [1])
    daemon.stop()
    place.file("agent.status", "0")
    daemon.start()
    until(lambda: [wake["state"] for wake in place.data("wakes", "list")["wakes"]] == ["settled"])
    daemon.stop()
    assert len(place.agent_calls) == 2
    assert len(set(place.agent_calls)) == 1


# A new configuration


def test_hanging_up_brings_in_a_new_job_and_takes_out_an_old_one(daemon: Daemon) -> None:
    place = daemon.place
    place.configure(EVERY_SECOND)
    daemon.start()
    until(lambda: runs(place))
    place.script("other")
    place.says("other", {"wakeAgent": False})
    place.configure(EVERY_SECOND.replace("check", "other"))
    daemon.signal(signal.SIGHUP)
    until(lambda: "other" in {run["job"] for run in runs(place)})
    before = [run["id"] for run in runs(place) if run["job"] == "check"]
    others = len(runs(place))
    until(lambda: len(runs(place)) >= others + 2)
    assert [run["id"] for run in runs(place) if run["job"] == "check"] == before
    assert " reloaded jobs=1" in daemon.stop()


def test_a_configuration_that_is_not_valid_is_refused_and_the_last_good_one_stays(daemon: Daemon) -> None:
    place = daemon.place
    place.configure(EVERY_SECOND)
    daemon.start()
    place.configure(EVERY_SECOND + "[jobs.no-such-script]\n[owner2]\n")
    daemon.signal(signal.SIGHUP)
    until(lambda: daemon.health()["state"] == "degraded")
    (problem,) = daemon.health()["problems"]
    assert problem["code"] == "configuration_trouble"
    assert "no-such-script" in problem["message"]
    assert place.call("health", "--assert-live").status == 0
    before = len(runs(place))
    until(lambda: len(runs(place)) > before)
    place.configure(EVERY_SECOND)
    daemon.signal(signal.SIGHUP)
    until(lambda: daemon.health()["state"] == "up")
    log = daemon.stop()
    assert log.count(" trouble ") == 1


def test_an_agent_that_comes_with_a_new_configuration_is_used(daemon: Daemon) -> None:
    place = daemon.place
    place.configure('[jobs.check]\nevery = "1s"\n')
    daemon.start()
    until(lambda: runs(place))
    place.configure(EVERY_SECOND)
    daemon.signal(signal.SIGHUP)
    place.finds({"key": "k"})
    until(lambda: place.agent_calls or place.data("brief")["items"])
    if not place.agent_calls:
        # It was found just before the new configuration was taken.
        place.finds({"key": "l"})
        until(lambda: place.agent_calls)
    daemon.stop()


def test_a_job_that_is_removed_takes_its_incident_with_it(daemon: Daemon) -> None:
    place = daemon.place
    place.configure(EVERY_SECOND)
    place.says("check", "no gate")
    for _ in range(3):
        place.call("tick", "check")
    daemon.start()
    until(lambda: daemon.health()["state"] == "degraded")
    place.configure("")
    daemon.signal(signal.SIGHUP)
    until(lambda: daemon.health()["state"] == "up")
    daemon.stop()


@pytest.mark.slow
def test_a_slot_that_could_not_be_claimed_is_not_lost(daemon: Daemon) -> None:
    place = daemon.place
    place.call("queue", "list")
    at = datetime.now().astimezone() + timedelta(seconds=6)
    place.configure(CONFIG.replace('every = "10m"', f'at = "{at.isoformat()}"'))
    daemon.start()
    with sqlite3.connect(place.state / "ledger.db", isolation_level=None) as other:
        time.sleep(max(0.0, (at - datetime.now().astimezone()).total_seconds() - 1))
        other.execute("BEGIN IMMEDIATE")
        time.sleep(9)  # the ledger waits for 5 s
        other.execute("ROLLBACK")
    other.close()
    until(lambda: [run["verdict"] for run in runs(place)] == ["quiet"])
    daemon.stop()
