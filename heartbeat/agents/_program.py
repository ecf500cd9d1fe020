"""Runs the program of an agent for one call: bounded, in a private place, with nothing of it left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from heartbeat.agents._answers import REPLY_LIMIT
from heartbeat.config import Settings
from heartbeat.config.secret import expand
from heartbeat.durations import show_duration
from heartbeat.errors import AgentError, ConfigError, Problem
from heartbeat.folders import make_private
from heartbeat.job.environment import agent_environment
from heartbeat.model import Call, Captured, Execution, Reply
from heartbeat.paths import Home
from heartbeat.process import Command, execute, redacted, without
from heartbeat.text import one_line

LONGEST_ARGUMENT = 128 * 1024 - 1
"""Bytes of one argument that Linux lets a program have."""
SAID_LIMIT = 300
"""Characters of its words that an error quotes."""

_STDOUT_LIMIT = 8 * 1024 * 1024
_FILE_LIMIT = 4 * REPLY_LIMIT
_ANSWER = "answer"
_LEFT_OVER = 2 * 86_400  # seconds; no call takes longer than a day


@dataclass(frozen=True, slots=True)
class Spot:
    """Where one call happens."""

    program: tuple[str, ...]
    """The first words of its command line."""
    folder: str
    """Where it works."""
    scratch: str
    """A folder of this call alone, gone afterwards."""

    @property
    def answer(self) -> str:
        """The file that is read when the program has ended."""
        return f"{self.scratch}/{_ANSWER}"


@dataclass(frozen=True, slots=True)
class Line:
    """How a program is started for a call."""

    argv: tuple[str, ...]
    stdin: bytes | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    """Its variables, unless the owner says otherwise."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What is to lie in its scratch folder, by name."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A program that ended by itself, within its time; no secret is in what it left."""

    execution: Execution
    answer: str | None
    """The text of its answer file; None when there is none."""
    zone: str
    """That of its clock."""
    program: str = ""

    @property
    def ended(self) -> str:
        """How it ended, in words, with the last that it said on stderr."""
        execution = self.execution
        how = f"signal {execution.signal}" if execution.signal else f"exit status {execution.exit_code}"
        return f"it ended with {how}" + (f"; it said: {self.last_words}" if self.last_words else "")

    @property
    def last_words(self) -> str:
        """The last line on its stderr."""
        return _last_line(self.execution.stderr)

    @property
    def printed(self) -> str:
        """The last line on its stdout."""
        return _last_line(self.execution.stdout)


@dataclass(frozen=True, slots=True)
class ProgramAgent:
    """An agent that is a program: a command line is made for a call, and what it left is read."""

    name: str
    settings: Settings
    home: Home
    environ: Mapping[str, str]
    stop: Event
    line: Callable[[Call, Spot], Line]
    read: Callable[[Ran], Reply]

    def call(self, call: Call) -> Reply:
        """Run the program and return its reply; raises AgentError when it did not accept the wake."""
        try:
            return self.read(self._run(call))
        except ConfigError as error:
            # A secret that cannot be had just now, such as one whose keeper is locked, may be had later.
            raise AgentError(str(error), retryable=True) from error
        except OSError as error:
            where = self.home.cache
            message = f"cannot prepare the call of the agent in {where}: {error.strerror}; make room or correct it"
            raise AgentError(message, retryable=True) from error

    def _run(self, call: Call) -> Ran:
        settings, home = self.settings, self.home
        own, calls = home.cache / "agent", home.cache / "calls"
        for folder in (own, calls):
            make_private(folder)
        _sweep(calls)
        folder = expand(call.prefs.folder, home.config, self.environ) if call.prefs.folder else own
        with tempfile.TemporaryDirectory(prefix="call-", dir=calls, ignore_cleanup_errors=True) as scratch:
            spot = Spot(program_of(settings, home, self.environ, self.name), str(folder), scratch)
            line = self.line(call, spot)
            env = agent_environment(settings, home, self.environ, mark=call.wake_id, stop=self.stop)
            for name, content in line.files.items():
                _write_private(f"{scratch}/{name}", content)
            command = Command(
                argv=line.argv,
                env={**line.env, **env, "HEARTBEAT_WAKE_ID": call.wake_id},
                cwd=spot.folder,
                timeout=call.prefs.timeout,
                mark=call.wake_id,
                stdin=line.stdin,
                stdout_limit=_STDOUT_LIMIT,
            )
            secrets = {name: env[name] for name in settings.agent.secrets}
            execution = redacted(execute(command, self.stop), secrets)
            _raise_unless_ended(execution, line.argv[0], call)
            return Ran(execution, without(_read_bounded(spot.answer), secrets), settings.owner.zone, line.argv[0])


def permitted(call: Call, safe: tuple[str, ...]) -> tuple[str, ...]:
    """The tools of a call: what strangers wrote narrows those that the owner allows to the *safe* ones."""
    wanted = call.prefs.tools
    if wanted is None:
        return safe
    return tuple(tool for tool in wanted if tool in safe) if call.restricted else wanted


def is_open(call: Call) -> bool:
    """Whether the owner names the tools, and no stranger's text takes that back."""
    return call.prefs.tools is not None and not call.restricted


def program_of(settings: Settings, home: Home, environ: Mapping[str, str], usual: str) -> tuple[str, ...]:
    """The first words of the command line: as configured, else the usual program."""
    program, *more = settings.agent.command or (usual,)
    return (str(expand(program, home.config, environ)) if "/" in program else program, *more)


def startable(settings: Settings, home: Home, environ: Mapping[str, str], file: str, usual: str) -> Problem | None:
    """Why the program cannot be started just now."""
    program, path = program_of(settings, home, environ, usual)[0], settings.search_path(settings.agent.env)
    if shutil.which(program, path=path):
        return None
    where = "there is no such program" if "/" in program else f"it is not on the PATH {path}"
    remedy = "correct it, or add its folder to path in [environment]"
    return Problem(file, "agent.command", f"cannot start {program!r}: {where}", remedy)


def in_argument(prompt: str, remedy: str) -> str:
    """A prompt that may stand in an argument; raises AgentError when it is too long, which no new try mends."""
    if (size := len(prompt.encode(errors="replace"))) > LONGEST_ARGUMENT:
        message = f"cannot hand over a prompt of {size} bytes as an argument: {LONGEST_ARGUMENT} are the most; {remedy}"
        raise AgentError(message, retryable=False)
    return prompt.replace("\0", "\ufffd")  # no argument can hold one


def _raise_unless_ended(execution: Execution, program: str, call: Call) -> None:
    if execution.interrupted:
        raise AgentError("cannot wait for the agent: heartbeat was stopping", retryable=True)
    if execution.start_error:
        raise AgentError(execution.start_error, retryable=True)
    if execution.timed_out:
        message = f"cannot wake the agent {program!r}: it took longer than {show_duration(call.prefs.timeout)}"
        said = Ran(execution, None, "").last_words
        raise AgentError(f"{message} and was ended" + (f"; it said: {said}" if said else ""), retryable=True)


def _last_line(stream: Captured) -> str:
    return one_line(stream.joined().strip().rsplit(b"\n", 1)[-1].decode(errors="replace"), SAID_LIMIT)


def _sweep(folder: Path) -> None:
    """Remove what is left of calls that were cut off by a crash."""
    oldest = time.time() - _LEFT_OVER
    with os.scandir(folder) as entries:
        for entry in entries:
            # Another call may end just now, and take its folder with it.
            with contextlib.suppress(FileNotFoundError):
                if entry.stat(follow_symlinks=False).st_mtime < oldest:
                    shutil.rmtree(entry.path, ignore_errors=True)


def _write_private(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _read_bounded(path: str) -> str | None:
    """The beginning of a file; None unless it is one: the agent may have put anything there."""
    try:
        # Nobody is left who could put another thing in its place meanwhile.
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(path, "rb") as file:
            return file.read(_FILE_LIMIT).decode(errors="replace")
    except OSError:
        return None
