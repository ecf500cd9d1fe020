"""One program asked for facts: whatever it does, there is an answer in a second, and nothing of it is left."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from heartbeat.ask import LIMIT, Answer, ask, launchctl, limit, session
from heartbeat.process import pids


def sh(script: str, seconds: float = 5.0) -> Answer:
    return ask(["sh", "-c", script], seconds=seconds)


def test_what_it_says_is_its_stdout_and_its_stderr() -> None:
    assert sh("echo one; echo two >&2; printf three") == Answer(0, "one\ntwo\nthree")


@pytest.mark.parametrize(
    ("script", "status"), [("true", 0), ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", -9), ("kill -15 $$", -15)]
)
def test_its_exit_status_is_told_and_a_signal_is_below_zero(script: str, status: int) -> None:
    assert sh(script).status == status


def test_nothing_stands_on_its_stdin() -> None:
    assert sh("cat; echo end") == Answer(0, "end\n")


def test_it_has_the_environment_that_is_given_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEN", "ours")
    assert sh('echo "$SEEN"').text == "ours\n"
    assert ask(["sh", "-c", 'echo "$SEEN"'], {"PATH": os.environ["PATH"], "SEEN": "theirs"}).text == "theirs\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-program-anywhere"], "no such program"),
        (["/etc/hostname"], "cannot run /etc/hostname"),
        (["sh\0"], "embedded null "),
        (["sh", "x" * 10_000_000], "cannot run sh"),
    ],
    ids=["missing", "no program", "no word", "too long"],
)
def test_what_cannot_be_run_is_an_answer_with_its_reason(words: list[str], said: str) -> None:
    answer = ask(words)
    assert (answer.status, answer.text) == (None, "")
    assert said in answer.fault


def test_without_a_descriptor_left_it_is_an_answer_too() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened: list[int] = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
        with pytest.raises(OSError, match="Too many"):
            opened.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(1_000))
        assert "Too many open files" in ask(["true"]).fault
        os.close(opened.pop())
        assert "Too many open files" in ask(["true"]).fault
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert ask(["true"]) == Answer(0, "")


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Path]:
    """Where a program writes its pid, and those of its children."""
    yield tmp_path / "pid"
    until = time.monotonic() + 5  # a child that was killed may not have had its turn to die yet
    for pid in map(int, (tmp_path / "pid").read_text().split()):
        while (peer := pids.look(pid)) and not peer.dead and time.monotonic() < until:
            time.sleep(0.01)
        assert peer is None or peer.dead


@pytest.mark.parametrize(
    "script",
    ["sleep 60", "{child}; wait", "trap '' TERM; {child}; wait", "{child}; exec >&- 2>&-; wait"],
    ids=["alone", "its child", "deaf", "silent"],
)
def test_one_that_hangs_is_ended_with_its_children(kept: Path, script: str) -> None:
    begun = time.monotonic()
    script = script.format(child=f"sleep 60 & echo $! >>{kept}")
    answer = sh(f"echo $$ >>{kept}; {script}", seconds=0.3)
    assert 0.3 <= time.monotonic() - begun < 3
    assert (answer.status, answer.fault) == (None, "sh did not answer in time")


def test_one_that_ended_and_left_a_child_behind_has_answered() -> None:
    answer = sh("sleep 1 & echo here", seconds=0.3)
    assert (answer.status, answer.text) == (0, "here\n")


def test_one_that_never_ends_talking_is_cut_and_ended() -> None:
    begun = time.monotonic()
    answer = ask(["yes"], seconds=0.4)
    assert time.monotonic() - begun < 5
    assert answer.status is None
    assert 0 < len(answer.text) <= LIMIT + 70_000


def test_what_is_no_text_is_read_with_replacement() -> None:
    assert sh(r"printf '\377x\000y'").text == "\ufffdx\0y"


def test_many_questions_leave_no_descriptor_and_no_child() -> None:
    before = sorted(os.listdir("/proc/self/fd")) if Path("/proc").is_dir() else []
    dead = {peer for peer in pids.children(os.getpid()) if peer.dead}  # orphans that other tests left us
    for _ in range(20):
        sh("echo x")
        ask(["no-such-program-anywhere"])
    assert (sorted(os.listdir("/proc/self/fd")) if before else []) == before
    assert {peer for peer in pids.children(os.getpid()) if peer.dead} <= dead


BUS, RUNTIME = "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {RUNTIME: "/run/user/{uid}"}),
        ({RUNTIME: "", BUS: "", "A": ""}, {RUNTIME: "/run/user/{uid}", "A": ""}),
        ({RUNTIME: "/x", BUS: "unix:path=/y"}, {RUNTIME: "/x", BUS: "unix:path=/y"}),
    ],
)
def test_a_variable_of_the_session_that_is_empty_is_as_good_as_none(
    given: dict[str, str], expected: dict[str, str]
) -> None:
    assert session(given) == {name: value.format(uid=os.geteuid()) for name, value in expected.items()}


def test_launchd_is_asked_through_apples_own_program_unless_another_is_given() -> None:
    assert launchctl({"PATH": "/x"}) == launchctl({"HEARTBEAT_LAUNCHCTL": ""}) == "/bin/launchctl"
    assert launchctl({"HEARTBEAT_LAUNCHCTL": "/x/launchctl"}) == "/x/launchctl"


@pytest.fixture
def deaf() -> Iterator[None]:
    """A caller's SIGCHLD that is ignored is inherited, and the kernel keeps no exit status then."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.usefixtures("deaf")
def test_where_no_exit_status_is_kept_the_text_is_the_answer() -> None:
    assert sh("echo here") == Answer(0, "here\n")
    assert sh("sleep 60", seconds=0.2).fault == "sh did not answer in time"


@pytest.fixture
def limited() -> Iterator[None]:
    limit(0.5)
    yield
    limit(None)


@pytest.mark.usefixtures("limited")
def test_under_a_limit_who_was_silent_is_asked_no_more_and_others_are(tmp_path: Path) -> None:
    (tmp_path / "slow").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "slow").chmod(0o755)
    slow = str(tmp_path / "slow")
    assert ask([slow, "a"], seconds=0.2).fault.endswith("did not answer in time")
    begun = time.monotonic()
    assert "asked no more" in ask([slow, "b"]).fault
    assert time.monotonic() - begun < 0.1
    assert sh("echo here").text == "here\n"
    # The other manager of the same program is another one to ask.
    assert ask([slow, "--user"]).fault.endswith("did not answer in time")
    assert "no time left" in sh("echo here").fault
    limit(None)
    assert sh("echo here").text == "here\n"
