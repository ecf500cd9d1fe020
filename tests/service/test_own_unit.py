"""Which unit of systemd keeps a process, told from its control group and the manager's own word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from heartbeat.errors import ServiceError
from heartbeat.service.own_unit import find_own_unit
from heartbeat.service.plan import Scope
from heartbeat.service.systemctl import Systemctl

USER = "/user.slice/user-1000.slice/user@1000.service"
GROUPS: list[tuple[str, tuple[str, Scope] | None]] = [
    (f"0::{USER}/app.slice/mine.service\n", ("mine", "user")),
    ("0::/system.slice/mine.service\n", ("mine", "system")),
    (f"12:pids:/x\n1:name=systemd:{USER}/mine.service\n0::/\n", ("mine", "user")),
    ("0::/system.slice/system-beat.slice/beat@a:b.service\n", ("beat@a:b", "system")),
    (f"0::{USER}/app.slice/run-u3.scope\n", None),
    ("0::/user.slice/user-1000.slice/session-1.scope\n", None),
    ("0::/\n", None),
    ("", None),
    ("nonsense\n", None),
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The units that a manager was asked about; of each it says that process 7 is the main one."""
    units: list[str] = []

    def facts(_: Systemctl, unit: str) -> dict[str, str]:
        units.append(unit)
        return {"MainPID": "7"}

    monkeypatch.setattr(Systemctl, "facts", facts)
    monkeypatch.setattr(Systemctl, "why_not", lambda _: "")
    return units


@pytest.mark.parametrize(("text", "expected"), GROUPS)
def test_the_unit_is_the_innermost_group_when_it_is_a_service(
    tmp_path: Path, asked: list[str], text: str, expected: tuple[str, Scope] | None
) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text(text)
    assert find_own_unit(7, {}, proc=tmp_path) == expected
    assert asked == ([f"{expected[0]}.service"] if expected else [])


def test_a_process_that_a_service_merely_started_is_not_kept_by_it(tmp_path: Path, asked: list[str]) -> None:
    (tmp_path / "8").mkdir()
    (tmp_path / "8" / "cgroup").write_text("0::/system.slice/mine.service\n")
    assert find_own_unit(8, {}, proc=tmp_path) is None
    assert asked == ["mine.service"]


def test_a_manager_that_cannot_be_asked_knows_nothing(
    tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text("0::/system.slice/mine.service\n")

    def fail(_: Systemctl, unit: str) -> dict[str, str]:
        raise ServiceError(f"cannot ask about {unit}")

    monkeypatch.setattr(Systemctl, "facts", fail)
    assert find_own_unit(7, {}, proc=tmp_path) is None
    monkeypatch.setattr(Systemctl, "why_not", lambda _: "it does not run")
    assert find_own_unit(7, {}, proc=tmp_path) is None
    assert find_own_unit(os.getpid(), {}, proc=tmp_path / "none") is None
