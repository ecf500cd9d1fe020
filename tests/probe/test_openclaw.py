"""The preset `openclaw`: a gateway that is seen by its lock file and its service."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from heartbeat.probe.targets import find_target
from tests.probe.scenes import Scene, codes, dead_pid, sleeping, ticks_of

LOCK = "tmp/openclaw-1000/gateway.0a1b2c3d.lock"


@pytest.fixture
def openclaw(scene: Scene) -> Scene:
    scene.name = "openclaw"
    scene.config(preset="openclaw")
    return scene


def lock(scene: Scene, name: str = LOCK, **fields: Any) -> None:
    usual = {
        "pid": scene.live,
        "createdAt": "2026-06-10T08:00:00.000Z",
        "configPath": str(scene.home / "openclaw.json"),
        "stateDir": str(scene.home),
        "startTime": ticks_of(scene.live),
    }
    scene.put(name, {key: value for key, value in (usual | fields).items() if value is not None})


def test_a_gateway_under_systemd_is_up(openclaw: Scene) -> None:
    lock(openclaw)
    openclaw.unit("openclaw-gateway.service")
    health = openclaw.examine()
    assert (health.state, health.problems, health.pid) == ("up", (), openclaw.live)


def test_a_folder_with_a_configuration_alone_is_no_gateway(openclaw: Scene) -> None:
    openclaw.put("openclaw.json", "{}")
    assert openclaw.examine().state == "absent"


def test_a_lock_that_was_left_behind_is_no_gateway(openclaw: Scene) -> None:
    lock(openclaw, pid=dead_pid())
    assert (openclaw.examine().state, codes(openclaw.examine())) == ("down", ["pid_dead", "unsupervised"])
    lock(openclaw, startTime=1)
    assert codes(openclaw.examine()) == ["pid_reused", "unsupervised"]
    openclaw.put(LOCK, "")
    assert codes(openclaw.examine()) == ["pid_file_corrupt", "unsupervised"]


def test_of_several_locks_the_one_that_lives_counts(openclaw: Scene) -> None:
    lock(openclaw, pid=dead_pid())
    lock(openclaw, "tmp/openclaw-1000/gateway.ffffffff.lock")
    lock(openclaw, "tmp/openclaw-1000/gateway.state.lock", pid=dead_pid())
    openclaw.unit("openclaw-gateway.service")
    assert openclaw.examine().state == "up"


def test_an_older_gateway_keeps_its_lock_among_the_temporary_files(
    openclaw: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = tmp_path / f"openclaw-{os.getuid()}"
    lock(openclaw, f"{folder}/gateway.0a1b2c3d.lock", stateDir=None)
    openclaw.unit("openclaw-gateway.service")
    assert openclaw.examine().state == "up"
    lock(openclaw, f"{folder}/gateway.0a1b2c3d.lock", configPath="/home/other/.openclaw/openclaw.json", stateDir=None)
    assert codes(openclaw.examine()) == ["pid_file_foreign"], "it is another installation's"


def test_a_service_without_its_lock_is_up_with_a_problem(openclaw: Scene) -> None:
    openclaw.unit("openclaw-gateway.service")
    assert (openclaw.examine().state, codes(openclaw.examine())) == ("degraded", ["pid_file_missing"])


def test_a_second_gateway_beside_the_service_is_told(openclaw: Scene) -> None:
    with sleeping() as other:
        lock(openclaw)
        openclaw.unit("openclaw-gateway.service", MainPID=other.pid)
        assert codes(openclaw.examine()) == ["other_process"]


def test_what_the_preset_says_follows_the_home(tmp_path: Path) -> None:
    file = f"{tmp_path}/config.toml"
    usual = find_target("openclaw", file, {})
    assert (usual.unit, usual.label, usual.is_usual) == ("openclaw-gateway.service", "ai.openclaw.gateway", True)
    moved = find_target("openclaw", file, {"OPENCLAW_STATE_DIR": "/srv/claw"})
    assert (moved.home, moved.unit, moved.is_usual) == ("/srv/claw", "openclaw-gateway.service", False)
    profile = find_target("openclaw", file, {"OPENCLAW_STATE_DIR": "~/.openclaw-dev"})
    assert (profile.unit, profile.label) == ("openclaw-gateway-dev.service", "ai.openclaw.dev")
