"""heartbeat as a service in a box: its files, its verbs, and what systemd says of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from tests.slow.boxes import USER, Box, Done

UNIT = "heartbeat.service"
QUICK = "[Service]\nWatchdogSec=4\nTimeoutAbortSec=2\nRestartSec=100ms\n"
"""A drop-in: what takes minutes by the unit is over in seconds."""
CHANNEL = '[brief]\nat = "off"\n\n[channels.page]\nkind = "file"\npath = "told.md"\n'
NOTHING = "#!/bin/sh\necho '{\"wakeAgent\": false}'\n"


class Service:
    """The installation of the plain user, under their own manager or (*is_system*) under the machine's."""

    def __init__(self, box: Box, *, is_system: bool = False) -> None:
        self.box = box
        self._is_system = is_system
        self._home = f"/home/{USER}"
        self.config = "/etc/heartbeat" if is_system else f"{self._home}/.config/heartbeat"
        self.state = "/var/lib/heartbeat" if is_system else f"{self._home}/.local/state/heartbeat"
        self.units = "/etc/systemd/system" if is_system else f"{self._home}/.config/systemd/user"

    def try_(self, *words: str) -> Done:
        """A verb of heartbeat, by who may."""
        if not self._is_system:
            return self.box.try_as_user("heartbeat", *words)
        return self.box.try_("heartbeat", "--home", "/etc/heartbeat", *words)

    def run(self, *words: str) -> str:
        done = self.try_(*words)
        assert done.status == 0, f"heartbeat {words} ended with {done.status}: {done.text}\n{self.journal()}"
        return done.out

    def data(self, *words: str) -> Any:
        return json.loads(self.run("--json", *words))["data"]

    def configure(self, text: str = "", **scripts: str) -> None:
        """CHANNEL and more, with scripts that are found as `jobs/NAME`."""
        self.write(f"{self.config}/config.toml", CHANNEL + text)
        for name, script in scripts.items():
            self.write(f"{self.config}/jobs/{name}", script, "755")

    def drop_in(self, text: str, name: str = "test.conf") -> None:
        """Changes of the owner's own."""
        self.write(f"{self.units}/{UNIT}.d/{name}", text)
        self.systemctl("daemon-reload")

    def write(self, path: str, text: str, mode: str = "644") -> None:
        script = 'mkdir -p "$(dirname "$1")" && cat >"$1" && chmod "$2" "$1"'
        who = () if self._is_system else ("as-user",)
        self.box.run(*who, "sh", "-c", script, "sh", path, mode, stdin=text)

    def read(self, path: str) -> str:
        """A file of the service; an empty text when there is none."""
        return self.box.try_("cat", path).out

    def systemctl(self, *words: str) -> str:
        return self.box.run(*self._systemctl(), *words)

    def facts(self) -> dict[str, str]:
        shown = self.box.run(*self._systemctl(), "show", UNIT)
        return dict(line.partition("=")[::2] for line in shown.splitlines())

    def wait(self, until: Callable[[dict[str, str]], bool], seconds: float = 30) -> dict[str, str]:
        end = time.monotonic() + seconds
        while not until(facts := self.facts()):
            states = {name: facts.get(name) for name in ("ActiveState", "SubState", "Result", "NRestarts", "MainPID")}
            assert time.monotonic() < end, f"after {seconds} s it is {states}; {self.journal()}"
            time.sleep(0.1)
        return facts

    def wait_for_restart(self, number: int = 1, seconds: float = 30) -> dict[str, str]:
        """Until systemd started it again so often, and it is ready."""
        return self.wait(lambda facts: is_up(facts) and facts["NRestarts"] == str(number), seconds)

    def kill(self, signal: str) -> None:
        self.box.run("kill", f"-{signal}", self.facts()["MainPID"])

    def starts(self) -> list[list[str]]:
        """The log of starts: when, why, owner, by, ended, how, ending, sender."""
        return [line.split("\t") for line in self.read(f"{self.state}/starts.log").splitlines()]

    def journal(self) -> str:
        option = "--unit" if self._is_system else "--user-unit"
        who = () if self._is_system else ("as-user",)
        units = [f"{option}={UNIT}", f"{option}=heartbeat-alarm@{UNIT}.service"]
        return self.box.try_(*who, "journalctl", "--no-pager", "--quiet", *units, "--lines=40").text

    def clear(self) -> None:
        """Nothing of heartbeat is left, also not what the owner keeps."""
        self.try_("uninstall")
        who = () if self._is_system else ("as-user",)
        self.box.run(*who, "rm", "-rf", self.config, self.state, f"{self.units}/{UNIT}.d", f"{self._home}/probe")
        self.systemctl("daemon-reload")
        self.systemctl("reset-failed")

    def _systemctl(self) -> tuple[str, ...]:
        return ("systemctl",) if self._is_system else ("as-user", "systemctl", "--user")


def is_up(facts: dict[str, str]) -> bool:
    return facts["ActiveState"] == "active"
