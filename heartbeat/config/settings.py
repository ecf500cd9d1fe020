"""The sections of the configuration with their defaults.

After a change here bring config/default.toml up to date and run
`python -m heartbeat.config.schema > config/config.schema.json`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import Field

from heartbeat.config.agents import AgentSettings, JobAgent
from heartbeat.config.alerts import AlertSettings
from heartbeat.config.channels import ChannelSettings
from heartbeat.config.discipline import BudgetSettings, QuietSettings, RuleSettings
from heartbeat.config.fields import (
    Addresses,
    ChannelName,
    Dedupe,
    Dialect,
    EnvName,
    EnvValue,
    JobName,
    Model,
    SearchPath,
    TargetName,
    Text,
    Zone,
)
from heartbeat.config.secret import Secret
from heartbeat.config.service import ServiceSettings
from heartbeat.config.telling import BriefSettings, IncidentSettings, PingSettings
from heartbeat.config.times import AtInstant, AtInstants, Between, Crons, Days, Expressions, Limit, Period, Windows
from heartbeat.config.watching import WatchSettings
from heartbeat.slots import CatchUp, Overlap
from heartbeat.zones import host_zone


class Owner(Model):
    emails: Addresses = ()
    zone: Zone = Field(default_factory=host_zone)


class Environment(Model):
    path: SearchPath = "/usr/local/bin:/usr/bin:/bin"
    lang: Text = "C.UTF-8"


class Daemon(Model):
    workers: Annotated[int, Field(ge=1, le=64)] = 8
    drain: Annotated[timedelta, Between("0s", "5m")] = timedelta(seconds=2)


class Retention(Model):
    history: Annotated[timedelta, Between("1d", "3660d")] = timedelta(days=30)
    outputs: Annotated[int, Field(ge=1, le=1_000_000)] = 1000


class Log(Model):
    level: Literal["debug", "info", "warning", "error"] = "info"


class Schedules(Model):
    """The ways to say when; a job follows exactly one."""

    every: Period | None = None
    cron: Crons | None = None
    at: AtInstants | None = None
    schedule: Expressions | None = None


class JobSettings(Schedules):
    """What the owner says of a job; None means that the script's header, or else the default, decides."""

    enabled: bool = True
    paused: bool = False
    script: Text | None = None
    zone: Zone | None = None
    jitter: Annotated[timedelta, Between("0s", "24h")] = timedelta()
    between: Windows | None = None
    days: Days | None = None
    until: AtInstant | None = None
    catch_up: CatchUp = "once"
    max_late: Period | None = None
    overlap: Overlap | None = None
    rerun_interrupted: bool = False
    timeout: Limit | None = None
    prompt: Text | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    env: dict[EnvName, EnvValue] = Field(default_factory=dict)
    secrets: dict[EnvName, Secret] = Field(default_factory=dict)
    dialect: Dialect | None = None
    dedupe: Dedupe = "identity"
    baseline: bool | None = None
    require_token: bool | None = None
    notify: bool = False
    """What it finds goes to the owner's channels; no agent is called."""
    agent: JobAgent = Field(default_factory=JobAgent)
    ping: Secret | None = None


class Settings(Model):
    """All but the jobs."""

    owner: Owner = Field(default_factory=Owner)
    environment: Environment = Environment()
    agent: AgentSettings = AgentSettings()
    quiet: QuietSettings = QuietSettings()
    budget: BudgetSettings = BudgetSettings()
    rules: Annotated[tuple[RuleSettings, ...], Field(strict=False, max_length=1000)] = ()
    brief: BriefSettings = BriefSettings()
    channels: dict[ChannelName, ChannelSettings] = Field(default_factory=dict)
    incidents: IncidentSettings = IncidentSettings()
    alerts: AlertSettings = AlertSettings()
    ping: PingSettings = PingSettings()
    watch: dict[TargetName, WatchSettings] = Field(default_factory=dict)
    daemon: Daemon = Daemon()
    service: ServiceSettings = Field(default_factory=ServiceSettings)
    retention: Retention = Retention()
    log: Log = Log()

    def search_path(self, env: Mapping[str, str]) -> str:
        """The PATH of a child that has *env*; unless that sets one, the `heartbeat` command is on it too."""
        return env["PATH"] if "PATH" in env else f"{self.environment.path}:{_command_folder()}"


class ConfigFile(Settings):
    """All that a configuration may hold."""

    # Only for the schema and the known names: a model for each of 100,000 jobs would fill the memory.
    jobs: dict[JobName, JobSettings] = Field(default_factory=dict)


def _command_folder() -> str:
    command = os.path.abspath(sys.argv[0])
    return os.path.dirname(command if os.path.basename(command) == "heartbeat" else sys.executable)
