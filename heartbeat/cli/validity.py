"""Whether a configuration holds, with all that it names: what `check` asks, and `install` before it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from heartbeat.agents import check_agent
from heartbeat.brief_file import check_brief
from heartbeat.channels import check_channels
from heartbeat.errors import ConfigError
from heartbeat.job import Config, load
from heartbeat.paths import Home


def validated(home: Home, environ: Mapping[str, str], file: Path | None = None) -> Config:
    """The configuration of *home* or in *file*; raises ConfigError with every problem, secrets that are missing too."""
    where = str(file or home.config_file)
    config = load(home, environ, file=file)
    agent = check_agent(config.settings, home, environ, where)
    problems = [*([agent] if agent else []), *check_channels(config.settings, home, environ, where)]
    problems += check_brief(config.settings, home, environ, where)
    if problems or config.unready:
        raise ConfigError((*problems, *config.unready))
    return config
