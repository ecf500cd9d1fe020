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
