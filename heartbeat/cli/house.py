"""The one place that wires things together: a configuration becomes a house."""

from __future__ import annotations

from datetime import datetime, timedelta
from threading import Event

from heartbeat.agents import find_agent
from heartbeat.beat import House
from heartbeat.channels import find_channels, routes_of
from heartbeat.cli.shell import Shell
from heartbeat.clock import utc_now
from heartbeat.job import Config
from heartbeat.ports import Ledger


def furnish(
    call: Shell,
    config: Config,
    ledger: Ledger,
    stop: Event,
    *,
    patience: timedelta | None = None,
    as_of: datetime | None = None,
) -> House:
    """Everything a beat works with."""
    settings = config.settings
    return House(
        ledger,
        call.home,
        config,
        find_agent(settings, call.home, call.environ, stop),
        call.environ,
        stop,
        utc_now,
        patience,
        as_of,
        find_channels(settings, call.home, call.environ, stop),
        routes_of(settings),
    )
