"""Who a process is, and whether it is still the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from heartbeat.process import is_alive, owner, pids


@pytest.fixture(params=[True, False], ids=["proc", "psutil"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """By /proc, and as where there is none."""
    monkeypatch.setattr(pids, "_HAS_PROC", request.param)
    for cached in (pids._boot, pids._lists_children):
        cached.cache_clear()
    yield
    for cached in (pids._boot, pids._lists_children):
        cached.cache_clear()


@pytest.mark.usefixtures("_both_ways")
def test_this_process_is_alive_under_one_lasting_name() -> None:
    assert owner() == owner()
    assert owner().startswith(f"{os.getpid()}:")
    assert is_alive(owner())


def test_another_process_reads_the_same_name() -> None:
    code = f"from heartbeat.process import is_alive, owner; print(owner(), is_alive({owner()!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    name, alive = done.stdout.split()
    assert alive == "True"
    assert not is_alive(name)


@pytest.mark.parametrize(
    "change",
    [
        lambda name: name.replace(":", ":1"),
        lambda name: name.partition(":")[0] + ":",
        lambda name: name[:-1],
        lambda name: name.partition(":")[0],
        lambda name: "-" + name,
        lambda name: "0:0",
        lambda name: "999999999:1",
        lambda name: "9" * 30 + ":1",
        lambda name: "²:1",
        lambda name: "",
    ],
)
def test_another_start_or_nonsense_is_not_alive(change: object) -> None:
    assert callable(change)
    assert not is_alive(change(owner()))


@pytest.mark.usefixtures("_both_ways")
def test_a_zombie_is_not_alive() -> None:
    with subprocess.Popen(["/bin/sleep", "60"]) as child:
        peer = pids.look(child.pid)
        assert peer
        name = f"{child.pid}:{pids._start_text(peer)}"
        assert is_alive(name)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(name)
        assert not peer.lives()
    assert not is_alive(name)
    assert pids.look(child.pid) is None


def test_a_process_that_we_may_not_look_at_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    # As under `hidepid`: /proc shows nothing, and kill(2) says EPERM or that it may be done.
    monkeypatch.setattr(pids, "look", lambda pid: None)
    assert is_alive("1:1")


@pytest.mark.usefixtures("_both_ways")
def test_a_child_is_listed_with_its_facts_and_its_mark() -> None:
    env = {"HEARTBEAT_RUN_ID": "run_a", "HEARTBEAT_WAKE_ID": "wake_b", "OTHER": "run_c"}
    with subprocess.Popen(["/bin/sleep", "60"], env=env, start_new_session=True) as child:
        peer = next(peer for peer in pids.children(os.getpid()) if peer.pid == child.pid)
        assert (peer.parent, peer.group, peer.session, peer.dead) == (os.getpid(), child.pid, child.pid, False)
        assert pids.marks(child.pid) == {"run_a", "wake_b"}
        assert pids.table()[child.pid] == peer
        assert peer in pids.by_parent(pids.table())(os.getpid())
        child.kill()
    assert pids.marks(child.pid) == set()


def test_a_name_made_to_mislead_does_not() -> None:
    with subprocess.Popen(
        ["/bin/bash", "-c", 'printf ") Z 1 1 1" > /proc/$$/comm; echo; read'], stdin=-1, stdout=-1
    ) as child:
        assert child.stdout
        child.stdout.readline()
        peer = pids.look(child.pid)
        assert peer
        assert (peer.parent, peer.dead) == (os.getpid(), False)
        child.kill()


@pytest.mark.parametrize("handles", [True, False])
def test_a_signal_reaches_the_process_that_was_meant_and_no_other(
    handles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not handles:
        monkeypatch.setattr(pids, "open_handle", lambda pid: None)
    with subprocess.Popen(["/bin/sleep", "60"]) as child:
        peer = pids.look(child.pid)
        assert peer
        earlier = pids.Peer(peer.pid, peer.start - 1, peer.parent, peer.group, peer.session, dead=False)
        pids.send(earlier, signal.SIGKILL)
        time.sleep(0.05)
        assert child.poll() is None
        pids.send(peer, signal.SIGKILL)
        assert child.wait(10) == -signal.SIGKILL
    pids.send(peer, signal.SIGKILL)
