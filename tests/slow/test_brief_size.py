"""A brief over a ledger of years: it takes no longer than one over a small one."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from heartbeat.model import Action, State
from heartbeat.stores.sqlite import open_ledger
from tests.ledger.telling import at, draft, report, stands

pytestmark = pytest.mark.slow

SECONDS = 0.3
NUMBERS = "WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < {count}) "
FINDINGS = """
    INSERT INTO findings (id, job, key, version, change, state, rule, reason, current, first_seen_at, last_seen_at,
        run_id, wake_id, brief_id, title, kind, body, urgency, source, url, origin, when_absent, data)
    SELECT 'fnd_' || i, 'job' || (i % 50), 'k' || i, '', 'new',
        CASE i % 4 WHEN 0 THEN 'told' WHEN 1 THEN 'briefed' WHEN 2 THEN 'known' ELSE 'dropped' END,
        'settled', '', 1, '2026-06-01T08:00:00.000000Z', '2026-06-09T08:00:00.000000Z', 'run_x', 'wake_' || (i / 3),
        CASE WHEN i % 4 = 1 THEN 'brief_' || (i / 1000) END, 'Title', '', 'Body', 'normal', '', '', 'owner', 'keep',
        'null' FROM numbers"""
RUNS = """
    INSERT INTO runs (id, job, trigger, owner, state, started_at, ended_at, verdict, stdout_head, stdout_tail)
    SELECT 'run_' || i, 'job' || (i % 50), 'manual', '1:1', 'ended', '2026-06-10T07:00:00.000000Z',
        '2026-06-10T07:00:00.000000Z', CASE i % 5 WHEN 0 THEN 'failed' ELSE 'quiet' END, zeroblob(2000), zeroblob(2000)
    FROM numbers"""
SLOTS = """
    INSERT INTO slots (job, slot_at, last_at, count, state, reason, attempts, at)
    SELECT 'job' || (i % 50), i, i, 1, 'skipped', 'backing off ' || (i % 7), 0, '2026-06-10T07:00:00.000000Z'
    FROM numbers"""


def test_a_brief_over_a_million_findings_and_a_hundred_thousand_runs_is_quick(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_ledger(path).close()
    db = sqlite3.connect(path)
    for insert, count in ((FINDINGS, 1_000_000), (RUNS, 100_000), (SLOTS, 50_000)):
        db.execute(NUMBERS.format(count=count) + insert)
    db.commit()
    db.close()
    with open_ledger(path) as ledger:
        report(ledger, 0, "a", "b", action=Action.BRIEF)
        tally = ledger.brief(at(1)).tally
        assert (tally.runs, tally.faults, sum(count for _job, count, _reason in tally.missed)) == (
            100_001,
            20_000,
            50_000,
        )
        quick(lambda: ledger.brief(at(1)))
        quick(lambda: ledger.issue_brief(at(1).date(), at(1), lambda _brief: ("", [draft()])))
        (message,) = ledger.messages()
        quick(lambda: ledger.give_up_message(message.id, "503", at(2)))
        assert stands(ledger, "a") == (State.BRIEF, "undelivered")
        quick(lambda: ledger.retry_message(message.id, at(3)))


def quick(ask: Callable[[], object]) -> None:
    begun = time.perf_counter()
    ask()
    assert time.perf_counter() - begun < SECONDS
