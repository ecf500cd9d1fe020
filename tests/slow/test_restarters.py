"""What really restarts heartbeat under a real systemd is named, and gone once the command given has been run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.slow.boxed_service import NOTHING, UNIT, Service, is_up
from tests.slow.boxes import PYTHON, USER, Box, open_box

pytestmark = pytest.mark.slow

LOOK = """
import json, sys, time
from heartbeat.probe.restarters import find_restarters, subject_of
found = find_restarters(subject_of(sys.argv[1], sys.argv[2], now=time.time()))
print(json.dumps([[[each.kind, each.name, each.message, each.remedy] for each in found.restarters], found.faults]))
"""
KICK = f"systemctl --user try-restart {UNIT}"
JOB = '[jobs.check]\nevery = "1h"\nscript = "jobs/check"\n'


@dataclass(frozen=True)
class Named:
    kind: str
    name: str
    message: str
    remedy: str


class Scene:
    """An installed heartbeat, and who looks for its restarters."""

    def __init__(self, box: Box, service: Service, who: tuple[str, ...]) -> None:
        self.box = box
        self.service = service
        self._who = who

    def as_looker(self, *argv: str) -> str:
        return self.box.run(*self._who, *argv)

    def named(self) -> list[Named]:
        """What is found now; nothing may be closed to the look."""
        said = self.as_looker(PYTHON, "-P", "-c", LOOK, self.service.config, self.service.state)
        found, faults = json.loads(said)
        assert faults == []
        return [Named(*each) for each in found]

    def the_one(self) -> Named:
        """Found once it has been at work twice."""
        before = len(self.service.starts())
        self.box.wait(
            "cat",
            f"{self.service.state}/starts.log",
            until=lambda done: len(done.out.splitlines()) >= before + 2,
        )
        (found,) = self.named()
        return found

    def remove(self, found: Named) -> None:
        """Run the command that was given, as whoever it was given to."""
        self.as_looker("sh", "-c", found.remedy)
        assert self.named() == []


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with open_box(tmp_path_factory.mktemp("box"), user=USER) as box:
        yield box


@pytest.fixture(scope="module")
def scene(box: Box) -> Iterator[Scene]:
    """A user's own heartbeat, looked at by that user."""
    service = Service(box)
    service.configure(JOB, check=NOTHING)
    # The loops here are quick; that systemd gives up on heartbeat is for other tests.
    service.drop_in("[Unit]\nStartLimitIntervalSec=0\n")
    service.run("install")
    yield Scene(box, service, ("as-user",))
    service.clear()


@pytest.fixture(autouse=True)
def _up(request: pytest.FixtureRequest) -> None:
    """It is up, and nobody restarts it."""
    if "scene" in request.fixturenames:
        scene: Scene = request.getfixturevalue("scene")
        scene.service.systemctl("start", UNIT)
        scene.service.wait(is_up)
        assert scene.named() == []


def test_a_unit_that_restarts_it_again_and_again_is_named_within_two_rounds(scene: Scene) -> None:
    loop = f"[Service]\nExecStart=/bin/sh -c 'while sleep 1; do {KICK}; done'\n[Install]\nWantedBy=default.target\n"
    scene.service.write(f"{scene.service.units}/kick.service", loop)
    scene.service.systemctl("daemon-reload")
    scene.service.systemctl("enable", "--now", "kick.service")
    found = scene.the_one()
    assert (found.kind, found.name) == ("unit", "kick.service")
    assert found.message == f"kick.service (user manager) runs `{KICK}`"
    assert found.remedy == "systemctl --user disable --now kick.service"
    told = scene.service.try_("health", "--assert-no-restarter")
    assert told.status == 1
    assert found.message in told.err
    assert found.remedy in told.err
    scene.remove(found)
    assert scene.service.try_("health", "--assert-no-restarter").status == 0
    assert scene.box.try_as_user("systemctl", "--user", "is-enabled", "kick.service").out.strip() == "disabled"


def test_a_timer_that_lies_on_disk_is_disabled(scene: Scene) -> None:
    scene.service.write(f"{scene.service.units}/kick.service", f"[Service]\nType=oneshot\nExecStart={KICK}\n")
    timer = "[Timer]\nOnActiveSec=500ms\nOnUnitInactiveSec=1s\nAccuracySec=1ms\n[Install]\nWantedBy=timers.target\n"
    scene.service.write(f"{scene.service.units}/kick.timer", timer)
    scene.service.systemctl("daemon-reload")
    scene.service.systemctl("enable", "--now", "kick.timer")
    found = scene.the_one()
    assert (found.kind, found.name) == ("unit", "kick.service")
    assert found.remedy == "systemctl --user disable --now kick.timer"
    scene.remove(found)


def test_a_transient_timer_is_stopped(scene: Scene) -> None:
    timed = ("--on-active=500ms", "--on-unit-inactive=1s", "--timer-property=AccuracySec=1ms", "--unit=it's odd")
    scene.as_looker("systemd-run", "--user", *timed, *KICK.split())
    found = scene.the_one()
    assert found.kind == "unit"
    assert found.remedy == "systemctl --user stop 'it\\x27s\\x20odd.timer'"
    scene.remove(found)


def test_a_transient_loop_is_stopped(scene: Scene) -> None:
    scene.as_looker("systemd-run", "--user", "--unit=loop", "sh", "-c", f"while sleep 1; do {KICK}; done")
    found = scene.the_one()
    assert (found.kind, found.remedy) == ("unit", "systemctl --user stop loop.service")
    scene.remove(found)


def test_a_second_unit_that_runs_it_is_named(scene: Scene) -> None:
    text = f"[Service]\nExecStart={PYTHON} -P -m heartbeat run\nRestart=always\nRestartSec=500ms\n"
    scene.service.write(f"{scene.service.units}/mine.service", text)
    scene.service.systemctl("daemon-reload")
    scene.service.systemctl("start", "mine.service")
    (found,) = scene.named()
    assert (found.kind, found.name) == ("second_supervisor", "mine.service")
    scene.remove(found)


def test_a_unit_of_ones_own_that_alone_runs_it_is_no_restarter(scene: Scene) -> None:
    scene.service.run("uninstall")
    text = f"[Service]\nExecStart={PYTHON} -P -m heartbeat run\nRestart=always\n"
    scene.service.write(f"{scene.service.units}/mine.service", text)
    scene.service.systemctl("daemon-reload")
    try:
        scene.service.systemctl("start", "mine.service")
        scene.box.wait("as-user", "heartbeat", "health", until=lambda done: "kept by mine.service" in done.out)
        assert scene.named() == []
    finally:
        scene.service.systemctl("stop", "mine.service")
        scene.service.run("install")


def test_a_loop_at_large_is_ended(scene: Scene) -> None:
    scene.as_looker("sh", "-c", f"setsid sh -c 'while sleep 1; do {KICK}; done' >/dev/null 2>&1 </dev/null &")
    found = scene.the_one()
    assert found.kind == "process"
    assert found.remedy == f"kill {found.name}"
    scene.remove(found)


def test_whoever_is_seen_sending_the_signal_is_ended(scene: Scene) -> None:
    program = f"""
import os, signal, subprocess, time
while True:
    time.sleep(0.5)
    try:
        os.kill(int(open({scene.service.state + "/daemon.lock"!r}).read().split(":")[0]), signal.SIGTERM)
    except (OSError, ValueError):
        pass
    subprocess.run(["systemctl", "--user", "start", "heart" + "beat"])
"""
    scene.service.write(f"/home/{USER}/ender", program)
    scene.as_looker("sh", "-c", "setsid python3 ~/ender >/dev/null 2>&1 </dev/null &")
    found = scene.the_one()
    assert found.kind == "sender"
    assert "(`python3 /home/ann/ender`) sent the signal that ended it" in found.message
    scene.remove(found)


def test_a_quiet_machine_accuses_nobody(scene: Scene) -> None:
    looks = "[Service]\nType=oneshot\nExecStart=/usr/local/bin/heartbeat health --assert-live\n"
    scene.service.write(f"{scene.service.units}/look.service", looks)
    scene.service.write(f"{scene.service.units}/look.timer", "[Timer]\nOnActiveSec=1s\nOnUnitInactiveSec=1s\n")
    scene.service.systemctl("daemon-reload")
    scene.service.systemctl("start", "look.timer")
    scene.service.run("restart")
    assert scene.named() == []
    assert scene.service.run("health", "--assert-no-restarter") == ""
    scene.service.systemctl("stop", "look.timer")


def test_root_sees_what_restarts_a_users_heartbeat_from_anywhere(box: Box, scene: Scene) -> None:
    root = Scene(box, scene.service, ())
    kick = f"systemctl --user -M {USER}@ try-restart {UNIT}"
    box.run("systemd-run", "--unit=root-loop", "sh", "-c", f"while sleep 1; do {kick}; done")
    found = root.the_one()
    assert (found.name, found.remedy) == ("root-loop.service", "systemctl stop root-loop.service")
    (seen,) = scene.named()
    assert seen.remedy == "sudo systemctl stop root-loop.service"
    root.remove(found)
    scene.as_looker("systemd-run", "--user", "--unit=loop", "sh", "-c", f"while sleep 1; do {KICK}; done")
    (found,) = root.named()
    assert found.remedy == f"systemctl --user -M {USER}@ stop loop.service"
    root.remove(found)
    box.write("/etc/cron.d/kick", f"# kicks\n* * * * * {USER} {KICK}\n")
    (found,) = root.named()
    assert (found.kind, found.name) == ("cron", "/etc/cron.d/kick:2")
    root.remove(found)
    assert box.run("cat", "/etc/cron.d/kick") == f"# kicks\n#* * * * * {USER} {KICK}\n"


def test_whoever_may_not_read_the_machines_service_is_told_what_systemd_says_and_accuses_nobody(box: Box) -> None:
    service = Service(box, is_system=True)
    service.configure(JOB, check=NOTHING)
    service.run("install", "--system", "--as", USER)
    service.wait(is_up)
    other = ("setpriv", "--reuid=65534", "--clear-groups", "heartbeat", "health", "--system")
    assert box.run(*other).startswith("degraded: heartbeat runs, but what it does cannot be read")
    assert "second_supervisor" not in box.run(*other)
    assert box.run(*other, "--assert-live", "--assert-no-restarter") == ""
    service.systemctl("stop", UNIT)
    done = box.try_(*other, "--nagios")
    assert (done.status, "heartbeat start --system" in done.out) == (2, True)


def test_what_restarts_a_service_of_the_system_is_named(box: Box) -> None:
    service = Service(box, is_system=True)
    service.configure(JOB, check=NOTHING)
    service.run("install", "--system", "--as", USER)
    service.wait(is_up)
    scene = Scene(box, service, ())
    assert scene.named() == []
    loop = f'#!/bin/bash\nunit={UNIT}\nwhile sleep 1; do\n  systemctl try-restart "${{unit}}" || true\ndone\n'
    box.write("/usr/local/sbin/watch-over-heartbeat", loop, 0o755)
    box.write("/etc/systemd/system/over.service", "[Service]\nExecStart=/usr/local/sbin/watch-over-heartbeat -v\n")
    box.run("systemctl", "daemon-reload")
    box.run("systemctl", "start", "over.service")
    found = scene.the_one()
    runs = f"/usr/local/sbin/watch-over-heartbeat, which has `systemctl try-restart {UNIT}`"
    assert found.message == f"over.service (system manager) runs {runs}"
    scene.remove(found)
    service.clear()
