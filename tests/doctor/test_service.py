"""What the supervisor says of the service, and whether it comes up without a login."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from heartbeat.doctor import Case, clock, lingering, service, zone
from heartbeat.errors import ServiceError
from heartbeat.marker import Marker, write_marker
from heartbeat.service import Found, Plan, Standing, planning
from tests.conftest import Place
from tests.doctor.asking import ask, case_of, status

UNIT = "heartbeat.service"
DOUBTLESS = ("drift", UNIT, "enabled", "")


@pytest.fixture(autouse=True)
def _heartbeat_lies_where_nothing_is_cleared_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever this checkout does."""
    monkeypatch.setattr(planning, "_FLEETING", ())


@dataclass
class Supervisor:
    """Answers what a test wants of it; installs nothing."""

    standing: Standing
    differences: tuple[str, ...] = ()
    fault: str = ""
    kind: str = "systemd"

    def status(self, _plan: Plan) -> Standing:
        if self.fault:
            raise ServiceError(self.fault)
        return self.standing

    def drift(self, _plan: Plan) -> tuple[str, ...]:
        return self.differences


def installed(place: Place, manager: str = "systemd", domain: str = "user") -> Case:
    place.state.mkdir(mode=0o700, exist_ok=True)
    write_marker(place.state / "service", Marker(manager, UNIT, domain))
    return case_of(place.folder)


def supervised(place: Place, monkeypatch: pytest.MonkeyPatch, supervisor: Any) -> Mapping[str, tuple[str, str]]:
    case = installed(place)
    monkeypatch.setattr(service, "find_manager", lambda *_: Found(supervisor, ("systemd: it does not run here",)))
    found = ask("service", case)
    return {about: (answer.status, answer.remedy) for about, answer in found.items() if about in DOUBTLESS}


def test_a_service_that_runs_as_it_would_be_written_is_well(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    found = supervised(place, monkeypatch, Supervisor(Standing("running", pid=1, enabled=True)))
    assert {about: answer[0] for about, answer in found.items()} == {UNIT: "ok", "drift": "ok"}


@pytest.mark.parametrize(
    ("supervisor", "about", "expected", "remedy"),
    [
        (Supervisor(Standing("stopped")), UNIT, "fail", "heartbeat start"),
        (Supervisor(Standing("failed", "start-limit-hit", restarts=5)), UNIT, "fail", "heartbeat logs"),
        (Supervisor(Standing("not installed")), UNIT, "fail", "heartbeat install"),
        (Supervisor(Standing("running", enabled=False)), "enabled", "fail", "heartbeat install"),
        (Supervisor(Standing("unknown", "no bus")), UNIT, "skip", "heartbeat doctor"),
        (Supervisor(Standing("running"), ("ExecStart differs",)), "drift", "warn", "heartbeat install"),
        (Supervisor(Standing("running"), fault="cannot ask systemd: no bus; log in"), UNIT, "fail", "log in"),
        (None, UNIT, "skip", "heartbeat doctor"),
    ],
)
def test_what_is_wrong_with_a_service_is_told_with_its_remedy(
    place: Place, monkeypatch: pytest.MonkeyPatch, *, supervisor: Any, about: str, expected: str, remedy: str
) -> None:
    answer = supervised(place, monkeypatch, supervisor)[about]
    assert answer[0] == expected
    assert remedy in answer[1]


def test_what_is_not_installed_or_detached_does_not_come_back_by_itself(place: Place) -> None:
    assert status("service", case_of(place.folder)) == {"": "warn"}
    answer = ask("service", installed(place, "none"))[""]
    assert answer.status == "warn"
    assert "detached" in answer.seen


def test_a_user_who_does_not_linger_loses_the_service_at_logout(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lingering, "FOLDER", str(tmp_path))
    case = installed(place)
    answer = ask("lingering", case)[""]
    assert (answer.status, answer.remedy) == ("warn", f"`sudo loginctl enable-linger {case.owner_name}`")
    (tmp_path / case.owner_name).touch()
    assert status("lingering", case) == {"": "ok"}


@pytest.mark.parametrize(
    ("manager", "domain", "expected"),
    [
        ("systemd", "system", "skip"),
        ("launchd", "gui/501", "warn"),
        ("launchd", "user/501", "skip"),
        ("none", "", "skip"),
    ],
)
def test_lingering_is_a_matter_of_user_units_alone(place: Place, manager: str, domain: str, expected: str) -> None:
    assert status("lingering", installed(place, manager, domain)) == {"": expected}


@pytest.mark.parametrize(
    ("error", "platform", "expected"),
    [(1000, "linux", "ok"), (16_000_000, "linux", "warn"), (None, "linux", "skip"), (None, "darwin", "skip")],
)
def test_a_clock_that_nobody_keeps_is_told(
    place: Place, monkeypatch: pytest.MonkeyPatch, error: int | None, platform: str, expected: str
) -> None:
    monkeypatch.setattr(clock, "largest_error", lambda: error)
    monkeypatch.setattr(clock, "_chrony", lambda: False)
    assert status("clock", replace(case_of(place.folder), platform=platform)) == {"": expected}


def test_the_kernel_is_really_asked() -> None:
    error = clock.largest_error()
    assert error is None or error >= 0


def test_chrony_may_keep_a_clock_of_which_the_kernel_knows_nothing(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chronyc = tmp_path / "chronyc"
    chronyc.write_text("#!/bin/sh\necho 'Stratum         : 3'\necho 'Leap status     : Normal'\n")
    chronyc.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(clock, "largest_error", lambda: 16_000_000)
    assert status("clock", case_of(place.folder)) == {"": "ok"}


def test_two_zones_are_told_apart(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zone, "host_zone", lambda: "America/New_York")
    place.configure('[owner]\nzone = "Europe/Berlin"\n')
    answer = ask("zone", case_of(place.folder))["owner"]
    assert answer.status == "ok"
    assert answer.seen == "the owner's is Europe/Berlin, as configured; this machine's is America/New_York"


@pytest.mark.parametrize(("version", "expected"), [("2026.1", "ok"), ("2019.3", "warn")])
def test_old_rules_of_zones_are_told(
    place: Place, monkeypatch: pytest.MonkeyPatch, version: str, expected: str
) -> None:
    case = case_of(place.folder)
    monkeypatch.setattr("importlib.metadata.version", lambda _name: version)
    assert ask("zone", replace(case, now=case.now.replace(year=2026)))["tzdata"].status == expected


@pytest.mark.parametrize(
    ("needs", "about", "expected"),
    [
        ("pydantic>=2.10,<3", "packages", "ok"),
        ("pydantic>=99", "pydantic", "fail"),
        ("pydantic<2", "pydantic", "fail"),
        ("no-such-package-anywhere>=1", "no-such-package-anywhere", "fail"),
        ('no-such-package-anywhere>=1; extra == "keyring"', "packages", "ok"),
    ],
)
def test_a_package_that_is_missing_or_of_a_wrong_version_is_a_failure(
    place: Place, monkeypatch: pytest.MonkeyPatch, needs: str, about: str, expected: str
) -> None:
    monkeypatch.setattr("importlib.metadata.requires", lambda _name: [needs])
    assert ask("packages", case_of(place.folder))[about].status == expected
