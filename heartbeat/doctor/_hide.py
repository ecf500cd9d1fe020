"""The secrets of a configuration, for the last wall: whatever a question saw, none of them is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from heartbeat.config.options import secret_tables, variables
from heartbeat.doctor._case import Case
from heartbeat.job.checking import ALWAYS_SET, OWN
from heartbeat.named import secrets_named

_PRIVATE = re.compile(r"pass|pw|secret|token|key|auth|cred|^url$|^caldav$|^jmap$|^venue$", re.IGNORECASE)
_MARK = "hidden"


def hidden(case: Case) -> dict[str, str]:
    """Every secret that can be known without asking another program, under any name."""
    return {f"{_MARK} {number}": value for number, value in enumerate(dict.fromkeys(_values(case)), 1)}


def _values(case: Case) -> Iterator[str]:
    settings, config = case.settings, case.config
    tables = [settings.agent.env, *(channel.env for channel in settings.channels.values())]
    for table in tables:
        yield from (value for name, value in table.items() if _PRIVATE.search(name))
    if config is None:
        return
    for secret in secrets_named(config):
        if secret.env or secret.file or secret.credential:
            with suppress(ValueError):
                yield secret.read(case.home.config, case.environ, settings.service.credentials)
    for job in config.jobs.values():
        yield from (value for name, value in job.env.items() if _PRIVATE.search(name))
        named = {name for _, name in variables(job.options)} - {*ALWAYS_SET, *OWN}
        yield from (case.environ[name] for name in named if name in case.environ)
        places = {id(table) for _, table in secret_tables(job.options)}
        yield from _written(job.options, places)


def _written(value: Any, places: set[int], key: str = "") -> Iterator[str]:
    """What stands in the options themselves: an address is a secret too."""
    match value:
        case dict() if id(value) not in places:
            for name, below in value.items():
                yield from _written(below, places, str(name))
        case list():
            for below in value:
                yield from _written(below, places, key)
        case str() if _PRIVATE.search(key):
            yield value
