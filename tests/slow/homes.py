"""A home with the installed daemon in it, for tests that pull the rug from under it and then look what is left."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from heartbeat.marker import write_intent
from heartbeat.probe import Health, examine, gather, judge_health
from heartbeat.process import pids
from heartbeat.process.pids import Peer
from heartbeat.pulse import Pulse, read_pulse

COMMAND = Path(sys.executable).with_name("heartbeat")
PYTHON = f"{sys.executable} -IS"
"""For a script's first line: an interpreter that starts fast."""

QUIET = """#!/bin/sh
echo '{"wakeAgent": false}'
"""

# Enters each run in `begun.log`, as job, space, slot. The second takes a while.
RECORDS = """#!/bin/sh
echo "$HEARTBEAT_JOB $HEARTBEAT_SLOT" >> "$HEARTBEAT_HOME/begun.log"
echo '{"wakeAgent": false}'
"""
LASTS = """#!/bin/sh
echo "$HEARTBEAT_JOB $HEARTBEAT_SLOT" >> "$HEARTBEAT_HOME/begun.log"
sleep SECONDS
echo '{"wakeAgent": false}'
"""

# Enters each call in `agent.log`, as wake id, TAB, the ids of the findings, by one write. Obeys files of the home:
# `agent-takes` (seconds), `agent-fails` (exit status 1). `agent-tires`: now and then it takes a second or fails.
AGENT = f"""#!{PYTHON}
import os, random, re, sys, time
home = os.environ["HEARTBEAT_HOME"]
ids = re.findall(r'^ *"id": "(fnd_[^"]+)"', sys.stdin.read(), re.M)
log = os.open(home + "/agent.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
os.write(log, (os.environ["HEARTBEAT_WAKE_ID"] + "\\t" + " ".join(ids) + "\\n").encode())
os.fsync(log)
def told(name):
    return os.path.exists(home + "/" + name)
chance = random.random() if told("agent-tires") else 1
if chance < 0.1:
    time.sleep(1)
if told("agent-takes"):
    time.sleep(float(open(home + "/agent-takes").read()))
if 0.1 <= chance < 0.2 or told("agent-fails"):
    sys.exit("out of credit")
print("thanks")
"""


class Daemon:
    """One `heartbeat run`; its log goes to a file of the home."""

    def __init__(self, home: Home, argv: tuple[str, ...], env: Mapping[str, str]) -> None:
        self._home = home
        self._log_starts_at = home.log_file.stat().st_size if home.log_file.exists() else 0
        with home.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                argv, cwd="/", env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log
            )

    @property
    def log(self) -> str:
        """What this start of it has said."""
        with self._home.log_file.open("rb") as file:
            file.seek(self._log_starts_at)
            return file.read().decode()

    def pulse(self) -> Pulse | None:
        """Its own latest proof of life."""
        # The file may be another's, or under its feet.
        with contextlib.suppress(OSError, ValueError):
            pulse = read_pulse(self._home.state / "pulse")
            if pulse is not None and pulse.owner.startswith(f"{self.process.pid}:"):
                return pulse
        return None

    def wait_for_pulse(self) -> None:
        """Until it says that it lives; it may still be looking what lies there."""
        self._wait_while_it_lives(lambda: self.pulse() is not None, "its first pulse")

    def wait_for_beat(self) -> None:
        """Until its loop has come round once."""
        self._wait_while_it_lives(lambda: (pulse := self.pulse()) is not None and bool(pulse.last_beat_at), "a beat")

    def _wait_while_it_lives(self, condition: Callable[[], bool], what: str) -> None:
        def holds() -> bool:
            assert self.process.poll() is None, f"the daemon ended with {self.process.returncode}:\n{self.log[-2000:]}"
            return condition()

        wait_for(holds, 60, what, every=0.005)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self, within: float = 30) -> int:
        """SIGTERM; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait(within)

    def wait(self, within: float) -> int:
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the daemon is still there after {within} s:\n{self.log[-3000:]}") from None


class Home:
    """The folder of one installation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log_file = folder.with_name(f"{folder.name}.log")
        self.daemons: list[Daemon] = []
        self.now = time.time
        """The clock of its daemons."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.file("agent.py", AGENT)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def configure(
        self,
        jobs: str,
        *,
        agent: str = 'timeout = "60s"\nattempts = 100',
        daemon: str = "",
        owner: str = 'zone = "UTC"',
    ) -> None:
        self.file(
            "config.toml",
            f'[owner]\n{owner}\n[agent]\nkind = "command"\ncommand = ["{self.folder}/agent.py"]\n{agent}\n'
            # So that wakes come as they are made.
            f'[budget]\nmin_gap = "0s"\nper_hour = 3600\nper_day = 86400\n[daemon]\n{daemon}\n{jobs}',
        )

    def file(self, name: str, text: str) -> Path:
        """A file of the home, there at once and whole; executable when it begins as a script does."""
        path = self.folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.new")
        draft.write_text(text)
        draft.chmod(0o700 if text.startswith("#!") else 0o600)
        draft.rename(path)
        return path

    def script(self, job: str, text: str = QUIET) -> None:
        self.file(f"jobs/{job}.sh", text)

    def environment(self, **more: str) -> dict[str, str]:
        base = {"PATH": f"{COMMAND.parent}:/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8", "TZ": "UTC"}
        return {**base, **more}

    def start(self, *program: str, **env: str) -> Daemon:
        """The daemon; *program* goes before its words in place of the installed command."""
        # Or the many starts of a test would be taken for flapping, and nobody would be woken any more.
        with contextlib.suppress(OSError):
            write_intent(self.state / "intent", "start", "the test", self.now())
        argv = (*(program or (str(COMMAND),)), "--home", str(self.folder), "run")
        self.daemons.append(Daemon(self, argv, self.environment(**env)))
        return self.daemons[-1]

    def begin(self, *words: str, program: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """Any other verb, going on while the test does something else."""
        return subprocess.Popen(
            [*(program or (str(COMMAND),)), "--home", str(self.folder), *words],
            cwd="/",
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str, program: tuple[str, ...] = ()) -> tuple[int, str]:
        """Any other verb, to its end: exit status and output."""
        process = self.begin(*words, program=program)
        out, _ = process.communicate(timeout=120)
        return process.returncode, out

    def data(self, *words: str) -> Any:
        """The `data` of a verb with --json that ends well."""
        status, out = self.run(*words, "--json")
        assert status == 0, out
        return json.loads(out)["data"]

    def rows(self, sql: str, *values: object) -> list[dict[str, Any]]:
        """What the ledger holds, without heartbeat's help."""
        with contextlib.closing(sqlite3.connect(f"file:{self.state}/ledger.db?mode=ro", uri=True, timeout=30)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql, values)]

    def count(self, sql: str, *values: object) -> int:
        """The one number that a query gives; 0 while there is no ledger."""
        try:
            return int(next(iter(self.rows(sql, *values)[0].values())))
        except sqlite3.OperationalError:
            return 0

    def handed(self) -> list[tuple[str, tuple[str, ...]]]:
        """Each call of the agent: the wake's id and those of its findings."""
        log = self.folder / "agent.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [(line.split("\t")[0], tuple(line.split("\t")[1].split())) for line in lines]

    def begun(self) -> list[tuple[str, str]]:
        """Each run for a slot that a script of those above has entered: job and slot."""
        log = self.folder / "begun.log"
        lines = [line.split(" ") for line in log.read_text().splitlines()] if log.exists() else []
        return [(job, slot) for job, slot in lines if slot]

    def health(self, now: datetime | None = None) -> Health:
        """By this process's clock, or that of a daemon for which it is *now*."""
        if now is None:
            return examine(str(self.state))
        return judge_health(gather(str(self.state)), monotonic=time.monotonic(), now=now.timestamp())

    def offspring(self) -> dict[Peer, str]:
        """Every living process that a run or a wake of this home has started, with its command line."""
        found = {}
        for process in psutil.process_iter():
            # Any of them may end while we look.
            with contextlib.suppress(psutil.Error, OSError):
                ours = process.environ().get("HEARTBEAT_STATE_DIR") == str(self.state)
                peer = pids.look(process.pid) if ours and pids.marks(process.pid) else None
                if peer is not None and not peer.dead:
                    found[peer] = " ".join(process.cmdline())
        return found

    def clear(self) -> None:
        """End whatever a test that failed has left."""
        for daemon in self.daemons:
            if daemon.process.poll() is None:
                daemon.process.send_signal(signal.SIGCONT)
                daemon.kill()
        for peer in self.offspring():
            pids.send(peer, signal.SIGKILL)

    def report(self) -> str:
        """What somebody wants to see when a test fails."""
        log = self.log_file.read_bytes() if self.log_file.exists() else b""
        health = self.health()
        return (
            f"{self.folder}: {health.state} {health.problems}\n{self._fates()}\n"
            f"... {log[-6000:].decode(errors='replace')}"
        )

    def _fates(self) -> str:
        """The latest slots of each job, and what happened to the clock."""
        try:
            slots = self.rows(
                "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY job ORDER BY slot_at DESC) AS nth FROM slots)"
                " WHERE nth <= 12 ORDER BY job, slot_at"
            )
            events = self.rows("SELECT * FROM clock_events ORDER BY rowid DESC LIMIT 12")
        except sqlite3.Error as error:
            return f"the ledger cannot be read: {error}"
        texts = [
            f"{row['job']} {row['slot_at']} to {row['last_at']} ({row['count']}) {row['state']} {row['reason']!r} "
            f"{row['run_id']} attempts {row['attempts']} at {row['at']}"
            for row in slots
        ]
        return "\n".join([*texts, *map(str, events)])


def wait_for(condition: Callable[[], object], seconds: float, what: str, every: float = 0.05) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"waited {seconds} s in vain for {what}"
        time.sleep(every)
