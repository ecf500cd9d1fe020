"""What jobs cost while none of them is due: start-up, memory, CPU."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from heartbeat.clock import utc_now
from heartbeat.job import load
from heartbeat.model import Fate, SlotState
from heartbeat.paths import Home
from heartbeat.schedule import Every, identity_of
from heartbeat.stores.sqlite import open_ledger
from tests.benchmarks.tools import Daemon, Peer, Process, Yacron, home_in, say

_IDLE_SECONDS = 60
_SETTLES = 10  # seconds: the first run of each job, and what the start leaves to collect
_SIZES = {100: "45 MB", 10_000: "70 MB", 100_000: "200 MB"}
_MOST = max(_SIZES)
_YACRON_JOBS = 1000


def idle(folder: Path) -> None:
    """CPU of programs that have nothing to do, all beside each other, over one minute; each one's own CPU is counted.

    heartbeat with 10 jobs that ran once, against a process that only waits in APScheduler; with 10,000 jobs that are
    not due for long, against APScheduler with as many, and yacron with 1,000 (more would take it a minute to read).
    """
    few = "".join(f"[jobs.quiet-{number}]\nscript = 'jobs/quiet.sh'\nevery = '10m'\n" for number in range(10))
    yacrons = [(f"job-{number}", f"0 0 1 {_far_month()} *", "true") for number in range(_YACRON_JOBS)]
    with ExitStack() as stack:
        ours = stack.enter_context(Daemon(home_in(folder / "few", few)))
        many = stack.enter_context(Daemon(home_in(folder / "many", _alike(10_000))))
        alone = stack.enter_context(Peer(folder, "rest", "1"))
        theirs = stack.enter_context(Peer(folder, "rest", "10000"))
        yacron = stack.enter_context(Yacron(folder, yacrons))
        for wait in (ours.first_beat, many.first_beat, alone.ready, theirs.ready, yacron.ready):
            wait()
        time.sleep(_SETTLES)
        everyone: list[Process] = [ours, many, alone, theirs, yacron]
        before = [process.cpu for process in everyone]
        time.sleep(_IDLE_SECONDS)
        spent = [(process.cpu - start) * 60 / _IDLE_SECONDS for process, start in zip(everyone, before, strict=True)]
        sizes = [process.rss for process in everyone]
    _memory("daemon, 10 jobs, RSS", sizes[0], "APScheduler alone", sizes[2], "45 MB")
    cpu = [f"{seconds:.3f} s/min" for seconds in spent]
    say("daemon, 10 jobs, idle CPU", cpu[0], "APScheduler alone", cpu[2], None, "0.05 s/min")
    goal = f"nothing a job: {(spent[1] - spent[0]) * 1e3:+.1f} ms/min for 9,990 more"
    say("daemon, 10,000 jobs, idle CPU", cpu[1], "APScheduler, 10,000", cpu[3], None, goal)
    say("daemon, 10,000 jobs, idle CPU", cpu[1], f"yacron, {_YACRON_JOBS:,}", cpu[4], None, "-")


def scale(folder: Path) -> None:
    """Start-up and memory with 100, 10,000 and 100,000 jobs that are not due for long.

    Start-up is from the start of the process until the pulse shows a completed beat, the first time with an empty
    ledger, the second time with what the first left; for APScheduler until all jobs are added and it has started.
    The goal is told beside the CPU seconds of both by then, which other work on the machine disturbs less. Memory is
    what is resident three seconds later. First all jobs have one cron expression; then, `mixed`, each is an interval
    (of 1,440 different ones), a cron expression (of 1,440), or an instant of its own. An interval is due when its job
    is first seen, so the ledger is given a slot of each beforehand, passed over, from which the interval counts on.
    """
    for count, goal in _SIZES.items():
        home = home_in(folder / f"alike-{count}", _alike(count))
        ours = _start(home)
        with Peer(folder, "rest", str(count)) as peer:
            theirs = _Start(peer.ready(), peer.cpu, _settled(peer))
        _memory(f"{count:,} jobs, RSS", ours.rss, "APScheduler", theirs.rss, goal)
    again = _start(home)
    _start_up(f"{_MOST:,} jobs, first start", ours, theirs)
    _start_up(f"{_MOST:,} jobs, second start", again, theirs)
    _memory(f"{_MOST:,} jobs, second start, RSS", again.rss, "APScheduler", theirs.rss, _SIZES[_MOST])
    home = home_in(folder / "mixed", _mixed(_MOST))
    _begin_intervals(home)
    mixed = _start(home)
    _start_up(f"{_MOST:,} mixed, start", mixed, theirs)
    _memory(f"{_MOST:,} mixed, RSS", mixed.rss, "APScheduler", theirs.rss, _SIZES[_MOST])


@dataclass(frozen=True)
class _Start:
    """Seconds until it was ready, CPU seconds by then, and MB soon after."""

    seconds: float
    cpu: float
    rss: float


def _start(home: Home) -> _Start:
    with Daemon(home) as daemon:
        return _Start(daemon.first_beat(), daemon.cpu, _settled(daemon))


def _settled(process: Process) -> float:
    time.sleep(3)
    return process.rss


def _start_up(what: str, ours: _Start, theirs: _Start) -> None:
    mine, yours = f"{ours.seconds:.2f} s", f"{theirs.seconds:.2f} s"
    goal = f"10 s (CPU {ours.cpu:.1f} against {theirs.cpu:.1f} s)"
    say(what, mine, "APScheduler", yours, ours.seconds / theirs.seconds, goal)


def _memory(what: str, ours: float, than: str, theirs: float, goal: str) -> None:
    say(what, f"{ours:.1f} MB", than, f"{theirs:.1f} MB", ours / theirs, goal)


def _far_month() -> int:
    """Half a year away."""
    return (datetime.now(UTC).month + 5) % 12 + 1


def _alike(count: int) -> str:
    schedule = f"script = 'jobs/quiet.sh'\ncron = '0 0 1 {_far_month()} *'\n"
    return "".join(f"[jobs.job-{number}]\n{schedule}" for number in range(count))


def _mixed(count: int) -> str:
    month, soon = _far_month(), datetime.now(UTC).replace(microsecond=0) + timedelta(days=180)
    entries = []
    for number in range(0, count, 3):
        minute, hour = number % 60, number // 60 % 24
        at = (soon + timedelta(seconds=number)).isoformat()
        kinds = (f"every = '{number % 1440 + 1440}m'", f"cron = '{minute} {hour} 1 {month} *'", f"at = '{at}'")
        entries += [
            f"[jobs.job-{number + offset}]\nscript = 'jobs/quiet.sh'\n{schedule}\n"
            for offset, schedule in enumerate(kinds)
        ]
    return "".join(entries[:count])


def _begin_intervals(home: Home) -> None:
    jobs = load(home, {}).jobs.values()
    now = utc_now()
    passed = Fate(SlotState.SKIPPED, now, now, "begun by the benchmark")
    with open_ledger(home.ledger_file) as ledger:
        ledger.enlist([(job.name, identity_of(job.timing)) for job in jobs], now)
        ledger.pass_over([(job.name, passed) for job in jobs if isinstance(job.timing.schedules[0], Every)], now)
