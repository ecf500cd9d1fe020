"""After a refused login the same one waits, longer each time, and nothing secret lies in the note."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

import pytest

from heartbeat.sources.mail.refusals import FIRST, LONGEST, Refusals
from tests.servers import NOW

ACCOUNT = ("imap", "canary-host", "993", "canary-user")


def other_than(password: str, folder: Path) -> str:
    """A password that one byte of the digest tells from the noted one; by chance a first one might not."""
    for number in range(100):
        if Refusals(str(folder), ACCOUNT, f"{password}{number}").waits_until(NOW) is None:
            return f"{password}{number}"
    raise AssertionError


def test_the_wait_doubles_from_ten_minutes_to_six_hours(tmp_path: Path) -> None:
    refusals, now = Refusals(str(tmp_path), ACCOUNT, "canary"), NOW
    waits = []
    for _ in range(12):
        until = refusals.refused(now)
        waits.append(until - now)
        assert refusals.waits_until(now) == until
        assert refusals.waits_until(until - timedelta(seconds=1)) == until
        assert refusals.waits_until(until) is None
        now = until
    assert (waits[0], waits[-1]) == (FIRST, LONGEST)
    assert all(later in (earlier * 2, LONGEST) for earlier, later in pairwise(waits))


def test_the_time_is_told_in_the_zone_of_now(tmp_path: Path) -> None:
    refusals = Refusals(str(tmp_path), ACCOUNT, "canary")
    refusals.refused(NOW)
    berlin = NOW.astimezone(timezone(timedelta(hours=2)))
    assert f"{refusals.waits_until(berlin):%H:%M}" == "10:10"


def test_another_password_does_not_wait_and_counts_anew(tmp_path: Path) -> None:
    Refusals(str(tmp_path), ACCOUNT, "canary").refused(NOW)
    Refusals(str(tmp_path), ACCOUNT, "canary").refused(NOW + FIRST)
    other = Refusals(str(tmp_path), ACCOUNT, other_than("canary", tmp_path))
    assert other.refused(NOW) == NOW + FIRST


def test_another_account_does_not_wait(tmp_path: Path) -> None:
    Refusals(str(tmp_path), ACCOUNT, "canary").refused(NOW)
    assert Refusals(str(tmp_path), (*ACCOUNT[:3], "bob"), "canary").waits_until(NOW) is None


def test_a_login_forgets_the_refusals(tmp_path: Path) -> None:
    refusals = Refusals(str(tmp_path), ACCOUNT, "canary")
    refusals.refused(NOW)
    refusals.accepted()
    assert refusals.waits_until(NOW) is None
    refusals.accepted()


def test_a_clock_that_went_back_does_not_lock_anybody_out(tmp_path: Path) -> None:
    refusals = Refusals(str(tmp_path), ACCOUNT, "canary")
    refusals.refused(NOW)
    assert refusals.waits_until(NOW - timedelta(seconds=1)) is None


def test_the_note_holds_nothing_secret_and_is_for_the_owner_alone(tmp_path: Path) -> None:
    Refusals(str(tmp_path), ACCOUNT, "canary").refused(NOW)
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert "canary" not in path.read_text() + str(path.relative_to(tmp_path))
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"count": 1, "at": "soon", "salt": "", "mark": 1}', "\xff"])
def test_a_broken_note_is_no_note(tmp_path: Path, text: str) -> None:
    refusals = Refusals(str(tmp_path), ACCOUNT, "canary")
    refusals.refused(NOW)
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(text.encode("latin-1"))
    assert refusals.waits_until(NOW) is None
    assert refusals.refused(NOW) == NOW + FIRST


def test_without_a_folder_nothing_is_kept() -> None:
    refusals = Refusals(None, ACCOUNT, "canary")
    assert refusals.refused(NOW) == NOW + FIRST
    assert refusals.waits_until(NOW) is None


def test_a_folder_that_cannot_be_written_costs_only_the_note(tmp_path: Path) -> None:
    (tmp_path / "logins").write_text("in the way")
    now: datetime = NOW
    assert Refusals(str(tmp_path), ACCOUNT, "canary").refused(now) == now + FIRST
