"""Faults around the service, under a real systemd: names that others have, credentials, disks, users without a home."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.slow.boxed_service import UNIT, Service, is_up
from tests.slow.boxes import USER, Box, Done, open_box

pytestmark = pytest.mark.slow

STRANGE = "[Service]\nExecStart=/bin/sleep 1000\n"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with open_box(tmp_path_factory.mktemp("box"), user=USER) as box:
        yield box


@pytest.fixture
def service(box: Box) -> Iterator[Service]:
    service = Service(box)
    service.configure()
    yield service
    service.clear()


@pytest.mark.parametrize("is_system", [True, False])
def test_a_service_of_the_machines_with_our_name_is_told_and_goes_on(box: Box, is_system: bool) -> None:
    service = Service(box, is_system=is_system)
    folder = f"/usr/lib/systemd/{'system' if is_system else 'user'}"
    box.write(f"{folder}/{UNIT}", STRANGE)
    service.configure()
    try:
        service.systemctl("daemon-reload")
        service.systemctl("start", UNIT)
        pid = service.facts()["MainPID"]
        install = ("install", "--as", USER) if is_system else ("install",)
        for words, status in [(install, 5), (("stop",), 0), (("restart",), 3), (("status",), 3), (("uninstall",), 0)]:
            done = service.try_(*words)
            assert (done.status, f"/{UNIT} is a service of this name" in done.text) == (status, True), done
        facts = service.facts()
        assert (facts["MainPID"], facts["ActiveState"]) == (pid, "active")
        assert f"{folder}/{UNIT}".endswith(facts["FragmentPath"]), "which may leave out /usr"
        assert box.try_("test", "-e", service.state).status == 1
    finally:
        service.systemctl("stop", UNIT)
        box.run("rm", f"{folder}/{UNIT}")
        service.systemctl("daemon-reload")
        box.run("rm", "-rf", service.config)


def test_a_credential_that_cannot_be_read_costs_nothing_but_itself(box: Box, service: Service) -> None:
    service.write("/home/ann/secret", "sesame", "000")
    service.configure('[service.credentials]\nmail = "/home/ann/secret"\n')
    assert "but: the credential 'mail' is left out: cannot read /home/ann/secret" in service.run("install")
    assert is_up(service.facts())

    box.run("chmod", "600", "/home/ann/secret")
    service.run("install")
    pid = service.facts()["MainPID"]
    assert "LoadCredential=mail:" in service.read(f"{service.units}/{UNIT}")

    box.as_user("sh", "-c", "rm -f ~/secret; ln -s secret ~/secret")
    refused = service.try_("restart")
    assert (refused.status, "the credential 'mail' would keep the service from starting" in refused.err) == (4, True)
    assert (service.facts()["MainPID"], is_up(service.facts())) == (pid, True)


def test_a_user_without_a_home_and_with_a_dot_in_their_name_can_run_it(box: Box) -> None:
    box.run("sh", "-c", "useradd --badname -M no.home || useradd --badnames -M no.home")
    service = Service(box, is_system=True)
    service.configure()
    done = box.try_("heartbeat", "install", "--system", "--as", "no.home")
    assert done.status == 0, f"{done.text}\n{service.journal()}"
    assert is_up(service.facts())
    box.run("heartbeat", "uninstall", "--system")
    box.run("rm", "-rf", service.config, service.state, "/var/cache/heartbeat")


def test_a_state_that_cannot_be_written_keeps_nobody_from_stopping_or_uninstalling(box: Box, service: Service) -> None:
    service.run("install")
    box.run("mount", "--bind", service.state, service.state)
    box.run("mount", "-o", "remount,ro,bind", service.state)
    try:
        done = service.try_("stop")
        assert (done.status, "Read-only file system" in done.err) == (0, True), done
        assert not is_up(service.facts())
        assert service.try_("uninstall").status == 0
        assert box.try_("test", "-e", f"{service.units}/{UNIT}").status == 1
    finally:
        box.run("umount", service.state)


def test_two_names_of_one_folder_are_one_service(box: Box, service: Service) -> None:
    box.as_user("sh", "-c", "mkdir -p ~/real && ln -s real ~/link && : >~/real/config.toml")
    unit = json_name(service.try_("--home", "/home/ann/real", "install"))
    told = service.try_("--home", "/home/ann/link", "status")
    assert (told.status, f"{unit}: running" in told.out) == (0, True), told
    assert service.try_("--home", "/home/ann/link", "uninstall").status == 0
    assert service.try_("--home", "/home/ann/real", "status").status == 3
    assert f"{unit}.service" not in service.systemctl("list-units", "--all")


def json_name(done: Done) -> str:
    """The name of the service, from what `install` says that it started."""
    assert done.status == 0, done
    return done.out.partition("started ")[2].partition(".service")[0]


def test_a_shell_whose_folders_are_not_the_managers_is_refused_and_leaves_nothing(box: Box, service: Service) -> None:
    box.as_user("sh", "-c", "mkdir -p ~/other/heartbeat && : >~/other/heartbeat/config.toml")
    done = box.try_as_user("env", "XDG_CONFIG_HOME=/home/ann/other", "heartbeat", "install")
    assert (done.status, "systemd does not read that folder" in done.err) == (1, True), done
    assert box.as_user("find", "/home/ann/other", "-type", "f") == "/home/ann/other/heartbeat/config.toml\n"

    service.run("install")
    pid = service.facts()["MainPID"]
    for verb in ("install", "stop", "uninstall"):
        done = box.try_as_user("env", "XDG_STATE_HOME=/home/ann/elsewhere", "heartbeat", verb)
        assert "is of another installation, with HEARTBEAT_STATE_DIR=/home/ann/.local/state/heartbeat" in done.text, (
            done
        )
    assert service.facts()["MainPID"] == pid


def test_a_drop_in_that_systemd_refuses_is_named(service: Service) -> None:
    service.run("install")
    service.run("stop")
    service.drop_in("[Service]\nExecStart=\n")
    for verb in ("status", "start", "install"):
        done = service.try_(verb)
        assert (done.status, f"correct {service.units}/{UNIT}.d/test.conf" in done.text) == (1, True), done


def test_what_runs_is_stopped_also_when_its_unit_is_masked(box: Box, service: Service) -> None:
    service.run("install")
    service.systemctl("mask", "--runtime", UNIT)
    box.as_user("rm", f"{service.units}/{UNIT}")
    service.systemctl("daemon-reload")
    try:
        done = service.try_("stop")
        assert (done.status, f"stopped {UNIT}" in done.out) == (0, True), done
    finally:
        service.systemctl("unmask", "--runtime", UNIT)


def test_a_stop_in_the_middle_of_a_start_is_no_fault_and_alarms_nobody(box: Box, service: Service) -> None:
    service.run("install")
    service.run("stop")
    service.drop_in("[Service]\nExecStartPre=/bin/sleep 30\n")
    box.as_user("sh", "-c", "heartbeat start >~/said 2>&1 & sleep 0.1")
    service.wait(lambda facts: facts["ActiveState"] == "activating")
    service.run("stop")
    said = box.wait("cat", "/home/ann/said", until=lambda done: bool(done.out)).out
    assert "it was stopped meanwhile" in said
    alarm = box.wait(
        *("as-user", "systemctl", "--user", "show", f"heartbeat-alarm@{UNIT}.service", "--property=ActiveState"),
        until=lambda done: "activating" not in done.out,
    )
    assert "failed" not in alarm.out
    assert service.read(f"{service.config}/told.md") == ""


def test_a_folder_whose_name_is_no_text_is_refused_clearly(box: Box, service: Service) -> None:
    script = """
home=$(printf '/home/ann/caf\\351')
mkdir -p "$home" && cp ~/.config/heartbeat/config.toml "$home"
for verb in install status stop uninstall; do
    heartbeat --home "$home" $verb; echo "$verb $?"
done 2>&1
"""
    said = box.as_user("sh", "-s", stdin=script)
    assert "a byte that is not UTF-8" in said
    ends = [line for line in said.splitlines() if line[-2:-1] == " " and line[-1].isdigit()]
    assert ends == ["install 4", "status 3", "stop 0", "uninstall 0"], said
