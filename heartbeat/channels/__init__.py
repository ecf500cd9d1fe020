"""The ways to the owner: one file per kind, found by its name in the configuration."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from threading import Event

from heartbeat.channels._ground import Ground
from heartbeat.config import Settings
from heartbeat.errors import Problem
from heartbeat.model import MessageKind, Urgency
from heartbeat.paths import Home
from heartbeat.ports import Channel
from heartbeat.routing import Route


def find_channels(settings: Settings, home: Home, environ: Mapping[str, str], stop: Event) -> dict[str, Channel]:
    """The configured channels by name, in the order of the configuration; nothing is opened or asked yet."""
    ground = Ground(settings, home, environ, stop)
    return {
        name: importlib.import_module(f"heartbeat.channels.{own.kind}").channel(name, own, ground)
        for name, own in settings.channels.items()
    }


def routes_of(settings: Settings) -> tuple[Route, ...]:
    """What each of them takes, in the order of the configuration."""
    return tuple(
        Route(name, frozenset(map(MessageKind, own.takes)), frozenset(map(Urgency, own.urgency)))
        for name, own in settings.channels.items()
    )


def check_channels(settings: Settings, home: Home, environ: Mapping[str, str], file: str) -> list[Problem]:
    """What keeps channels from being used just now: a matter for `check`, while the daemon tries again."""
    ground = Ground(settings, home, environ, Event())
    return [
        problem
        for name, own in settings.channels.items()
        for problem in importlib.import_module(f"heartbeat.channels.{own.kind}").check(name, own, ground, file)
    ]
