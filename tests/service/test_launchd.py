"""The service under launchd: each reported trap is set by a stand-in that supervises a real process.

launchd/README.md lists the traps, each with the test that springs it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from heartbeat.errors import NotFound, ServiceError
from heartbeat.marker import read_marker
from heartbeat.service.launchctl import Launchctl
from heartbeat.service.plan import Standing
from tests.service.launchd_world import World, until, world

GUI, USER = f"gui/{os.getuid()}", f"user/{os.getuid()}"
TARGET = f"{GUI}/local.heartbeat"
MODERN = {"bootstrap", "bootout", "kickstart", "kill", "enable", "print", "print-disabled"}


@pytest.fixture
def mac(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made
        # Whatever a test did: no verb of the old days, no `submit`, and nothing that outlives an uninstall.
        asked = {line.split()[0] for line in made.asked()} if (made.fake / "asked.log").exists() else set()
        assert asked - MODERN - made.others == set()


def pid_of(mac: World) -> int | None:
    """What launchd says; without the questions that `status` asks beside that."""
    loaded = Launchctl(str(mac.launchctl)).loaded(TARGET)
    return loaded.pid if loaded is not None else None


# Installing


def test_install_loads_an_agent_that_runs_with_what_the_plan_gives_it_and_nothing_else(mac: World) -> None:
    said = mac.launchd().install(mac.plan())
    assert said == (f"wrote {mac.agents}/local.heartbeat.plist", f"{TARGET} runs as process {pid_of(mac)}")
    found = mac.environment()
    assert found["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert found["LANG"] == "de_DE.UTF-8"
    assert found["HEARTBEAT_SUPERVISOR"] == "launchd"
    assert found["HEARTBEAT_STATE_DIR"] == str(mac.home.state)
    assert found.keys() - {"PATH", "LANG", "LC_CTYPE"} == {
        *("HOME", "USER", "LOGNAME", "TMPDIR", "XPC_SERVICE_NAME", "XPC_FLAGS"),
        *(
            "HEARTBEAT_SUPERVISOR",
            "HEARTBEAT_INSTALLED_VERSION",
            "HEARTBEAT_HOME",
            "HEARTBEAT_STATE_DIR",
            "HEARTBEAT_CACHE_DIR",
        ),
    }
    assert (mac.home.state / "life").stat().st_mode & 0o777 == 0o600, "the umask"
    marker = read_marker(mac.home.marker_file)
    assert marker == mac.launchd().marker(mac.plan())
    assert marker is not None
    assert (marker.manager, marker.unit, marker.domain, marker.version) == ("launchd", "local.heartbeat", GUI, "1.2.3")


def test_installing_again_what_runs_unchanged_touches_nothing(mac: World) -> None:
    mac.launchd().install(mac.plan())
    pid, count, written = pid_of(mac), len(mac.asked()), (mac.agents / "local.heartbeat.plist").stat().st_mtime_ns
    (said,) = mac.launchd().install(mac.plan())
    assert said == f"nothing to do: {TARGET} is installed and runs as process {pid}"
    assert {line.split()[0] for line in mac.asked()[count:]} == {"print"}
    assert (mac.agents / "local.heartbeat.plist").stat().st_mtime_ns == written
    assert mac.life() == ["began"]


def test_a_changed_plan_is_loaded_anew_though_the_old_daemon_takes_its_time(mac: World) -> None:
    # Deaf: it lasts until ExitTimeOut, and `bootstrap` answers 5 for as long, and a while longer.
    mac.mode("deaf")
    mac.launchd().install(mac.plan())
    before, fresh = pid_of(mac), mac.plan(path="/usr/bin", version="2.0")
    file = mac.agents / "local.heartbeat.plist"
    assert mac.launchd().drift(fresh) == (
        f"{file}: EnvironmentVariables PATH is '/usr/local/bin:/usr/bin:/bin'; it would be '/usr/bin'",
        f"{file}: it was installed by version 1.2.3; this is 2.0",
    )
    mac.mode("good")
    mac.launchd().install(fresh)
    assert pid_of(mac) not in (None, before)
    assert mac.environment()["PATH"] == fresh.path
    assert mac.launchd().drift(fresh) == ()
    assert sum(line.startswith("bootstrap") for line in mac.asked()) > 2, "the window was never met"


def test_an_install_that_was_cut_short_is_completed_by_the_next(mac: World) -> None:
    mac.launchd().install(mac.plan())
    mac.ask("bootout", TARGET)
    until(lambda: mac.launchd().status(mac.plan()).state == "stopped")
    mac.launchd().install(mac.plan())
    assert pid_of(mac) is not None


def test_a_job_that_launchd_loads_but_does_not_spawn_is_kickstarted(tmp_path: Path) -> None:
    with world(tmp_path, FAKE_LAZY="1") as mac:
        mac.launchd().install(mac.plan())
        assert mac.life() == ["began"]
        assert f"kickstart {TARGET}" in mac.asked()


def test_a_file_that_others_could_write_is_not_left_so_whatever_the_umask(mac: World) -> None:
    before = os.umask(0)
    try:
        mac.launchd().install(mac.plan())
    finally:
        os.umask(before)
    assert (mac.agents / "local.heartbeat.plist").stat().st_mode & 0o777 == 0o644


def test_a_process_that_stays_is_believed_without_a_proof(mac: World) -> None:
    mac.mode("mute")
    assert "runs as process" in mac.launchd(tempo=0.03).install(mac.plan())[1]


@pytest.mark.parametrize(("mode", "shown"), [("ends 0", "last exit = 0"), ("ends 3", "last exit = 3")])
def test_a_daemon_that_ends_at_once_fails_the_install_with_its_status(mac: World, mode: str, shown: str) -> None:
    mac.mode(mode)
    with pytest.raises(
        ServiceError, match=f"cannot keep {TARGET} running: .*{shown}; `heartbeat logs` and .*launchd.err"
    ):
        mac.launchd(tempo=0.03).install(mac.plan())


def test_a_program_that_is_gone_fails_the_install(mac: World) -> None:
    with pytest.raises(ServiceError, match="last exit = 78"):
        mac.launchd(tempo=0.02).install(mac.plan(argv=("/nowhere/python", "-m", "heartbeat", "run")))
    assert (
        "/nowhere/python, is gone"
        in mac.launchd().drift(mac.plan(argv=("/nowhere/python", "-m", "heartbeat", "run")))[0]
    )


# Domains


def test_without_a_login_at_the_screen_the_agent_goes_into_the_domain_of_the_user(tmp_path: Path) -> None:
    with world(tmp_path, FAKE_GUI="0") as mac:
        mac.launchd().install(mac.plan())
        assert mac.launchd().marker(mac.plan()).domain == USER
        assert "<string>Background</string>" in (mac.agents / "local.heartbeat.plist").read_text()
        # Somebody logs in at the screen: what was installed is still in the domain it was installed into.
        mac.log_out_and_in(FAKE_GUI="1")
        mac.load_agents(USER)
        assert mac.launchd().status(mac.plan()).state == "running"
        assert mac.launchd().drift(mac.plan()) == ()
        mac.launchd().stop(mac.plan())
        mac.launchd().start(mac.plan())
        assert mac.ask("print", f"{USER}/local.heartbeat")[0] == 0
        # Another install moves it to the screen's, where it does not run twice.
        said = mac.launchd().install(mac.plan())
        assert said[0] == f"stopped {USER}/local.heartbeat"
        assert pid_of(mac) is not None
        assert mac.ask("print", f"{USER}/local.heartbeat")[0] == 113


# Disabled


def test_a_disabled_job_is_shown_and_enabled_before_it_is_loaded(mac: World) -> None:
    mac.launchd().install(mac.plan())
    mac.launchd().stop(mac.plan())
    mac.others.add("disable")
    mac.ask("disable", TARGET)
    assert mac.launchd().status(mac.plan()) == Standing(
        "stopped", "not loaded; disabled, so it will not come up by itself", enabled=False
    )
    assert any("is disabled" in line for line in mac.launchd().drift(mac.plan()))
    mac.launchd().start(mac.plan())
    assert pid_of(mac) is not None
    assert mac.launchd().drift(mac.plan()) == ()


def test_uninstall_leaves_nothing_and_forbids_nothing(mac: World) -> None:
    mac.launchd().install(mac.plan())
    ledger = mac.home.ledger_file
    ledger.write_text("stays")
    said = mac.launchd().uninstall(mac.plan())
    assert said[0] == f"stopped {TARGET}"
    assert list(mac.agents.iterdir()) == []
    assert not mac.home.marker_file.exists()
    assert not (mac.home.state / "launchd.err").exists()
    assert ledger.read_text() == "stays"
    assert mac.ask("print", TARGET)[0] == 113
    assert "local.heartbeat" not in mac.ask("print-disabled", GUI)[1]
    assert mac.launchd().uninstall(mac.plan()) == ("nothing to do: local.heartbeat is not installed",)
    assert mac.launchd().drift(mac.plan()) == ()
    mac.launchd().install(mac.plan())
    assert pid_of(mac) is not None


# Stopping and starting


def test_a_stop_stays_stopped_until_the_next_login(mac: World) -> None:
    mac.launchd().install(mac.plan())
    (said,) = mac.launchd().stop(mac.plan())
    assert said == f"stopped {TARGET}; it stays down until `heartbeat start`, or until the next login"
    assert mac.life() == ["began", "ended"]
    assert mac.launchd().status(mac.plan()) == Standing("stopped", "not loaded", enabled=True)
    assert mac.launchd().stop(mac.plan()) == (f"nothing to do: {TARGET} does not run",)
    mac.log_out_and_in()
    mac.load_agents(GUI)
    until(lambda: mac.life().count("began") == 2)


def test_a_daemon_that_is_deaf_is_stopped_all_the_same(mac: World) -> None:
    mac.mode("deaf")
    mac.launchd().install(mac.plan())
    mac.launchd().stop(mac.plan())
    assert mac.launchd().status(mac.plan()).state == "stopped"


def test_a_daemon_that_ends_with_0_stays_down_and_start_brings_it_back(mac: World) -> None:
    mac.launchd().install(mac.plan())
    mac.ask("kill", "SIGTERM", TARGET)
    until(lambda: mac.launchd().status(mac.plan()).state == "stopped")
    assert mac.launchd().status(mac.plan()).detail == "state = not running, runs = 1, last exit = 0"
    (said,) = mac.launchd().start(mac.plan())
    assert said == f"{TARGET} runs as process {pid_of(mac)}"
    assert mac.launchd().start(mac.plan()) == (f"nothing to do: {TARGET} runs as process {pid_of(mac)}",)
    assert mac.life() == ["began", "ended", "began"]


def test_a_daemon_that_was_killed_is_started_again_and_counted(mac: World) -> None:
    mac.launchd().install(mac.plan())
    before = pid_of(mac)
    mac.ask("kill", "SIGKILL", TARGET)
    until(lambda: pid_of(mac) not in (None, before))
    standing = mac.launchd().status(mac.plan())
    assert (standing.state, standing.restarts, standing.enabled) == ("running", 1, True)
    assert standing.detail == "state = running, runs = 2, last exit = Killed: 9"


def test_a_restart_lets_the_old_process_end_by_itself(mac: World) -> None:
    mac.launchd().install(mac.plan())
    before = pid_of(mac)
    mac.launchd().restart(mac.plan())
    assert pid_of(mac) not in (None, before)
    assert mac.life() == ["began", "ended", "began"]
    assert not any("-k" in line for line in mac.asked())


def test_a_restart_of_what_was_stopped_starts_it(mac: World) -> None:
    mac.launchd().install(mac.plan())
    mac.launchd().stop(mac.plan())
    mac.launchd().restart(mac.plan())
    assert mac.life() == ["began", "ended", "began"]


def test_an_agent_may_restart_the_service_that_started_it(mac: World) -> None:
    mac.mode("calls restart")
    mac.launchd().install(mac.plan())
    # Only launchd can do it all: whoever asks is ended along with the service.
    until(lambda: mac.life().count("began") == 2)
    until(lambda: pid_of(mac) is not None)
    assert f"kickstart -k {TARGET}" in mac.asked()


def test_what_would_be_left_half_done_is_refused_from_within(mac: World) -> None:
    mac.mode("calls uninstall")
    mac.launchd().install(mac.plan())
    until((mac.home.state / "said").read_text)
    assert "cannot uninstall from within heartbeat's own service" in (mac.home.state / "said").read_text()
    assert (mac.agents / "local.heartbeat.plist").exists()
    assert pid_of(mac) is not None


@pytest.mark.parametrize("verb", ["start", "restart"])
def test_what_is_not_installed_cannot_be_started(mac: World, verb: str) -> None:
    with pytest.raises(NotFound, match=f"cannot {verb} local.heartbeat: there is no .*; `heartbeat install` writes it"):
        getattr(mac.launchd(), verb)(mac.plan())
    assert mac.launchd().status(mac.plan()) == Standing("not installed")
    assert mac.launchd().stop(mac.plan()) == (f"nothing to do: {TARGET} does not run",)
