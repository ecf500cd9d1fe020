"""One job of the stand-in for launchd: a real process, started, kept alive and ended by the keys of its plist."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import signal
import time
from dataclasses import dataclass, field
from typing import Any, BinaryIO

PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
EXIT_TIMEOUT, THROTTLE = 5, 10
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP)
CANNOT_START = 78  # EX_CONFIG, as launchd shows for a program that it cannot start

Plist = dict[str, Any]


def is_wanted_again(plist: Plist, status: int) -> bool:
    """KeepAlive: `true` is always, and the conditions of a dict are ORed."""
    keep = plist.get("KeepAlive", False)
    if isinstance(keep, bool):
        return keep
    has_crashed = -status in CRASHES
    exits = "SuccessfulExit" in keep and keep["SuccessfulExit"] == (status == 0)
    return exits or ("Crashed" in keep and keep["Crashed"] == has_crashed)


def is_wanted_at_load(plist: Plist) -> bool:
    keep = plist.get("KeepAlive")
    return bool(plist.get("RunAtLoad")) or keep is True or (isinstance(keep, dict) and "SuccessfulExit" in keep)


@dataclass
class Job:
    plist: Plist
    domain: str
    path: str
    scale: float
    wanted: bool
    process: asyncio.subprocess.Process | None = None
    runs: int = 0
    last: int | None = None
    """Its last exit status; negative: the signal."""
    started: float = float("-inf")
    state: str = "not running"
    draining: bool = False
    forced: bool = False
    """Start it again whatever KeepAlive says, once."""
    bell: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def label(self) -> str:
        return str(self.plist["Label"])

    @property
    def exit_timeout(self) -> float:
        return float(self.plist.get("ExitTimeOut", EXIT_TIMEOUT)) * self.scale

    async def run(self) -> None:
        while not self.draining:
            if not self.wanted:
                self.state = "not running"
                await self._ring(None)
            elif (wait := self.started + self.plist.get("ThrottleInterval", THROTTLE) * self.scale - now()) > 0:
                self.state = "spawn scheduled"
                await self._ring(wait)
            else:
                self.wanted = False
                self.last = await self._spawn()
                self.process, self.state = None, "not running"
                self.wanted = self.forced or is_wanted_again(self.plist, self.last)
                self.forced = False

    def kick(self) -> None:
        self.wanted = True
        self.bell.set()

    async def drain(self) -> None:
        """SIGTERM, and SIGKILL when ExitTimeOut is over."""
        self.draining = True
        self.bell.set()
        if self.process is not None:
            process = self.process
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), self.exit_timeout)
            except TimeoutError:
                process.kill()

    def send(self, name: str) -> None:
        if self.process is not None:
            self.process.send_signal(signal.Signals[name])

    def show(self) -> str:
        """As `launchctl print` does, with a part further in that has a state of its own."""
        lines = [f"\tactive count = {1 if self.process else 0}", f"\tpath = {self.path}", f"\tstate = {self.state}"]
        lines += [f"\truns = {self.runs}"] + ([f"\tpid = {self.process.pid}"] if self.process else [])
        if self.last is not None and self.last < 0:
            lines.append(f"\tlast terminating signal = {signal.strsignal(-self.last)}: {-self.last}")
        else:
            lines.append(f"\tlast exit code = {'(never exited)' if self.last is None else self.last}")
        lines += ["\tresource coalition = {", "\t\tstate = active", "\t\tpid = 1", "\t}"]
        return "\n".join([f"{self.domain}/{self.label} = {{", *lines, "}", ""])

    async def _ring(self, seconds: float | None) -> None:
        self.bell.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.bell.wait(), seconds)

    async def _spawn(self) -> int:
        """Start the program with what launchd gives it, and nothing else; its exit status."""
        words = list(self.plist.get("ProgramArguments") or [self.plist["Program"]])
        self.started = now()
        self.runs += 1
        try:
            with self._opened("StandardOutPath") as out, self._opened("StandardErrorPath") as err:
                self.process = await asyncio.create_subprocess_exec(
                    *words,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    cwd=self.plist.get("WorkingDirectory", "/"),
                    env=self._environment(),
                    start_new_session=True,
                    umask=int(self.plist.get("Umask", -1)),
                    **self._user(),
                )
        except OSError:
            return CANNOT_START
        self.state = "running"
        status = await self.process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)  # what is left of its group, unless AbandonProcessGroup
        return status

    def _opened(self, key: str) -> BinaryIO:
        """Once for each start, and never rotated."""
        return open(self.plist.get(key, os.devnull), "ab")

    def _environment(self) -> dict[str, str]:
        bare = {"PATH": PATH, "TMPDIR": "/tmp/", "XPC_SERVICE_NAME": self.label, "XPC_FLAGS": "0x0"}
        if "UserName" not in self.plist:
            user = pwd.getpwuid(os.getuid())
            bare |= {"HOME": os.environ.get("HOME", user.pw_dir), "USER": user.pw_name, "LOGNAME": user.pw_name}
        return {**bare, **self.plist.get("EnvironmentVariables", {})}

    def _user(self) -> dict[str, Any]:
        name = self.plist.get("UserName")
        if name is None or os.geteuid() != 0 or name == "root":
            return {}
        user = pwd.getpwnam(name)
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def now() -> float:
    return time.monotonic()
