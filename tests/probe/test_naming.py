"""The commands in messages, for the installation that they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartbeat.cli.health import answer
from heartbeat.folders import SYSTEM
from heartbeat.probe.naming import named

MACHINE = SYSTEM[0]


@pytest.mark.parametrize(
    ("message", "home", "expected"),
    [
        ("start it with `heartbeat start`", MACHINE, "start it with `heartbeat start --system`"),
        ("with `heartbeat run --detach`", MACHINE, "with `heartbeat --home /etc/heartbeat run --detach`"),
        ("see `heartbeat jobs`; x", MACHINE, "see `heartbeat --home /etc/heartbeat jobs`; x"),
        (
            "see `heartbeat logs`, then `heartbeat restart`",
            "/srv/a b",
            "see `heartbeat --home '/srv/a b' logs`, then `heartbeat --home '/srv/a b' restart`",
        ),
        ("see `heartbeat --home /x jobs`", MACHINE, "see `heartbeat --home /x jobs`"),
        ("heartbeat runs; `systemctl start heartbeat`", MACHINE, "heartbeat runs; `systemctl start heartbeat`"),
        ("open `heartbeat start", MACHINE, "open `heartbeat start --system"),
    ],
)
def test_a_command_names_the_installation_it_is_about(message: str, home: str, expected: str) -> None:
    assert named(message, home) == expected


def test_only_a_home_that_was_given_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "pulse").touch()
    assert answer(str(tmp_path), ["--assert-live"], as_json=False) == 1
    assert f"start it with `heartbeat --home {tmp_path} run --detach`" in capsys.readouterr().err
    monkeypatch.setenv("HEARTBEAT_HOME", str(tmp_path))
    for folder in (None, str(tmp_path)):
        assert answer(folder, ["--assert-live"], as_json=False) == 1
        assert "start it with `heartbeat run --detach`" in capsys.readouterr().err
