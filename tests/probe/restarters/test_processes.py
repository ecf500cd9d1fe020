"""Live processes that restart the subject. The processes are real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from heartbeat.probe.restarters import Restarter, Subject, find_restarters, peers
from heartbeat.probe.restarters.peers import boot_id, peer_of
from heartbeat.process import owner, pids
from tests.probe.restarters.subjects import script

# No manager of this machine has such a unit: what a loop here does reaches nobody, nor other tests that run now.
UNIT = f"heartbeat-no-such-unit-{os.getpid()}"


def subject(**more: object) -> Subject:
    return Subject(units=[UNIT], commands=[UNIT], **more)  # type: ignore[arg-type]


@contextmanager
def running(argv: Sequence[str], **more: object) -> Iterator[subprocess.Popen[bytes]]:
    """A process of this command, ended afterwards with all it started."""
    pipe: dict[str, object] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(argv, start_new_session=True, **{**pipe, **more}) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):  # the test may have ended all of it
                os.killpg(process.pid, signal.SIGKILL)


def named(target: Subject) -> list[Restarter]:
    found = find_restarters(target)
    assert found.faults == ()
    return list(found.restarters)


@pytest.fixture(params=["proc", "ps"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """By /proc, and as where there is none."""
    if request.param == "ps":
        monkeypatch.setattr(peers, "has_proc", lambda: False)


LOOP = f"while true; do systemctl try-restart {UNIT}; sleep 20; done"


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize("shell", [["sh", "-c"], ["/bin/bash", "-c"], ["nice", "-n", "1", "sh", "-c"]])
def test_a_loop_is_named_and_ended_by_the_command_given(shell: list[str]) -> None:
    with running([*shell, LOOP]) as process:
        (found,) = named(subject())
        assert (found.kind, found.name, found.remedy) == ("process", str(process.pid), f"kill {process.pid}")
        assert f"runs `systemctl try-restart {UNIT}` in a loop" in found.message
        subprocess.run(["sh", "-c", found.remedy], check=True)
        assert process.wait() == -signal.SIGTERM
    assert named(subject()) == []


def test_a_loop_in_a_script_is_named(tmp_path: Path) -> None:
    script(tmp_path, "loop", f"#!/bin/sh\nwhile read -r line; do systemctl restart {UNIT}; done\n")
    with running(["/bin/sh", "./loop"], cwd=tmp_path):
        (found,) = named(subject())
        assert f"{tmp_path}/./loop, which has `systemctl restart {UNIT}`" in found.message


def test_a_loop_of_another_user_who_could_not_end_us_is_not_named() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can start a process as somebody else")
    with running(["sh", "-c", LOOP], user=65_534, group=65_534) as process, running(["sleep", "600"]) as target:
        assert named(subject(pid=target.pid)) == []
        assert [each.name for each in named(subject(pid=process.pid))] == []  # the subject is not its own restarter
    with running(["sleep", "600"], user=65_534) as target, running(["sh", "-c", LOOP], user=65_534) as process:
        assert [each.name for each in named(subject(pid=target.pid))] == [str(process.pid)]


INNOCENT = [
    ["sh", "-c", f"read x; systemctl restart {UNIT}"],
    ["sh", "-c", f"while read x; do systemctl status {UNIT}; done"],
    ["sh", "-c", f"while read x; do systemctl restart {UNIT}-other; done"],
    ["sh", "-c", f"while read x; do echo 'systemctl restart {UNIT}'; done"],
    ["tail", "-f", "--", "/dev/null", f"/nowhere/while true; do systemctl restart {UNIT}; done"],
    ["grep", f"while true; do systemctl restart {UNIT}; done"],
    ["cat", "-", f"systemctl restart {UNIT}"],
    [sys.executable, "-c", f"input() # while True: system('systemctl restart {UNIT}')"],
]


@pytest.mark.parametrize("argv", INNOCENT)
def test_a_process_that_only_mentions_it_is_not_accused(argv: list[str]) -> None:
    with running(argv):
        assert named(subject()) == []


def test_neither_we_nor_our_parents_are_accused() -> None:
    look = (
        "from heartbeat.probe.restarters import Subject, find_restarters\n"
        f"print(len(find_restarters(Subject(units=['{UNIT}'], commands=['x'])).restarters))\n"
    )
    asks = 'while test -z "$said"; do said=$("$0" -c "$1"); done; echo "$said"; exit; while :; do ' + LOOP + "; done"
    said = subprocess.run(["sh", "-c", asks, sys.executable, look], capture_output=True, text=True, check=True)
    assert said.stdout == "0\n"


def named_of(process: subprocess.Popen[bytes]) -> str:
    """`PID:START@BOOT`, as the daemon writes down who sent a signal."""
    peer = pids.look(process.pid)
    assert peer is not None
    return f"{peer.pid}:{peer.start}@{boot_id()}"


def test_the_name_of_a_sender_is_the_one_that_the_daemon_writes() -> None:
    peer = peer_of(os.getpid())
    assert peer is not None
    assert owner() == f"{peer.pid}:{peer.start}@{boot_id()}"


def test_whoever_was_seen_sending_is_named_while_it_lives() -> None:
    with running(["sleep", "600"]) as sender:
        name = named_of(sender)
        (found,) = named(subject(endings=[(name, "SIGTERM from sleep"), (name, "SIGTERM from sleep")]))
        assert (found.kind, found.remedy) == ("sender", f"kill {sender.pid}")
        assert found.message == f"process {sender.pid} (`sleep 600`) sent the signal that ended it, 2 times"
    assert named(subject(endings=[(name, "")])) == []


def test_one_that_took_the_pid_of_a_sender_is_not_accused() -> None:
    with running(["sleep", "600"]) as other:
        pid, _, rest = named_of(other).partition(":")
        start, _, boot = rest.partition("@")
        for name in (
            f"{pid}:{int(start) - 1}@{boot}",
            f"{pid}:{start}@other-boot",
            f"{pid}:",
            pid,
            "",
            "x:y",
            "1:0",
            "\N{SUPERSCRIPT TWO}:1",
        ):
            assert named(subject(endings=[(name, "")])) == [], name


def test_an_owner_who_sent_it_once_by_hand_is_not_accused() -> None:
    main, terminal = os.openpty()
    with running(["sleep", "600"], stdin=terminal, preexec_fn=lambda: _take_terminal(terminal)) as shell:
        name = named_of(shell)
        assert named(subject(endings=[(name, "")])) == []
        assert [each.kind for each in named(subject(endings=[(name, "")] * 2))] == ["sender"]
    os.close(main)
    os.close(terminal)


def _take_terminal(terminal: int) -> None:
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def test_the_parent_that_supervises_it_is_not_accused() -> None:
    with running(["sh", "-c", "sleep 600 & wait"]) as supervisor:
        while not (children := pids.children(supervisor.pid)):
            assert supervisor.poll() is None
        assert named(subject(pid=children[0].pid, endings=[(named_of(supervisor), "")] * 3)) == []


def test_a_loop_that_was_also_seen_sending_is_named_once() -> None:
    with running(["sh", "-c", LOOP]) as process:
        assert len(named(subject(endings=[(named_of(process), "")]))) == 1
