"""The configuration file: its sections with their defaults, and reading it with every fault reported at once.

After a change here bring config/default.toml up to date and run
`python -m heartbeat.config.schema > config/config.schema.json`.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import tzlocal
from pydantic import Field, ValidationError

from heartbeat.config.fields import (
    Addresses,
    AtInstant,
    Between,
    Command,
    CronText,
    Dedupe,
    Dialect,
    EnvName,
    EnvValue,
    JobName,
    Limit,
    Model,
    Period,
    SearchPath,
    Text,
    Zone,
    is_zone,
)
from heartbeat.config.options import check_options
from heartbeat.config.secret import Secret
from heartbeat.config.wording import dotted, parse_toml, problems_of
from heartbeat.errors import ConfigError, Problem
from heartbeat.paths import Home

_LARGEST = 1024 * 1024
_PROMPT = (
    "heartbeat woke you because something needs attention now. Tell the owner in a few sentences what it is and "
    "what to do. If nothing is worth saying, answer exactly [SILENT]."
)


def host_zone() -> str:
    """The IANA name of this machine's zone; empty when it cannot be told."""
    try:
        name = tzlocal.get_localzone_name()
    except (OSError, LookupError, ValueError):
        return ""
    if name is None and not os.path.lexists("/etc/localtime"):
        return "UTC"  # what the C library then takes
    return name if name and is_zone(name) else ""


class Owner(Model):
    emails: Addresses = ()
    zone: Zone = Field(default_factory=host_zone)


class Environment(Model):
    path: SearchPath = "/usr/local/bin:/usr/bin:/bin"
    lang: Text = "C.UTF-8"


class AgentSettings(Model):
    kind: Literal["none", "command"] = "none"
    command: Command = ()
    timeout: Limit = timedelta(minutes=10)
    attempts: Annotated[int, Field(ge=1, le=100)] = 5
    env: dict[EnvName, EnvValue] = Field(default_factory=dict)
    secrets: dict[EnvName, Secret] = Field(default_factory=dict)
    prompt: Text = _PROMPT


class Daemon(Model):
    workers: Annotated[int, Field(ge=1, le=64)] = 8
    drain: Annotated[timedelta, Between("0s", "5m")] = timedelta(seconds=3)


class Retention(Model):
    history: Annotated[timedelta, Between("1d", "3660d")] = timedelta(days=30)
    outputs: Annotated[int, Field(ge=1, le=1_000_000)] = 1000


class Log(Model):
    level: Literal["debug", "info", "warning", "error"] = "info"


class JobSettings(Model):
    """What the owner says of a job; None means that the script's header, or else the default, decides."""

    enabled: bool = True
    script: Text | None = None
    every: Period | None = None
    cron: CronText | None = None
    at: AtInstant | None = None
    timeout: Limit | None = None
    prompt: Text | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    env: dict[EnvName, EnvValue] = Field(default_factory=dict)
    secrets: dict[EnvName, Secret] = Field(default_factory=dict)
    dialect: Dialect | None = None
    dedupe: Dedupe = "identity"
    baseline: bool | None = None
    require_token: bool | None = None


class Settings(Model):
    owner: Owner = Field(default_factory=Owner)
    environment: Environment = Environment()
    agent: AgentSettings = AgentSettings()
    daemon: Daemon = Daemon()
    retention: Retention = Retention()
    log: Log = Log()
    jobs: dict[JobName, JobSettings] = Field(default_factory=dict)

    def search_path(self, env: Mapping[str, str]) -> str:
        """The PATH of a child that has *env*; unless that sets one, the `heartbeat` command is on it too."""
        return env.get("PATH", f"{self.environment.path}:{_command_folder()}")


@dataclass(frozen=True, slots=True)
class Reading:
    """A configuration as far as it can be used, and what is wrong with the rest."""

    settings: Settings
    problems: tuple[Problem, ...] = ()
    broken: frozenset[str] = frozenset()
    """The keys that were left out because their value is wrong."""


def load_settings(home: Home) -> Settings:
    """The settings of *home*, without a look at the scripts; raises ConfigError with every problem."""
    reading = read_settings(home.config_file)
    if reading.problems:
        raise ConfigError(reading.problems)
    return reading.settings


def read_settings(file: Path, *, must_exist: bool = False) -> Reading:
    """Read a configuration, going on behind its faults; raises ConfigError when it cannot be read as TOML at all."""
    table = parse_toml(_read(file, must_exist=must_exist), str(file))
    problems: list[Problem] = []
    broken: set[str] = set()
    while True:
        try:
            settings = Settings.model_validate(table)
        except ValidationError as error:
            for place, problem in problems_of(error, Settings, str(file)):
                key = place[:3] if place[0] == "jobs" else place[:2]
                problems.append(problem)
                broken.add(dotted(key))
                table = _without(table, tuple(str(part) for part in key))
        else:
            problems += _across(settings, str(file), broken)
            return Reading(settings, tuple(problems), frozenset(broken))


def _across(settings: Settings, file: str, broken: set[str]) -> list[Problem]:
    """What can only be seen when the values are looked at together."""
    problems = [
        problem
        for name, job in settings.jobs.items()
        for problem in check_options(job.options, file, ("jobs", name, "options"))
    ]
    if not settings.owner.zone:
        remedy = "write your zone, such as zone = 'Europe/Berlin'"
        problems.append(Problem(file, "owner.zone", "cannot tell the time zone of this machine", remedy))
    return problems + _agent_problems(settings.agent, file, broken)


def _agent_problems(agent: AgentSettings, file: str, broken: set[str]) -> list[Problem]:
    problems = []
    if agent.command and "kind" not in agent.model_fields_set and "agent.kind" not in broken:
        message = "cannot tell whether to use the command: no kind is given"
        problems.append(Problem(file, "agent.kind", message, 'write kind = "command"'))
    if agent.kind == "command" and not agent.command and "agent.command" not in broken:
        message = 'cannot wake an agent of kind "command" without a command'
        problems.append(Problem(file, "agent.command", message, 'write command = ["/path/to/agent", …]'))
    return problems


def _read(file: Path, *, must_exist: bool) -> bytes:
    try:
        # Without O_NONBLOCK a FIFO in this place would block for ever.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as opened:
            raw = opened.read(_LARGEST + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError as error:
        # A link to nowhere is a mistake, not an absent configuration.
        if isinstance(error, FileNotFoundError) and not must_exist and not file.is_symlink():
            return b""
        message = f"cannot read it: {error.strerror}"
        problem = Problem(str(file), "", message, "correct the path or the permissions")
        raise ConfigError((problem,)) from None
    if raw is None or len(raw) > _LARGEST:
        problem = Problem(
            str(file), "", "cannot use it: it is not a file of at most 1 MiB", "give a configuration file"
        )
        raise ConfigError((problem,))
    return raw


def _without(table: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
    head, *rest = place
    below = table.get(head)
    if rest and isinstance(below, dict) and rest[0] in below:
        return {**table, head: _without(below, tuple(rest))}
    return {key: value for key, value in table.items() if key != head}


def _command_folder() -> str:
    command = os.path.abspath(sys.argv[0])
    return os.path.dirname(command if os.path.basename(command) == "heartbeat" else sys.executable)
