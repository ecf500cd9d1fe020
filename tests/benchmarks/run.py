"""Figures with their baseline measured in the same run: `make bench`.

Wall times on a shared machine are noisy, so the two commands of a pair are run in turn and the ratio of the
medians is what counts.
"""

from __future__ import annotations

import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from heartbeat.agents import find_agent
from heartbeat.beat import House, tick
from heartbeat.clock import new_id, utc_now
from heartbeat.job import load
from heartbeat.model import Execution, Judgement, Plan, Run, Verdict
from heartbeat.paths import Home, find_home
from heartbeat.process import become_reaper
from heartbeat.stores.sqlite import open_ledger

_BIN = Path(sys.executable).parent
_QUIET = """#!/bin/sh\nprintf '{"wakeAgent": false}\\n'\n"""
_IDLE_SECONDS = 60


def main() -> None:
    """Run every benchmark, or those named on the command line."""
    known: Mapping[str, Callable[[Path], None]] = {
        "health": health,
        "tick": quiet_tick,
        "idle": idle,
        "appends": appends,
    }
    for name in sys.argv[1:] or known:
        with tempfile.TemporaryDirectory(prefix="heartbeat-bench-") as folder:
            known[name](Path(folder))


def health(folder: Path) -> None:
    """`heartbeat health --assert-live` against a bare interpreter (goal: at most 2x wall)."""
    command = [str(_BIN / "heartbeat"), "--home", str(folder), "health", "--assert-live"]
    ours, bare = _in_turn(command, [sys.executable, "-I", "-c", "pass"], 40)
    _say(
        "health --assert-live", f"{ours * 1e3:.1f} ms", "python3 -I -c pass", f"{bare * 1e3:.1f} ms", ours / bare, "2x"
    )


def quiet_tick(folder: Path) -> None:
    """One quiet tick through the whole beat, in our own CPU, against starting the bare script."""
    home = _home(folder, "[jobs.quiet]\nevery = '10m'\n")
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
    _say(
        "one quiet tick, CPU",
        f"{ours * 1e3:.2f} ms",
        "bare script",
        f"{bare * 1e3:.2f} ms",
        ours / bare,
        f"{above:.2f} of 15 ms above",
    )


def idle(folder: Path) -> None:
    """The daemon at rest with 10 jobs, against a process that only waits in APScheduler."""
    jobs = "".join(f"[jobs.quiet-{number}]\nscript = 'jobs/quiet.sh'\nevery = '10m'\n" for number in range(10))
    home = _home(folder, jobs)
    waiting = (
        "from apscheduler.schedulers.blocking import BlockingScheduler as B; "
        "s = B(); s.add_job(print, 'interval', minutes=10); s.start()"
    )
    daemon = _start([str(_BIN / "heartbeat"), "--home", str(home.config), "run"])
    baseline = _start([sys.executable, "-c", waiting])
    try:
        time.sleep(10)  # the first run of each job, and what it leaves to collect
        before = [_cpu_of(process.pid) for process in (daemon, baseline)]
        time.sleep(_IDLE_SECONDS)
        spent = [_cpu_of(process.pid) - start for process, start in zip((daemon, baseline), before, strict=True)]
        sizes = [_rss_of(process.pid) for process in (daemon, baseline)]
    finally:
        for process in (daemon, baseline):
            process.terminate()
            process.wait(20)
    _say(
        "daemon, 10 jobs, RSS",
        f"{sizes[0]:.1f} MB",
        "APScheduler alone",
        f"{sizes[1]:.1f} MB",
        sizes[0] / sizes[1],
        "45 MB",
    )
    ours, theirs = (f"{seconds * 60 / _IDLE_SECONDS:.3f} s/min" for seconds in spent)
    _say("daemon, 10 jobs, idle CPU", ours, "APScheduler alone", theirs, None, "0.05 s/min")


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
            ledger.record(run, Execution(now, now, 0), judgement, lambda _view: Plan(), agent="")
        ours = 2 * count / (time.perf_counter() - started)
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE t (a TEXT) STRICT"):
        bare.execute(statement)
    started = time.perf_counter()
    for _ in range(2 * count):
        bare.execute("INSERT INTO t VALUES ('x')")
    limit = 2 * count / (time.perf_counter() - started)
    bare.close()
    _say(
        "ledger, commits",
        f"{ours:.0f}/s",
        "bare SQLite, same disk",
        f"{limit:.0f}/s",
        ours / limit,
        "1000/s or the disk's limit",
    )


def _home(folder: Path, jobs: str) -> Home:
    home = find_home(str(folder), {})
    home.jobs.mkdir()
    script = home.jobs / "quiet.sh"
    script.write_text(_QUIET)
    script.chmod(0o755)
    home.config_file.write_text("[owner]\nzone = 'UTC'\n" + jobs)
    return home


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


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _cpu_of(pid: int) -> float:
    """CPU seconds of a process without its children, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def _rss_of(pid: int) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _say(what: str, ours: str, than: str, theirs: str, ratio: float | None, goal: str) -> None:  # noqa: PLR0917 - a row of the table
    times = f"ratio {ratio:.2f}" if ratio is not None else ""
    print(f"{what:<26} {ours:>12}   {than}: {theirs:<12} {times:<11} goal: {goal}", flush=True)


if __name__ == "__main__":
    print(textwrap.dedent(main.__doc__ or "").strip())
    main()
