"""What the daemon says of its own life: why it started, who ended it, that it is ready, and when it wakes nobody."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heartbeat.marker import write_intent
from heartbeat.process import owner
from heartbeat.signals import _program
from heartbeat.starts import Start, log_start, read_starts
from tests.conftest import CONFIG, Place, wait_for
from tests.test_daemon import SECONDS, Daemon, until

BOOT = owner().partition("@")[2]


@pytest.fixture
def daemon(place: Place) -> Iterator[Daemon]:
    made = Daemon(place)
    yield made
    if made.process is not None:
        made.process.kill()
        made.process.communicate()


def lives(place: Place) -> list[Start]:
    return read_starts(place.state / "starts.log")


# Who ended it


def test_the_sender_of_the_signal_that_stops_it_is_logged_by_pid_user_and_command(daemon: Daemon) -> None:
    daemon.start()
    log = daemon.stop()
    [life] = lives(daemon.place)
    assert (life.why, life.how) == ("unknown", "stopped")
    assert life.ending.startswith(f"SIGTERM from process {os.getpid()} of ")
    assert "python" in life.ending or "pytest" in life.ending
    assert life.sender == owner()
    assert life.ending[:40] in log


def test_a_sender_that_has_ended_is_told_by_its_pid(daemon: Daemon) -> None:
    daemon.start()
    killer = subprocess.Popen([sys.executable, "-c", f"import os; os.kill({daemon.pid}, 15)"])
    killer.wait()
    daemon.ended()
    assert f"SIGTERM from process {killer.pid} of " in lives(daemon.place)[0].ending


def test_a_daemon_that_is_killed_has_its_end_written_by_the_next(daemon: Daemon) -> None:
    daemon.start()
    daemon.signal(signal.SIGKILL)
    assert daemon.process is not None
    daemon.process.communicate()
    daemon.start()
    log = daemon.stop()
    first, second = lives(daemon.place)
    assert (first.how, second.why, second.how) == ("lost", "crash", "stopped")
    assert "ended_before" in log


def test_a_daemon_that_is_aborted_leaves_what_every_thread_was_at(daemon: Daemon) -> None:
    daemon.start()
    daemon.signal(signal.SIGABRT)
    assert daemon.process is not None
    daemon.process.communicate()
    daemon.start()
    daemon.stop()
    assert (lives(daemon.place)[0].how, lives(daemon.place)[1].why) == ("killed", "crash")
    assert "most recent call first" in (daemon.place.state / "crash.last.txt").read_text()


def test_a_configuration_that_is_not_valid_is_the_end_of_a_start_that_is_logged(daemon: Daemon) -> None:
    place = daemon.place
    place.configure("[nonsense]\n")
    assert place.run("run").status == 4
    [life] = lives(place)
    assert life.how == "failed"
    assert "nonsense" in life.ending


def test_under_launchd_what_no_new_start_can_mend_ends_with_status_0(daemon: Daemon) -> None:
    place = daemon.place
    place.configure("[nonsense]\n")
    told = {**os.environ, "HEARTBEAT_SUPERVISOR": "launchd"}
    command = [sys.executable, "-P", "-m", "heartbeat", "--home", str(place.folder), "run"]
    done = subprocess.run(command, env=told, capture_output=True, check=False)
    assert done.returncode == 0
    assert "nonsense" in (place.state / "heartbeat.log").read_text()


def test_a_request_to_stop_that_comes_at_once_is_obeyed_and_written_down(daemon: Daemon) -> None:
    place = daemon.place
    for _ in range(5):
        process = place.start("run")
        until(lambda: lives(place) and not lives(place)[-1].how)
        process.terminate()
        process.communicate(timeout=SECONDS)
        assert process.returncode == 0
        assert lives(place)[-1].how == "stopped"


def test_what_it_starts_hears_every_signal(daemon: Daemon) -> None:
    place = daemon.place
    place.script(
        "check", '#!/bin/sh\ngrep SigBlk /proc/self/status > "$HEARTBEAT_HOME/mask"\necho \'{"wakeAgent": false}\'\n'
    )
    daemon.start()
    wait_for(place.folder / "mask", SECONDS)
    until((place.folder / "mask").read_text)
    daemon.stop()
    assert int((place.folder / "mask").read_text().split()[1], 16) == 0


# What a supervisor hears


@contextmanager
def listening(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """A supervisor's socket, and every datagram that came."""
    heard: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as peer:
        address = str(folder / "n")
        peer.bind(address)

        def listen() -> None:
            while (words := peer.recv(4096)) != b"end":
                heard.append(words.decode())

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield address, heard
        finally:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
                own.sendto(b"end", address)
            thread.join()


def test_a_supervisor_hears_that_it_is_ready_alive_reloading_and_stopping(
    daemon: Daemon, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with listening(tmp_path_factory.mktemp("s")) as (address, heard):
        told_by_systemd = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "600000"}
        daemon.process = daemon.place.start("run", env=told_by_systemd)
        until(lambda: len(heard) >= 4)  # every 0.2 s, though a pulse is due every 15 s only
        assert all(words.startswith("READY=1\nWATCHDOG=1\nSTATUS=1 job, next due ") for words in heard)
        daemon.signal(signal.SIGHUP)
        until(lambda: any(words.startswith("RELOADING=1\nMONOTONIC_USEC=") for words in heard))
        told = len(heard)
        until(lambda: len(heard) > told)
        assert heard[-1].startswith("READY=1")
        daemon.signal(signal.SIGSTOP)
        time.sleep(0.3)
        told = len(heard)
        time.sleep(0.7)
        assert len(heard) == told
        daemon.signal(signal.SIGCONT)
        daemon.stop()
        assert heard[-1] == "STOPPING=1"


# Safe mode


def crashed(place: Place, *ago: float) -> None:
    for seconds in ago:
        start = Start(time.time() - seconds, "crash", owner=f"4194000:1@{BOOT}")
        log_start(place.state / "starts.log", start.ended(start.at + 1, "failed", "it broke"))


def test_a_daemon_that_flaps_ticks_but_wakes_nobody_and_says_how_to_leave(daemon: Daemon) -> None:
    place = daemon.place
    place.finds({"key": "k", "urgency": "critical"})
    crashed(place, 590, 420, 310, 301)  # the fifth start is this one: it rests for 10 s
    daemon.start()
    began = time.monotonic()
    health = daemon.health()
    assert "safe_mode" in [problem["code"] for problem in health["problems"]]
    until(lambda: place.data("runs")["runs"])
    assert time.monotonic() - began > 5
    until(lambda: [wake["state"] for wake in place.data("wakes", "list")["wakes"]] == ["pending"])
    incidents = place.data("incidents")["incidents"]
    assert [each["subject"] for each in incidents] == ["daemon"]
    assert "`heartbeat restart`" in incidents[0]["message"]
    daemon.stop()
    assert place.agent_calls == []


def test_a_start_that_the_owner_asks_for_leaves_safe_mode_and_wakes_whom_it_kept_waiting(daemon: Daemon) -> None:
    place = daemon.place
    place.finds({"key": "k"})
    crashed(place, 400, 300.5, 200, 100)
    write_intent(place.state / "intent", "restart", "heartbeat restart", time.time())
    daemon.start()
    until(lambda: len(place.agent_calls) == 1)
    assert "safe_mode" not in [problem["code"] for problem in daemon.health()["problems"]]
    daemon.stop()
    assert [(life.why, life.by) for life in lives(place)][-1] == ("asked", "heartbeat restart")


# Stopping in time


def test_it_stops_within_five_seconds_though_scripts_and_agent_are_deaf(daemon: Daemon) -> None:
    place = daemon.place
    deaf = "#!/bin/sh\ntrap '' TERM\ntouch \"$HEARTBEAT_HOME/begun-$HEARTBEAT_JOB\"\nwhile :; do sleep 600; done\n"
    place.script("deaf", deaf)
    place.finds({"key": "k"})
    place.file("agent.sh", '#!/bin/sh\ntrap "" TERM\ntouch "$HEARTBEAT_HOME/called"\nwhile :; do sleep 600; done\n')
    (place.folder / "agent.sh").chmod(0o755)
    place.configure(CONFIG + '[jobs.deaf]\nevery = "10m"\n')
    daemon.start()
    wait_for(place.folder / "begun-deaf", SECONDS)
    wait_for(place.folder / "called", SECONDS)
    began = time.monotonic()
    daemon.stop()
    took = time.monotonic() - began
    assert took < 5, took
    assert [(wake["state"], wake["attempts"]) for wake in place.data("wakes", "list")["wakes"]] == [("pending", 1)]


def locked(place: Place) -> sqlite3.Connection:
    """Another process that has the ledger for itself."""
    other = sqlite3.connect(place.state / "ledger.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other


def test_it_stops_within_five_seconds_though_another_process_has_locked_the_ledger(daemon: Daemon) -> None:
    place = daemon.place
    place.script("check", '#!/bin/sh\ntouch "$HEARTBEAT_HOME/begun"\nsleep 1\necho \'{"wakeAgent": false}\'\n')
    place.configure(CONFIG.replace('"10m"', '"2s"'))
    daemon.start()
    wait_for(place.folder / "begun", SECONDS)
    other = locked(place)
    time.sleep(1.5)
    began = time.monotonic()
    daemon.stop()
    took = time.monotonic() - began
    other.close()
    assert took < 5, took


def test_a_start_waits_for_a_ledger_that_another_process_has_locked_instead_of_giving_up(daemon: Daemon) -> None:
    place = daemon.place
    daemon.start()
    daemon.stop()
    other = locked(place)
    process = daemon.process = place.start("run")
    until(lambda: "start_waits" in [problem["code"] for problem in daemon.health()["problems"]])
    assert process.poll() is None
    other.close()
    until(lambda: daemon.health()["last_beat_at"] and daemon.health()["pid"] == daemon.pid)
    assert "start_goes_on" in daemon.stop()


def test_a_configuration_changed_while_it_starts_is_read_again(daemon: Daemon) -> None:
    place = daemon.place
    daemon.start()
    daemon.stop()
    other = locked(place)  # so that the start takes its time
    daemon.process = place.start("run")
    until(lambda: "start_waits" in [problem["code"] for problem in daemon.health()["problems"]])
    place.configure(CONFIG + '[jobs.other]\nscript = "jobs/check.sh"\nevery = "10m"\n')
    daemon.signal(signal.SIGHUP)
    other.close()
    until(lambda: "other" in [run["job"] for run in place.data("runs")["runs"]])
    daemon.stop()


def test_the_words_of_a_sender_are_not_told_for_they_may_be_a_password(daemon: Daemon) -> None:
    daemon.start()
    code = f"import os, sys; os.kill({daemon.pid}, 15); sys.stdin.read()"
    killer = subprocess.Popen([sys.executable, "-c", code, "--password", "hunter2"], stdin=subprocess.PIPE)
    _, log = daemon.ended()
    killer.communicate()
    [life] = lives(daemon.place)
    assert life.ending.startswith(f"SIGTERM from process {killer.pid} of ")
    assert f"({sys.executable} …)" in life.ending
    assert "hunter2" not in log + (daemon.place.state / "starts.log").read_text()


@pytest.mark.parametrize(
    ("words", "shown"), [("bash /opt/kick.sh", "bash /opt/kick.sh"), ("sh -c x", "sh …"), ("a", "a")]
)
def test_a_sender_is_shown_by_its_program_and_its_script(words: str, shown: str) -> None:
    assert _program(words) == shown
