"""A lock that one process holds, that dies with it, and that a probe does not disturb."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heartbeat.folders import keep_owner
from heartbeat.lock import KernelLock, holder_of

HOLD = (
    "import subprocess, sys, time; from pathlib import Path; from heartbeat.lock import KernelLock\n"
    "lock = KernelLock(Path(sys.argv[1]))\n"
    "print(lock.acquire(sys.argv[2], patience=float(sys.argv[3])), flush=True)\n"
)


def start(path: Path, holder: str, then: str = "time.sleep(600)", patience: float = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLD + then, str(path), holder, str(patience)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def said(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()


@contextmanager
def held_by_another(path: Path, holder: str = "77:88") -> Iterator[subprocess.Popen[str]]:
    child = start(path, holder, patience=20)
    try:
        assert said(child) == "True"
        yield child
    finally:
        end(child)


def test_a_second_process_is_refused_and_can_read_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with held_by_another(path, "77:88"):
        assert not KernelLock(path).acquire("1:1", patience=0)
        assert holder_of(path) == "77:88"
        second = start(path, "2:2", then="")
        assert said(second) == "False"
        end(second)
        assert holder_of(path) == "77:88"


def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with held_by_another(path) as child:
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert holder_of(path) is None
        lock = KernelLock(path)
        assert lock.acquire("1:1", patience=0)
        assert holder_of(path) == "1:1"
        lock.release()
        assert holder_of(path) is None


def test_nobody_holds_a_lock_that_was_never_taken(tmp_path: Path) -> None:
    assert holder_of(tmp_path / "none") is None
    assert holder_of(tmp_path / "no" / "folder") is None
    assert list(tmp_path.iterdir()) == []


def test_a_shorter_name_replaces_a_longer_one(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    for holder in ("1234567:987654321", "1:2", ""):
        lock = KernelLock(path)
        assert lock.acquire(holder)
        assert holder_of(path) == holder
        lock.release()


def test_a_lock_that_could_not_be_signed_on_a_full_disk_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    lock = KernelLock(tmp_path / "agent.lock")
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="No space left"):
            lock.acquire("1:1", patience=0)
    assert lock.acquire("1:1", patience=0)
    lock.release()


def test_a_lock_can_be_taken_again_after_its_release(tmp_path: Path) -> None:
    lock = KernelLock(tmp_path / "made" / "daemon.lock")
    for _ in range(3):
        assert lock.acquire("1:1", patience=0)
        lock.release()
        lock.release()
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "made" / "daemon.lock").stat().st_mode) == 0o600


@pytest.mark.parametrize("mask", [0, 0o777])
def test_every_folder_made_for_a_lock_is_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        lock = KernelLock(tmp_path / "one" / "two" / "daemon.lock")
        assert lock.acquire("1:1", patience=0)
    finally:
        os.umask(before)
    lock.release()
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("one", "one/two")] == [0o700, 0o700]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
def test_a_lock_that_root_takes_belongs_to_the_owner_of_the_installation(tmp_path: Path) -> None:
    os.chown(tmp_path, 1234, 2345)
    lock = KernelLock(tmp_path / "home" / "state" / "daemon.lock")
    assert lock.acquire("1:1", patience=0)
    lock.release()
    made = sorted(tmp_path.rglob("*"))
    assert len(made) == 3
    assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(1234, 2345)}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
def test_a_link_in_place_of_the_lock_gives_nothing_of_roots_away(tmp_path: Path) -> None:
    kept, folder = tmp_path / "kept", tmp_path / "folder"
    kept.touch()
    folder.mkdir()
    os.chown(folder, 1234, 2345)
    (folder / "daemon.lock").symlink_to(kept)
    keep_owner(folder / "daemon.lock")
    assert kept.stat().st_uid == 0
    assert (folder / "daemon.lock").lstat().st_uid == 1234


def test_patience_lasts_as_long_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with held_by_another(path):
        begun = time.monotonic()
        assert not KernelLock(path).acquire("1:1", patience=0.2)
        assert 0.2 <= time.monotonic() - begun < 5


def test_a_patient_process_takes_the_lock_when_the_holder_ends(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with held_by_another(path) as child:
        ending = threading.Timer(0.2, child.kill)
        ending.start()
        assert KernelLock(path).acquire("1:1", patience=20)
        ending.join()


def test_a_probe_that_looks_all_the_time_does_not_keep_a_daemon_from_starting(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    path.touch()
    stop = threading.Event()
    looks: list[str | None] = []

    def look() -> None:
        while not stop.is_set():
            looks.append(holder_of(path))

    probe = threading.Thread(target=look)
    probe.start()
    try:
        for _ in range(20):
            lock = KernelLock(path)
            assert lock.acquire("1:1", patience=20)
            lock.release()
    finally:
        stop.set()
        probe.join()
    assert set(looks) <= {None, "", "1:1"}


def test_a_probe_finds_the_lock_held_by_the_probe_beside_it_free(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    path.touch()
    found: list[str | None] = []
    probes = [threading.Thread(target=lambda: found.extend(holder_of(path) for _ in range(200))) for _ in range(4)]
    for probe in probes:
        probe.start()
    for probe in probes:
        probe.join()
    assert found == [None] * 800


def test_a_program_the_holder_started_does_not_keep_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    then = (
        "child = subprocess.Popen(['sleep', '600'], close_fds=False, stdout=subprocess.DEVNULL)\n"
        "print(child.pid, flush=True); time.sleep(600)"
    )
    holder = start(path, "77:88", then, patience=20)
    left = 0
    try:
        assert said(holder) == "True"
        left = int(said(holder))
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        os.kill(left, 0)  # it still runs
        assert KernelLock(path).acquire("1:1", patience=0)
    finally:
        if left:
            os.kill(left, signal.SIGKILL)
        end(holder)


def test_a_lock_in_a_place_that_cannot_be_is_an_error_not_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        KernelLock(tmp_path / "file" / "daemon.lock").acquire("1:1")
    with pytest.raises(NotADirectoryError):
        holder_of(tmp_path / "file" / "daemon.lock")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        KernelLock(tmp_path / "folder").acquire("1:1")


def shared(path: Path) -> int:
    """The lock as a probe has it that is slow to let go."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def test_a_slow_probe_does_not_keep_a_daemon_from_starting(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    probe = shared(path)
    ending = threading.Timer(0.6, os.close, (probe,))
    ending.start()
    begun = time.monotonic()
    lock = KernelLock(path)
    assert lock.acquire("1:1", patience=0.1)
    assert 0.5 < time.monotonic() - begun < 5
    assert holder_of(path) == "1:1"
    ending.join()
    lock.release()


def test_the_longer_wait_for_probes_ends_too_and_without_patience_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    probe = shared(path)
    begun = time.monotonic()
    assert not KernelLock(path).acquire("1:1", patience=0)
    assert time.monotonic() - begun < 0.3
    assert not KernelLock(path).acquire("1:1", patience=0.02)
    assert 0.4 <= time.monotonic() - begun < 3
    os.close(probe)


def test_of_two_that_wait_for_a_probe_one_gets_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    probe = shared(path)
    children = [start(path, f"{number}:1", patience=0.4) for number in (1, 2)]
    try:
        time.sleep(0.8)
        os.close(probe)
        assert sorted(map(said, children)) == ["False", "True"]
    finally:
        for child in children:
            end(child)
