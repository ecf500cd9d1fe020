"""Whoever is woken: one file per kind, found by its name in the configuration.

A file whose name begins with `_` is no kind, but what the kinds share.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from threading import Event
from types import ModuleType

from heartbeat.config import Settings
from heartbeat.errors import ConfigError, Problem
from heartbeat.paths import Home
from heartbeat.ports import Agent


def kinds() -> tuple[str, ...]:
    """The kinds there are."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_")))


def find_agent(settings: Settings, home: Home, environ: Mapping[str, str], stop: Event) -> Agent | None:
    """The configured agent; None when the kind is `none`."""
    if settings.agent.kind == "none":
        return None
    agent: Agent = _module(settings.agent.kind, str(home.config_file)).agent(settings, home, environ, stop)
    return agent


def check_agent(settings: Settings, home: Home, environ: Mapping[str, str], file: str) -> Problem | None:
    """What keeps the agent from being called just now: a matter for `check`, while the daemon tries again."""
    if settings.agent.kind == "none":
        return None
    problem: Problem | None = _module(settings.agent.kind, file).check(settings, home, environ, file)
    return problem


def _module(kind: str, file: str) -> ModuleType:
    if kind not in kinds():
        message = f"cannot wake an agent of kind {kind!r}: there is none"
        raise ConfigError((Problem(file, "agent.kind", message, f"write one of none, {', '.join(kinds())}"),))
    return importlib.import_module(f"{__name__}.{kind}")
