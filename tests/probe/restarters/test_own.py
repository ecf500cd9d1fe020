"""Who heartbeat itself is to those who look for its restarters; and that looking costs little and never fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from heartbeat.folders import find_folders
from heartbeat.lock import KernelLock
from heartbeat.marker import Marker, write_marker
from heartbeat.probe import restarters
from heartbeat.probe.restarters import Subject, find_restarters, recent_endings, subject_of
from heartbeat.starts import Start, log_start

NOW = 1_800_000_000.0


def test_an_installation_that_is_not_there_has_a_subject(tmp_path: Path) -> None:
    subject = subject_of(str(tmp_path / "a"), str(tmp_path / "b"), now=NOW)
    assert (subject.units, subject.labels, subject.pid, subject.endings) == ((), (), None, ())
    assert (subject.commands, subject.home, subject.is_default) == (("heartbeat",), str(tmp_path / "a"), False)
    assert subject.pid_files == (f"{tmp_path}/b/daemon.lock",)


def test_the_users_own_installation_bears_the_usual_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "HEARTBEAT_HOME"):
        monkeypatch.delenv(name, raising=False)
    config, state, _ = find_folders(None, {})
    subject = subject_of(config, state, now=NOW)
    assert (subject.units, subject.labels, subject.scope) == (("heartbeat.service",), ("local.heartbeat",), "user")
    assert subject.is_default
    assert subject_of("/etc/heartbeat", state, now=NOW).scope == "system"


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        (Marker("systemd", "heartbeat-x.service", "user"), (("heartbeat-x.service",), (), "user")),
        (Marker("systemd", "heartbeat", "system"), (("heartbeat.service",), (), "system")),
        (Marker("launchd", "local.heartbeat-x", "gui/501"), ((), ("local.heartbeat-x",), "user")),
        (Marker("none", "heartbeat", "user"), ((), (), "")),
    ],
)
def test_the_marker_says_which_service_it_is(
    marker: Marker, expected: tuple[tuple[str, ...], tuple[str, ...], str], tmp_path: Path
) -> None:
    write_marker(tmp_path / "service", marker)
    subject = subject_of(str(tmp_path), str(tmp_path), now=NOW)
    assert (subject.units, subject.labels, subject.scope) == expected


def test_the_live_process_and_its_owner_are_known(tmp_path: Path) -> None:
    lock = KernelLock(tmp_path / "daemon.lock")
    assert lock.acquire(f"{os.getpid()}:1")
    try:
        subject = subject_of(str(tmp_path), str(tmp_path), now=NOW)
    finally:
        lock.release()
    assert subject.pid == os.getpid()
    assert subject.user == subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    assert subject_of(str(tmp_path), str(tmp_path), now=NOW).pid is None


def ended(ago: float, how: str = "stopped", sender: str = "7:1@b") -> Start:
    return Start(NOW - ago - 60).ended(NOW - ago, how, f"{how} {ago:.0f} s ago", sender)


def test_only_recent_ends_by_a_known_sender_count(tmp_path: Path) -> None:
    starts = [ended(4000), ended(3000), ended(20, sender=""), ended(10, "failed"), ended(5, "killed"), ended(-5)]
    starts.append(Start(NOW))
    assert recent_endings(starts, NOW) == (("7:1@b", "stopped 3000 s ago"), ("7:1@b", "killed 5 s ago"))
    for start in starts:
        log_start(tmp_path / "starts.log", start)
    assert subject_of(str(tmp_path), str(tmp_path), now=NOW).endings == recent_endings(starts, NOW)


@pytest.mark.parametrize("name", ["service", "daemon.lock", "starts.log"])
@pytest.mark.parametrize("damage", ["folder", "noise", "pipe"])
def test_damaged_evidence_hides_nothing_else(name: str, damage: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if damage == "folder":
        path.mkdir()
    elif damage == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b"\xff\0\n" * 100)
    assert subject_of(str(tmp_path), str(tmp_path), now=NOW).commands == ("heartbeat",)


def test_one_kind_of_evidence_that_fails_is_told_and_the_others_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise ValueError("a bug\n\x1b[2J")

    monkeypatch.setattr(restarters, "_KINDS", (("x", fail), *restarters._KINDS))
    subject = Subject(units=["no-such-unit"], commands=["no-such-command"])
    ((code, message),) = find_restarters(subject).faults
    assert (code, message) == ("restarters_unseen", "cannot look for restarters in x: ValueError: a bug  [2J")


def test_an_empty_subject_has_no_restarters() -> None:
    assert find_restarters(Subject()).restarters == ()


def test_looking_loads_nothing_that_is_slow_to_load() -> None:
    slow = "{'re', 'enum', 'json', 'dataclasses', 'contextlib', 'subprocess', 'pathlib', 'datetime', 'typing'}"
    program = (
        "import sys\n"
        "from heartbeat.probe.restarters import Subject, find_restarters\n"
        "find_restarters(Subject(units=['no-such-unit'], commands=['no-such-command']))\n"
        f"print(sorted({slow} & set(sys.modules)))\n"
    )
    # -S: what a site's own .pth files load is not ours.
    environ = {**os.environ, "PYTHONPATH": str(Path(restarters.__file__).parents[3])}
    said = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True, env=environ
    )
    assert said.stdout == "[]\n"
