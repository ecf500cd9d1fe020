"""What the benchmarks share: throw-away homes, processes and what they cost, and the table's rows."""

from __future__ import annotations

import math
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from heartbeat.paths import Home, find_home
from heartbeat.pulse import read_pulse

BIN = Path(sys.executable).parent
QUIET = """#!/bin/sh\nprintf '{"wakeAgent": false}\\n'\n"""
STAMPING = """#!/bin/sh
date "+%s.%N ${HEARTBEAT_SLOT:-}" >> "$HEARTBEAT_HOME/stamps"
printf '{"wakeAgent": false}\\n'
"""
"""Enters when it began to run, and the slot it was started for, before anything else."""

_POLL = 0.01


class NotStarted(Exception):
    """A program did not come as far as it was to be measured; the text is its own last words."""


class Process:
    """A program beside this one, and what it costs without its children; ended with the block."""

    def __init__(self, command: Sequence[str], log: Path, env: dict[str, str] | None = None) -> None:
        self._log = log
        self.started = time.monotonic()
        with log.open("wb") as file:
            self._popen = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env={**os.environ, **(env or {})}
            )
        self.pid = self._popen.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._popen.send_signal(signal.SIGTERM)
        try:
            self._popen.wait(30)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    @property
    def cpu(self) -> float:
        """CPU seconds up to now, to the nanosecond."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    @property
    def rss(self) -> float:
        """Resident memory in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        line = next(line for line in status if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def wait_until(self, ready: Callable[[], bool], limit: float = 300) -> float:
        """Seconds from its start until *ready*; raises NotStarted when it ends, or the limit is over, before that."""
        while not ready():
            spent = time.monotonic() - self.started
            if self._popen.poll() is not None or spent > limit:
                words = self._log.read_text(errors="replace").strip().splitlines()
                raise NotStarted(words[-1] if words else f"no sign of it after {spent:.0f} s")
            time.sleep(_POLL)
        return time.monotonic() - self.started


class Daemon(Process):
    """`heartbeat run` in a home."""

    def __init__(self, home: Home) -> None:
        command = [str(BIN / "heartbeat"), "--home", str(home.config), "run"]
        super().__init__(command, home.config / "daemon.log")
        self._home = home

    def first_beat(self) -> float:
        """Seconds from the start of the process until its pulse shows a completed beat."""
        return self.wait_until(self._has_beaten)

    def _has_beaten(self) -> bool:
        pulse = read_pulse(self._home.pulse_file)
        return pulse is not None and pulse.owner.startswith(f"{self.pid}:") and bool(pulse.last_beat_at)


class Peer(Process):
    """One of the programs of `peers.py`, which prints `ready` when it has started."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._said = folder / f"{'-'.join(arguments[:2])}.log"
        program = Path(__file__).with_name("peers.py")
        super().__init__([sys.executable, "-P", str(program), *arguments], self._said, {"HEARTBEAT_HOME": str(folder)})

    def ready(self) -> float:
        """Seconds from the start of the process until it has started its scheduler."""
        return self.wait_until(lambda: "ready" in self._said.read_text().split())


class Yacron(Process):
    """yacron with some jobs, each a name, a schedule and a shell command."""

    def __init__(self, folder: Path, jobs: Sequence[tuple[str, str, str]]) -> None:
        lines = [
            f"  - name: {name}\n    schedule: '{schedule}'\n    command: '{command}'\n"
            for name, schedule, command in jobs
        ]
        config = folder / "yacron.yaml"
        config.write_text("jobs:\n" + "".join(lines))
        command = [str(BIN / "yacron"), "-c", str(config), "-l", "DEBUG"]
        self._said = folder / "yacron.log"
        super().__init__(command, self._said, {"HEARTBEAT_HOME": str(folder)})

    def ready(self) -> float:
        """Seconds until it first goes to sleep: it has looked at every job by then."""
        return self.wait_until(lambda: "Will sleep" in self._said.read_text(errors="replace"))


def home_in(folder: Path, jobs: str, script: str = QUIET) -> Home:
    """A home with a configuration, in UTC, whose jobs use the one script `jobs/quiet.sh`."""
    home = find_home(str(folder), {})
    home.jobs.mkdir(parents=True)
    file = home.jobs / "quiet.sh"
    file.write_text(script)
    file.chmod(0o755)
    home.config_file.write_text("[owner]\nzone = 'UTC'\n" + jobs)
    return home


def rank(values: Sequence[float], share: float) -> float:
    """The value below or at which *share* of all lie."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def median_of_each(rows: Sequence[Sequence[float]]) -> list[float]:
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def say(what: str, ours: str, than: str, theirs: str, ratio: float | None, goal: str) -> None:  # noqa: PLR0917 - a row of the table
    times = f"ratio {ratio:.2f}" if ratio is not None else ""
    print(f"{what:<34} {ours:>12}   {than + ':':<24} {theirs:<12} {times:<11} goal: {goal}", flush=True)
