"""The declared environment of children: nothing is inherited but what is named here or by the owner."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from threading import Event

from heartbeat.clock import to_text
from heartbeat.config import Settings
from heartbeat.config.options import to_json, variables
from heartbeat.config.secret import Secret, home_folder
from heartbeat.config.wording import split
from heartbeat.errors import ConfigError, HeartbeatError, Problem
from heartbeat.folders import make_private
from heartbeat.job.load import Job
from heartbeat.job.secrets import handed_over, secrets_of
from heartbeat.job.vault import Vault
from heartbeat.paths import Home


def environment(
    job: Job,
    settings: Settings,
    home: Home,
    *,
    run_id: str,
    slot: datetime | None,
    now: datetime,
    token: str,
    environ: Mapping[str, str],
    stop: Event | None = None,
) -> dict[str, str]:
    """All variables of one run of a job. *environ* is heartbeat's own environment.

    May take as long as the programs that keep secrets, until *stop* is set. Creates the job's cache folder; raises
    ConfigError when a secret of the job cannot be had; one of its options is the script's to miss.
    """
    credentials = settings.service.credentials
    vault = Vault(home.config, environ, settings.search_path(job.env), run_id, stop, credentials)
    found = vault.read(secrets_of(job))
    options, handed = handed_over(job.options, found)
    declared = {
        **_base(settings, job.env, job.timing.zone.key, environ),
        **_values(job.secrets, found, f"jobs.{job.name}", home),
        **home.environment(),
        "HEARTBEAT_JOB": job.name,
        "HEARTBEAT_RUN_ID": run_id,
        "HEARTBEAT_SLOT": to_text(slot) if slot else "",
        "HEARTBEAT_NOW": to_text(now),
        "HEARTBEAT_TOKEN": token,
        "HEARTBEAT_OPTIONS": to_json(options),
        "HEARTBEAT_CACHE_DIR": _cache_folder(job.name, home),
        "HEARTBEAT_ZONE": settings.owner.zone,
        "HEARTBEAT_OWNER_EMAILS": ",".join(settings.owner.emails),
        **handed,
    }
    named = {name: environ[name] for _, name in variables(job.options) if name in environ}
    return {**named, **declared}


def agent_environment(
    settings: Settings, home: Home, environ: Mapping[str, str], *, mark: str = "", stop: Event | None = None
) -> dict[str, str]:
    """The variables of the agent's child, but for the wake's own; raises ConfigError when a secret cannot be had.

    May take as long as the programs that keep secrets, until *stop* is set; they bear *mark*, the id of the wake.
    """
    agent = settings.agent
    return child_environment(
        settings, home, environ, env=agent.env, secrets=agent.secrets, key="agent", mark=mark, stop=stop
    )


def child_environment(
    settings: Settings,
    home: Home,
    environ: Mapping[str, str],
    *,
    env: Mapping[str, str],
    secrets: Mapping[str, Secret],
    key: str,
    mark: str = "",
    stop: Event | None = None,
) -> dict[str, str]:
    """The same for any program whose tables `env` and `secrets` stand under *key* of the configuration."""
    vault = Vault(home.config, environ, settings.search_path(env), mark, stop, settings.service.credentials)
    return {
        **_base(settings, env, settings.owner.zone, environ),
        **_values(secrets, vault.read(secrets.values()), key, home),
        **home.environment(),
    }


def _base(settings: Settings, env: Mapping[str, str], zone: str, environ: Mapping[str, str]) -> dict[str, str]:
    base = {
        "PATH": settings.search_path(env),
        "HOME": home_folder(environ),
        "LANG": settings.environment.lang,
        "TZ": zone,
    }
    return {**base, **env}


def _values(
    secrets: Mapping[str, Secret], found: Mapping[Secret, str | ValueError], key: str, home: Home
) -> dict[str, str]:
    values, problems = {}, []
    for name, secret in secrets.items():
        match found[secret]:
            case ValueError() as error:
                problems.append(Problem(str(home.config_file), f"{key}.secrets.{name}", *split(error)))
            case str() as value:
                values[name] = value
    if problems:
        raise ConfigError(tuple(problems))
    return values


def _cache_folder(job: str, home: Home) -> str:
    folder = home.cache / "jobs" / job
    try:
        make_private(folder)
    except OSError as error:
        message = f"cannot create the cache folder {folder}: {error.strerror}; free space or correct its permissions"
        raise HeartbeatError(message) from error
    return str(folder)
