"""The secrets of a run: each becomes a variable of it, and is taken out of what the script prints."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, quote_plus

from heartbeat.config.options import secret_tables, variables, with_secrets
from heartbeat.config.secret import Secret, secret_of
from heartbeat.job.checking import ALWAYS_SET
from heartbeat.job.load import Job
from heartbeat.model import Captured, Execution
from heartbeat.process import redacted

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
    named = [name for _, name in variables(job.options) if name not in ALWAYS_SET and not name.startswith("HEARTBEAT_")]
    made = [name for name in env if name.startswith(PREFIX)]
    return {name: env[name] for name in (*job.secrets, *named, *made) if name in env}


def hidden(execution: Execution, secrets: Mapping[str, str]) -> Execution:
    """The execution without the values of *secrets*, also where they stand in JSON or in an address."""
    if not secrets:
        return execution
    whole = replace(execution, stdout=_in_one(execution.stdout), stderr=_in_one(execution.stderr))
    for write in (str, _in_json, _in_ascii_json, _in_path, _in_query):
        whole = redacted(whole, {name: write(value) for name, value in secrets.items()})
    return whole


def _kept_elsewhere(options: Mapping[str, Any]) -> list[Secret]:
    """The secrets of options but for variables, which stay as they are; in order, each once."""
    secrets = (secret_of(table) for _, table in secret_tables(options))
    return list(dict.fromkeys(secret for secret in secrets if not secret.env))


def _in_one(stream: Captured) -> Captured:
    """A secret may lie across the middle of a stream that is kept in two parts but whole."""
    return stream if stream.dropped else Captured(stream.head + stream.tail)


def _in_ascii_json(value: str) -> str:
    return json.dumps(value)[1:-1]


def _in_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _in_path(value: str) -> str:
    return quote(os.fsencode(value), safe="")


def _in_query(value: str) -> str:
    return quote_plus(os.fsencode(value))
