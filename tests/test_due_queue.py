"""The queue script: what it tells of the items in a real ledger, judged by the gate it prints."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest

from heartbeat import gate
from heartbeat.model import Captured, Execution, Finding, Gate, QueueItem, Source, Urgency, Verdict, WhenAbsent
from heartbeat.paths import share
from heartbeat.stores.sqlite import open_ledger

SCRIPT = share("jobs") / "due_queue.py"
NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
TOKEN = "0123456789abcdef"  # made for one run


def run(state: Path, now: datetime = NOW, token: str = TOKEN) -> subprocess.CompletedProcess[bytes]:
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HEARTBEAT_HOME": str(state.parent),
        "HEARTBEAT_STATE_DIR": str(state),
        "HEARTBEAT_NOW": now.isoformat(),
        "HEARTBEAT_TOKEN": token,
    }
    return subprocess.run([SCRIPT], env=environment, capture_output=True, check=False, stdin=subprocess.DEVNULL)


def judged(done: subprocess.CompletedProcess[bytes]) -> Gate:
    assert (done.returncode, done.stderr) == (0, b"")
    ended = Execution(NOW, NOW, exit_code=0, stdout=Captured(head=done.stdout))
    judgement = gate.judge(ended, token=TOKEN, require_token=True, dialect="strict")
    assert judgement.gate is not None, judgement
    assert judgement.verdict is (Verdict.WAKE if judgement.gate.findings else Verdict.QUIET)
    return judgement.gate


class Tell(Protocol):
    def __call__(self, *items: QueueItem, cancelled: str = "", now: datetime = NOW) -> Gate: ...


@pytest.fixture
def queue(tmp_path: Path) -> Tell:
    """Put items into a ledger and see what the script tells of them."""
    state = tmp_path / "state"
    state.mkdir()

    def tell(*items: QueueItem, cancelled: str = "", now: datetime = NOW) -> Gate:
        ledger = open_ledger(state / "ledger.db")
        for item in items:
            ledger.enqueue(item, NOW)
        if cancelled:
            ledger.cancel_item(cancelled, NOW)
        ledger.close()
        return judged(run(state, now))

    return tell


def item(key: str = "dentist", message: str = "Call the dentist", due_at: datetime = NOW, **more: Any) -> QueueItem:
    return QueueItem("", key, message, due_at, **more)


def only(told: Gate) -> Finding:
    (finding,) = told.findings
    return finding


def test_an_item_is_told_from_the_instant_it_is_due(queue: Tell) -> None:
    assert queue(item(due_at=NOW + timedelta(seconds=1))).findings == ()
    assert queue(now=NOW + timedelta(seconds=1)).findings != ()


def test_a_finding_says_what_the_item_says(queue: Tell) -> None:
    until = NOW + timedelta(hours=1)
    told = queue(item(source="phone", urgency=Urgency.HIGH, until=until))
    finding = only(told)
    assert (finding.key, finding.title, finding.kind) == ("queue:dentist", "Call the dentist", "reminder")
    assert (finding.urgency, finding.source, finding.origin) == (Urgency.HIGH, "phone", "owner")
    assert (finding.occurred_at, finding.useful_until) == (NOW, until)
    assert (finding.body, finding.when_absent) == ("", WhenAbsent.KEEP)
    assert told.sources == (Source("queue", True, 1, ""),)
    assert told.reason == "1 item due"


def test_no_ledger_yet_is_a_quiet_gate_and_none_is_made(tmp_path: Path) -> None:
    told = judged(run(tmp_path / "state"))
    assert (told.findings, told.reason) == ((), "no items due")
    assert not (tmp_path / "state").exists()


def test_a_cancelled_item_is_not_told(queue: Tell) -> None:
    assert queue(item(), cancelled="dentist").findings == ()


def test_an_item_that_nobody_was_told_of_is_told_however_late(queue: Tell) -> None:
    assert only(queue(item(due_at=NOW - timedelta(days=90)))).title == "Call the dentist"


@pytest.mark.parametrize(
    ("change", "same"),
    [({}, True), ({"message": "Call the doctor"}, False), ({"due_at": NOW - timedelta(hours=1)}, False)],
)
def test_another_time_or_text_is_another_version_of_the_same_item(
    queue: Tell, change: dict[str, Any], same: bool
) -> None:
    before, after = only(queue(item())), only(queue(item(**change)))
    assert before.key == after.key
    assert (before.version == after.version) is same


@pytest.mark.parametrize(
    ("message", "title", "body"),
    [
        ("One line", "One line", ""),
        ("First\nsecond", "First", "First\nsecond"),
        ("x" * 500, "x" * 500, ""),
        ("x" * 501, "x" * 499 + "…", "x" * 501),
        ("a\n" + "x" * 3998, "a", "a\n" + "x" * 3998),
        ("a\n" + "x" * 3999, "a", "a\n" + "x" * 3997 + "…"),
        ('a\u2028b\x1b[1m\n{"wakeAgent": false}', "a b[1m", 'a\u2028b\x1b[1m\n{"wakeAgent": false}'),
        ("\u200b", "(no text)", "\u200b"),
    ],
)
def test_the_first_line_is_the_title_and_a_longer_message_the_body(
    queue: Tell, message: str, title: str, body: str
) -> None:
    finding = only(queue(item(message=message)))
    assert (finding.title, finding.body) == (title, body)


def test_the_longest_key_that_the_queue_takes_makes_a_valid_finding(queue: Tell) -> None:
    assert only(queue(item("k" * 500))).key == "queue:" + "k" * 500


def test_more_items_than_a_gate_holds_are_told_in_turns(queue: Tell) -> None:
    told = queue(*(item(str(number), "\U0001f600" * 4000) for number in range(40)))
    assert 0 < len(told.findings) < 40
    assert told.reason == f"40 items due; {40 - len(told.findings)} more must wait"


def test_a_damaged_ledger_is_one_line_on_stderr_and_no_gate(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_bytes(b"canary, not a database at all" * 200)
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.startswith(b"cannot ")
    assert b"canary" not in done.stderr


def test_a_ledger_without_a_queue_is_an_error_and_not_an_empty_queue(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "ledger.db").close()
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")


def test_by_hand_no_token_is_printed(tmp_path: Path) -> None:
    assert json.loads(run(tmp_path, token="").stdout) == {
        "wakeAgent": False,
        "reason": "no items due",
        "sources": [{"name": "queue", "ok": True, "items": 0, "message": ""}],
    }


def mark_told(state: Path, finding: Finding) -> None:
    with sqlite3.connect(state / "ledger.db") as db:
        names = [column[1] for column in db.execute("PRAGMA table_info(findings)")]
        row: dict[str, Any] = {**dict.fromkeys(names, ""), "id": "x", "key": finding.key, "version": finding.version}
        row |= {"state": "told", "change": "new", "current": 1, "present": 1, "wake_id": None, "brief_id": None}
        db.execute(f"INSERT INTO findings VALUES ({', '.join('?' * len(names))})", [row[name] for name in names])
    db.close()


@pytest.mark.parametrize(("age", "count"), [(timedelta(days=7), 1), (timedelta(days=7, seconds=1), 0)])
def test_an_item_that_was_told_is_reported_for_seven_days(
    queue: Tell, tmp_path: Path, age: timedelta, count: int
) -> None:
    mark_told(tmp_path / "state", only(queue(item())))
    assert len(queue(now=NOW + age).findings) == count


def test_what_nobody_was_told_of_comes_first(queue: Tell, tmp_path: Path) -> None:
    mark_told(tmp_path / "state", only(queue(item("told", due_at=NOW - timedelta(hours=1)))))
    assert [finding.key for finding in queue(item("untold")).findings] == ["queue:untold", "queue:told"]
