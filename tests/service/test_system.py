"""What root prepares for a service of the machine, and that root never writes by a way that a user could have bent."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from heartbeat.errors import Refused, ServiceError
from heartbeat.paths import Home
from heartbeat.service import system
from heartbeat.service.acting import acting_as, acting_for
from heartbeat.service.system import prepare, user_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for another user")

NOBODY = pwd.getpwnam("nobody")
OTHER = pwd.getpwnam("daemon")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that every user can reach; pytest's own is root's alone."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(system, "_try_to_run", lambda user: None)
    return Home(open_folder / "etc", open_folder / "lib", open_folder / "cache")


def facts(path: Path) -> tuple[int, int, int]:
    """Owner, group and mode."""
    found = path.stat()
    return found.st_uid, found.st_gid, found.st_mode & 0o777


def test_the_folders_are_made_the_state_for_the_user_alone(home: Home) -> None:
    assert prepare(home, "nobody") == (
        f"made {home.state}, which is nobody's",
        f"made {home.cache}, which is nobody's",
        f"made {home.config}",
    )
    assert facts(home.state) == facts(home.cache) == (NOBODY.pw_uid, NOBODY.pw_gid, 0o700)
    assert facts(home.config) == (0, 0, 0o755)
    assert user_of(home) == "nobody"
    assert prepare(home, "nobody") == ()


def test_the_user_may_read_the_configuration_and_nobody_else_may_more_than_before(home: Home) -> None:
    home.jobs.mkdir(parents=True, mode=0o700)
    home.config.chmod(0o700)
    home.config_file.touch(mode=0o600)
    said = prepare(home, "nobody")
    assert said[2:] == tuple(f"let nobody read {path}" for path in (home.config, home.config_file, home.jobs))
    assert facts(home.config) == facts(home.jobs) == (0, NOBODY.pw_gid, 0o750)
    assert facts(home.config_file) == (0, NOBODY.pw_gid, 0o640)
    with acting_as(NOBODY.pw_uid):
        assert home.config_file.read_text() == ""


def test_what_the_user_can_read_is_left_as_it_is(home: Home) -> None:
    home.config.mkdir()
    home.config_file.touch()
    home.config_file.chmod(0o604)
    prepare(home, "nobody")
    assert facts(home.config_file) == (0, 0, 0o604)


def test_a_link_in_the_place_of_the_configuration_lends_nobody_rights(home: Home, open_folder: Path) -> None:
    secret = open_folder / "shadow"
    secret.touch(mode=0o600)
    home.config.mkdir()
    home.config_file.symlink_to(secret)
    prepare(home, "nobody")
    assert facts(secret) == (0, 0, 0o600)


def test_folders_of_another_user_are_refused_with_both_ways_out(home: Home) -> None:
    prepare(home, "daemon")
    with pytest.raises(Refused, match=rf"belongs to 'daemon'; run `chown -R nobody: {home.state}`.*`--as daemon`"):
        prepare(home, "nobody")
    assert facts(home.state)[0] == OTHER.pw_uid


def test_an_interpreter_that_the_user_cannot_reach_is_refused(
    tmp_path: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "python"  # in pytest's folder, which is root's alone
    closed.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(closed))
    with pytest.raises(
        ServiceError, match=rf"cannot run {closed} as 'nobody': .*sudo /opt/heartbeat/bin/pip install \.`"
    ):
        prepare(Home(open_folder / "etc", open_folder / "lib", open_folder / "cache"), "nobody")
    assert list(open_folder.iterdir()) == []


def test_acting_as_a_user_is_over_afterwards_whatever_happened(open_folder: Path) -> None:
    before = os.geteuid(), os.getegid(), os.getgroups()
    with acting_as(NOBODY.pw_uid):
        assert (os.geteuid(), os.getegid()) == (NOBODY.pw_uid, NOBODY.pw_gid)
    with pytest.raises(PermissionError), acting_as(NOBODY.pw_uid):
        (open_folder / "file").touch()
    assert (os.geteuid(), os.getegid(), os.getgroups()) == before


def test_what_is_written_in_a_users_folder_is_theirs_and_goes_nowhere_else(open_folder: Path) -> None:
    theirs, roots = open_folder / "theirs", open_folder / "roots"
    theirs.mkdir()
    os.chown(theirs, NOBODY.pw_uid, NOBODY.pw_gid)
    roots.write_text("root's")
    with acting_for(theirs / "not" / "there"):
        (theirs / "file").touch()
    assert facts(theirs / "file")[:2] == (NOBODY.pw_uid, NOBODY.pw_gid)
    (theirs / "link").symlink_to(roots)
    with pytest.raises(PermissionError), acting_for(theirs):
        (theirs / "link").write_text("bent")
    assert roots.read_text() == "root's"


def test_who_it_runs_as_is_known_too_when_the_state_was_taken_away(home: Home) -> None:
    assert user_of(home) == ""
    prepare(home, "nobody")
    shutil.rmtree(home.state)
    assert user_of(home) == "nobody"
    shutil.rmtree(home.cache)
    assert user_of(home) == ""
