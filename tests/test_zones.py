"""The zone of this machine: by its name, as the C library takes it, and again when it has changed."""

from __future__ import annotations

import os
import time
from datetime import datetime
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo

import pytest

from heartbeat.zones import host_zone, is_zone


@pytest.fixture(name="localtime")
def link_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the link or file of a machine goes; TZ is not set, and nothing else says anything."""
    monkeypatch.delenv("TZ", raising=False)
    monkeypatch.setattr("heartbeat.zones.LOCALTIME", str(tmp_path / "localtime"))
    monkeypatch.setattr("tzlocal.get_localzone_name", lambda: None)
    return tmp_path / "localtime"


def rules_of(name: str) -> bytes:
    found = [Path(folder, name) for folder in TZPATH if Path(folder, name).is_file()]
    if not found:
        pytest.skip("this machine has no zone files")
    return found[0].read_bytes()


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("Europe/Berlin", True),
        ("UTC", True),
        ("Etc/GMT+5", True),
        ("America/Argentina/Buenos_Aires", True),
        ("europe/berlin", False),
        ("Europe", False),
        ("Mars/Base", False),
        ("+02:00", False),
        ("CET-1CEST", False),
        ("posix/Europe/Berlin", False),
        ("localtime", False),
        ("../etc/passwd", False),
        ("/etc/localtime", False),
        ("", False),
    ],
)
def test_a_zone_is_a_name_of_the_iana_database(name: str, *, known: bool) -> None:
    assert is_zone(name) is known


@pytest.mark.parametrize(
    "tz",
    ["Asia/Tokyo", ":Asia/Tokyo", "/usr/share/zoneinfo/Asia/Tokyo", ":/usr/share/zoneinfo/posix/Asia/Tokyo"],
)
def test_the_variable_goes_before_the_link(localtime: Path, monkeypatch: pytest.MonkeyPatch, tz: str) -> None:
    localtime.symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    monkeypatch.setenv("TZ", tz)
    assert host_zone() == "Asia/Tokyo"


@pytest.mark.parametrize("tz", ["", "CET-1CEST", "Mars/Base", "+02:00", ":/etc/localtime"])
def test_a_variable_that_names_no_zone_is_passed_over(
    localtime: Path, monkeypatch: pytest.MonkeyPatch, tz: str
) -> None:
    localtime.symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    monkeypatch.setenv("TZ", tz)
    assert host_zone() == "Europe/Berlin"


@pytest.mark.parametrize(
    ("target", "zone"),
    [
        ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
        ("../usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
        ("/var/db/timezone/zoneinfo/America/New_York", "America/New_York"),
        ("/usr/share/zoneinfo.default/America/New_York", "America/New_York"),
        ("/usr/share/zoneinfo/right/Europe/Berlin", "Europe/Berlin"),
        ("/usr/share/zoneinfo/US/Pacific", "US/Pacific"),
        ("/opt/zoneinfo/share/zoneinfo/Etc/UTC", "Etc/UTC"),
    ],
)
def test_the_link_tells_the_name_that_the_owner_chose(localtime: Path, target: str, zone: str) -> None:
    localtime.symlink_to(target)
    assert host_zone() == zone


def test_a_link_to_a_link_is_followed(localtime: Path) -> None:
    localtime.symlink_to("chosen")
    (localtime.parent / "chosen").symlink_to("/usr/share/zoneinfo/Asia/Kathmandu")
    assert host_zone() == "Asia/Kathmandu"


def test_links_that_go_round_in_a_circle_tell_nothing_and_end(localtime: Path) -> None:
    localtime.symlink_to("other")
    (localtime.parent / "other").symlink_to("localtime")
    assert host_zone() == "UTC"


def test_a_change_is_seen_while_the_process_runs(localtime: Path) -> None:
    seen = []
    for name in ("Europe/Berlin", "Asia/Tokyo", "Europe/Berlin"):
        localtime.unlink(missing_ok=True)
        localtime.symlink_to(f"/usr/share/zoneinfo/{name}")
        seen.append(host_zone())
    for name in ("America/Denver", "Asia/Kathmandu"):
        localtime.unlink()
        localtime.write_bytes(rules_of(name))
        seen.append(host_zone())
    assert seen[:3] == ["Europe/Berlin", "Asia/Tokyo", "Europe/Berlin"]
    assert [rules_of(name) for name in seen[3:]] == [rules_of("America/Denver"), rules_of("Asia/Kathmandu")]


def test_a_file_counts_by_what_is_in_it_whatever_other_files_say(
    localtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tzlocal.get_localzone_name", lambda: "Etc/UTC")
    localtime.write_bytes(rules_of("Asia/Kathmandu"))
    assert rules_of(host_zone()) == rules_of("Asia/Kathmandu")


@pytest.mark.parametrize(("told", "zone"), [("Asia/Tokyo", "Asia/Tokyo"), ("local", ""), (None, "")])
def test_a_file_of_unknown_rules_leaves_it_to_other_signs(
    localtime: Path, monkeypatch: pytest.MonkeyPatch, told: str | None, zone: str
) -> None:
    monkeypatch.setattr("tzlocal.get_localzone_name", lambda: told)
    localtime.write_bytes(b"rules from another year")
    assert host_zone() == zone


def test_signs_that_contradict_each_other_tell_nothing(localtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def conflicting() -> str:
        raise LookupError("two time zones are configured")

    monkeypatch.setattr("tzlocal.get_localzone_name", conflicting)
    localtime.write_bytes(b"rules from another year")
    assert host_zone() == ""


def test_a_machine_where_nothing_is_set_lives_in_utc(localtime: Path) -> None:
    assert not os.path.lexists(localtime)
    assert host_zone() == "UTC"


def test_the_zone_of_this_very_machine_has_the_offset_of_its_c_library() -> None:
    now = datetime.now(ZoneInfo(host_zone()))
    offset = now.utcoffset()
    assert offset is not None
    assert offset.total_seconds() == time.localtime(now.timestamp()).tm_gmtoff
