"""What every channel stands on: whose it is, where it is, and running a program for it within bounds."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event

from heartbeat.config import Settings
from heartbeat.config.channels import ChannelSettings
from heartbeat.config.secret import expand
from heartbeat.durations import show_duration
from heartbeat.errors import ChannelError, ConfigError, Problem
from heartbeat.folders import make_private
from heartbeat.job.environment import child_environment
from heartbeat.model import Execution
from heartbeat.paths import Home
from heartbeat.process import Command, execute, redacted

_STDOUT = 64 * 1024
_SAID = 300  # characters of what a program complained of


@dataclass(frozen=True, slots=True)
class Ground:
    """The installation that a channel belongs to."""

    settings: Settings
    home: Home
    environ: Mapping[str, str]
    stop: Event


@dataclass(frozen=True, slots=True)
class Errand:
    """A program that is to be run for a channel."""

    argv: tuple[str, ...]
    message: str
    """The id of the message."""
    stdin: bytes | None = None
    more: Mapping[str, str] = field(default_factory=dict)
    """Variables beside those of the channel."""
    hidden: Mapping[str, str] = field(default_factory=dict)
    """What must not be seen in what it prints, beside the secrets of the channel; by name."""


def run(ground: Ground, name: str, own: ChannelSettings, errand: Errand) -> Execution:
    """What became of a program that ended by itself, with whatever exit status; raises ChannelError otherwise."""
    folder = ground.home.cache / "channels" / name
    try:
        env = child_environment(
            ground.settings,
            ground.home,
            ground.environ,
            env=own.env,
            secrets=own.secrets,
            key=f"channels.{name}",
            mark=errand.message,
            stop=ground.stop,
        )
        make_private(folder)
    except ConfigError as error:
        # A secret that cannot be had just now, such as one whose keeper is locked, may be had later.
        raise ChannelError(str(error), retryable=True) from None
    except OSError as error:
        message = f"cannot make the folder {folder}: {error.strerror}; make room or correct its permissions"
        raise ChannelError(message, retryable=True) from None
    hidden = {**{secret: env[secret] for secret in own.secrets}, **errand.hidden}
    env |= {**errand.more, "HEARTBEAT_MESSAGE_ID": errand.message}
    command = Command(errand.argv, env, str(folder), own.timeout, errand.message, errand.stdin, stdout_limit=_STDOUT)
    return _ended(redacted(execute(command, ground.stop), hidden), name, own)


def complaint(execution: Execution) -> str:
    """The last thing that a program said on stderr, to be put behind a message."""
    last = execution.stderr.joined().decode(errors="replace").strip().rsplit("\n", 1)[-1][:_SAID]
    return f"; it said: {last}" if last else ""


def program_of(own: ChannelSettings, ground: Ground) -> str:
    """The program of a channel's command; one with a slash is beside the configuration."""
    program = own.command[0]
    return str(expand(program, ground.home.config, ground.environ)) if "/" in program else program


def missing_program(program: str, key: str, own: ChannelSettings, ground: Ground, file: str) -> list[Problem]:
    """Why a program cannot be started just now."""
    path = ground.settings.search_path(own.env)
    if shutil.which(program, path=path):
        return []
    where = "there is no such program" if "/" in program else f"it is not on the PATH {path}"
    remedy = "correct it, or add its folder to path in [environment]"
    return [Problem(file, key, f"cannot start {program!r}: {where}", remedy)]


def _ended(execution: Execution, name: str, own: ChannelSettings) -> Execution:
    if execution.interrupted:
        raise ChannelError(f"cannot wait for the channel {name!r}: heartbeat was stopping", retryable=True)
    if execution.start_error:
        raise ChannelError(execution.start_error, retryable=True)
    if execution.timed_out:
        how = f"it took longer than {show_duration(own.timeout)} and was ended"
    elif execution.signal:
        how = f"it ended with signal {execution.signal}"
    else:
        return execution
    raise ChannelError(f"cannot send through the channel {name!r}: {how}{complaint(execution)}", retryable=True)
