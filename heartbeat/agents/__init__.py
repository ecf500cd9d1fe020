"""Whoever is woken: one file per kind, found by its name in the configuration."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from threading import Event

from heartbeat.config import Settings
from heartbeat.errors import Problem
from heartbeat.paths import Home
from heartbeat.ports import Agent


def find_agent(settings: Settings, home: Home, environ: Mapping[str, str], stop: Event) -> Agent | None:
    """The configured agent; None when the kind is `none`."""
    if settings.agent.kind == "none":
        return None
    module = importlib.import_module(f"heartbeat.agents.{settings.agent.kind}")
    agent: Agent = module.agent(settings, home, environ, stop)
    return agent


def check_agent(settings: Settings, home: Home, environ: Mapping[str, str], file: str) -> Problem | None:
    """What keeps the agent from being called just now: a matter for `check`, while the daemon tries again."""
    if settings.agent.kind == "none":
        return None
    module = importlib.import_module(f"heartbeat.agents.{settings.agent.kind}")
    problem: Problem | None = module.check(settings, home, environ, file)
    return problem
