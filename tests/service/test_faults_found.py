"""Faults of the service's surroundings: names that others have, disks and files that fail, folders of two names.

The verbs run as a user types them, before a systemd that is only played (fake_systemctl); before a real one in
test_systemd_faults, among the slow tests.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from heartbeat import service
from heartbeat.cli.last_word import words_of
from heartbeat.errors import Invalid, ServiceError
from heartbeat.lock import KernelLock
from heartbeat.marker import Marker, read_marker, write_intent, write_marker
from heartbeat.paths import Home, find_home
from heartbeat.process import owner
from heartbeat.service import planning, systemctl, unit_files
from heartbeat.service.credentials import unusable
from heartbeat.service.planning import called, name_of
from heartbeat.service.results import in_words
from heartbeat.service.systemctl import Systemctl
from heartbeat.service.systemd import Systemd
from heartbeat.service.unit_text import quoted, service_text
from tests.conftest import Done, Place
from tests.service import fake_systemctl
from tests.service.kept import Kept
from tests.service.test_systemd_units import plan_of

STRANGE = "[Service]\nExecStart=/usr/sbin/heartbeat\n"
MEBI = 1024 * 1024
ACTIVE = {"ActiveState": "active", "SubState": "running", "MainPID": "7"}


class World:
    """A home, the verbs, and a user's manager that is only played."""

    def __init__(self, place: Place, folder: Path) -> None:
        self.place = place
        self.folder = folder
        self.home = Home(place.folder, place.state, place.folder / "cache")
        self.name = name_of(self.home, os.environ)
        self.units = folder / "config" / "systemd" / "user"
        self.unit = self.units / f"{self.name}.service"

    def call(self, *words: str) -> Done:
        return self.place.call(*words)

    def facts(self, **facts: str) -> None:
        file = self.folder / "state.json"
        before = json.loads(file.read_text()) if file.exists() else fake_systemctl.EMPTY
        file.write_text(json.dumps(before | facts))

    def told(self) -> list[str]:
        """What the manager was told that changes anything, since the last time."""
        log = self.folder / "told.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    def installed(self) -> None:
        assert self.call("install").status == 0
        self.told()


@pytest.fixture
def world(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    folder = tmp_path / "world"
    programs, private = folder / "bin", folder / "runtime" / str(os.geteuid()) / "systemd" / "private"
    programs.mkdir(parents=True)
    private.parent.mkdir(parents=True)
    private.touch()
    (folder / "booted").mkdir()
    (programs / "systemctl").write_text(f'#!/bin/sh\nexec {sys.executable} -IS {fake_systemctl.__file__} "$@"\n')
    (programs / "journalctl").write_text("#!/bin/sh\necho the last line\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    found = World(place, folder)
    environ = {
        **place.environment(),
        "PATH": f"{programs}:/usr/bin:/bin",
        "XDG_CONFIG_HOME": str(folder / "config"),
        "FAKE_SYSTEMCTL": str(folder),
        "FAKE_UNIT": str(found.unit),
    }
    monkeypatch.setattr(place, "environment", lambda: environ)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    other = Kept(folder)
    other.kind, other.reason = "launchd", "this is not macOS"
    manager = Systemd(os.environ, folder / "booted", folder / "runtime")
    monkeypatch.setattr(service, "_candidates", lambda environ: (other, manager))
    return found


# A unit of our name that is not ours


def shipped(world: World) -> Path:
    """By a package of the machine, say Linux-HA's."""
    file = world.folder / "lib" / world.unit.name
    file.parent.mkdir()
    file.write_text(STRANGE)
    world.facts(LoadState="loaded", FragmentPath=str(file), UnitFileState="enabled", **ACTIVE)
    return file


def own_writing(world: World) -> Path:
    """By the owner, where ours would lie."""
    world.units.mkdir(parents=True)
    world.unit.write_text(STRANGE)
    world.facts(LoadState="loaded", FragmentPath=str(world.unit), UnitFileState="enabled", **ACTIVE)
    return world.unit


def of_another_state(world: World) -> Path:
    """By heartbeat, from a shell with another XDG_STATE_HOME."""
    world.units.mkdir(parents=True)
    home = replace(world.home, state=Path("/srv/other state"))
    world.unit.write_text(service_text(plan_of(name=world.name, home=home, environment=home.environment())))
    world.facts(LoadState="loaded", FragmentPath=str(world.unit), UnitFileState="enabled", **ACTIVE)
    return world.unit


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (shipped, "is a service of this name that is not heartbeat's"),
        (own_writing, "was not written by `heartbeat install`"),
        (of_another_state, "is of another installation, with HEARTBEAT_STATE_DIR=/srv/other state instead of"),
    ],
)
@pytest.mark.parametrize("marked", [False, True])
def test_a_service_of_our_name_that_is_anothers_is_told_and_not_touched(
    world: World, make: Callable[[World], Path], why: str, marked: bool
) -> None:
    file = make(world)
    text = file.read_text()
    if marked:  # as when ours was replaced
        world.place.state.mkdir()
        write_marker(world.home.marker_file, Marker("systemd", world.unit.name, "user", "1"))
    for verb, status in [("start", 3), ("restart", 3), ("stop", 0), ("status", 3), ("install", 5), ("uninstall", 0)]:
        done = world.call(verb)
        assert (done.status, why in done.out + done.err) == (status, True), (verb, done)
    assert (world.told(), file.read_text()) == ([], text)
    assert not world.home.intent_file.exists()
    assert marked or not world.place.state.exists()


def test_a_mask_of_what_was_never_installed_is_left_alone(world: World) -> None:
    world.units.mkdir(parents=True)
    world.unit.symlink_to(os.devnull)
    world.facts(LoadState="masked", UnitFileState="masked", FragmentPath=str(world.unit))
    assert world.call("uninstall").status == 0
    assert world.unit.is_symlink()
    assert world.told() == []


def test_the_unit_that_was_installed_when_the_folder_had_another_name_is_named_and_keeps_its_marker(
    world: World,
) -> None:
    world.place.state.mkdir()
    marker = Marker("systemd", "heartbeat-old-123456.service", "user", "1")
    write_marker(world.home.marker_file, marker)
    assert "heartbeat-old-123456.service was installed from this folder" in world.call("uninstall").out
    assert read_marker(world.home.marker_file) == marker


# Names


def test_two_names_of_one_folder_are_one_service(tmp_path: Path) -> None:
    real, link, other = (tmp_path / name for name in ("real", "link", "other"))
    real.mkdir()
    link.symlink_to(real)
    names = [name_of(find_home(str(folder), {}), {}) for folder in (real, link, other)]
    assert names[0] == names[1] != names[2]


def test_a_folder_whose_name_is_no_text_has_a_name_and_cannot_get_into_a_unit() -> None:
    home = find_home(os.fsdecode(b"/srv/caf\xe9"), {})
    assert name_of(home, {}).startswith("heartbeat-caf-")
    with pytest.raises(Invalid, match="a byte that is not UTF-8"):
        service_text(plan_of(environment=home.environment()))


def test_blanks_of_other_widths_may_stand_in_a_unit() -> None:
    assert quoted("/srv/a\u00a0b") == '"/srv/a\u00a0b"'


HOME = Path.home()
CALLS = [
    ({}, "heartbeat stop"),
    ({"HEARTBEAT_HOME": "/srv/a"}, "heartbeat --home /srv/a stop"),
    (
        {"HEARTBEAT_HOME": "/srv/a", "HEARTBEAT_STATE_DIR": "/srv/b c"},
        "HEARTBEAT_HOME=/srv/a HEARTBEAT_STATE_DIR='/srv/b c' heartbeat stop",
    ),
    ({"HEARTBEAT_STATE_DIR": "/srv/b"}, "HEARTBEAT_STATE_DIR=/srv/b heartbeat stop"),
    ({"HEARTBEAT_CACHE_DIR": "/srv/c"}, "HEARTBEAT_CACHE_DIR=/srv/c heartbeat stop"),
]


@pytest.mark.parametrize(("environ", "typed"), CALLS)
def test_a_printed_command_finds_the_installation_it_is_printed_for(environ: dict[str, str], typed: str) -> None:
    assert called("stop", find_home(None, environ), environ) == typed


@pytest.mark.parametrize("user", ["ann", "ann.b", "ann@example.org", "DOMAIN\\ann", "_svc", "pc$", "jörg"])
def test_whom_systemd_knows_may_run_it(user: str) -> None:
    assert f"\nUser={user}\n" in service_text(plan_of("system", user=user), "/home/x")


@pytest.mark.parametrize("user", ["1000", "-x", ".", "a b", "a:b", "a/b", "a\nb", "a%u"])
def test_whom_systemd_does_not_know_may_not(user: str) -> None:
    with pytest.raises(Invalid, match="systemd takes no such name"):
        service_text(plan_of("system", user=user), "/home/x")


# Disks


@pytest.mark.parametrize("verb", ["stop", "restart", "uninstall"])
def test_a_state_in_which_nothing_can_be_written_keeps_nobody_from_ending_what_runs(world: World, verb: str) -> None:
    world.installed()
    (world.place.state / "intent.new").mkdir()  # as on a full disk, also for root
    done = world.call(verb)
    assert (done.status, "the log of starts will not say who asked" in done.err) == (0, True), done
    asked = "stop" if verb == "uninstall" else verb
    assert f"{asked} {world.unit.name}" in world.told()
    assert verb != "uninstall" or not world.unit.exists()


def test_a_marker_that_cannot_be_removed_does_not_fail_the_rest(world: World) -> None:
    world.installed()
    world.home.marker_file.unlink()
    (world.home.marker_file / "x").mkdir(parents=True)
    done = world.call("uninstall")
    assert (done.status, "remove it by hand" in done.err) == (0, True), done
    assert not world.unit.exists()


def test_what_could_not_be_put_in_its_place_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "intent" / "x").mkdir(parents=True)
    with pytest.raises(OSError, match="Is a directory"):
        write_intent(tmp_path / "intent", "stop", "me", 1.0)
    assert [path.name for path in tmp_path.iterdir()] == ["intent"]


@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.ENOSPC, "free space"), (errno.EROFS, "for writing"), (errno.EACCES, "permissions")]
)
def test_what_to_do_about_a_unit_that_cannot_be_written_depends_on_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, remedy: str
) -> None:
    def fail(path: Path, text: str) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(unit_files, "_replace", fail)
    with pytest.raises(ServiceError, match=remedy):
        unit_files.write_changed({tmp_path / "x": "y"})


# Credentials


def looping(file: Path) -> None:
    file.symlink_to(file)


def large(file: Path) -> None:
    file.write_bytes(b"x" * (MEBI + 1))


def closed(file: Path) -> None:
    file.write_text("secret")
    file.chmod(0)
    if os.geteuid() == 0:
        pytest.skip("root reads it all the same")


BAD = [(looping, "symbolic links"), (large, "larger than the MiB"), (Path.mkdir, "not a file"), (closed, "Permission")]


@pytest.mark.parametrize(("make", "why"), BAD)
def test_a_credential_that_systemd_could_not_read_is_left_out_and_keeps_nothing_from_starting(
    world: World, make: Callable[[Path], None], why: str
) -> None:
    file = world.folder / "credential"
    make(file)
    world.place.configure(f'[service]\ncredentials = {{ good = "/no/such", mail = "{file}" }}\n')
    done = world.call("install")
    assert (done.status, "but: the credential 'mail' is left out" in done.out, why in done.out) == (0, True, True), done
    text = world.unit.read_text()
    assert ("LoadCredential=good:" in text, "mail:" in text) == (True, False)
    assert [hint for hint in world.place.data("check")["hints"] if "LoadCredential" in hint] == []


@pytest.mark.parametrize("verb", ["start", "restart"])
@pytest.mark.parametrize(("make", "why"), BAD)
def test_nothing_is_stopped_for_a_credential_with_which_it_would_not_start_again(
    world: World, make: Callable[[Path], None], why: str, verb: str
) -> None:
    file = world.folder / "100% credential"
    file.write_text("secret")
    world.place.configure(f'[service]\ncredentials = {{ mail = "{file}" }}\n')
    world.installed()
    file.unlink()
    make(file)
    said = world.place.error(verb, status=4)
    assert (str(file) in said, why in said) == (True, True), said
    assert world.told() == []


def test_credentials_are_counted_together_as_systemd_does(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in "abc"}
    for file in files.values():
        file.write_bytes(b"x" * (MEBI // 2 - 100))
    assert list(unusable({name: str(file) for name, file in files.items()}, "user")) == ["c"]


# The manager


def test_a_folder_that_systemd_does_not_read_gets_no_unit(world: World) -> None:
    world.facts(UnitPath="/home/ann/.config/systemd/user /usr/lib/systemd/user")
    said = world.place.error("install", status=1)
    assert "systemd does not read that folder" in said
    assert not (world.folder / "config").exists()
    assert not world.home.marker_file.exists()


def test_a_failed_install_takes_back_what_it_wrote_and_no_more(world: World) -> None:
    (world.folder / "fails").write_text("daemon-reload\tAccess denied\n")
    done = world.call("install")
    assert (done.status, "Access denied" in done.err) == (1, True), done
    assert not world.units.exists()
    assert not world.home.marker_file.exists()
    (world.folder / "fails").unlink()
    world.installed()
    (world.folder / "fails").write_text("daemon-reload\tAccess denied\n")
    world.unit.write_text(world.unit.read_text() + "[Service]\nNice=1\n")
    assert world.call("install").status == 1
    assert world.unit.exists()


@pytest.mark.parametrize("state", ["masked", "not-found"])
def test_what_runs_can_be_stopped_though_its_unit_is_masked_or_gone(world: World, state: str) -> None:
    world.installed()
    world.unit.unlink()
    world.facts(LoadState=state, FragmentPath="", **ACTIVE)
    assert world.place.data("stop")["did"] == [f"stopped {world.unit.name}"]


def test_a_drop_in_that_systemd_refuses_is_named(world: World) -> None:
    world.installed()
    world.facts(LoadState="bad-setting", DropInPaths="/a/mine.conf", ActiveState="inactive", SubState="dead")
    (world.folder / "fails").write_text("start\tUnit has a bad unit file setting.\n")
    for verb in ("install", "start", "status"):
        done = world.call(verb)
        assert (done.status, "correct /a/mine.conf" in done.out + done.err) == (1, True), done


def test_a_start_that_was_stopped_by_another_call_is_no_crash(world: World) -> None:
    world.installed()
    world.facts(ActiveState="failed", SubState="failed", Result="signal", ExecMainStatus="0")
    (world.folder / "fails").write_text(f"start\tJob for {world.unit.name} canceled.\n")
    assert "it was stopped meanwhile" in world.place.error("start", status=5)


def test_root_in_anothers_folders_is_told_to_ask_as_them(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root is told")
    os.chown(tmp_path, 65_534, -1)
    found = Systemctl("user", {"HOME": str(tmp_path)}, tmp_path, tmp_path / "none").why_not()
    assert found == "root asks in the folders of nobody; ask as nobody, without sudo"


def test_systemctl_is_found_without_a_path(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemctl, "_USUAL", str(world.folder / "bin"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(world.folder)
    found = Systemctl("user", os.environ, world.folder / "booted", world.folder / "runtime")
    assert found.ask("daemon-reload", seconds=10).status == 0


# Words


@pytest.mark.parametrize(("status", "word"), [("9", "KILL"), ("KILL", "KILL"), ("0", "a signal"), ("", "a signal")])
def test_a_signal_has_its_name_however_systemd_says_it(status: str, word: str) -> None:
    assert in_words("signal", status)[0] == f"it was killed by {word}"


@pytest.mark.parametrize(
    ("status", "restarts", "expected"),
    [
        ("1", 6, "it was started too often, 6 times in vain, and the last time it ended with exit status 1"),
        ("1", 0, "it ended with exit status 1"),
        ("4", 6, "the configuration, or the ledger, has faults"),
    ],
)
def test_the_alarm_says_that_it_was_started_too_often(status: str, restarts: int, expected: str) -> None:
    environ = {"MONITOR_SERVICE_RESULT": "exit-code", "MONITOR_EXIT_STATUS": status}
    assert f"stays down: {expected}." in words_of("heartbeat.service", environ, restarts)[1]


def test_nobody_is_alarmed_by_a_stop_that_its_owner_asked_for(place: Place) -> None:
    place.state.mkdir()
    write_intent(place.state / "intent", "stop", "heartbeat stop by ann", time.time())
    done = place.call("alarm", "--unit", "heartbeat.service")
    assert (done.status, "nobody is told" in done.err) == (0, True), done
    write_intent(place.state / "intent", "stop", "heartbeat stop by ann", time.time() - 1000)
    assert "heartbeat is down on" in place.call("alarm", "--unit", "heartbeat.service").err


def test_a_detached_daemon_that_hangs_is_named_by_status(world: World) -> None:
    lock = KernelLock(world.home.lock_file)
    world.place.state.mkdir()
    assert lock.acquire(owner())
    try:
        done = world.call("status")
        assert (done.status, f"process {os.getpid()} runs without a supervisor" in done.out) == (1, True), done
    finally:
        lock.release()


def test_root_makes_no_folder_for_a_stop_of_what_is_not_there(world: World) -> None:
    assert world.call("stop").status == 0
    assert not world.place.state.exists()
    assert planning.SYSTEM.state != world.place.state
