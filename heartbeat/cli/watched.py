"""What `heartbeat watch` goes by: the targets and the ways to the owner, as far as the configuration can be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import partial
from threading import Event
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from heartbeat.cli.shell import Shell
from heartbeat.config import Settings, read_settings
from heartbeat.errors import ConfigError, HeartbeatError, NotFound, Problem
from heartbeat.marker import read_marker
from heartbeat.model import MessageKind, Overrides, Urgency
from heartbeat.zones import zone_or

if TYPE_CHECKING:
    from heartbeat.probe import Health
    from heartbeat.watchman import Ways


@dataclass(frozen=True, slots=True)
class Setting:
    """Of one round."""

    targets: dict[str, Callable[[], Health]]
    ways: Ways
    problems: tuple[Problem, ...]
    """What cannot be used of the configuration."""


def setting_of(call: Shell, wanted: list[str], stop: Event) -> Setting:
    """For all targets, or the *wanted* ones; raises NotFound."""
    settings, problems = _settings(call)
    return Setting(_targets(call, wanted, is_whole=not problems), _ways(call, settings, stop), problems)


def zone_of(call: Shell) -> tzinfo:
    """The owner's zone, as far as it can be told."""
    return _zone(_settings(call)[0])


def _settings(call: Shell) -> tuple[Settings, tuple[Problem, ...]]:
    """What can be used of the configuration, and what is wrong with the rest; its jobs are not looked at."""
    try:
        reading = read_settings(call.home.config_file)
    except ConfigError as error:
        return Settings(), error.problems
    return reading.settings, reading.problems


def _targets(call: Shell, wanted: list[str], *, is_whole: bool) -> dict[str, Callable[[], Health]]:
    from heartbeat.probe import examine
    from heartbeat.probe.presets import PRESETS
    from heartbeat.probe.targets import examine_target, known_targets
    from heartbeat.watchman.wording import OWN

    folders = (str(call.home.config), str(call.home.state), str(call.home.cache))
    known = [OWN, *(name for name in known_targets(str(call.home.config_file)) if name != OWN)]
    # The name of a preset needs no section.
    missing = [name for name in wanted if name not in known and name not in PRESETS]
    if missing and is_whole:
        name = missing[0]
        raise NotFound(f"cannot find the target {name!r}; write a section [watch.{name}]; known: {', '.join(known)}")
    return {
        name: partial(examine, folders[1])
        if name == OWN
        else partial(examine_target, name, folders, environ=call.environ)
        # What a configuration with faults does not say now, it may say again in the next round.
        for name in dict.fromkeys(wanted or known)
        if name not in missing
    }


def _ways(call: Shell, settings: Settings, stop: Event) -> Ways:
    from heartbeat.channels import find_channels, routes_of
    from heartbeat.routing import channels_for
    from heartbeat.service.planning import addressed, called
    from heartbeat.watchman import Manner, Ways, bounded

    # The end of a fault goes to whoever was told of its beginning.
    takers = channels_for(routes_of(settings), MessageKind.INCIDENT, Urgency.CRITICAL)
    channels = find_channels(bounded(settings), call.home, call.environ, stop)
    return Ways(
        {name: channels[name] for name in takers},
        Manner(
            _zone(settings),
            lambda verb: called(verb, call.home, call.environ),
            lambda text: addressed(text, call.home, call.environ),
            is_service=_is_service(call),
        ),
        settings.alerts.on,
        partial(_quiet_until, call, settings),
    )


def _is_service(call: Shell) -> bool:
    """Whether a supervisor keeps it, as far as may be read."""
    try:
        marker = read_marker(call.home.marker_file)
    except (OSError, ValueError):
        return True
    return marker is not None and marker.manager != "none"


def _quiet_until(call: Shell, settings: Settings, now: datetime) -> datetime | None:
    if not settings.alerts.quiet:
        return None
    from heartbeat.policy import quiet_hours
    from heartbeat.stores.sqlite import open_existing

    said = Overrides()
    try:
        with open_existing(call.home.ledger_file) as ledger:
            said = ledger.overrides(now)
    except (HeartbeatError, OSError):
        pass  # the ledger may be what is broken: the hours of the configuration hold
    return quiet_hours(settings).under(said).until(now)


def _zone(settings: Settings) -> tzinfo:
    return zone_or(settings.owner.zone, ZoneInfo("UTC"))
