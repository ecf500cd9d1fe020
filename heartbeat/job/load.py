"""Jobs: what the owner configures, laid over what the script declares, laid over the defaults."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from heartbeat.config import JobSettings, Reading, Settings, read_settings
from heartbeat.config.fields import Dedupe, Dialect
from heartbeat.config.options import check_against, variables
from heartbeat.config.secret import Secret
from heartbeat.config.wording import dotted, split
from heartbeat.errors import ConfigError, Problem
from heartbeat.job.header import Header, needs_heartbeat, read_header
from heartbeat.job.script import Script, Unusable, check_script, find_script
from heartbeat.paths import Home
from heartbeat.schedule import At, Cron, Every, Schedule

_TIMEOUT = timedelta(seconds=60)
_ALWAYS_SET = ("PATH", "HOME", "LANG", "TZ")


@dataclass(frozen=True, slots=True)
class Job:
    """A script, a schedule and options, ready to run."""

    name: str
    script: Path
    argv: tuple[str, ...]
    """How the script is started."""
    schedule: Schedule
    timeout: timedelta = _TIMEOUT
    prompt: str = ""
    """What the agent is to do when this job wakes it."""
    options: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, Secret] = field(default_factory=dict)
    dialect: Dialect = "strict"
    dedupe: Dedupe = "identity"
    baseline: bool = False
    require_token: bool = False
    enabled: bool = True
    description: str = ""

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


@dataclass(frozen=True, slots=True)
class _Ground:
    """What every job of one configuration is read from."""

    reading: Reading
    file: str
    home: Home
    environ: Mapping[str, str]


def load(home: Home, environ: Mapping[str, str], *, file: Path | None = None) -> Config:
    """The configuration of *home*, or in *file*, with its jobs; raises ConfigError with every problem at once."""
    reading = read_settings(file or home.config_file, must_exist=file is not None)
    jobs, problems = load_jobs(reading, str(file or home.config_file), home, environ)
    if reading.problems or problems:
        raise ConfigError((*reading.problems, *problems))
    return Config(reading.settings, jobs)


def load_jobs(
    reading: Reading, file: str, home: Home, environ: Mapping[str, str]
) -> tuple[dict[str, Job], list[Problem]]:
    """The jobs that can run, and what keeps the others, or the agent's secrets, from it."""
    ground = _Ground(reading, file, home, environ)
    agent = reading.settings.agent
    problems = _secret_problems(agent.secrets, agent.env, ("agent",), ground)
    jobs = {}
    for name, wanted in reading.settings.jobs.items():
        job, faults = _load_job(name, wanted, ground)
        problems += faults
        if job is not None:
            jobs[name] = job
    return jobs, problems


def _load_job(name: str, wanted: JobSettings, ground: _Ground) -> tuple[Job | None, list[Problem]]:
    place = ("jobs", name)
    problems = _secret_problems(wanted.secrets, wanted.env, place, ground)
    problems += _variable_problems(wanted, place, ground)
    if dotted((*place, "script")) in ground.reading.broken:
        return None, problems
    try:
        script = find_script(name, wanted.script, ground.home, ground.environ)
        check_script(script, ground.reading.settings.search_path(wanted.env))
        header = read_header(script)
    except Unusable as error:
        return None, [*problems, Problem(ground.file, dotted((*place, "script")), error.message, error.remedy)]
    except ConfigError as error:
        return None, [*problems, *error.problems]
    if header.declares_options:
        problems += check_against(header.options, wanted.options, ground.file, (*place, "options"))
    try:
        schedule = _schedule(wanted, header, str(script.path), place, ground)
    except ConfigError as error:
        return None, [*problems, *error.problems]
    if wanted.require_token and (wanted.dialect or header.dialect or "strict") != "strict":
        message = "cannot demand a token: the foreign dialects know none"
        problems.append(Problem(ground.file, dotted((*place, "require_token")), message, "remove it, or the dialect"))
    argv = script.argv(ours=script.uses_our_python or needs_heartbeat(script))
    return _merge(Job(name, script.path, argv, schedule), wanted, header, script, ground.reading.settings), problems


def _merge(job: Job, wanted: JobSettings, header: Header, script: Script, settings: Settings) -> Job:
    return replace(
        job,
        timeout=wanted.timeout or header.timeout or job.timeout,
        prompt=wanted.prompt or header.prompt or settings.agent.prompt,
        options={**header.options, **wanted.options},
        env=wanted.env,
        secrets=wanted.secrets,
        dialect=wanted.dialect or header.dialect or job.dialect,
        dedupe=wanted.dedupe,
        baseline=_first(wanted.baseline, header.baseline, default=job.baseline),
        # Text that a shipped script merely echoes must never pass for its gate.
        require_token=_first(wanted.require_token, header.require_token, default=script.shipped),
        enabled=wanted.enabled,
        description=header.description,
    )


def _first(*values: bool | None, default: bool) -> bool:
    return next((value for value in values if value is not None), default)


def _schedule(wanted: JobSettings, header: Header, script: str, place: tuple[str, ...], ground: _Ground) -> Schedule:
    """The one schedule; what the owner says replaces what the script says."""
    told = tuple(kind for kind in ("every", "cron", "at") if dotted((*place, kind)) in ground.reading.broken)
    given, file = _schedules(wanted), ground.file
    if not given and not told and _schedules(header):
        given, file, place = _schedules(header), script, ("tool", "heartbeat")
    if len(given) == 1:
        return given[0][1]
    if given:
        names = [name for name, _ in given]
        message, remedy = f"cannot follow {' and '.join(names)} at once", f"keep one of {', '.join(names)}"
        raise ConfigError((Problem(file, dotted((*place, names[1])), message, remedy),))
    message, remedy = "cannot tell when to run it: it has no schedule", 'write every = "10m", cron = "…" or at = "…"'
    raise ConfigError(() if told else (Problem(file, dotted(place), message, remedy),))


def _schedules(source: JobSettings | Header) -> list[tuple[str, Schedule]]:
    given: list[tuple[str, Schedule | None]] = [
        ("every", Every(source.every) if source.every else None),
        ("cron", Cron(source.cron) if source.cron else None),
        ("at", At(source.at) if source.at else None),
    ]
    return [(name, schedule) for name, schedule in given if schedule is not None]


def _secret_problems(
    secrets: Mapping[str, Secret], env: Mapping[str, str], place: tuple[str, ...], ground: _Ground
) -> list[Problem]:
    """What keeps a secret from being had just now."""
    problems = []
    for name, secret in secrets.items():
        key = dotted((*place, "secrets", name))
        if name in env:
            problems.append(Problem(ground.file, key, f"cannot set {name} twice", "keep it in env or in secrets"))
        try:
            secret.read(ground.home.config, ground.environ)
        except ValueError as error:
            problems.append(Problem(ground.file, key, *split(error)))
    return problems


def _variable_problems(wanted: JobSettings, place: tuple[str, ...], ground: _Ground) -> list[Problem]:
    """What options refer to as `{ env = "NAME" }` and nobody sets."""
    known = {*_ALWAYS_SET, *wanted.env, *wanted.secrets, *ground.environ}
    remedy = "set it there, or under env or secrets of the job"
    return [
        Problem(ground.file, dotted(where), f"cannot find the variable {name} in heartbeat's environment", remedy)
        for where, name in variables(wanted.options, (*place, "options"))
        if name not in known and not name.startswith("HEARTBEAT_")
    ]
