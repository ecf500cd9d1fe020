"""An agent that is a program: the prompt on its standard input, its reply on standard output."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Event

from heartbeat.config import Settings
from heartbeat.config.secret import expand
from heartbeat.durations import show_duration
from heartbeat.errors import AgentError, ConfigError, Problem
from heartbeat.folders import make_private
from heartbeat.job.environment import agent_environment
from heartbeat.model import Execution
from heartbeat.paths import Home
from heartbeat.process import Command, execute, redacted

REPLY_LIMIT = 65_536
"""Bytes of a reply that are kept."""


@dataclass(frozen=True, slots=True)
class CommandAgent:
    """Runs one argv per wake; exit status 0 means accepted."""

    name: str
    argv: tuple[str, ...]
    variables: Callable[[str], Mapping[str, str]]
    """Its environment for the wake of an id: made anew for each, since a program may be asked for the secrets in it."""
    secrets: Collection[str]
    """The names of those whose values must not be seen in what it prints."""
    timeout: timedelta
    folder: Path
    stop: Event

    def call(self, wake_id: str, prompt: str) -> str:
        """Hand over the prompt and return the reply; raises AgentError for anything but exit status 0."""
        try:
            env = self.variables(wake_id)
            make_private(self.folder)
            with self._placed(prompt) as (argv, stdin):
                execution = execute(self._command(wake_id, argv, env, stdin), self.stop)
                execution = redacted(execution, {name: env[name] for name in self.secrets})
        except ConfigError as error:
            # A secret that cannot be had just now, such as one whose keeper is locked, may be had later.
            raise AgentError(str(error), retryable=True) from error
        except OSError as error:
            message = (
                f"cannot prepare the call of the agent in {self.folder}: {error.strerror}; make room or correct it"
            )
            raise AgentError(message, retryable=True) from error
        _check(execution, argv[0], self.timeout)
        reply = execution.stdout.joined()[:REPLY_LIMIT]
        return reply.decode(errors="replace").strip()

    def _command(self, wake_id: str, argv: tuple[str, ...], env: Mapping[str, str], stdin: bytes | None) -> Command:
        return Command(
            argv=argv,
            env={**env, "HEARTBEAT_WAKE_ID": wake_id},
            cwd=str(self.folder),
            timeout=self.timeout,
            mark=wake_id,
            stdin=stdin,
            stdout_limit=2 * REPLY_LIMIT,
        )

    @contextmanager
    def _placed(self, prompt: str) -> Iterator[tuple[tuple[str, ...], bytes | None]]:
        """The argv with its placeholders filled, and what goes to standard input if it has none."""
        if any("{prompt_file}" in word for word in self.argv):
            # Made for the owner alone (0600), and gone when the agent has ended.
            with tempfile.NamedTemporaryFile(prefix="prompt-", suffix=".txt", dir=self.folder) as file:
                file.write(prompt.encode())
                file.flush()
                yield tuple(word.replace("{prompt_file}", file.name) for word in self.argv), None
        elif any("{prompt}" in word for word in self.argv):
            yield tuple(word.replace("{prompt}", prompt) for word in self.argv), None
        else:
            yield self.argv, prompt.encode()


def _check(execution: Execution, program: str, timeout: timedelta) -> None:
    """Raise AgentError unless the program ended by itself with exit status 0."""
    if execution.exit_code == 0 and not execution.timed_out and not execution.interrupted:
        return
    last = execution.stderr.joined().decode(errors="replace").strip().rsplit("\n", 1)[-1][:300]
    said = f"; it said: {last}" if last else ""
    if execution.interrupted:
        raise AgentError("cannot wait for the agent: heartbeat was stopping", retryable=True)
    if execution.start_error:
        raise AgentError(execution.start_error, retryable=True)
    if execution.timed_out:
        how = f"took longer than {show_duration(timeout)} and was ended"
    else:
        how = (
            f"ended with signal {execution.signal}"
            if execution.signal
            else f"ended with exit status {execution.exit_code}"
        )
    raise AgentError(f"cannot wake the agent {program!r}: it {how}{said}", retryable=True)


def check(settings: Settings, home: Home, environ: Mapping[str, str], file: str) -> Problem | None:
    """Why the program cannot be started just now."""
    program, path = _program(settings, home, environ), settings.search_path(settings.agent.env)
    if shutil.which(program, path=path):
        return None
    where = "there is no such program" if "/" in program else f"it is not on the PATH {path}"
    remedy = "correct it, or add its folder to path in [environment]"
    return Problem(file, "agent.command", f"cannot start {program!r}: {where}", remedy)


def _program(settings: Settings, home: Home, environ: Mapping[str, str]) -> str:
    program = settings.agent.command[0]
    return str(expand(program, home.config, environ)) if "/" in program else program


def agent(settings: Settings, home: Home, environ: Mapping[str, str], stop: Event) -> CommandAgent:
    """The agent that `[agent] command` describes; it starts in a folder of its own, away from the ledger."""

    def variables(wake_id: str) -> Mapping[str, str]:
        return agent_environment(settings, home, environ, mark=wake_id, stop=stop)

    folder = home.cache / "agent"
    argv = (_program(settings, home, environ), *settings.agent.command[1:])
    return CommandAgent("command", argv, variables, tuple(settings.agent.secrets), settings.agent.timeout, folder, stop)
