"""A daemon as its files, its processes and its supervisor show it: all of them real but for systemctl and launchctl."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heartbeat.probe.health import Health
from heartbeat.probe.targets import examine_target

HOUR = 3600
NAN, INF = float("nan"), float("inf")

# Like systemctl: a unit is a file in the folder of its manager; one that is not there is not found. Asked for patterns,
# it shows them all.
SYSTEMCTL = """#!/bin/sh
for unit; do :; done
case "$1" in --user) place=user;; *) place=system;; esac
case " $* " in *" show "*) ;; *) exit 0;; esac
[ -e "{folder}/hangs" ] && exec sleep 60
[ -e "{folder}/$place/refuses" ] && { echo "Failed to connect to bus: No medium found" >&2; exit 1; }
case "$unit" in --property=*)
    for file in "{folder}/$place/"*; do [ -s "$file" ] && cat "$file" && echo; done
    exit 0;;
esac
cat "{folder}/$place/$unit" 2>/dev/null || printf 'LoadState=not-found\\nActiveState=inactive\\n'
"""
# Like launchctl: a job is a file by its label in the folder of its domain.
LAUNCHCTL = """#!/bin/sh
[ "$1" = print ] || exit 0
job=$(cat "{folder}/$2" 2>/dev/null) || {{ echo "Could not find service" >&2; exit 113; }}
printf '%s = {{\\n%s\\n}}\\n' "$2" "$job"
"""


@dataclass
class Scene:
    """One target in a folder of its own. The clock of its judge is an hour ahead, so that no process is young."""

    root: Path
    live: int
    name: str = "hermes"
    now: int = field(default_factory=lambda: int(time.time()) + HOUR)

    def __post_init__(self) -> None:
        for folder in ("bin", "user", "system", "home"):
            (self.root / folder).mkdir()
        for program, text in (("systemctl", SYSTEMCTL), ("launchctl", LAUNCHCTL)):
            self.program(program, text.replace("{folder}", str(self.root)).replace("{{", "{").replace("}}", "}"))
        self.config(preset="hermes")

    @property
    def home(self) -> Path:
        return self.root / "home"

    def program(self, name: str, text: str) -> None:
        path = self.root / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def config(self, text: str = "", **keys: object) -> Scene:
        """The configuration with one section, of these keys."""
        keys = {"home": str(self.home), **keys}
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        (self.root / "config.toml").write_text("\n".join([text, f"[watch.{self.name}]", *lines]))
        return self

    def put(self, name: str, content: object) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def file(self, name: str, content: object) -> Scene:
        self.put(name, content)
        return self

    def folder(self, name: str) -> Scene:
        (self.home / name).mkdir()
        return self

    def state(self, **fields: Any) -> Scene:
        """gateway_state.json of a gateway that works; a field that is None is left out."""
        usual = {
            "pid": self.live,
            "start_time": ticks_of(self.live),
            "updated_at": self.now - 5,
            "gateway_state": "running",
            "platforms": {"telegram": {"state": "connected"}, "discord": {"state": "connected"}},
        }
        kept = {key: value for key, value in (usual | fields).items() if value is not None}
        return self.file("gateway_state.json", kept)

    def heartbeat(self, **fields: Any) -> Scene:
        """state/gateway.heartbeat of its loop."""
        usual = {"pid": self.live, "start_time": ticks_of(self.live), "updated_at": self.now - 5}
        kept = {key: value for key, value in (usual | fields).items() if value is not None}
        return self.file("state/gateway.heartbeat", kept)

    def starts(self, *ages: float) -> Scene:
        """gateway-starts.log with a start so many seconds ago each."""
        return self.file("gateway-starts.log", "".join(f"{float(self.now - age)!r}\n" for age in ages))

    def unit(self, name: str = "hermes-gateway.service", manager: str = "user", **facts: object) -> Scene:
        """A unit that its manager keeps running; facts that are None are left out."""
        usual = {
            "Id": name,
            "LoadState": "loaded",
            "ActiveState": "active",
            "SubState": "running",
            "Result": "success",
            "MainPID": self.live,
            "NRestarts": 0,
            "ExecMainStatus": 0,
        }
        lines = [f"{key}={value}\n" for key, value in (usual | facts).items() if value is not None]
        (self.root / manager / name).write_text("".join(lines))
        return self

    def failed(self) -> Scene:
        return self.unit(ActiveState="failed", SubState="failed", Result="exit-code", MainPID=0, ExecMainStatus=78)

    def restarted(self, count: int) -> Scene:
        """So often by its manager, the last time 20 s ago."""
        return self.unit(NRestarts=count, ExecMainStartTimestampMonotonic=int((time.monotonic() - 20) * 1e6))

    def refuse(self) -> Scene:
        """Both managers do not answer."""
        for manager in ("user", "system"):
            (self.root / manager / "refuses").touch()
        return self

    def healthy(self) -> Scene:
        return self.state().unit()

    def examine(self, *, thorough: bool = False, now: float | None = None) -> Health:
        folders = (str(self.root), str(self.root), str(self.root))
        return examine_target(self.name, folders, now=self.now if now is None else now, environ={}, thorough=thorough)


def codes(health: Health) -> list[str]:
    return [code for code, _ in health.problems]


def ticks_of(pid: int) -> int:
    """The start of a process as /proc counts it."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def dead_pid() -> int:
    """The number of a process that was."""
    with subprocess.Popen(["true"]) as child:
        pass
    return child.pid


@contextmanager
def sleeping() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as child:
        try:
            yield child
        finally:
            child.kill()


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Without the right to signal the processes of root; for a user that has it, pid 1 is another user's anyway."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65_534, 65_534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
