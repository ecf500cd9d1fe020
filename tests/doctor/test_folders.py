"""Folders and files that are not as they should be, made so for real."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Place
from tests.doctor.asking import ask, case_of, home_of, status

NOBODY = 65_534
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away and mount disks")


def open_for_all(place: Place) -> None:
    place.folder.chmod(0o777)


def state_open_to_read(place: Place) -> None:
    place.state.chmod(0o755)


def closed_to_its_owner(place: Place) -> None:
    place.state.chmod(0o000)


def state_of_another(place: Place) -> None:
    # Whose the installation is, its state says.
    os.chown(place.state, NOBODY, NOBODY)


def configuration_all_may_change(place: Place) -> None:
    (place.folder / "config.toml").chmod(0o606)


def configuration_of_root_alone(place: Place) -> None:
    os.chown(place.folder, NOBODY, NOBODY)
    os.chown(place.state, NOBODY, NOBODY)


TABLE: tuple[tuple[Callable[[Place], None], str, str, str], ...] = (
    (open_for_all, "config", "fail", "chmod go-w {home}"),
    (state_open_to_read, "state", "warn", "chmod 700 {home}/state"),
    (closed_to_its_owner, "state", "fail", "chmod u+rwx {home}/state"),
    (configuration_all_may_change, "config.toml", "fail", "chmod go-w {home}/config.toml"),
)
TABLE_OF_ROOT: tuple[tuple[Callable[[Place], None], str, str, str], ...] = (
    (configuration_of_root_alone, "config.toml", "fail", "sudo chown nobody {home}/config.toml"),
)


@pytest.mark.parametrize(("make", "about", "expected", "remedy"), TABLE)
def test_what_is_wrong_with_a_folder_is_told_with_the_command_that_mends_it(
    place: Place, make: Callable[[Place], None], about: str, expected: str, remedy: str
) -> None:
    place.state.mkdir(mode=0o700)
    assert set(status("folders", case_of(place.folder)).values()) == {"ok"}
    make(place)
    answer = ask("folders", case_of(place.folder))[about]
    place.state.chmod(0o700)
    assert answer.status == expected
    command = answer.remedy.split("`")[1]
    assert command == remedy.replace("{home}", str(place.folder))
    subprocess.run(command, shell=True, check=True)
    assert ask("folders", case_of(place.folder))[about].status == "ok"


@only_root
@pytest.mark.parametrize(("make", "about", "expected", "remedy"), TABLE_OF_ROOT)
def test_what_the_user_of_the_service_may_not_read_is_told(
    place: Place, make: Callable[[Place], None], about: str, expected: str, remedy: str
) -> None:
    place.state.mkdir(mode=0o700)
    make(place)
    answer = ask("folders", case_of(place.folder))[about]
    assert (answer.status, answer.remedy.split("`")[1]) == (expected, remedy.replace("{home}", str(place.folder)))


@only_root
def test_who_looks_at_whose_installation_is_said(place: Place) -> None:
    place.state.mkdir(mode=0o700)
    assert [*status("installation", case_of(place.folder)).values()] == ["ok"]
    os.chown(place.state, NOBODY, NOBODY)
    (answer,) = ask("installation", case_of(place.folder)).values()
    assert answer.status == "warn"
    assert "of the user nobody, and root looks" in answer.seen
    assert "sudo -u nobody heartbeat doctor" in answer.remedy


@only_root
def test_under_sudo_the_installation_of_the_caller_is_named(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pwd

    theirs = tmp_path / "ada/.config/heartbeat"
    theirs.mkdir(parents=True)
    (theirs / "config.toml").touch()
    ada = pwd.struct_passwd(("ada", "x", 4711, 4711, "", str(tmp_path / "ada"), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwnam", {"ada": ada}.__getitem__)
    answer = ask("installation", case_of(place.folder, {"SUDO_USER": "ada"}))["ada"]
    assert answer.status == "warn"
    assert str(theirs) in answer.seen
    assert "without sudo" in answer.remedy


@only_root
def test_the_tilde_of_a_configuration_is_the_home_of_its_owner(place: Place) -> None:
    import pwd

    place.state.mkdir(mode=0o700)
    os.chown(place.state, NOBODY, NOBODY)
    assert case_of(place.folder).environ["HOME"] == pwd.getpwnam("nobody").pw_dir


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, of 1 MiB and 12 files."""
    folder = tmp_path / "small"
    folder.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=12,mode=700", "none", str(folder)]
    if os.geteuid() or shutil.which("mount") is None or subprocess.run(options, check=False).returncode:
        pytest.skip("only root may mount a disk, and not in every container")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_without_room_is_a_failure(small_disk: Path) -> None:
    home = small_disk / "home"
    home.mkdir(mode=0o700)
    found = [answer for answer in ask("disk", case_of(home)).values() if answer.status == "fail"]
    (answer,) = found
    assert "too little to record" in answer.seen
    assert str(home_of(home).config) in answer.remedy


@pytest.mark.parametrize(
    ("room", "files", "expected"),
    [
        (10**12, 10**6, "ok"),
        (100 << 20, 10**6, "warn"),
        (1 << 20, 10**6, "fail"),
        (10**12, 500, "warn"),
        (10**12, 3, "fail"),
    ],
)
def test_bytes_and_files_both_count(
    place: Place, monkeypatch: pytest.MonkeyPatch, room: int, files: int, expected: str
) -> None:
    facts = os.statvfs(place.folder)
    made = os.statvfs_result((4096, 4096, 10**9, 10**9, room // 4096, 10**7, files, files, 0, 255, facts.f_fsid))
    monkeypatch.setattr(os, "statvfs", lambda _path: made)
    assert status("disk", case_of(place.folder))[""] == expected
