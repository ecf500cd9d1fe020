"""What keeps the secrets of a configuration from being had just now; no program is run to find out."""

from __future__ import annotations

from collections.abc import Mapping

from heartbeat.config import JobSettings
from heartbeat.config.channels import ChannelSettings
from heartbeat.config.options import secret_tables, variables
from heartbeat.config.secret import Secret, secret_of
from heartbeat.config.wording import dotted, split
from heartbeat.errors import Problem
from heartbeat.job.vault import Vault

_OWN = ("HOME", "STATE_DIR", "CACHE_DIR", "JOB", "RUN_ID", "SLOT", "NOW", "TOKEN", "OPTIONS", "ZONE", "OWNER_EMAILS")
OWN = frozenset(f"HEARTBEAT_{name}" for name in _OWN)
"""The variables that heartbeat itself sets, whatever the owner keeps under their names."""
ALWAYS_SET = ("PATH", "HOME", "LANG", "TZ")
"""The variables that every run has whatever is configured; beside them only heartbeat's own."""


def set_twice(
    secrets: Mapping[str, Secret], env: Mapping[str, str], place: tuple[str, ...], file: str
) -> list[Problem]:
    """Variables that stand in both tables at *place*: nobody can tell which is meant."""
    return [
        Problem(file, dotted((*place, "secrets", name)), f"cannot set {name} twice", "keep it in env or in secrets")
        for name in secrets
        if name in env
    ]


def secret_problems(secrets: Mapping[str, Secret], place: tuple[str, ...], file: str, vault: Vault) -> list[Problem]:
    """Of the table `secrets` at *place*."""
    problems = []
    for name, secret in secrets.items():
        key = dotted((*place, "secrets", name))
        try:
            vault.check(secret)
        except ValueError as error:
            problems.append(Problem(file, key, *split(error)))
    return problems


def place_problems(secret: Secret | None, place: tuple[str, ...], file: str, vault: Vault) -> list[Problem]:
    """Of the one secret that stands at *place*, if there is one."""
    try:
        if secret is not None:
            vault.check(secret)
    except ValueError as error:
        return [Problem(file, dotted(place), *split(error))]
    return []


def channel_problems(channel: ChannelSettings, place: tuple[str, ...], file: str, vault: Vault) -> list[Problem]:
    """Of a channel's secrets and its address."""
    problems = secret_problems(channel.secrets, place, file, vault)
    if channel.url is not None:
        try:
            vault.check(channel.url)
        except ValueError as error:
            problems.append(Problem(file, dotted((*place, "url")), *split(error)))
    return problems


def job_problems(wanted: JobSettings, place: tuple[str, ...], file: str, vault: Vault) -> list[Problem]:
    """Of a job's secrets, ping and options, where those that are no secret at all were told when they were read."""
    within, problems = (*place, "options"), secret_problems(wanted.secrets, place, file, vault)
    problems += place_problems(wanted.ping, (*place, "ping"), file, vault)
    known = {*ALWAYS_SET, *OWN, *wanted.env, *wanted.secrets, *vault.environ}
    remedy = "set it there, or under env or secrets of the job"
    for where, name in variables(wanted.options, within):
        if name not in known:
            message = f"cannot find the variable {name} in heartbeat's environment"
            problems.append(Problem(file, dotted(where), message, remedy))
    for where, table in secret_tables(wanted.options, within):
        try:
            if "env" not in table:
                vault.check(secret_of(table))
        except ValueError as error:
            problems.append(Problem(file, dotted(where), *split(error)))
    return problems
