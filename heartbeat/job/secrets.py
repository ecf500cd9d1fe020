"""The secrets of a run: each becomes a variable of it, and is taken out of what the script prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from heartbeat.config.options import secret_tables, variables, with_secrets
from heartbeat.config.secret import Secret, secret_of
from heartbeat.job.checking import ALWAYS_SET, OWN
from heartbeat.job.load import Job
from heartbeat.model import Judgement
from heartbeat.process import without

PREFIX = "HEARTBEAT_SECRET_"
_LONGEST_FAULT = 200


def secrets_of(job: Job) -> list[Secret]:
    """Every secret that a run of the job needs, each once."""
    return list(dict.fromkeys([*job.secrets.values(), *_kept_elsewhere(job.options)]))


def handed_over(
    options: Mapping[str, Any], found: Mapping[Secret, str | ValueError]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The options as a script gets them, and the variables that they name.

    A script in any language knows one form, `{"env": "NAME"}`. One secret that cannot be had must cost only what
    needs it: then `fault` stands beside it and says why, and the variable is not set.
    """
    names = {secret: f"{PREFIX}{number}" for number, secret in enumerate(_kept_elsewhere(options), 1)}

    def put(table: dict[str, Any]) -> dict[str, Any]:
        secret = secret_of(table)
        if secret.env:
            return table
        value = found[secret]
        fault = {"fault": str(value)[:_LONGEST_FAULT]} if isinstance(value, ValueError) else {}
        return {"env": names[secret], **fault}

    values = {name: value for secret, name in names.items() if isinstance(value := found[secret], str)}
    return with_secrets(options, put), values


def secret_values(job: Job, env: Mapping[str, str]) -> dict[str, str]:
    """What must not be seen of a run with these variables, by name."""
    own = {*ALWAYS_SET, *OWN}
    named = [name for _, name in variables(job.options) if name not in own]
    made = [name for name in env if name.startswith(PREFIX)]
    return {name: env[name] for name in (*job.secrets, *named, *made) if name in env}


def unseen(judgement: Judgement, secrets: Mapping[str, str]) -> Judgement:
    """The judgement without the values of *secrets*.

    They were taken out of what the script printed before; but what JSON's escapes stand for is seen only when it is
    read, and no list of ways to write them is ever complete.
    """
    return replace(without(judgement, secrets), code=judgement.code)


def _kept_elsewhere(options: Mapping[str, Any]) -> list[Secret]:
    """The secrets of options but for variables, which stay as they are; in order, each once."""
    secrets = (secret_of(table) for _, table in secret_tables(options))
    return list(dict.fromkeys(secret for secret in secrets if not secret.env))
