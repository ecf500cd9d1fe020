"""Deciding, the brief, the outbox and the replay: each against the least that could do it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from heartbeat.clock import new_id
from heartbeat.decide import Budget, OwnerRule, QuietHours, QuietWindow, Rules, decide
from heartbeat.model import (
    Action,
    Decision,
    Execution,
    Finding,
    Gate,
    JobState,
    Judgement,
    Plan,
    Reply,
    Run,
    Target,
    Urgency,
    Verdict,
    View,
)
from heartbeat.replay import Recorded, replay
from heartbeat.schedule import Window
from heartbeat.stores.sqlite import SqliteLedger, open_ledger
from tests.benchmarks.tools import say

_AT = datetime(2026, 6, 10, 8, tzinfo=UTC)
_FINDINGS = 10_000
_OLD, _WAITING = 1_000_000, 5_000
_WAKES = 1000
_TICKS, _JOBS = 7 * 24 * 6, 3
_RULES = Rules(
    Target("agent"),
    job="mail",
    owner=(OwnerRule("mute", kind="spam"), OwnerRule("raise", sender="@boss.example")),
    quiet=QuietHours((QuietWindow(Window(23 * 60 + 30, 7 * 60)),)),
    budget=Budget(),
)


def deciding(_folder: Path) -> None:
    """10,000 findings of one run under the rules of an owner, against reading them from the gate line."""
    findings = tuple(Finding(f"mail-{number}", f"Mail {number}", kind="mail") for number in range(_FINDINGS))
    judgement = Judgement(Verdict.WAKE, "wake", "", gate=Gate(wake=True, findings=findings))
    view = View(JobState("mail", _AT))
    line = json.dumps(
        {
            "wakeAgent": True,
            "findings": [{"key": each.key, "title": each.title, "kind": each.kind} for each in findings],
        }
    )
    ours = _best(lambda: decide(judgement, view, _RULES, _AT), 5)
    theirs = _best(lambda: json.loads(line), 5)
    copies = _best(lambda: [replace(each, urgency=Urgency.HIGH) == each for each in findings], 5)
    each = f"100 us each ({ours / _FINDINGS * 1e6:.0f})"
    say("decide, 10,000 findings", _ms(ours), "json.loads of them", _ms(theirs), ours / theirs, each)
    say("decide, 10,000 findings", _ms(ours), "copy and compare them", _ms(copies), ours / copies, each)


def brief(folder: Path) -> None:
    """The brief of 5,000 waiting findings in a ledger of a million, against SELECT and fetch of the same rows."""
    file = folder / "ledger.db"
    with open_ledger(file) as ledger:
        _fill(file)
        now = _AT + timedelta(days=30)
        made = ledger.brief(now)
        assert len(made.items) == _WAITING
        ours = _best(lambda: ledger.brief(now), 5)
    bare = sqlite3.connect(file)
    query = "SELECT * FROM findings WHERE state = 'brief' ORDER BY first_seen_at, rowid"
    theirs = _best(lambda: bare.execute(query).fetchall(), 5)
    bare.close()
    say("brief, 5,000 of 1,000,000", _ms(ours), "bare SELECT", _ms(theirs), ours / theirs, "300 ms")


def outbox(folder: Path) -> None:
    """1,000 runs that wake, each wake begun and settled, against three bare commits to SQLite for each.

    They are 20 minutes apart, as a budget would have it: the rules look back on the wakes of the last day. Claiming
    the run, before it may wake, is a fourth commit of ours.
    """
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE t (a TEXT) STRICT"):
        bare.execute(statement)
    ours = theirs = 0.0
    with open_ledger(folder / "ledger.db") as ledger:
        for block in range(0, _WAKES, 50):  # in turn, for others may use the disk meanwhile
            started = time.perf_counter()
            for number in range(block, block + 50):
                _wake(ledger, number)
            between = time.perf_counter()
            for _ in range(3 * 50):
                bare.execute("INSERT INTO t VALUES ('x')")
            ours += between - started
            theirs += time.perf_counter() - between
    bare.close()
    ours, theirs = _WAKES / ours, _WAKES / theirs
    say("outbox, wakes", f"{ours:.0f}/s", "3 bare commits each", f"{theirs:.0f}/s", ours / theirs, "the disk's limit")


def _wake(ledger: SqliteLedger, number: int) -> None:
    now = _AT + timedelta(minutes=20 * number)
    (wake_id,) = _record(ledger, "bench", now, [Finding(f"{number}", "A thing", origin="owner")])
    ledger.begin_wake(wake_id, "1:1", now)
    ledger.settle_wake(wake_id, Reply("done"), (), now)


def replaying(folder: Path) -> None:
    """A week of three jobs every ten minutes, against reading the same runs and decisions from the ledger."""
    start, end = _AT, _AT + timedelta(minutes=10 * _TICKS)
    with open_ledger(folder / "ledger.db") as ledger:
        for tick in range(_TICKS):
            for number in range(_JOBS):
                # Each run tells something new to one job, and every twelfth tick to all.
                news = tick % _JOBS == number or tick % 12 == 0
                found = [Finding(f"{number}-{tick}", "A thing", origin="owner")] if news else []
                _record(ledger, f"job-{number}", start + timedelta(minutes=10 * tick), found)
        began = time.perf_counter()
        rows = sum(len(decided) for _, decided in ledger.decided_since(start))
        theirs = time.perf_counter() - began
        recorded = Recorded(ledger.finding, lambda _wake: "agent")
        began = time.perf_counter()
        made = replay(ledger.decided_since(start), lambda _job: _RULES, start, end, recorded)
        ours = time.perf_counter() - began
    assert made.findings == rows
    what = f"replay, {_TICKS * _JOBS:,} runs, {made.findings:,} findings"
    say(what, f"{ours:.2f} s", "reading them", f"{theirs:.2f} s", ours / theirs, "5 s")


def _record(ledger: SqliteLedger, job: str, now: datetime, found: list[Finding]) -> tuple[str, ...]:
    """One run that wakes for all it found; the ids of the wakes."""
    run = Run(new_id("run", now), job, "schedule", now, now)
    ledger.claim(run, "1:1")
    judgement = Judgement(Verdict.WAKE, "wake", "it says so", gate=Gate(wake=True, findings=tuple(found)))
    rules = replace(_RULES, job=job, quiet=QuietHours(), budget=Budget(timedelta(), None, None, None))

    def choose(view: View) -> Plan:
        decisions: tuple[Decision, ...] = decide(judgement, view, rules, now)
        assert all(decision.action is Action.WAKE for decision in decisions)
        return Plan(decisions)

    return ledger.record(run, Execution(now, now, 0), judgement, choose)[1]


def _fill(file: Path) -> None:
    """A million findings, one every two seconds; one in two hundred waits for the brief, the others were told."""
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    with open_ledger(file.with_name("sample.db")) as sample:
        _record(sample, "bench", _AT, [Finding("sample", "A thing that was found", body="b" * 200)])
    db.execute("ATTACH ? AS sample", (str(file.with_name("sample.db")),))
    columns = [row[1] for row in db.execute("PRAGMA table_info(findings)")]
    own = {
        "id": "'fnd_' || n",
        "key": "'key-' || n",
        "state": f"CASE WHEN n % {_OLD // _WAITING} = 0 THEN 'brief' ELSE 'told' END",
        "first_seen_at": "strftime('%Y-%m-%dT%H:%M:%f000Z', '2026-06-10 08:00:00', '+' || (n * 2) || ' seconds')",
        "last_seen_at": "strftime('%Y-%m-%dT%H:%M:%f000Z', '2026-06-10 08:00:00', '+' || (n * 2) || ' seconds')",
        "wake_id": "NULL",
    }
    values = ", ".join(own.get(column, column) for column in columns)
    db.execute("BEGIN")
    db.execute(
        f"INSERT INTO findings ({', '.join(columns)}) "
        f"WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {_OLD}) "
        f"SELECT {values} FROM numbers, sample.findings"
    )
    db.execute("COMMIT")
    db.close()


def _best(action: Callable[[], object], times: int) -> float:
    """Wall seconds of the quickest of several calls."""
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        action()
        spent.append(time.perf_counter() - started)
    return min(spent)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"
