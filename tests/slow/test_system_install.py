"""`install --system --as USER` under a real systemd: who may read what, who runs, and who may ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.slow.boxed_service import Service
from tests.slow.boxes import USER, Box, open_box

pytestmark = pytest.mark.slow

CONFIG = """
[jobs.check]
every = "1h"
secrets = { TOKEN = { file = "~/.token" } }
"""
SCRIPT = '#!/bin/sh\nid -un >"$HEARTBEAT_CACHE_DIR/who"\necho \'{"wakeAgent": false}\'\n'


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with open_box(tmp_path_factory.mktemp("box"), user=USER) as box:
        yield box


@pytest.fixture
def service(box: Box) -> Iterator[Service]:
    service = Service(box, is_system=True)
    box.run("rm", "-rf", service.config, service.state, "/var/cache/heartbeat")
    service.write(f"{service.config}/config.toml", CONFIG, "600")
    service.write(f"{service.config}/jobs/check", SCRIPT, "755")
    box.run("rm", "-f", f"/home/{USER}/.token")
    box.as_user("sh", "-c", "umask 077; echo token-of-ann >~/.token")
    yield service
    box.try_("heartbeat", "uninstall", "--system")


def test_root_sets_it_up_and_the_user_runs_it(box: Box, service: Service) -> None:
    said = box.run("heartbeat", "install", "--system", "--as", USER)
    assert f"made {service.state}, which is {USER}'s" in said
    assert f"let {USER} read {service.config}/config.toml" in said
    assert box.run("stat", "-c", "%U %G %a", f"{service.config}/config.toml") == f"root {USER} 640\n"
    assert box.run("stat", "-c", "%U %G %a", service.state) == f"{USER} {USER} 700\n"
    told = service.data("status")
    assert (told["service"]["state"], told["health"]["state"], told["scope"]) == ("running", "up", "system")
    assert box.run("ps", "-o", "user=", "-p", str(told["service"]["pid"])).strip() == USER
    owners = box.run("find", service.state, "-printf", "%u\n").split()
    assert set(owners) == {USER}, "whatever root wrote there is the user's"

    # Again, without the name: nothing changes. And nothing has drifted.
    assert "installed as it should be" in box.run("heartbeat", "install", "--system")
    assert not [hint for hint in service.data("check")["hints"] if "the service" in hint]

    box.run("heartbeat", "restart", "--system")
    assert [line.split("\t")[1] for line in service.read(f"{service.state}/starts.log").splitlines()] == ["asked"] * 2


def test_a_changed_configuration_is_read_when_told_and_a_stop_names_who_asked(box: Box, service: Service) -> None:
    box.run("heartbeat", "install", "--system", "--as", USER)
    service.write(f"{service.config}/config.toml", CONFIG + "\n[jobs.due-queue]\n", "640")
    assert any("runs with the configuration as it was before" in hint for hint in service.data("check")["hints"])
    assert "has read its configuration: 2 jobs" in box.run("heartbeat", "reload", "--system")
    assert service.data("health")["facts"]["jobs"] == 2
    service.write(f"{service.config}/config.toml", CONFIG, "640")
    assert "its configuration is newer" in box.run("heartbeat", "install", "--system")
    refused = box.try_as_user("heartbeat", "reload", "--system")
    assert refused.status == 0, "USER, whose process it is, may"

    box.run("heartbeat", "stop", "--system")
    ending = service.read(f"{service.state}/starts.log").splitlines()[-1].split("\t")[6]
    assert ending.startswith("heartbeat stop by root, called from ")
    stopped = box.try_("heartbeat", "status", "--system")
    assert stopped.status == 1
    assert "`heartbeat start --system`" in stopped.out
    assert "comes up again with the next boot" in stopped.out
    assert "next due" not in stopped.out, "what it said last is over"
    assert "evidence: pulse, starts.log, inside.json, crash.txt, daemon.lock" in box.run(
        "heartbeat", "uninstall", "--system"
    )
    assert service.data("health")["state"] == "absent"


OWN = "[Service]\nExecStart=/usr/local/bin/heartbeat run\nRestart=on-failure\nRestartPreventExitStatus=4 5\n"


@pytest.mark.parametrize("name", ["mine", "heartbeat"])
def test_a_unit_of_ones_own_is_found_and_used(box: Box, name: str) -> None:
    mine = Service(box)
    mine.write(f"{mine.units}/{name}.service", OWN)
    mine.systemctl("daemon-reload")
    mine.systemctl("start", name)
    try:
        box.wait("as-user", "heartbeat", "health", "--nagios", until=lambda done: done.status == 0)
        assert f"{name}: running (active (running), process " in mine.run("status")
        assert "a unit of your own" in mine.run("status")
        assert mine.data("reload")["jobs"] == 0
        before = mine.data("status")["service"]["pid"]
        assert mine.data("restart")["name"] == name
        box.wait("as-user", "heartbeat", "health", "--nagios", until=lambda done: done.status == 0)
        assert mine.data("status")["service"]["pid"] != before
        refused = mine.try_("install")
        assert (refused.status, name in refused.err) == (5, True), refused
        assert " started " in mine.run("logs")
        assert mine.data("stop")["did"] == [f"stopped {name}.service"]
        assert mine.read(f"{mine.units}/{name}.service") == OWN
    finally:
        box.try_("as-user", "systemctl", "--user", "stop", name)
        box.run("rm", "-rf", mine.state, f"{mine.units}/{name}.service")
        mine.systemctl("daemon-reload")


def test_nobody_but_root_changes_it_and_anybody_sees_whether_it_runs(box: Box, service: Service) -> None:
    refused = box.try_as_user("heartbeat", "install", "--system", "--as", USER)
    assert (refused.status, "run `sudo /opt/heartbeat/bin/heartbeat install" in refused.err) == (5, True)
    box.run("heartbeat", "install", "--system", "--as", USER)
    for verb in ("start", "stop", "restart", "uninstall"):
        refused = box.try_as_user("heartbeat", verb, "--system")
        assert (refused.status, f"heartbeat {verb} --system`" in refused.err) == (5, True)
    seen = box.try_("setpriv", "--reuid", "nobody", "--clear-groups", "heartbeat", "status", "--system")
    assert (seen.status, "heartbeat: running" in seen.out) == (0, True), seen


def test_a_secret_that_only_root_may_read_is_told_as_one_that_the_service_lacks(box: Box, service: Service) -> None:
    box.run("chown", "root:", f"/home/{USER}/.token")
    said = box.run("heartbeat", "install", "--system", "--as", USER)
    assert "but: jobs.check.secrets.TOKEN: the service cannot read" in said


def test_a_broken_configuration_installs_nothing(box: Box, service: Service) -> None:
    service.write(f"{service.config}/config.toml", '[jobs.check]\nevery = "never"\n', "600")
    done = box.try_("heartbeat", "install", "--system", "--as", USER)
    assert (done.status, "jobs.check" in done.err) == (4, True)
    assert box.try_("test", "-e", service.state).status == 1
    assert box.try_("systemctl", "cat", "heartbeat").status != 0


def test_an_interpreter_in_a_closed_folder_is_refused_before_anything_is_made(box: Box, service: Service) -> None:
    box.run("mkdir", "-m", "700", "/opt/closed")
    box.run("cp", "-r", "/opt/heartbeat", "/opt/closed/heartbeat")
    done = box.try_("/opt/closed/heartbeat/bin/python", "-P", "-m", "heartbeat", "install", "--system", "--as", USER)
    assert done.status == 1
    assert f"cannot run /opt/closed/heartbeat/bin/python as '{USER}'" in done.err
    assert box.try_("test", "-e", service.state).status == 1
