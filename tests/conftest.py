"""A home for a test, and the command run in it: as installed, or in this process where a start would cost too much."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from heartbeat.agents import find_agent
from heartbeat.beat import House, Ticked, tick
from heartbeat.channels import find_channels, routes_of
from heartbeat.cli.app import run
from heartbeat.job import load
from heartbeat.paths import find_home
from heartbeat.stores.sqlite import SqliteLedger, open_ledger

# The machine may be busy: how long an example takes says nothing.
hypothesis.settings.register_profile("heartbeat", deadline=None)
hypothesis.settings.load_profile("heartbeat")

NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
COMMAND = Path(sys.executable).with_name("heartbeat")
FIVE_FIELDS = ["schema", "ok", "command", "data", "error"]

CONFIG = """
[owner]
zone = "Europe/Berlin"

[budget] # so that wakes come as they are made
min_gap = "0s"
per_hour = 3600
per_day = 86400

[agent]
kind = "command"
command = ["{home}/agent.sh"]

[jobs.check]
every = "10m"
"""

FOREVER = '#!/bin/sh\necho "$$" > "$HEARTBEAT_HOME/started"\nexec sleep 600\n'

# Prints what the test put into `says`, then ends as the test said.
SCRIPT = """#!/bin/sh
echo "$HEARTBEAT_RUN_ID $HEARTBEAT_NOW" >> "$HEARTBEAT_HOME/runs.log"
cat "$HEARTBEAT_HOME/says/$HEARTBEAT_JOB"
exit "$(cat "$HEARTBEAT_HOME/says/$HEARTBEAT_JOB.status" 2>/dev/null || echo 0)"
"""

# Keeps each prompt in a file of its own, and answers with what the test put into `reply`.
AGENT = """#!/bin/sh
echo "$HEARTBEAT_WAKE_ID" >> "$HEARTBEAT_HOME/agent.log"
cat > "$HEARTBEAT_HOME/prompt.txt"
cat "$HEARTBEAT_HOME/reply" 2>/dev/null
exit "$(cat "$HEARTBEAT_HOME/agent.status" 2>/dev/null || echo 0)"
"""


def at(minutes: float) -> datetime:
    """So long after NOW."""
    return NOW + timedelta(minutes=minutes)


def wait_for(path: Path, seconds: float = 30) -> None:
    """Until somebody has made the file."""
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} never came"
        time.sleep(0.02)


@dataclass(frozen=True, slots=True)
class Done:
    """A call that has ended."""

    status: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, Any]:
        """The one line of `--json`."""
        (line,) = self.out.splitlines()
        envelope: dict[str, Any] = json.loads(line)
        assert list(envelope) == FIVE_FIELDS
        return envelope


class Place:
    """A home with a job `check` and an agent, both of them scripts whose words and exit status the test sets."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        folder.mkdir(mode=0o700)
        self.configure(CONFIG)
        self.script("check", SCRIPT)
        self.file("agent.sh", AGENT)
        self.says("check", {"wakeAgent": False})

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def agent_calls(self) -> list[str]:
        """The wake id of each call of the agent."""
        log = self.folder / "agent.log"
        return log.read_text().split() if log.exists() else []

    def configure(self, text: str) -> None:
        self.file("config.toml", text.replace("{home}", str(self.folder)))

    def file(self, name: str, text: str) -> Path:
        """A file of the home; executable when it begins as a script does."""
        path = self.folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o700 if text.startswith("#!") else 0o600)
        return path

    def script(self, job: str, text: str = SCRIPT) -> Path:
        return self.file(f"jobs/{job}.sh", text)

    def says(self, job: str, output: Mapping[str, Any] | str, status: int = 0) -> None:
        """What the script of *job* prints from now on, and its exit status."""
        self.file(f"says/{job}", output if isinstance(output, str) else json.dumps(output) + "\n")
        self.file(f"says/{job}.status", str(status))

    def finds(self, *findings: Mapping[str, Any], job: str = "check", wake: bool = True, **more: Any) -> None:
        """Let the script of *job* report these findings from now on."""
        told = [{"key": str(number), "title": f"Thing {number}", **one} for number, one in enumerate(findings)]
        self.says(job, {"wakeAgent": wake, "findings": told, **more})

    def environment(self, **more: str) -> dict[str, str]:
        """All that a command gets; nothing is inherited."""
        base = {"PATH": f"{COMMAND.parent}:/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8", "TZ": "UTC"}
        return {**base, **more}

    def run(self, *words: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Done:
        """The installed command, in a process of its own."""
        done = self.start(*words, env=env)
        out, err = done.communicate(stdin.encode(), timeout=60)
        return Done(done.returncode, out.decode(), err.decode())

    def start(self, *words: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """The installed command, going on while the test does something else."""
        return subprocess.Popen(
            [COMMAND, "--home", str(self.folder), *words],
            cwd=self.folder,
            env=self.environment(**(env or {})),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def call(self, *words: str, stdin: str | None = None) -> Done:
        """The same command in this process: a tenth of the time."""
        with self._entered(stdin), _logging_restored():
            self._capsys.readouterr()
            status = run(["--home", str(self.folder), *words])
            captured = self._capsys.readouterr()
        return Done(status, captured.out, captured.err)

    def data(self, *words: str, status: int = 0) -> Any:
        """The `data` of a call with --json that ends well."""
        done = self.call(*words, "--json")
        assert done.status == status, done
        assert done.envelope["ok"] is True
        return done.envelope["data"]

    def error(self, *words: str, status: int) -> str:
        """The message of a call that ends with *status*, which says it on stderr and as an envelope alike."""
        done, enveloped = self.call(*words), self.call(*words, "--json")
        assert (done.status, enveloped.status, done.out) == (status, status, ""), (done, enveloped)
        envelope = enveloped.envelope
        assert (envelope["ok"], envelope["data"]) == (False, None)
        assert list(envelope["error"]) == ["code", "message"]
        assert "Traceback" not in done.err + enveloped.err
        assert done.err == f"heartbeat: {envelope['error']['message']}\n"
        message: str = envelope["error"]["message"]
        return message

    @contextmanager
    def _entered(self, stdin: str | None) -> Iterator[None]:
        with self._monkeypatch.context() as patch:
            for name in list(os.environ):
                patch.delenv(name)
            for name, value in self.environment().items():
                patch.setenv(name, value)
            if stdin is not None:
                file = self.file("stdin", stdin).open(encoding="utf-8")
                patch.setattr(sys, "stdin", file)
            yield
        if stdin is not None:
            file.close()


class Bench:
    """A house around a real ledger, whose clock the test sets."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.now = NOW
        self.ledger: SqliteLedger = open_ledger(place.state / "ledger.db")
        self.stop = threading.Event()

    def house(self, **more: Any) -> House:
        """With the configuration as it is now."""
        home, environ = find_home(str(self.place.folder), {}), self.place.environment()
        config = load(home, environ)
        settings = config.settings
        house = House(
            self.ledger,
            home,
            config,
            find_agent(settings, home, environ, self.stop),
            environ,
            self.stop,
            lambda: self.now,
            channels=find_channels(settings, home, environ, self.stop),
            routes=routes_of(settings),
        )
        return replace(house, **more)

    def tick(self, minutes: float, slot: datetime | None = None, **more: Any) -> Ticked:
        """The job `check`, so many minutes after NOW."""
        self.now = at(minutes)
        house = self.house(**more)
        return tick(house, house.config.jobs["check"], slot, self.now)

    def lock_for_a_second(self) -> None:
        """What another process may do; the ledger's own patience, 5 s, is cut short so that ours is needed."""
        self.ledger._database.patience = 0.05
        other = sqlite3.connect(self.place.state / "ledger.db", isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(1.0, other.close).start()


@contextmanager
def _logging_restored() -> Iterator[None]:
    """A verb sets up logging for its process; the tests that follow in this one want theirs."""
    root, own = logging.getLogger(), logging.getLogger("heartbeat")
    before: Sequence[Any] = (root.handlers[:], root.level, own.level)
    try:
        yield
    finally:
        root.handlers[:], level, own_level = before
        root.setLevel(level)
        own.setLevel(own_level)


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path / "home", capsys, monkeypatch)


@pytest.fixture
def bench(place: Place) -> Iterator[Bench]:
    made = Bench(place)
    yield made
    made.ledger.close()
