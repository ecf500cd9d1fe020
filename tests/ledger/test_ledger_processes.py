"""Several processes on one ledger, and processes that are killed while they write."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from heartbeat.model import Target
from heartbeat.stores.sqlite import open_ledger
from tests.ledger.deciding import decided, enter

PRELUDE = """
import json, os, signal, sys, time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from heartbeat.clock import new_id
from heartbeat.errors import Refused
from heartbeat.model import *
from heartbeat.stores.sqlite import open_ledger

PATH = Path(sys.argv[1])
T0 = datetime(2026, 6, 10, 8, 0, tzinfo=UTC)

def at(minute):
    return T0 + timedelta(minutes=minute)

def claim(ledger, job, minute):
    run = Run(new_id("run", at(minute)), job, "schedule", at(minute), at(minute))
    ledger.claim(run, f"{os.getpid()}:1")
    return run

def record(ledger, run, *keys):
    decisions = tuple(Decision(Finding(key, key), Action.BRIEF, Change.NEW, "quiet", "") for key in keys)
    execution = Execution(run.started_at, run.started_at)
    ledger.record(run, execution, Judgement(Verdict.QUIET, "", ""), lambda view: Plan(decisions))
"""

KILLS = """
# Each round forks a writer, which acknowledges every record through a pipe, and kills it at some instant.
acknowledged = []
for number in range(25):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        ledger = open_ledger(PATH)
        ledger.interrupt(lambda owner: False, T0)
        for minute in range(100_000):
            run = claim(ledger, "job", number * 100_000 + minute)
            record(ledger, run, f"{number}-{minute}-a", f"{number}-{minute}-b")
            os.write(writer, f"{number}-{minute}\\n".encode())
    os.close(writer)
    with os.fdopen(reader) as lines:
        acknowledged += [next(lines) for _ in range(3)]
        time.sleep(number * 0.004)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        acknowledged += list(lines)
print(json.dumps([line.strip() for line in acknowledged if line.endswith("\\n")]))
"""

CONSUMERS = """
ledger = open_ledger(PATH)
told, claimed, items = [], 0, []
for minute in range(60):
    try:
        run = claim(ledger, "shared", minute)
        claimed += 1
        record(ledger, run, f"{minute}")
    except Refused:
        pass
    told += [item.finding.key for item in ledger.consume_brief(at(minute)).items]
    item, new = ledger.enqueue(QueueItem("", f"item-{minute}", "pay", at(minute)), at(minute))
    items += [item.key] if new else []
ledger.close()
print(json.dumps({"told": told, "claimed": claimed, "items": items}))
"""

RACERS = """
ledger = open_ledger(PATH)
ids = sorted(wake.id for wake in ledger.wakes(limit=100))
print("ready", file=sys.stderr, flush=True)
sys.stdin.readline()
begun = [wake for wake in ids if ledger.begin_wake(wake, f"{os.getpid()}:1", T0) is not None]
ledger.close()
print(json.dumps(begun))
"""

OPENERS = """
ledger = open_ledger(PATH, check=True)
run = claim(ledger, f"job-{os.getpid()}", 0)
record(ledger, run, "k")
ledger.close()
print(json.dumps(run.id))
"""


def start(code: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def result(process: subprocess.Popen[str]) -> Any:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return json.loads(output)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.db"


def test_a_writer_killed_at_any_instant_loses_nothing_it_acknowledged(path: Path) -> None:
    acknowledged = result(start(KILLS, path))
    assert len(acknowledged) >= 75
    ledger = open_ledger(path, check=True)
    keys = {row.finding.key for row in ledger.findings(limit=1_000_000)}
    ended = [run for run in ledger.runs(limit=1_000_000) if run.state == "ended"]
    ledger.close()
    assert {f"{name}-{half}" for name in acknowledged for half in "ab"} <= keys
    assert len(keys) == 2 * len(ended)
    assert len(ended) - len(acknowledged) <= 25


def test_two_processes_share_the_work_and_do_none_of_it_twice(path: Path) -> None:
    processes = [start(CONSUMERS, path) for _ in range(2)]
    results = [result(process) for process in processes]
    ledger = open_ledger(path, check=True)
    rest = [item.finding.key for item in ledger.consume_brief(ledger.runs()[0].started_at).items]
    ended = [run for run in ledger.runs(limit=100) if run.state == "ended"]
    ledger.close()
    told = [key for one in results for key in one["told"]] + rest
    assert sorted(told, key=int) == sorted({str(run.started_at.minute) for run in ended}, key=int)
    assert sum(one["claimed"] for one in results) == len(ended)
    assert sorted(item for one in results for item in one["items"]) == sorted(f"item-{n}" for n in range(60))


def test_each_wake_is_begun_by_one_process_however_many_want_it(path: Path) -> None:
    with open_ledger(path) as ledger:
        for number in range(40):
            enter(ledger, 0, decided("k", target=Target(f"agent-{number}")), job=f"job-{number}")
    racers = [start(RACERS, path) for _ in range(2)]
    for racer in racers:
        assert racer.stderr is not None
        assert racer.stdin is not None
        assert racer.stderr.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    begun = [wake for racer in racers for wake in result(racer)]
    with open_ledger(path, check=True) as ledger:
        wakes = ledger.wakes(limit=100)
    assert sorted(begun) == sorted(wake.id for wake in wakes)
    assert len(begun) == 40
    assert {(wake.state, wake.attempts, len(wake.history)) for wake in wakes} == {("sending", 1, 1)}


def test_processes_that_create_the_ledger_together_get_the_same_one(path: Path) -> None:
    processes = [start(OPENERS, path) for _ in range(4)]
    ids = {result(process) for process in processes}
    ledger = open_ledger(path)
    assert {run.id for run in ledger.runs()} == ids
    ledger.close()
    assert [file.name for file in path.parent.iterdir()] == ["ledger.db"]
