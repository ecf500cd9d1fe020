"""Jobs: what the owner configures, laid over what the script declares, laid over the defaults."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from heartbeat.config import JobSettings, Reading, Schedules, Settings, read_job, read_settings
from heartbeat.config.fields import Dedupe, Dialect
from heartbeat.config.options import check_against
from heartbeat.config.secret import Secret
from heartbeat.config.wording import MOST_TOLD, at_most, dotted
from heartbeat.errors import ConfigError, Problem
from heartbeat.job.checking import channel_problems, job_problems, place_problems, secret_problems, set_twice
from heartbeat.job.programs import Program, Programs
from heartbeat.job.script import Unusable
from heartbeat.job.timing import KEYS, fault_of, in_words, moved, policy_of, schedules_of, shift_of, timing_of
from heartbeat.job.vault import Vault
from heartbeat.model import Prefs
from heartbeat.paths import Home
from heartbeat.schedule import Schedule, Timing
from heartbeat.slots import Policy

_TIMEOUT = timedelta(seconds=60)
_POLICY = Policy()
_PREFS = Prefs()
_HEADER = ("tool", "heartbeat")
_Value = TypeVar("_Value", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Job:
    """A script, a timing and options, ready to run. There may be many: equal parts are one object."""

    name: str
    script: Path
    argv: tuple[str, ...]
    """How the script is started."""
    timing: Timing
    schedule: str = ""
    """The schedules of the timing as they are written, for people."""
    policy: Policy = _POLICY
    timeout: timedelta = _TIMEOUT
    prompt: str = ""
    """What the agent is to do when this job wakes it."""
    options: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    dialect: Dialect = "strict"
    dedupe: Dedupe = "identity"
    baseline: bool = False
    require_token: bool = False
    enabled: bool = True
    description: str = ""
    prefs: Prefs = _PREFS
    """How the agent is to be called for it."""
    notify: bool = False
    """What it finds goes to the owner's channels; no agent is called."""
    ping: Secret | None = None

    @property
    def fingerprint(self) -> str:
        """Changes with the script's path and its options: with what the job looks at."""
        looked_at = json.dumps([str(self.script), self.options], sort_keys=True)
        return hashlib.sha256(looked_at.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Config:
    """A valid configuration."""

    settings: Settings
    jobs: dict[str, Job]
    unready: tuple[Problem, ...] = ()
    """Secrets that cannot be had just now: whoever needs one fails when it is needed, and nobody else."""


class _Ground:
    """What every job of one configuration is read from, and what they share."""

    def __init__(self, settings: Settings, file: str, home: Home, environ: Mapping[str, str]) -> None:
        self.settings, self.file, self.home, self.environ = settings, file, home, environ
        self.programs = Programs(home, environ)
        self.search_path = settings.search_path({})
        self.whens: dict[Hashable, tuple[Timing, str]] = {}
        self._shared: dict[Hashable, Hashable] = {}
        self._nothing: dict[str, Any] = {}
        self.unready: list[Problem] = []

    def shared(self, value: _Value) -> _Value:
        """The first value that equals this one."""
        return self._shared.setdefault(value, value)  # type: ignore[return-value]

    def vault(self, env: Mapping[str, str]) -> Vault:
        """Where the secrets of a job with *env* are looked for."""
        path = self.settings.search_path(env) if env else self.search_path
        return Vault(self.home.config, self.environ, path, credentials=self.settings.service.credentials)

    def table(self, table: dict[str, Any]) -> dict[str, Any]:
        return table or self._nothing


def load(home: Home, environ: Mapping[str, str], *, file: Path | None = None) -> Config:
    """The configuration of *home*, or in *file*, with its jobs; raises ConfigError with every problem at once."""
    reading = read_settings(file or home.config_file, must_exist=file is not None)
    ground = _Ground(reading.settings, str(file or home.config_file), home, environ)
    jobs, problems = _load_jobs(reading, ground)
    if reading.problems or problems:
        raise ConfigError(at_most((*reading.problems, *problems, *ground.unready), ground.file))
    return Config(reading.settings, jobs, at_most(tuple(ground.unready), ground.file))


def _load_jobs(reading: Reading, ground: _Ground) -> tuple[dict[str, Job], list[Problem]]:
    """The jobs that can run, and what keeps the others from it."""
    agent = ground.settings.agent
    problems = set_twice(agent.secrets, agent.env, ("agent",), ground.file)
    ground.unready += secret_problems(agent.secrets, ("agent",), ground.file, ground.vault(agent.env))
    ground.unready += place_problems(ground.settings.ping.url, ("ping", "url"), ground.file, ground.vault({}))
    for name, channel in ground.settings.channels.items():
        problems += set_twice(channel.secrets, channel.env, ("channels", name), ground.file)
        ground.unready += channel_problems(channel, ("channels", name), ground.file, ground.vault(channel.env))
    jobs = {}
    for name, table in reading.jobs:
        job, faults = _load_job(name, table, ground)
        problems += faults
        if job is not None:
            jobs[name] = job
        if len(problems) > MOST_TOLD:
            break
    return jobs, problems


def _load_job(name: str, table: Any, ground: _Ground) -> tuple[Job | None, list[Problem]]:
    place = ("jobs", name)
    wanted, problems, broken = read_job(name, table, ground.file)
    if wanted is None:
        return None, problems
    if wanted.secrets or wanted.options or wanted.ping:
        problems += set_twice(wanted.secrets, wanted.env, place, ground.file)
        ground.unready += job_problems(wanted, place, ground.file, ground.vault(wanted.env))
    if "script" in broken:
        return None, problems
    search_path = ground.settings.search_path(wanted.env) if wanted.env else ground.search_path
    match ground.programs.find(name, wanted.script, search_path):
        case Unusable() as error:
            return None, [*problems, Problem(ground.file, dotted((*place, "script")), error.message, error.remedy)]
        case ConfigError() as error:
            return None, [*problems, *error.problems]
        case Program() as program:
            pass
    if program.header.declares_options:
        problems += check_against(program.header.options, wanted.options, ground.file, (*place, "options"))
    if wanted.require_token and (wanted.dialect or program.header.dialect or "strict") != "strict":
        message = "cannot demand a token: the foreign dialects know none"
        problems.append(Problem(ground.file, dotted((*place, "require_token")), message, "remove it, or the dialect"))
    try:
        when = _when(name, wanted, broken, program, ground)
    except ConfigError as error:
        return None, [*problems, *error.problems]
    return _merge(name, wanted, program, when, ground), problems


def _merge(name: str, wanted: JobSettings, program: Program, when: tuple[Timing, str], ground: _Ground) -> Job:
    header = program.header
    timing, words = when
    return Job(
        name,
        program.path,
        program.argv,
        timing,
        words,
        ground.shared(policy_of(wanted)),
        ground.shared(wanted.timeout or header.timeout or _TIMEOUT),
        ground.shared(wanted.prompt or header.prompt or ground.settings.agent.prompt),
        ground.table({**header.options, **wanted.options} if wanted.options else header.options),
        ground.table(wanted.env),
        ground.table(wanted.secrets),
        wanted.dialect or header.dialect or "strict",
        wanted.dedupe,
        _first(wanted.baseline, header.baseline, default=False),
        # Text that a shipped script merely echoes must never pass for its gate.
        _first(wanted.require_token, header.require_token, default=program.shipped),
        wanted.enabled,
        header.description,
        ground.shared(ground.settings.agent.prefs(wanted.agent)),
        wanted.notify,
        wanted.ping,
    )


def _first(*values: bool | None, default: bool) -> bool:
    return next((value for value in values if value is not None), default)


def _when(
    name: str, wanted: JobSettings, broken: frozenset[str], program: Program, ground: _Ground
) -> tuple[Timing, str]:
    """When it is due, and its schedules in words; worked out once for all jobs of a script that say the same."""
    said = (wanted.every, wanted.cron, wanted.at, wanted.schedule)
    key = (program.path, *said, wanted.zone, wanted.between, wanted.days, wanted.until)
    if broken or key not in ground.whens:
        source, schedules = _schedules(name, wanted, broken, program, ground)
        zone = ZoneInfo(wanted.zone or ground.settings.owner.zone or "UTC")
        timing = timing_of(wanted, schedules, zone)
        fault = None if broken else fault_of(timing)
        if fault:
            place = ("jobs", name, "between" if wanted.between else "days")
            raise ConfigError((Problem(ground.file, dotted(place), *fault),))
        ground.whens[key] = ground.shared(timing), ground.shared(in_words(source, zone))
    timing, words = ground.whens[key]
    return moved(timing, ground.shared(shift_of(name, wanted.jitter))), words


def _schedules(
    name: str, wanted: JobSettings, broken: frozenset[str], program: Program, ground: _Ground
) -> tuple[Schedules, tuple[Schedule, ...]]:
    """The schedules and who declares them; what the owner says replaces what the script says."""
    source: Schedules = wanted
    file, place = ground.file, ("jobs", name)
    given, told = schedules_of(wanted), broken.intersection(KEYS)
    if not given and not told and (declared := schedules_of(program.header)):
        source, given, file, place = program.header, declared, str(program.path), _HEADER
    if not given:
        message = "cannot tell when to run it: it has no schedule"
        remedy = 'write every = "10m", cron = "…", at = "…" or schedule = "weekdays at 9"'
        raise ConfigError(() if told else (Problem(file, dotted(place), message, remedy),))
    keys = tuple(given)
    if len(keys) > 1:
        message, remedy = f"cannot follow {' and '.join(keys)} at once", f"keep one of {', '.join(keys)}"
        raise ConfigError((Problem(file, dotted((*place, keys[1])), message, remedy),))
    return source, given[keys[0]]
