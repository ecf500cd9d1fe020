"""Ledgers that are damaged, too new, another's, or too large to look through in time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from heartbeat.clock import utc_now
from heartbeat.doctor import _ledger
from heartbeat.model import Draft, MessageKind
from heartbeat.stores.sqlite import open_ledger
from tests.conftest import Bench, Place
from tests.doctor.asking import ask, case_of, status


def recorded(place: Place) -> Path:
    place.call("tick", "check")
    return place.state / "ledger.db"


def cut_to_nothing(file: Path) -> None:
    file.write_bytes(b"")


def half_of_it(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def no_database(file: Path) -> None:
    file.write_bytes(b"this is no database" * 1000)


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def pages_of_noise(file: Path) -> None:
    raw = bytearray(file.read_bytes())
    raw[4096:] = os.urandom(len(raw) - 4096)
    file.write_bytes(raw)


def of_another_program(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE cake (slice)")
    db.close()


def of_a_later_heartbeat(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()


DAMAGE: tuple[tuple[Callable[[Path], None], str], ...] = (
    (cut_to_nothing, "ledger quarantine"),
    (half_of_it, "ledger quarantine"),
    (no_database, "ledger quarantine"),
    (a_folder, "ledger quarantine"),
    (pages_of_noise, "ledger quarantine"),
    (of_another_program, "ledger quarantine"),
    (of_a_later_heartbeat, "upgrade heartbeat"),
)


def test_a_whole_ledger_is_well_and_a_look_leaves_nothing_behind(place: Place) -> None:
    file = recorded(place)
    before = sorted(os.listdir(place.state))
    assert set(status("ledger", case_of(place.folder)).values()) == {"ok"}
    assert sorted(os.listdir(place.state)) == before
    assert not Path(f"{file}-wal").exists()


def test_a_ledger_that_is_being_written_is_well(place: Place, bench: Bench) -> None:
    with bench.ledger._database.writing():
        assert Path(f"{place.state}/ledger.db-wal").exists()
        assert set(status("ledger", case_of(place.folder)).values()) == {"ok"}


def test_a_ledger_that_another_process_keeps_locked_is_said_to_be_without_a_time_that_nobody_waited(
    place: Place,
) -> None:
    file = recorded(place)
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA user_version").fetchone()
        db.execute("BEGIN EXCLUSIVE")
        db.execute("CREATE TABLE cake (slice)")
        found = ask("ledger", case_of(place.folder))[""]
        assert found.status == "fail"
        assert found.seen == f"cannot read the ledger {file} just now: another process keeps it locked"
        assert status("incidents", case_of(place.folder))[""] == "skip"


@pytest.mark.parametrize(("damage", "remedy"), DAMAGE)
def test_a_damaged_ledger_is_a_failure_and_what_it_held_is_left_out(
    place: Place, damage: Callable[[Path], None], remedy: str
) -> None:
    damage(recorded(place))
    failed = [answer for answer in ask("ledger", case_of(place.folder)).values() if answer.status == "fail"]
    assert failed
    assert any(remedy in answer.remedy for answer in failed)
    for question in ("incidents", "outbox"):
        assert set(status(question, case_of(place.folder)).values()) <= {"skip", "ok"}


def test_a_ledger_that_is_too_large_for_the_time_says_how_to_look_on(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(place)
    monkeypatch.setattr(_ledger, "_STEPS", 200)  # the format is read within so few
    monkeypatch.setattr(_ledger, "SECONDS", 0.0)
    found = ask("ledger", case_of(place.folder))
    assert found["format"].status == "ok"
    assert found["whole"].status == "warn"
    assert "PRAGMA quick_check" in found["whole"].remedy


def test_what_others_may_read_and_what_was_set_aside_is_told(place: Place) -> None:
    file = recorded(place)
    file.chmod(0o644)
    (place.state / "ledger.db.corrupt-20260610T080000Z").touch()
    found = ask("ledger", case_of(place.folder))
    assert (found["owner"].status, found["owner"].remedy) == ("fail", f"`chmod 600 {file}`")
    assert found["set aside"].status == "warn"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_ledger_of_root_beside_a_user_is_a_failure(place: Place) -> None:
    file = recorded(place)
    os.chown(place.state, 65_534, 65_534)
    answer = ask("ledger", case_of(place.folder))["owner"]
    assert (answer.status, answer.remedy) == ("fail", f"`sudo chown nobody {file}`")


def test_open_incidents_and_what_is_stuck_are_told(place: Place) -> None:
    now = utc_now()
    with open_ledger(place.state / "ledger.db") as made:
        for _ in range(3):
            made.fault("agent:claude", "agent_error", "it says 401", now)
        draft = Draft(MessageKind.NOTICE, "phone", "Title", "Body")
        (message,) = made.post([draft], now - timedelta(hours=2))
    case = case_of(place.folder)
    (incident,) = ask("incidents", case).values()
    assert (incident.status, incident.about) == ("warn", "agent:claude")
    assert "heartbeat why inc_" in incident.remedy
    outbox = ask("outbox", case)
    assert outbox["wakes"].status == "ok"
    assert outbox["messages"].status == "warn"
    assert f"heartbeat messages get {message}" in outbox["messages"].remedy
