"""`heartbeat reload`, and what else tells that the daemon has not read its configuration: with a real one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from heartbeat.lock import KernelLock, holder_of
from heartbeat.process import is_alive, owner
from heartbeat.service import reading
from heartbeat.starts import read_starts
from tests.conftest import Place
from tests.service.kept import Kept

TWO_JOBS = '[jobs.check]\nevery = "10m"\n[jobs.due-queue]\n'


@pytest.fixture(autouse=True)
def left_alone(place: Place) -> Iterator[None]:
    """What runs in this home ends with the test."""
    yield
    if (holder := holder_of(place.state / "daemon.lock")) and is_alive(holder):
        os.kill(int(holder.partition(":")[0]), signal.SIGKILL)


def hints(place: Place) -> list[str]:
    return [hint for hint in place.data("check")["hints"] if hint.startswith("process ")]


def test_a_daemon_reads_its_configuration_when_told_and_is_seen_to_have_done_so(place: Place) -> None:
    assert "heartbeat does not run" in place.error("reload", status=3)
    assert place.run("run", "--detach").status == 0
    pid = int((holder_of(place.state / "daemon.lock") or "").partition(":")[0])
    assert hints(place) == []

    place.configure(TWO_JOBS)
    (hint,) = hints(place)
    assert hint.startswith(f"process {pid} runs with the configuration as it was before; `heartbeat --home")
    told = place.data("reload")
    assert (told["pid"], told["jobs"], told["did"]) == (
        pid,
        2,
        [f"process {pid} has read its configuration: 2 jobs"],
    )
    assert hints(place) == []

    place.configure("[jobs.check]\nevery = 'never'\n")
    refused = place.error("reload", status=4)
    assert "jobs.check.every" in refused
    assert refused.endswith(f"process {pid} goes on with the configuration it has")
    assert is_alive(holder_of(place.state / "daemon.lock") or "")

    # Who asked for the stop comes first, and whatever comes next still finds that it was asked for.
    place.call("stop")
    ending = read_starts(place.state / "starts.log")[-1].ending
    assert ending.startswith("heartbeat stop by ")
    assert "; SIGTERM from process " in ending


def test_install_has_a_running_daemon_read_what_it_has_not(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = Kept(place.folder)
    monkeypatch.setattr("heartbeat.service._candidates", lambda environ: (keeper, keeper))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert place.run("run", "--detach").status == 0
    keeper.pid = int((holder_of(place.state / "daemon.lock") or "").partition(":")[0])
    monkeypatch.setattr("heartbeat.cli.supervised.Target.by_hand", lambda self: None)
    assert not any("configuration is newer" in line for line in place.data("install")["did"])
    place.configure(TWO_JOBS)
    assert place.data("install")["did"][-1] == (
        f"its configuration is newer: process {keeper.pid} has read it again, 2 jobs"
    )


def test_a_daemon_that_says_nothing_is_told_so_within_bounds(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_SECONDS", 0.2)
    heard: list[int] = []
    monkeypatch.setattr("heartbeat.service.hand.send", lambda peer, number: heard.append(number))
    lock = KernelLock(place.state / "daemon.lock")
    assert lock.acquire(owner())
    said = place.error("reload", status=1)
    lock.release()
    assert said.startswith(f"cannot tell whether process {os.getpid()} has read the configuration")
    assert set(heard) == {signal.SIGHUP}
