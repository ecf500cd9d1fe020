"""An installation as its files, its process and its supervisor show it: all real but for systemctl and launchctl."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from heartbeat.marker import Marker, write_marker
from heartbeat.paths import Home
from heartbeat.probe import Health, examine
from heartbeat.probe.instants import text_of
from heartbeat.process import pids
from heartbeat.pulse import Pulse, write_pulse
from heartbeat.starts import Start, log_start
from heartbeat.stores.sqlite import open_ledger
from tests.probe.scenes import LAUNCHCTL, SYSTEMCTL

ASKED = "heartbeat start by ann, called from bash (7), at a terminal"
BY_CRON = "heartbeat restart by ann, called from cron (9), without a terminal"
BY_INSTALLER = "heartbeat install by ann, called from bash (9), without a terminal"
_ACTOR = """
import fcntl, os, sys
from heartbeat.process import owner
print(owner(), flush=True)
held = []
for line in sys.stdin:
    word, _, rest = line.rstrip("\\n").partition(" ")
    if word == "take":
        path, _, text = rest.partition("\\t")
        held.append(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        fcntl.flock(held[-1], fcntl.LOCK_EX)
        os.ftruncate(held[-1], 0)
        os.pwrite(held[-1], text.encode(), 0)
    else:
        while held:
            os.close(held.pop())
    print("done", flush=True)
"""


class Actor:
    """A process of its own that holds locks, as the daemon does."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-c", _ACTOR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._child.stdout is not None
        self.owner = self._child.stdout.readline().strip()

    @property
    def pid(self) -> int:
        return self._child.pid

    def take(self, path: Path, text: str) -> None:
        """Lock the file and write the text into it."""
        self._tell(f"take {path}\t{text}")

    def drop(self) -> None:
        """Let go of every lock."""
        self._tell("drop")

    def stop(self) -> None:
        """As SIGSTOP does; returns when the kernel says so."""
        self._child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def go_on(self) -> None:
        self._child.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self._child.kill()
        self._child.communicate()

    def _tell(self, words: str) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        print(words, file=self._child.stdin, flush=True)
        assert self._child.stdout.readline() == "done\n"


class Installation:
    """One home. Its methods leave evidence and return it again, so that a row of a table can chain them."""

    def __init__(self, root: Path, actor: Actor) -> None:
        self.root = root
        self.actor = actor
        self.home = Home(root, root / "state", root / "cache")
        self.home.state.mkdir()
        for folder in ("bin", "user", "system"):
            (root / folder).mkdir()
        for name, text in (("systemctl", SYSTEMCTL), ("launchctl", LAUNCHCTL)):
            path = root / "bin" / name
            path.write_text(text.replace("{folder}", str(root)).replace("{{", "{").replace("}}", "}"))
            path.chmod(0o755)

    @property
    def state(self) -> Path:
        return self.home.state

    def look(self, *, thorough: bool = False) -> Health:
        return examine(str(self.state), thorough=thorough)

    # What the daemon leaves

    def works(self) -> Installation:
        """Everything that a daemon which beats leaves."""
        return self.ledger().started().lock().pulse()

    def lock(self, text: str | None = None) -> Installation:
        """Somebody holds the lock, in their own name if no other is given."""
        self.actor.take(self.home.lock_file, self.actor.owner if text is None else text)
        return self

    def pulse(self, age: float = 5, **fields: Any) -> Installation:
        """A pulse of the actor's; fields given as numbers where the pulse has texts are seconds ago."""
        here, now = time.monotonic(), time.time()
        usual: dict[str, Any] = {
            "owner": self.actor.owner,
            "monotonic": max(0.0, here - age),
            "started_monotonic": max(0.0, here - age - 100),
            "started_at": 100 + age,
            "written_at": age,
            "last_beat_at": age,
            "next_due_at": "",
            "jobs": 3,
            "version": "0.1.0",
        }
        values = usual | fields
        for name in ("started_at", "written_at", "last_beat_at", "last_run_at", "next_due_at"):
            if isinstance(value := values.get(name), int | float):
                values[name] = stamp(now - value)
        write_pulse(self.home.pulse_file, Pulse(**values))
        return self

    def started(self, *lives: Start, ago: float = 3_000, by: str = ASKED) -> Installation:
        """These starts in the log; one that was asked for when none is given."""
        for life in lives or (Start(time.time() - ago, "asked", owner=self.actor.owner, by=by),):
            log_start(self.home.starts_file, life)
        return self

    def starts(self, *ages: float, why: str = "crash", by: str = "") -> Installation:
        """Starts so many seconds ago."""
        return self.started(*(Start(time.time() - age, why, owner=self.actor.owner, by=by) for age in ages))

    def ledger(self) -> Installation:
        """A ledger whose job `check` ran well a minute ago, in a slot every ten minutes."""
        self.home.ledger_file.write_bytes(_ledger())
        return self

    def write(self, name: str, content: bytes) -> Installation:
        """Something else in place of a file of the state folder."""
        (self.state / name).write_bytes(content)
        return self

    def append(self, name: str, content: bytes) -> Installation:
        with (self.state / name).open("ab") as file:
            file.write(content)
        return self

    def lock_again(self, text: str) -> Installation:
        """The lock is held, and names somebody else."""
        self.home.lock_file.write_text(text)
        return self

    def remove(self, name: str) -> Installation:
        (self.state / name).unlink()
        return self

    # Who supervises it

    def installed(
        self, manager: str = "systemd", unit: str = "heartbeat.service", domain: str = "user"
    ) -> Installation:
        write_marker(self.home.marker_file, Marker(manager, unit, domain, "0.1.0"))
        return self

    def unit(self, *, began: float = 3_000, changed: float = 3_000, **facts: object) -> Installation:
        """The service as systemd shows it, its main process the actor; *began* and *changed* are seconds ago."""
        here = time.monotonic()
        usual: dict[str, object] = {
            "LoadState": "loaded",
            "ActiveState": "active",
            "SubState": "running",
            "Result": "success",
            "MainPID": self.actor.pid,
            "NRestarts": 0,
            "ExecMainStatus": 0,
            "ExecMainStartTimestampMonotonic": max(1, int((here - began) * 1e6)),
            "StateChangeTimestampMonotonic": max(1, int((here - changed) * 1e6)),
        }
        text = "".join(f"{name}={value}\n" for name, value in (usual | facts).items())
        (self.root / "user" / "heartbeat.service").write_text(text)
        return self.installed()

    def refused(self) -> Installation:
        """There is no bus, as in cron."""
        (self.root / "user" / "refuses").touch()
        return self

    def job(self, *lines: str) -> Installation:
        """The job as launchd shows it."""
        folder = self.root / "gui" / "501"
        folder.mkdir(parents=True)
        (folder / "local.heartbeat").write_text("".join(f"\t{line}\n" for line in lines))
        return self.installed("launchd", "local.heartbeat", "gui/501")


@cache
def _ledger() -> bytes:
    """Made once: each commit waits for the disk."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        open_ledger(path).close()
        for age in (1_260, 660, 60):
            enter_run(path, "check", age)
        return path.read_bytes()


def enter_run(
    path: Path, job: str, age: float, *, verdict: str = "quiet", state: str = "ended", slots: int = 1
) -> None:
    """A run of a job that ended so many seconds ago, in a stretch of *slots*, each a minute before the next."""
    at, first = stamp(time.time() - age), stamp(time.time() - age - 60 * (slots - 1))
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    with db:
        run = f"run_{db.execute('SELECT count(*) FROM runs').fetchone()[0]}"
        db.execute(
            "INSERT INTO runs (id, job, trigger, slot_at, owner, state, started_at, ended_at, verdict)"
            " VALUES (?, ?, 'schedule', ?, '1:1', ?, ?, ?, ?)",
            (run, job, at, state, at, at if state == "ended" else None, verdict),
        )
        if slots:
            db.execute("INSERT INTO slots VALUES (?, ?, ?, ?, 'ran', '', ?, 1, ?)", (job, first, at, slots, run, at))
    db.close()


def stamp(at: float) -> str:
    """An instant as the daemon writes it."""
    return f"{text_of(at)[:-1]}.000000Z"


def lived(ago: float, how: str, ending: str, sender: str = "") -> Start:
    """A life that began so long ago, and ended a minute later."""
    at = time.time() - ago
    return Start(at, "asked", owner="1:1", by=ASKED).ended(at + 60, how, ending, sender)


@contextmanager
def zombie() -> Iterator[str]:
    """The name, as a lock holds it, of a process that has ended and was not waited for."""
    child = subprocess.Popen(["sleep", "60"])
    peer = pids.look(child.pid)
    assert peer is not None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        yield f"{child.pid}:{peer.start}@{boot}"
    finally:
        child.wait()
