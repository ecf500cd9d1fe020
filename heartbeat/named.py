"""The files and folders that a configuration names: what its jobs, its agent and its channels read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from heartbeat.config.secret import Secret, expand
from heartbeat.job import Config
from heartbeat.job.secrets import secrets_of
from heartbeat.paths import Home

MOST = 200
_RELATIVE = ("file", "vdir", "maildir", "notmuch", "ca_file")
"""Keys of options whose value is a path in any case: one that is not absolute lies below the home."""
_PRIVATE = re.compile(r"pass|pw|secret|token|key|auth|cred", re.IGNORECASE)
"""What stands under such a key may be a secret that only looks like a path."""


def paths_named(config: Config, home: Home, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Absolute paths, each once, at most MOST; whether anything is there is not looked at."""
    found = (str(expand(text, home.config, environ)) for text in _texts(config, home) if "\0" not in text)
    return tuple(islice(dict.fromkeys(found), MOST))


def secrets_named(config: Config) -> Iterator[Secret]:
    """Every secret of a configuration, some perhaps twice."""
    settings = config.settings
    yield from settings.agent.secrets.values()
    for channel in settings.channels.values():
        yield from channel.secrets.values()
        if channel.url is not None:
            yield channel.url
    for secret in (settings.agent.key, settings.ping.url, *(job.ping for job in config.jobs.values())):
        if secret is not None:
            yield secret
    for job in config.jobs.values():
        yield from secrets_of(job)


def _texts(config: Config, home: Home) -> Iterator[str]:
    settings = config.settings
    yield str(home.config_file)
    yield from (secret.file for secret in secrets_named(config) if secret.file)
    yield from filter(None, (settings.agent.folder, *(job.prefs.folder for job in config.jobs.values())))
    for job in config.jobs.values():
        yield str(job.script)
        yield from _in_options(job.options)


def _in_options(value: Any, key: str = "") -> Iterator[str]:
    match value:
        case dict():
            for name, below in value.items():
                yield from () if _PRIVATE.search(str(name)) else _in_options(below, str(name))
        case list():
            for below in value:
                yield from _in_options(below, key)
        case str() if value and (value.startswith(("/", "~/")) or (key in _RELATIVE and "://" not in value)):
            yield value
