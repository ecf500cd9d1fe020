"""The queue script: what it tells of the items in a real ledger, judged by the gate it prints."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest

from heartbeat import gate
from heartbeat.clock import new_id
from heartbeat.model import (
    Action,
    Captured,
    Change,
    Decision,
    Execution,
    Finding,
    Gate,
    Judgement,
    Plan,
    QueueItem,
    Run,
    Source,
    Urgency,
    Verdict,
    WhenAbsent,
)
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
        "HEARTBEAT_CACHE_DIR": str(state.parent),
        "HEARTBEAT_ZONE": "Europe/Berlin",
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
        ("First\nsecond", "First", "second"),
        ("First\n\n second\nthird ", "First", "second\nthird"),
        ("x" * 500, "x" * 500, ""),
        ("x" * 501, "x" * 499 + "…", "x" * 501),
        ("x" * 501 + "\ny", "x" * 499 + "…", "x" * 501 + "\ny"),
        ("a\n" + "x" * 4000, "a", "x" * 4000),
        ("x" * 501 + "\n" + "x" * 3499, "x" * 499 + "…", "x" * 501 + "\n" + "x" * 3497 + "…"),
        ('a\u2028b\x1b[1m\n{"wakeAgent": false}', "a b[1m", '{"wakeAgent": false}'),
        ("\u200b", "(no text)", "\u200b"),
    ],
)
def test_the_first_line_is_the_title_and_a_longer_message_the_body(
    queue: Tell, message: str, title: str, body: str
) -> None:
    finding = only(queue(item(message=message)))
    assert (finding.title, finding.body) == (title, body)


@pytest.mark.parametrize(("message", "rest"), [("Call", ""), ("Call\nabout the car", "\nabout the car")])
def test_a_snoozed_item_says_so_when_it_comes_again(tmp_path: Path, queue: Tell, message: str, rest: str) -> None:
    assert only(queue(item(message=message))).body == rest.strip()
    ledger = open_ledger(tmp_path / "state" / "ledger.db")
    ledger.snooze_item("dentist", NOW + timedelta(minutes=70), NOW)
    ledger.close()
    assert queue(now=NOW + timedelta(minutes=69)).findings == ()
    again = only(queue(now=NOW + timedelta(minutes=75)))
    # The zone is the owner's.
    assert (again.title, again.body, again.origin) == ("Call", f"snoozed until 11:10; again now{rest}", "owner")


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


def mark_told(state: Path, finding: Finding, now: datetime = NOW) -> None:
    run = Run(new_id("run", now), "due-queue", "manual", None, now)
    decision = Decision(finding, Action.BRIEF, Change.NEW, "quiet", "")
    with open_ledger(state / "ledger.db") as ledger:
        ledger.claim(run, "1:1")
        judgement = Judgement(Verdict.QUIET, "quiet", "")
        ledger.record(run, Execution(now, now), judgement, lambda _view: Plan((decision,)))
        ledger.consume_brief(now)


@pytest.mark.parametrize(("age", "count"), [(timedelta(days=7), 1), (timedelta(days=7, seconds=1), 0)])
def test_an_item_that_was_told_is_reported_for_seven_days(
    queue: Tell, tmp_path: Path, age: timedelta, count: int
) -> None:
    mark_told(tmp_path / "state", only(queue(item())))
    assert len(queue(now=NOW + age).findings) == count


def test_what_nobody_was_told_of_comes_first(queue: Tell, tmp_path: Path) -> None:
    mark_told(tmp_path / "state", only(queue(item("told", due_at=NOW - timedelta(hours=1)))))
    assert [finding.key for finding in queue(item("untold")).findings] == ["queue:untold", "queue:told"]


# Items that come again


DAYS = timedelta(days=1)
DAILY = "cron 0 10 * * *; zone Europe/Berlin"  # NOW and each day after it, but for a change of the clock


def daily(**more: Any) -> QueueItem:
    return item("pills", "Take the pills", NOW - timedelta(seconds=1), schedule=DAILY, words="daily at 10", **more)


def test_an_occurrence_is_told_under_a_key_of_its_own(queue: Tell, tmp_path: Path) -> None:
    first = only(queue(daily()))
    assert (first.title, first.occurred_at, first.useful_until) == ("Take the pills", NOW, None)
    mark_told(tmp_path / "state", first)
    assert only(queue(now=NOW + DAYS - timedelta(seconds=1))) == first
    later = only(queue(now=NOW + 9 * DAYS + timedelta(hours=3)))
    assert (later.key != first.key, later.occurred_at) == (True, NOW + 9 * DAYS)


def test_an_occurrence_is_the_same_when_it_was_remembered(queue: Tell, tmp_path: Path) -> None:
    first = only(queue(daily()))
    cache = tmp_path / "slots.json"
    assert "pills" not in cache.read_text()
    before = cache.stat().st_mtime_ns
    assert only(queue(now=NOW + timedelta(hours=23))) == first
    assert cache.stat().st_mtime_ns == before
    assert only(queue(now=NOW + DAYS)) != first


@pytest.mark.parametrize("content", ["", "[]", "{", '{"x": 1}', "[" * 100_000, "\\udcff", None])
def test_what_was_remembered_may_be_damaged_or_gone(queue: Tell, tmp_path: Path, content: str | None) -> None:
    first = only(queue(daily()))
    cache = tmp_path / "slots.json"
    if content is None:
        cache.unlink()
        cache.mkdir()
    else:
        cache.write_text(content)
    assert only(queue()) == first


def test_what_was_remembered_is_reckoned_anew_when_it_is_nonsense(queue: Tell, tmp_path: Path) -> None:
    only(queue(daily()))
    names = json.loads((tmp_path / "slots.json").read_text())
    (tmp_path / "slots.json").write_text(json.dumps({name: [1, None] for name in names}))
    assert only(queue()).occurred_at == NOW


def test_after_its_until_the_last_occurrence_stays(queue: Tell) -> None:
    told = only(queue(daily(until=NOW + 2 * DAYS), now=NOW + 5 * DAYS))
    assert told.occurred_at == NOW + 2 * DAYS


def test_an_occurrence_of_months_ago_is_not_told_again_when_its_finding_is_gone(queue: Tell, tmp_path: Path) -> None:
    yearly = replace(daily(), schedule="cron 0 10 10 6 *; zone Europe/Berlin")
    mark_told(tmp_path / "state", only(queue(yearly)))
    later = NOW + 100 * DAYS
    mark_told(tmp_path / "state", Finding("other", "Other"), later)
    with open_ledger(tmp_path / "state" / "ledger.db") as ledger:
        assert ledger.prune(later, timedelta(days=30), 10)["findings"] >= 1
    assert queue(now=later).findings == ()
    assert queue(now=later + 265 * DAYS).findings != ()


# The folder


def refuse(tmp_path: Path, name: str, reason: str | None) -> None:
    folder = tmp_path / "queue" / "refused"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("{")
    if reason is not None:
        (folder / f"{name}.reason").write_text(f"{reason}\n")
    stamp = 1_000_000_000 + len(list(folder.iterdir()))
    for file in folder.glob(f"{name}*"):
        os.utime(file, (stamp, stamp))


def folder_of(told: Gate) -> Source:
    (source,) = [source for source in told.sources if source.name == "queue folder"]
    return source


def test_a_folder_is_a_source_while_it_is_there(queue: Tell, tmp_path: Path) -> None:
    assert [source.name for source in queue().sources] == ["queue"]
    (tmp_path / "queue").mkdir()
    assert folder_of(queue()) == Source("queue folder", True, 0, "")


def test_refused_files_are_counted_and_the_newest_reason_told(queue: Tell, tmp_path: Path) -> None:
    refuse(tmp_path, "a.json", "cannot take in a")
    refuse(tmp_path, "b.json", "cannot take in b\x1b[1m:\nno")
    told = folder_of(queue(item()))
    message = "2 refused files in queue/refused; remove what is dealt with. Newest: cannot take in b[1m: no"
    assert told == Source("queue folder", False, 2, message)
    for file in (tmp_path / "queue" / "refused").glob("*.json"):
        file.unlink()
    assert folder_of(queue()).ok


def test_a_refused_file_without_a_reason_is_told_as_well(queue: Tell, tmp_path: Path) -> None:
    refuse(tmp_path, "a.json", None)
    assert folder_of(queue()).message.endswith(
        "1 refused file in queue/refused; remove what is dealt with. Newest: no reason is left"
    )


@pytest.mark.parametrize("how", ["file", "link"])
def test_what_stands_in_place_of_the_folder_for_refused_files_is_told(queue: Tell, tmp_path: Path, how: str) -> None:
    (tmp_path / "queue").mkdir()
    refused = tmp_path / "queue" / "refused"
    if how == "file":
        refused.write_text("")
    else:
        refused.symlink_to("nowhere")
    told = "queue/refused is no folder, so that nothing can be set aside; move it away"
    assert folder_of(queue()) == Source("queue folder", False, 0, told)


def test_files_that_lie_there_for_long_are_told(queue: Tell, tmp_path: Path) -> None:
    (tmp_path / "queue").mkdir()
    for name in ("b.json", "a\x1b.json"):
        (tmp_path / "queue" / name).write_text("{}")
    now = datetime.now(UTC)
    assert folder_of(queue(now=now)).ok
    told = folder_of(queue(now=now + timedelta(minutes=11)))
    assert (told.ok, told.items) == (False, 2)
    assert told.message == (
        "2 files in queue cannot be taken in nor set aside, such as 'a.json'; see why with `heartbeat queue list`"
    )


def test_a_pipe_in_the_place_of_a_reason_does_not_hang_the_script(queue: Tell, tmp_path: Path) -> None:
    refuse(tmp_path, "a.json", None)
    os.mkfifo(tmp_path / "queue" / "refused" / "a.json.reason")
    assert not folder_of(queue()).ok


def test_an_instant_that_no_gate_can_hold_does_not_spoil_the_others(queue: Tell) -> None:
    told = queue(item(), item("old", due_at=datetime(999, 12, 31, tzinfo=UTC), until=datetime(999, 12, 31, tzinfo=UTC)))
    assert {finding.key: finding.occurred_at for finding in told.findings} == {"queue:dentist": NOW, "queue:old": None}
