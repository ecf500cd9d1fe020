"""A service's life under launchd, where it takes its time, and with the daemon that is installed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from heartbeat.errors import ServiceError
from heartbeat.lock import holder_of
from heartbeat.pulse import read_pulse
from tests.service.launchd_world import SCALE, World, until, world

pytestmark = pytest.mark.slow

GUI, USER = f"gui/{os.getuid()}", f"user/{os.getuid()}"
TARGET = f"{GUI}/local.heartbeat"


@pytest.fixture
def mac(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def pid_of(mac: World) -> int | None:
    return mac.launchd().status(mac.plan()).pid


def test_a_restart_replaces_a_process_that_does_not_end(mac: World) -> None:
    mac.mode("deaf")
    mac.launchd().install(mac.plan())
    before = pid_of(mac)
    mac.mode("good")
    mac.launchd(tempo=0.03).restart(mac.plan())
    assert pid_of(mac) not in (None, before)
    assert f"kickstart -k {TARGET}" in mac.asked()


def test_a_stop_also_stops_what_launchd_is_about_to_start_again(mac: World) -> None:
    mac.mode("ends 3")
    with pytest.raises(ServiceError):
        mac.launchd(tempo=0.02).install(mac.plan())
    until(lambda: mac.launchd().status(mac.plan()).state == "starting")  # it waits for the throttle
    mac.launchd().stop(mac.plan())
    began = len(mac.life())
    with pytest.raises(AssertionError, match="it never came"):
        until(lambda: len(mac.life()) > began, seconds=0.8)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start a process for somebody else")
def test_a_daemon_of_the_machine_runs_as_the_user_it_is_for() -> None:
    # Not in pytest's own folder, which others may not pass through.
    with TemporaryDirectory() as folder, world(Path(folder)) as mac:
        Path(folder).chmod(0o755)
        os.chown(mac.home.state, 65534, 65534)
        plan = mac.plan(
            scope="system", user="nobody", argv=("/bin/sh", "-c", "id -un > $HEARTBEAT_STATE_DIR/who; sleep 60")
        )
        said = mac.launchd(tempo=0.05).install(plan)
        assert said[0] == f"wrote {mac.daemons}/local.heartbeat.plist"
        until((mac.home.state / "who").exists)
        until(lambda: (mac.home.state / "who").read_text() == "nobody\n")
        assert mac.launchd().marker(plan).domain == "system"
        assert mac.home.marker_file.stat().st_uid == 65534
        mac.launchd().uninstall(plan)
        assert list(mac.daemons.iterdir()) == []


def test_a_job_that_was_loaded_from_another_file_is_shown_and_replaced(mac: World) -> None:
    mac.launchd().install(mac.plan())
    other = mac.folder / "other.plist"
    other.write_bytes((mac.agents / "local.heartbeat.plist").read_bytes())
    mac.launchd().stop(mac.plan())
    until(lambda: mac.ask("bootstrap", GUI, str(other))[0] == 0)
    assert f"launchd has {TARGET} from another file, {other}" in mac.launchd().drift(mac.plan())[0]
    mac.launchd().install(mac.plan())
    assert mac.launchd().drift(mac.plan()) == ()


def test_over_ssh_an_agent_of_the_screen_is_said_to_be_out_of_reach(mac: World) -> None:
    mac.launchd().install(mac.plan())
    mac.log_out_and_in(FAKE_GUI="0")
    assert mac.launchd().status(mac.plan()).state == "stopped"
    with pytest.raises(ServiceError, match=r"the domain does not exist just now.*125.*`heartbeat install` again"):
        mac.launchd().start(mac.plan())
    mac.launchd().install(mac.plan())
    assert mac.launchd().marker(mac.plan()).domain == USER


def test_a_crash_loop_is_held_back_by_the_throttle_and_by_nothing_else(tmp_path: Path) -> None:
    # launchd has no limit of starts: that the loop is seen and slowed down is left to the daemon.
    with world(tmp_path, FAKE_SCALE="0.02") as mac:
        mac.mode("ends 3")
        with pytest.raises(ServiceError, match="last exit = 3"):
            mac.launchd().install(mac.plan())
        until(lambda: (mac.launchd().status(mac.plan()).restarts or 0) >= 4)
        assert mac.launchd().status(mac.plan()).state in ("starting", "running", "failed")
        mac.mode("good")
        until(lambda: mac.launchd().status(mac.plan()).state == "running")


# The daemon itself


def real(mac: World) -> tuple[str, ...]:
    (mac.home.config / "config.toml").write_text("")
    return (sys.executable, "-P", "-m", "heartbeat", "run")


def test_the_installed_daemon_lives_and_dies_under_launchd(tmp_path: Path) -> None:
    with world(tmp_path) as mac:
        plan = mac.plan(argv=real(mac), path=os.environ["PATH"])
        launchd = mac.launchd(tempo=1.0)
        launchd.install(plan)
        first = launchd.status(plan).pid
        pulse = read_pulse(mac.home.pulse_file)
        assert pulse is not None
        assert pulse.owner.startswith(f"{first}:")
        assert launchd.drift(plan) == ()
        # Killed: started again, and no lock is in its way.
        os.kill(first or 0, signal.SIGKILL)
        until(lambda: launchd.status(plan).pid not in (None, first), 60)
        until(lambda: (holder_of(mac.home.lock_file) or "").startswith(f"{launchd.status(plan).pid}:"), 60)
        # Restarted: the old one ended by itself.
        second = launchd.status(plan).pid
        launchd.restart(plan)
        assert launchd.status(plan).pid not in (None, second)
        assert launchd.status(plan).detail.endswith("last exit = 0")
        # Stopped: it stays down, and the lock is free.
        launchd.stop(plan)
        assert launchd.status(plan).state == "stopped"
        assert holder_of(mac.home.lock_file) is None
        launchd.start(plan)
        assert launchd.status(plan).state == "running"
        launchd.uninstall(plan)
        assert launchd.status(plan).state == "not installed"
        assert holder_of(mac.home.lock_file) is None


def test_a_configuration_that_is_wrong_is_not_tried_again(tmp_path: Path) -> None:
    with world(tmp_path) as mac:
        plan = mac.plan(argv=real(mac), path=os.environ["PATH"])
        (mac.home.config / "config.toml").write_text("[quiet]\nwindows = 3\n")
        with pytest.raises(ServiceError, match="last exit = 0"):
            mac.launchd(tempo=1.0).install(plan)
        until(lambda: mac.launchd().status(plan).state == "stopped")
        time.sleep(30 * SCALE * 3)  # in which launchd would have started it again
        assert mac.launchd().status(plan).restarts == 0
        assert "quiet.windows" in mac.home.log_file.read_text()


def test_every_verb_of_the_command_line_works_under_launchd(tmp_path: Path) -> None:
    with world(tmp_path) as mac:
        (mac.home.config / "config.toml").write_text("")
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "user"),
            "LANG": "C.UTF-8",
            "HEARTBEAT_LAUNCHCTL": str(mac.launchctl),
        }

        def heartbeat(*words: str, status: int = 0) -> str:
            command = (sys.executable, "-P", "-m", "heartbeat", "--home", str(mac.home.config), *words)
            done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode == status, done
            return done.stdout

        assert "<key>KeepAlive</key>" in heartbeat("install", "--dry-run")
        assert list(mac.agents.iterdir()) == []
        heartbeat("install")
        assert "nothing to do" in heartbeat("install")
        assert ": running (" in heartbeat("status")
        assert "started version=" in heartbeat("logs")
        heartbeat("restart")
        heartbeat("stop")
        assert ": stopped (" in heartbeat("status", status=1)
        heartbeat("start")
        assert "heartbeat is up, 0 jobs" in heartbeat("health")
        (plist,) = mac.agents.iterdir()
        plist.write_text(plist.read_text().replace("<integer>20</integer>", "<integer>5</integer>"))
        assert "ExitTimeOut is 5; it would be 20" in heartbeat("check")
        heartbeat("uninstall")
        assert ": not installed" in heartbeat("status", status=3)
        assert list(mac.agents.iterdir()) == []
