"""`heartbeat run --detach`: the real daemon, left alone in the background, and stopped again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heartbeat.lock import holder_of
from heartbeat.marker import Marker, read_marker, write_marker
from heartbeat.process import is_alive
from heartbeat.process.pids import look
from heartbeat.starts import read_starts
from tests.conftest import Place


@pytest.fixture(autouse=True)
def left_alone(place: Place) -> Iterator[None]:
    """What runs in this home ends with the test."""
    yield
    if (holder := holder_of(place.state / "daemon.lock")) and is_alive(holder):
        os.kill(int(holder.partition(":")[0]), signal.SIGKILL)


def detach(place: Place, *words: str) -> Any:
    done = place.run("--json", *words)
    assert done.status == 0, done
    return json.loads(done.out)["data"]


def test_it_beats_alone_until_it_is_stopped(place: Place) -> None:
    done = place.run("run", "--detach")
    assert (done.status, done.err) == (0, "")
    first, log, missing, how = done.out.splitlines()
    pid = int(first.rpartition(" ")[2])
    assert f"log: {place.state}/heartbeat.log" in log
    assert missing.startswith("no supervisor keeps it, so what is missing: a start after a crash, a start with the")
    assert f"`heartbeat --home {place.folder} install`" in how
    assert "@reboot" in how

    assert place.call("health", "--assert-live").status == 0
    daemon = look(pid)
    assert daemon is not None
    assert daemon.session not in (os.getsid(0), pid), "in a session of its own, which it does not lead: no terminal"
    assert look(daemon.session) is None
    assert os.readlink(f"/proc/{pid}/fd/0") == os.devnull
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert " started " in (place.state / "heartbeat.log").read_text()
    assert (place.state / "heartbeat.log").stat().st_mode & 0o777 == 0o600
    assert read_marker(place.state / "service") == Marker("none", "heartbeat run --detach", "", done_version(place))
    (start,) = read_starts(place.state / "starts.log")
    assert (start.why, start.by.split(" by ")[0]) == ("asked", "heartbeat run --detach")

    again = place.call("run", "--detach")
    assert again.status == 5
    assert f"process {pid} already runs heartbeat" in again.err
    assert f"process {pid} runs without a supervisor\n" in place.call("status").out

    stopped = place.call("stop")
    assert (stopped.status, stopped.out) == (0, f"stopped process {pid}\n")
    assert holder_of(place.state / "daemon.lock") is None
    assert place.call("stop").out == "nothing to do: heartbeat does not run\n"
    assert read_starts(place.state / "starts.log")[-1].how == "stopped"


def done_version(place: Place) -> str:
    return place.call("--version").out.split()[1]


def test_a_restart_puts_another_in_its_place(place: Place) -> None:
    before = detach(place, "run", "--detach")["pid"]
    place.configure("[jobs.check]\nevery = 'never'\n")
    assert place.call("restart").status == 4
    assert holder_of(place.state / "daemon.lock"), "a configuration that is not valid ends nothing"
    place.configure("")
    assert detach(place, "restart")["did"] != [f"started process {before}"]
    assert [(start.why, start.how) for start in read_starts(place.state / "starts.log")] == [
        ("asked", "stopped"),
        ("asked", ""),
    ]


def test_a_broken_configuration_is_told_at_once_and_leaves_nothing(place: Place) -> None:
    place.configure("[jobs.check]\nevery = 'never'\n")
    done = place.run("run", "--detach")
    assert done.status == 4
    assert "jobs.check" in done.err
    assert not place.state.exists()


def test_one_that_ends_before_its_first_beat_says_why(place: Place) -> None:
    (place.state / "pulse").mkdir(parents=True)
    done = place.run("run", "--detach")
    fault = f"heartbeat: cannot write in {place.state}: Is a directory (pulse"
    said = f"it ended with status 1 before its first beat; it said: {fault}"
    assert (done.status, f"cannot start: {said}" in done.err) == (1, True), done.err
    assert holder_of(place.state / "daemon.lock") is None


def test_one_that_was_called_from_a_service_does_not_speak_for_it(place: Place, tmp_path: Path) -> None:
    place.state.mkdir(mode=0o700)
    marker = Marker("systemd", "heartbeat.service", "user", "1")
    write_marker(place.state / "service", marker)
    done = place.run("run", "--detach", "--json", env={"NOTIFY_SOCKET": str(tmp_path / "none"), "WATCHDOG_USEC": "9"})
    pid = json.loads(done.out)["data"]["pid"]
    names = {pair.partition(b"=")[0] for pair in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")}
    assert names.isdisjoint({b"NOTIFY_SOCKET", b"WATCHDOG_USEC"})
    assert {b"HEARTBEAT_SUPERVISOR", b"HEARTBEAT_HOME", b"PATH"} <= names
    assert read_marker(place.state / "service") == marker, "a service that is installed stays what it was"


def test_it_outlives_the_terminal_it_was_started_from(place: Place) -> None:
    command = f"'{place.environment()['PATH'].split(':')[0]}/heartbeat' --home '{place.folder}' run --detach"
    subprocess.run(["script", "-qec", command, os.devnull], env=place.environment(), check=True, capture_output=True)
    assert place.call("health", "--assert-live").status == 0
