"""Another daemon under a real systemd: a stand-in for the Hermes gateway, as a unit of a user."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.slow.boxes import PYTHON, USER, Box, open_box

pytestmark = pytest.mark.slow

HOME = f"/home/{USER}/.hermes"
GATEWAY = r"""
import json, os, pathlib, sys, time
home = pathlib.Path.home() / ".hermes"
(home / "state").mkdir(parents=True, exist_ok=True)
with open(home / "gateway-starts.log", "a") as log:
    log.write(f"{time.time()!r}\n")
if (home / "crash").exists():
    sys.exit(1)
while (home / "slow").exists():
    time.sleep(0.1)
start = int(pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
usual = {"pid": os.getpid(), "start_time": start, "updated_at": time.time(), "gateway_state": "running"}
def put(name, fields):
    (home / "new").write_text(json.dumps(fields))
    os.replace(home / "new", home / name)
put("gateway_state.json", usual | {"platforms": {"telegram": {"state": "connected"}}})
began = time.time()
while True:
    beat = {"start_time": began, "updated_at": time.time(), "monotonic": time.monotonic()}
    put("state/gateway.heartbeat", usual | beat)
    time.sleep(0.5)
"""
UNIT = f"""
[Service]
ExecStart=/usr/bin/python3 {HOME}/gateway.py
Restart=always
RestartSec=200ms
"""
LOOP = """
[Service]
ExecStart=/bin/sh -c "while sleep 20; do systemctl --user restart hermes-gateway.service; done"
"""
# Ten minutes ahead, so that a process that began just now is old enough; a heartbeat says how old it is by itself.
LOOK = """
import json, os, sys, time
from heartbeat.probe.targets import examine_target
ahead = float(sys.argv[1])
health = examine_target("hermes", ("/none", "/none", "/none"), now=time.time() + ahead)
print(json.dumps([health.state, [code for code, _ in health.problems], health.pid, health.restarts, health.problems]))
"""


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with open_box(tmp_path_factory.mktemp("box"), user=USER) as box:
        box.write(f"{HOME}/gateway.py", GATEWAY)
        for name, text in (("hermes-gateway", UNIT), ("innocent", LOOP)):
            box.write(f"/home/{USER}/.config/systemd/user/{name}.service", text)
        box.run("chown", "-R", USER, f"/home/{USER}")
        box.as_user("systemctl", "--user", "daemon-reload")
        yield box


def look(box: Box, *, as_root: bool = False, ahead: float = 600) -> Any:
    argv = ("env", f"HERMES_HOME={HOME}", PYTHON, "-P", "-c", LOOK, str(ahead))
    return json.loads(box.run(*argv) if as_root else box.as_user(*argv))


def wait(box: Box, until: Callable[[Any], bool], **how: Any) -> Any:
    end = time.monotonic() + 30
    while not until(seen := look(box, **how)):
        assert time.monotonic() < end, seen
        time.sleep(0.2)
    return seen


def test_a_gateway_of_a_user_is_seen_by_them_and_by_root(box: Box) -> None:
    assert look(box)[:2] == ["down", ["state_missing", "unit_inactive"]]
    box.as_user("systemctl", "--user", "start", "hermes-gateway")
    by_user = wait(box, lambda seen: seen[0] == "up")
    assert look(box, as_root=True)[:3] == by_user[:3]
    assert look(box, ahead=0)[:2] == ["degraded", ["young"]]


def test_a_gateway_that_is_killed_is_restarting_until_it_says_that_it_works(box: Box) -> None:
    box.as_user("touch", f"{HOME}/slow")
    _, _, old, _, _ = look(box)
    box.run("kill", "-9", str(old))
    seen = wait(box, lambda seen: seen[2] not in (None, old), ahead=0)
    assert seen[0] == "degraded"
    assert seen[1][0] == "restarting"
    assert seen[3] == 1
    box.as_user("rm", f"{HOME}/slow")
    wait(box, lambda seen: seen[0] == "up")


def test_a_gateway_that_is_stopped_by_a_signal_is_stalled(box: Box) -> None:
    pid = str(look(box)[2])
    box.run("kill", "-STOP", pid)
    assert look(box)[:2] == ["stalled", ["stopped"]]
    box.run("kill", "-CONT", pid)
    wait(box, lambda seen: seen[0] == "up")


def test_a_unit_that_restarts_it_is_named_with_its_remedy(box: Box) -> None:
    box.as_user("systemctl", "--user", "start", "innocent")
    for as_root in (False, True):
        state, codes, _, _, problems = look(box, as_root=as_root)
        assert (state, codes) == ("degraded", ["restarter"]), problems
        assert "innocent.service" in problems[0][1]
    box.as_user("systemctl", "--user", "stop", "innocent")
    assert look(box)[0] == "up"


def test_a_crash_loop_is_flapping_whatever_the_moment_shows(box: Box) -> None:
    box.as_user("touch", f"{HOME}/crash")
    box.run("kill", "-9", str(look(box)[2]))
    seen = wait(box, lambda seen: seen[0] == "flapping", ahead=0)
    assert "flapping" in seen[1]
    box.wait("as-user", "systemctl", "--user", "is-failed", "hermes-gateway", until=lambda done: done.status == 0)
    state, codes, *_ = look(box, ahead=0)
    assert state == "flapping"
    assert "unit_failed" in codes


def test_what_its_owner_left_behind_is_told_where_no_manager_answers(box: Box) -> None:
    state, codes, *_ = json.loads(
        box.as_user(
            "env",
            f"HERMES_HOME={HOME}",
            "XDG_RUNTIME_DIR=/none",
            "DBUS_SESSION_BUS_ADDRESS=unix:path=/none",
            PYTHON,
            "-P",
            "-c",
            LOOK,
            "600",
        )
    )
    assert state == "down"
    assert "pid_dead" in codes
