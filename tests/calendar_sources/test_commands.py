"""Programs that are run for a source: whatever they do, they end in time, whole, and with what they said in hand."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from heartbeat.sources import SourceFailed
from heartbeat.sources.commands import MOST, run


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_status_and_both_outputs_come_back() -> None:
    output = run(["sh", "-c", "echo out; echo err >&2; exit 3"], 30)
    assert (output.status, output.stdout, output.stderr) == (3, b"out\n", b"err\n")


def test_the_signal_that_ended_it_is_its_status() -> None:
    assert run(["sh", "-c", "kill -9 $$"], 30).status == -9


def test_stdin_is_closed() -> None:
    assert run(["cat"], 30).stdout == b""


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["no-such-program"], "no such program in PATH"),
        (["/etc/passwd"], "check the file and its permissions"),
        (["sh", "a\0b"], "an argument is not valid"),
    ],
)
def test_what_cannot_be_started_says_why(argv: list[str], why: str) -> None:
    with pytest.raises(SourceFailed, match=why) as failed:
        run(argv, 30)
    assert str(failed.value).startswith(f"cannot start {argv[0]}: ")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks for processes in /proc")
@pytest.mark.parametrize("leader", ["wait", "exit 0", 'trap "" TERM; wait'])
def test_nothing_of_its_group_survives(tmp_path: Path, leader: str) -> None:
    program = f"sleep 600 & echo $! > {tmp_path}/pid; {leader}"
    try:
        run(["sh", "-c", program], 1)
    except SourceFailed as failed:
        assert str(failed) == "cannot use sh: not done in 1 s; run it by hand"  # noqa: PT017
    pid = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 30
    while is_running(pid):
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(("extra", "taken"), [(0, True), (1, False)])
def test_so_much_output_is_taken_and_no_byte_more(extra: int, taken: bool) -> None:
    argv = python(f"import sys; sys.stderr.write('e' * 1000); sys.stdout.write('o' * ({MOST} - 1000 + {extra}))")
    if taken:
        assert len(run(argv, 60).stdout) == MOST - 1000
    else:
        with pytest.raises(SourceFailed, match="says more than 8 MiB"):
            run(argv, 60)


def test_endless_output_is_cut_off() -> None:
    with pytest.raises(SourceFailed, match="says more than 8 MiB"):
        run(["yes"], 60)


def test_it_learns_nothing_that_only_the_script_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTBEAT_TOKEN", "canary")
    monkeypatch.setenv("HEARTBEAT_OPTIONS", "canary")
    monkeypatch.setenv("HEARTBEAT_RUN_ID", "the mark")
    told = run(["env"], 30).stdout
    assert b"canary" not in told
    assert b"HEARTBEAT_RUN_ID=the mark" in told
