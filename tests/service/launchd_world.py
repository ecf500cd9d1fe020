"""A Mac of the test's own: the stand-in for launchd with a real process to supervise, in seconds that are shorter."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heartbeat.errors import HeartbeatError
from heartbeat.paths import Home
from heartbeat.service.launchd import Launchd
from heartbeat.service.plan import Plan

ROOT = Path(__file__).resolve().parents[2]
CLIENT = f"""#!{sys.executable} -IS
import _socket, os, sys

connection, answer = _socket.socket(_socket.AF_UNIX), b""
connection.connect("SOCKET")
connection.sendall("\\0".join(sys.argv[1:]).encode() + b"\\n")
while part := connection.recv(65536):
    answer += part
status, _, text = answer.partition(b"\\n")
os.write(2 if int(status) else 1, text)
os._exit(int(status))
"""
"""The stand-in's launchctl, with no import that would cost more than the answer."""
SCALE = 0.015
"""Of the stand-in's seconds; ours are longer, so that a busy machine has time."""
TEMPO = 0.15

# Lives as the file `mode` of its state folder says: `good`, `mute` (without a pulse), `deaf` (to SIGTERM), `ends N`, or
# `calls VERB`: in its first life it has a script in a session of its own that calls heartbeat, and ends along with it.
DAEMON = f"""
import os, signal, subprocess, sys
sys.path.insert(0, {str(ROOT)!r})
state = os.environ["HEARTBEAT_STATE_DIR"] + "/"

def note(word):
    with open(state + "life", "a") as life:
        life.write(f"{{word}} {{os.getpid()}}\\n")

called = []

def end(*_):
    for child in called:
        os.killpg(child.pid, signal.SIGKILL)
    note("ended")
    sys.exit(0)

mode = open(state + "mode").read().split()
signal.signal(signal.SIGTERM, signal.SIG_IGN if mode[0] == "deaf" else end)
note("began")
with open(state + "environment", "w") as file:
    file.write("".join(f"{{name}}={{value}}\\n" for name, value in sorted(os.environ.items())))
if mode[0] == "ends":
    sys.exit(int(mode[1]))
if mode[0] in ("good", "deaf", "calls"):
    from heartbeat.pulse import Pulse, write_pulse
    write_pulse(state + "pulse", Pulse(owner=f"{{os.getpid()}}:1", monotonic=2, started_monotonic=1, started_at="then",
        written_at="now", last_beat_at="now", next_due_at="", jobs=0, version="1"))
if mode[0] == "calls" and not os.path.exists(state + "said"):
    folder = os.path.dirname(os.environ["HEARTBEAT_HOME"])
    words = [sys.executable, "-m", "tests.service.launchd_world", folder, mode[1]]
    called.append(subprocess.Popen(words, cwd={str(ROOT)!r}, stdout=open(state + "said", "w"), start_new_session=True))
while True:
    signal.pause()
"""


class World:
    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.others = set[str]()
        """Verbs that others at the machine may ask for, but heartbeat may not."""
        self.fake = folder / "launchd"
        self.agents = folder / "user/Library/LaunchAgents"
        self.daemons = folder / "LaunchDaemons"
        self.home = home_of(folder)
        for path in (self.fake, self.agents, self.home.state):
            path.mkdir(parents=True)
        self.launchctl = folder / "launchctl"
        self.launchctl.write_text(CLIENT.replace("SOCKET", f"{self.fake}/socket"))
        self.launchctl.chmod(0o755)
        (folder / "daemon.py").write_text(DAEMON)
        self.mode("good")
        self.settings = {"FAKE_SCALE": str(SCALE), **settings}
        self._server = self._serve()

    def _serve(self) -> subprocess.Popen[bytes]:
        (self.fake / "socket").unlink(missing_ok=True)
        command = (sys.executable, "-m", "tests.service.fake_launchd", str(self.fake))
        server = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **self.settings})
        until((self.fake / "socket").exists)
        return server

    def close(self) -> None:
        self._server.terminate()
        self._server.wait(30)

    def log_out_and_in(self, **settings: str) -> None:
        """Every job ends, and what launchd keeps is read again; the agents are loaded only by `load_agents`."""
        self.close()
        self.settings |= settings
        self._server = self._serve()

    def load_agents(self, domain: str) -> None:
        """What launchd does by itself at a login."""
        for file in sorted(self.agents.iterdir()):
            self.ask("bootstrap", domain, str(file))

    # Ours

    def launchd(self, tempo: float = TEMPO) -> Launchd:
        return launchd_of(self.folder, tempo)

    def plan(self, **more: Any) -> Plan:
        return plan_of(self.folder, **more)

    def mode(self, words: str) -> None:
        """How the daemon lives, from its next start on."""
        (self.home.state / "mode").write_text(words)

    # Theirs

    def ask(self, *words: str) -> tuple[int, str]:
        """What somebody else at the machine does with launchctl."""
        done = subprocess.run([self.launchctl, *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def asked(self) -> list[str]:
        """The verbs that launchd has been asked, in order, with their words."""
        return (self.fake / "asked.log").read_text().splitlines()

    def life(self) -> list[str]:
        """What the daemon's processes noted: `began` and `ended`."""
        file = self.home.state / "life"
        return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []

    def environment(self) -> Mapping[str, str]:
        """What the daemon found in its environment."""
        lines = (self.home.state / "environment").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)


def home_of(folder: Path) -> Home:
    return Home(folder / "home", folder / "home/state", folder / "home/cache")


def launchd_of(folder: Path, tempo: float = TEMPO) -> Launchd:
    environ = {"HOME": str(folder / "user"), "HEARTBEAT_LAUNCHCTL": str(folder / "launchctl")}
    return Launchd(environ=environ, daemons=folder / "LaunchDaemons", tempo=tempo)


def plan_of(folder: Path, **more: Any) -> Plan:
    home = home_of(folder)
    plain: dict[str, Any] = {
        "name": "heartbeat",
        "scope": "user",
        "home": home,
        "argv": (sys.executable, "-I", "-S", str(folder / "daemon.py")),
        "path": "/usr/local/bin:/usr/bin:/bin",
        "version": "1.2.3",
        "environment": {**home.environment(), "LANG": "de_DE.UTF-8"},
    }
    return Plan(**(plain | more))


@contextmanager
def world(folder: Path, **settings: str) -> Iterator[World]:
    made = World(folder, **settings)
    try:
        yield made
    finally:
        made.close()


def until(is_so: Callable[[], object], seconds: float = 30) -> None:
    """Wait for something that happens elsewhere."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


if __name__ == "__main__":
    where = Path(sys.argv[1])
    try:
        print(getattr(launchd_of(where), sys.argv[2])(plan_of(where)), flush=True)
    except HeartbeatError as refusal:
        print(refusal, flush=True)
