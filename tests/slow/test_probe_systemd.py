"""The probe beside a real systemd, in the user's own manager: what its counters and states add to the files."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.slow.boxed_service import QUICK, UNIT, Service, is_up
from tests.slow.boxes import USER, Box, open_box

pytestmark = pytest.mark.slow

BARE = ("env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", f"HOME=/home/{USER}", "heartbeat", "--json", "health")
"""As cron calls it: without a word of where the user's manager is."""


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with open_box(tmp_path_factory.mktemp("box"), user=USER) as box:
        yield box


@pytest.fixture
def service(box: Box) -> Iterator[Service]:
    service = Service(box)
    service.clear()
    service.configure()
    service.run("install")
    yield service
    service.clear()


def health(service: Service) -> tuple[str, list[str], dict[str, Any]]:
    data = service.data("health")
    return data["state"], [problem["code"] for problem in data["problems"]], data


def live(service: Service) -> int:
    return service.try_("health", "--assert-live").status


def test_the_supervisor_is_asked_by_its_owner_by_cron_and_by_root(box: Box, service: Service) -> None:
    state, codes, data = health(service)
    assert (state, codes, data["restarts"]) == ("up", [], 0)
    said = box.try_("setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", *BARE)
    assert json.loads(said.out)["data"]["restarts"] == 0, said
    folders = (f"HEARTBEAT_HOME={service.config}", f"HEARTBEAT_STATE_DIR={service.state}")
    as_root = json.loads(box.run("env", *folders, "heartbeat", "--json", "health"))["data"]
    assert (as_root["state"], as_root["restarts"]) == ("up", 0)


def test_one_that_was_killed_is_restarting_then_just_restarted_then_up(service: Service) -> None:
    service.drop_in("[Service]\nRestartSec=4s\n")
    service.kill("KILL")
    service.wait(lambda facts: facts["SubState"] == "auto-restart")
    state, codes, _ = health(service)
    assert (state, codes, live(service)) == ("degraded", ["restarting"], 0)
    service.wait_for_restart()
    state, codes, data = health(service)
    assert (state, codes, data["restarts"]) == ("degraded", ["just_restarted"], 1)
    time.sleep(16)
    assert health(service)[:2] == ("up", [])


def test_a_service_that_dies_before_it_can_log_its_start_flaps_by_the_supervisors_count(service: Service) -> None:
    service.drop_in(f"{QUICK}ExecStart=\nExecStart=/bin/false\nExecStopPost=\n")
    service.systemctl("restart", "--no-block", UNIT)
    service.wait(lambda facts: facts["ActiveState"] == "failed", 60)
    state, codes, data = health(service)
    assert (state, live(service)) == ("flapping", 1)
    assert codes[0] == "flapping"
    assert "start_limit" in codes
    assert data["restarts"] >= 4
    remedy = next(each["message"] for each in data["problems"] if each["code"] == "start_limit")
    assert f"systemctl --user reset-failed {UNIT}" in remedy


def test_a_configuration_that_is_not_valid_is_named(service: Service) -> None:
    service.write(f"{service.config}/config.toml", "nosuch = 1\n")
    service.systemctl("restart", "--no-block", UNIT)
    service.wait(lambda facts: facts["ActiveState"] == "failed")
    state, codes, _ = health(service)
    assert (state, live(service)) == ("down", 1)
    assert "config_error" in codes
    assert "ended_failed" in codes


def test_one_that_was_stopped_is_down_and_one_that_was_started_by_hand_is_a_stranger_to_its_service(
    box: Box, service: Service
) -> None:
    service.run("stop")
    state, codes, _ = health(service)
    assert (state, codes, live(service)) == ("down", ["not_running", "ended_stopped"], 1)
    box.sh(f"runuser -u {USER} -- env HOME=/home/{USER} setsid heartbeat run </dev/null >/dev/null 2>&1 &")
    end = time.monotonic() + 20
    while "foreign_daemon" not in health(service)[1]:
        assert time.monotonic() < end, health(service)
        time.sleep(0.2)
    assert live(service) == 0
    box.run("kill", str(health(service)[2]["pid"]))


def test_a_stopped_process_is_stalled_and_goes_on(service: Service) -> None:
    service.kill("STOP")
    state, codes, _ = health(service)
    assert (state, codes, live(service)) == ("stalled", ["process_stopped"], 1)
    service.kill("CONT")
    assert live(service) == 0
    assert is_up(service.facts())
