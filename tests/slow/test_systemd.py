"""heartbeat under a real systemd, in the user's own manager: started, killed, hung, worn out, stopped, removed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.slow.boxed_service import NOTHING, QUICK, UNIT, Service, is_up
from tests.slow.boxes import PYTHON, USER, Box, open_box

pytestmark = pytest.mark.slow

# After a while the first life holds the interpreter's lock for ever: a call into C that never gives it up.
DEADLOCKS = f"""[Service]
ExecStart=
ExecStart={PYTHON} -P %h/deadlocks.py
"""
DEADLOCKS_PROGRAM = """
import ctypes, os, sys, threading
from heartbeat.__main__ import main

def hold():
    if not os.path.exists("deadlocked"):
        open("deadlocked", "w").close()
        ctypes.PyDLL(None).pause()

threading.Timer(1, hold).start()
sys.argv = ["heartbeat", "run"]
sys.exit(main())
"""
BUSY = '#!/bin/sh\ntrap "" TERM\necho $$ >"$HEARTBEAT_HOME/busy"\nwhile :; do sleep 1; done\n'


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with open_box(tmp_path_factory.mktemp("box"), user=USER) as box:
        yield box


@pytest.fixture
def service(box: Box) -> Iterator[Service]:
    service = Service(box)
    service.clear()
    service.configure()
    yield service
    service.clear()


def everything(box: Box) -> list[str]:
    """Every file that a service could leave behind, but for what belongs to systemd itself."""
    folders = (f"/home/{USER}", "/etc/systemd", "/var/lib/systemd", f"/run/user/{box.run('id', '-u', USER).strip()}")
    found = box.run("find", *folders, "-not", "-path", "*/.cache/*", "-not", "-path", "*/systemd/units/*")
    return sorted(line for line in found.splitlines() if "/gnupg" not in line)


def test_it_is_installed_ready_and_watched_and_uninstalled_without_a_trace(box: Box, service: Service) -> None:
    before = everything(box)
    service.run("install")
    facts = service.facts()
    assert {name: facts[name] for name in ("ActiveState", "SubState", "Type", "UnitFileState", "WatchdogUSec")} == {
        "ActiveState": "active",
        "SubState": "running",
        "Type": "notify",
        "UnitFileState": "enabled",
        "WatchdogUSec": "1min 30s",
    }
    assert "0 jobs" in facts["StatusText"]
    told = service.data("status")
    assert (told["service"]["state"], told["service"]["enabled"], told["health"]["state"]) == ("running", True, "up")
    assert service.data("status")["service"]["pid"] == int(facts["MainPID"])
    assert "INFO started" in service.run("logs")
    assert box.try_as_user("systemd-analyze", "--user", "verify", f"{service.units}/{UNIT}").text == ""

    service.run("install")
    assert service.facts()["MainPID"] == facts["MainPID"], "an installation that holds is left alone"

    service.run("uninstall")
    service.run("uninstall")
    kept = [line for line in everything(box) if not line.startswith((service.state, f"/home/{USER}/.local"))]
    assert kept == [line for line in before if not line.startswith(f"/home/{USER}/.local")]
    assert box.as_user("systemctl", "--user", "list-units", "--all", "--plain", "--no-legend", "heartbeat*") == ""
    assert service.facts()["LoadState"] == "not-found"
    assert service.try_("status").status == 3


def test_it_comes_up_with_the_user_manager(box: Box, service: Service) -> None:
    service.run("install")
    uid = box.run("id", "-u", USER).strip()
    box.run("systemctl", "restart", f"user@{uid}.service")
    service.wait(is_up)
    assert service.facts()["NRestarts"] == "0"


def test_one_that_is_killed_comes_back_and_the_log_says_so(service: Service) -> None:
    service.drop_in(QUICK)
    service.run("install")
    service.kill("KILL")
    service.wait_for_restart()
    first, second = service.starts()
    assert first[5:7] == ["killed", "systemd says: signal (killed KILL)"]
    assert second[1] == "crash"
    assert service.data("status")["service"]["restarts"] == 1


def test_one_that_stands_still_is_stalled_until_the_watchdog_bites(service: Service) -> None:
    service.drop_in(QUICK)
    service.run("install")
    began = time.monotonic()
    service.kill("STOP")
    seen = service.try_("health", "--assert-live")
    assert (seen.status, "stalled" in seen.text) == (1, True), seen.text
    service.wait_for_restart()
    assert time.monotonic() - began < 15, "4 s of silence, 2 s for a signal that it cannot take"
    assert [start[1] for start in service.starts()] == ["asked", "watchdog"]
    assert service.starts()[0][5] == "watchdog"
    assert service.try_("health", "--assert-live").status == 0


def test_one_that_deadlocks_is_ended_started_again_and_says_where_it_stood(service: Service) -> None:
    service.drop_in(QUICK + DEADLOCKS)
    service.write(f"/home/{USER}/deadlocks.py", DEADLOCKS_PROGRAM)
    service.run("install")
    service.wait_for_restart(seconds=40)
    assert [start[1] for start in service.starts()] == ["asked", "watchdog"]
    assert "deadlocks.py" in service.read(f"{service.state}/crash.last.txt"), service.journal()


def test_a_crash_loop_ends_at_the_limit_and_the_owner_is_told(service: Service) -> None:
    service.drop_in(QUICK)
    service.run("install")
    for number in range(6):
        service.wait(lambda facts, number=number: is_up(facts) and facts["NRestarts"] == str(number))  # type: ignore[misc]
        service.kill("KILL")
    service.wait(lambda facts: facts["ActiveState"] == "failed")
    told = service.box.wait("cat", f"{service.config}/told.md", until=lambda done: "is down on" in done.out).out
    assert "heartbeat.service failed, and stays down: it was started too often, " in told
    assert "in vain, and the last time it was killed by KILL" in told
    assert told.count("is down on") == 1
    down = service.try_("health", "--assert-live")
    assert (down.status, "flapping" in down.text) == (1, True), down.text

    service.run("start")
    assert service.facts()["ActiveState"] == "active", "the limit is systemd's, and does not refuse the owner"
    assert service.try_("health", "--assert-live").status == 0, "a start that was asked for begins anew"


def test_a_configuration_with_faults_is_not_tried_again_and_told(service: Service) -> None:
    service.drop_in(QUICK)
    service.run("install")
    service.configure("[nonsense]\nx = 1\n")
    service.kill("KILL")
    facts = service.wait(lambda facts: facts["ActiveState"] == "failed")
    assert (facts["ExecMainStatus"], facts["NRestarts"], facts["Result"]) == ("4", "1", "exit-code")
    told = service.box.wait("cat", f"{service.config}/told.md", until=lambda done: "is down on" in done.out).out
    assert "the configuration, or the ledger, has faults" in told
    assert "heartbeat check" in told
    time.sleep(1)
    assert service.facts()["NRestarts"] == "1"
    refused = service.try_("restart")
    assert (refused.status, "nonsense" in refused.text) == (4, True), refused.text


def test_a_failed_start_says_why_with_the_last_lines(service: Service) -> None:
    service.drop_in("[Service]\nRestart=no\nExecStart=\nExecStart=/bin/sh -c 'echo no luck today; exit 3'\n")
    refused = service.try_("install")
    assert refused.status == 1
    assert "cannot start heartbeat.service: it ended with exit status 3" in refused.text
    assert "no luck today" in refused.text


def test_it_stops_within_five_seconds_however_busy_a_script_is(service: Service) -> None:
    service.configure('[jobs.busy]\nscript = "jobs/busy"\nevery = "1s"\n', busy=BUSY)
    service.run("install")
    script = service.box.wait("cat", f"{service.config}/busy", until=lambda done: bool(done.out.strip())).out.strip()
    began = time.monotonic()
    service.run("stop")
    assert time.monotonic() - began < 5
    facts = service.facts()
    assert (facts["ActiveState"], facts["Result"], facts["ExecMainStatus"]) == ("inactive", "success", "0")
    assert service.box.try_("kill", "-0", script).status == 1, "the script is gone too"
    assert service.starts()[-1][5] == "stopped"


def test_asking_for_restarts_is_no_flapping(service: Service) -> None:
    service.configure('[jobs.quiet]\nscript = "jobs/quiet"\nevery = "1h"\n', quiet=NOTHING)
    service.run("install")
    for _ in range(7):  # more than the start limit allows
        service.run("restart")
    assert {start[1] for start in service.starts()} == {"asked"}
    health = service.data("health")
    assert [problem["code"] for problem in health["problems"]] == ["restart_requests"], "by a program, and often"
    assert (health["state"], service.try_("health", "--assert-live").status) == ("degraded", 0)


def test_what_differs_from_what_would_be_written_is_told_line_by_line(service: Service) -> None:
    service.drop_in(QUICK)
    service.run("install")
    assert "heartbeat.service" not in service.run("check")
    service.systemctl("disable", UNIT)
    unit = service.read(f"{service.units}/{UNIT}")
    service.write(
        f"{service.units}/{UNIT}", unit.replace("RestartSec=10\n", "RestartSec=1\n") + "\n[Service]\nNice=5\n"
    )
    drift = service.try_("check").text
    for expected in (
        "Service RestartSec: there is '1', it would be '10'",
        "Service Nice: there is '5', it would be nothing",
        "is not enabled",
        "systemd has not read it yet",
    ):
        assert expected in drift
    service.run("install")
    assert "heartbeat.service" not in service.run("check")
    assert "test.conf is a drop-in of your own" in service.run("install")


def test_a_masked_unit_is_named_and_left_to_its_owner(service: Service) -> None:
    service.systemctl("mask", UNIT)
    refused = service.try_("install")
    assert (refused.status, "it is masked; `systemctl --user unmask" in refused.text) == (1, True), refused.text
    service.systemctl("unmask", UNIT)


def test_without_a_bus_in_the_environment_and_without_a_user_manager(box: Box, service: Service) -> None:
    service.run("install")
    bare = ("env", "-u", "XDG_RUNTIME_DIR", "-u", "DBUS_SESSION_BUS_ADDRESS", "heartbeat")
    assert "running" in box.as_user(*bare, "status"), "su, ssh and cron set neither"
    box.run("useradd", "--create-home", "bob")
    refused = box.try_("runuser", "-u", "bob", "--", "env", "-C", "/", "HOME=/home/bob", "heartbeat", "install")
    assert refused.status != 0
    assert "there is no user manager for bob" in refused.text
    assert "loginctl enable-linger bob" in refused.text
