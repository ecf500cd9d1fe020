"""One call, one tick, one commit: each against the least that could do it."""

from __future__ import annotations

import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from heartbeat import __version__
from heartbeat.agents import find_agent
from heartbeat.beat import House, tick
from heartbeat.clock import new_id, to_text, utc_now
from heartbeat.job import load
from heartbeat.lock import KernelLock
from heartbeat.model import Execution, Judgement, Plan, Run, Verdict
from heartbeat.process import become_reaper, owner
from heartbeat.pulse import Pulse, write_pulse
from heartbeat.starts import Start, log_start
from heartbeat.stores.sqlite import open_ledger
from tests.benchmarks.tools import BIN, home_in, say

_PEAK = (
    "import os, sys\n"
    "pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)\n"
    "print(os.wait4(pid, 0)[2].ru_maxrss / (1 if sys.platform == 'linux' else 1024))"
)
"""A small process in between: what a large one starts is counted as at least as large, before it is itself."""


def health(folder: Path) -> None:
    """`heartbeat health --assert-live` of a daemon that beats, against a bare interpreter (goals: 2x wall, 12 MB)."""
    home = home_in(folder, "")
    command = [str(BIN / "heartbeat"), "--home", str(folder), "health", "--assert-live"]
    bare = [sys.executable, "-I", "-c", "pass"]
    lock = KernelLock(home.lock_file)
    assert lock.acquire(owner())
    try:
        open_ledger(home.ledger_file).close()
        log_start(home.starts_file, Start(time.time(), "asked", owner=owner(), by="a terminal"))
        write_pulse(home.pulse_file, _pulse())
        ours, least = _in_turn(command, bare, 40)
        peak, small = _peak(command), _peak(bare)
    finally:
        lock.release()
    row = ("health --assert-live", f"{ours * 1e3:.1f} ms", "python3 -I -c pass", f"{least * 1e3:.1f} ms")
    say(*row, ours / least, "2x")
    say("  its peak RSS", f"{peak:.1f} MB", "python3 -I -c pass", f"{small:.1f} MB", peak / small, "12 MB")


def _pulse() -> Pulse:
    here, at = time.monotonic(), to_text(utc_now())
    return Pulse(
        owner=owner(),
        monotonic=here,
        started_monotonic=here,
        started_at=at,
        written_at=at,
        last_beat_at=at,
        next_due_at="",
        jobs=1,
        version=__version__,
    )


def _peak(command: Sequence[str]) -> float:
    """The most memory that a command has had, in MB."""
    done = subprocess.run([sys.executable, "-IS", "-c", _PEAK, *command], check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout) / 1024


def quiet_tick(folder: Path) -> None:
    """One quiet tick through the whole beat, in our own CPU, against starting the bare script."""
    home = home_in(folder, "[jobs.quiet]\nevery = '10m'\n")
    config = load(home, os.environ)
    become_reaper()
    stop = threading.Event()
    with open_ledger(home.ledger_file) as ledger:
        agent = find_agent(config.settings, home, os.environ, stop)
        house = House(ledger, home, config, agent, os.environ, stop, utc_now)
        job = config.jobs["quiet"]
        ours = _cpu(lambda: tick(house, job, None, utc_now()), 100)
    bare = _cpu(lambda: subprocess.run([str(home.jobs / "quiet.sh")], capture_output=True, check=True), 100)
    above = (ours - bare) * 1e3
    say(
        "one quiet tick, CPU",
        f"{ours * 1e3:.2f} ms",
        "bare script",
        f"{bare * 1e3:.2f} ms",
        ours / bare,
        f"{above:.2f} of 15 ms above",
    )


def appends(folder: Path) -> None:
    """Recorded runs a second (each a durable commit) against bare commits to SQLite on the same disk."""
    count = 500
    at = datetime(2026, 6, 10, 8, tzinfo=UTC)
    judgement = Judgement(Verdict.QUIET, "quiet", "the gate says false")
    with open_ledger(folder / "ledger.db") as ledger:
        started = time.perf_counter()
        for number in range(count):
            now = at + timedelta(seconds=number)
            run = Run(new_id("run", now), "bench", "schedule", now, now)
            ledger.claim(run, "1:1")
            ledger.record(run, Execution(now, now, 0), judgement, lambda _view: Plan())
        ours = 2 * count / (time.perf_counter() - started)
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE t (a TEXT) STRICT"):
        bare.execute(statement)
    started = time.perf_counter()
    for _ in range(2 * count):
        bare.execute("INSERT INTO t VALUES ('x')")
    limit = 2 * count / (time.perf_counter() - started)
    bare.close()
    say(
        "ledger, commits",
        f"{ours:.0f}/s",
        "bare SQLite, same disk",
        f"{limit:.0f}/s",
        ours / limit,
        "1000/s or the disk's limit",
    )


def _in_turn(first: Sequence[str], second: Sequence[str], times: int) -> tuple[float, float]:
    """Median wall seconds of two commands, run in turn after one round to warm up."""
    spent: tuple[list[float], list[float]] = ([], [])
    for number in range(times + 1):
        for command, seconds in zip((first, second), spent, strict=True):
            started = time.perf_counter()
            subprocess.run(command, check=True)
            if number:
                seconds.append(time.perf_counter() - started)
    return statistics.median(spent[0]), statistics.median(spent[1])


def _cpu(action: Callable[[], object], times: int) -> float:
    """CPU seconds of this process for one call, the median of ten blocks; children are not counted."""
    blocks = []
    for _ in range(10):
        before = resource.getrusage(resource.RUSAGE_SELF)
        for _ in range(times // 10):
            action()
        after = resource.getrusage(resource.RUSAGE_SELF)
        blocks.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(blocks) / (times // 10)
