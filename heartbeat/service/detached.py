"""The daemon without a supervisor: away from the terminal, with the same lock and the same pulse, and nobody's care."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from heartbeat.errors import HeartbeatError, Invalid, Refused, ServiceError
from heartbeat.folders import make_private
from heartbeat.marker import Marker, read_marker, write_marker
from heartbeat.paths import Home
from heartbeat.pulse import read_pulse
from heartbeat.service.asking import ask_for
from heartbeat.service.hand import running
from heartbeat.service.planning import called, interpreter

SUPERVISOR = "HEARTBEAT_SUPERVISOR"
"""Tells the daemon who keeps it: with `none`, as with `launchd`, it keeps its log itself, in `Home.log_file`."""

_SECONDS = 30.0
"""How long the first beat is waited for: a large ledger is looked through before."""
_LOOK_EVERY = 0.05
_LONGEST_WORDS = 4096
_ASK = "health --assert-live"
_SUPERVISED = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES")
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE)


_ERRORS: Mapping[int, type[HeartbeatError]] = {4: Invalid, 5: Refused}


@dataclass(frozen=True, slots=True)
class Detached:
    """A daemon that was left alone."""

    pid: int
    log: Path
    beats: bool
    """False: it runs, but is still looking through its ledger."""


@dataclass(frozen=True, slots=True)
class _Launched:
    """What is held of a daemon until it beats."""

    between: int
    """The pid of the process whose child it is meanwhile."""
    told: int
    """A descriptor that tells the daemon's pid and, should it end, its exit status."""
    leash: int
    """A descriptor whose closing ends the process between, so that the daemon is nobody's child."""

    def let_go(self) -> None:
        os.close(self.leash)
        os.close(self.told)
        os.waitpid(self.between, 0)


def detach(home: Home, environ: Mapping[str, str], *, verb: str = "run --detach") -> Detached:
    """Start the daemon in the background, and return at its first beat.

    *verb* is what the owner typed. Raises Refused when one runs already; when it does not stay, what its exit
    status stands for, with its last words.
    """
    if found := running(home):
        raise Refused(f"cannot start: process {found[0]} already runs heartbeat in {home.state}; stop it first")
    ask_for(home, "start", environ, verb=verb)
    log = home.log_file
    try:
        make_private(log.parent)
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ServiceError(f"cannot write the log {log}: {error.strerror}; correct its owner, or make room") from error
    try:
        begun = os.fstat(descriptor).st_size
        kept = {name: value for name, value in environ.items() if name not in _SUPERVISED}
        launched = _launch((*interpreter(), "run"), {**kept, **home.environment(), SUPERVISOR: "none"}, descriptor)
    finally:
        os.close(descriptor)
    try:
        detached = _await_beat(home, launched.told, begun, time.monotonic() + _SECONDS)
    finally:
        launched.let_go()
    _mark(home)
    return detached


def missing(detached: Detached, home: Home, environ: Mapping[str, str]) -> str:
    """What the owner must know: where it is, what nobody does for it, and how to have that done."""
    logs, stop, install, health = (called(verb, home, environ) for verb in ("logs -f", "stop", "install", _ASK))
    again = called("run --detach", home, environ, absolute=True)
    return (
        f"heartbeat runs in the background, process {detached.pid}"
        + ("" if detached.beats else "; it is still looking through its ledger")
        + f"\nlog: {detached.log} (`{logs}`); `{stop}` ends it"
        "\nno supervisor keeps it, so what is missing: a start after a crash, a start with the machine,"
        " a watchdog that ends it when it hangs"
        f"\n`{install}` gives all three where systemd or launchd runs; else let a monitor ask `{health}`, and cron"
        f" start it: @reboot {again}"
    )


def _launch(argv: tuple[str, ...], environ: Mapping[str, str], log: int) -> _Launched:
    """Start it as the child of a process between, in a session of its own, which no terminal can reach."""
    told, tell = os.pipe()
    held, leash = os.pipe()
    if between := os.fork():
        os.close(tell)
        os.close(held)
        return _Launched(between, told, leash)
    try:
        os.close(leash)
        os.setsid()
        os.chdir("/")
        nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        actions = [nothing, (os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)]
        pid = os.posix_spawn(argv[0], argv, environ, file_actions=actions, setsigmask=(), setsigdef=_SIGNALS)
        os.write(tell, f"{pid}\n".encode())
        while not select.select([held], [], [], _LOOK_EVERY)[0]:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                os.write(tell, f"{os.waitstatus_to_exitcode(status)}\n".encode())
                break
    finally:
        os._exit(0)


def _await_beat(home: Home, told: int, begun: int, until: float) -> Detached:
    words = b""
    while not words.endswith(b"\n"):
        words += (part := os.read(told, 1))
        if not part:
            raise ServiceError("cannot start: the process could not be made; end some others, and try again")
    pid, beats = int(words), False
    while not beats and time.monotonic() < until:
        if select.select([told], [], [], _LOOK_EVERY)[0]:
            status = int(os.read(told, 64) or b"1")
            message = f"cannot start: it ended with status {status} before its first beat"
            raise _ERRORS.get(status, ServiceError)(f"{message}; {_said(home.log_file, begun)}")
        with suppress(OSError, ValueError):  # no pulse yet, or one of another version
            pulse = read_pulse(home.pulse_file)
            beats = pulse is not None and pulse.owner.startswith(f"{pid}:") and bool(pulse.last_beat_at)
    return Detached(pid, home.log_file, beats)


def _said(log: Path, begun: int) -> str:
    """Its last words: what it wrote since it was started."""
    with suppress(OSError), log.open("rb") as file:
        file.seek(begun)
        if said := file.read(_LONGEST_WORDS).decode(errors="replace").strip():
            return f"it said: {said}"
    return f"see {log}"


def _mark(home: Home) -> None:
    """Let the probe know that no supervisor is to be asked; a service that is installed stays what it was."""
    with suppress(OSError, ValueError):
        if read_marker(home.marker_file) is None:
            from heartbeat import __version__

            write_marker(home.marker_file, Marker("none", "heartbeat run --detach", "", __version__))
