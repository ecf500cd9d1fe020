"""What `heartbeat check` says of a valid configuration that may not do what its owner thinks."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from datetime import datetime

from heartbeat.channels import routes_of
from heartbeat.clock import local
from heartbeat.config import Settings
from heartbeat.job import Config
from heartbeat.model import MessageKind, Overrides, Urgency
from heartbeat.policy import owner_zone
from heartbeat.routing import channels_for


def hints(config: Config, now: datetime) -> tuple[str, ...]:
    """One line each; none of them is a fault."""
    settings = config.settings
    return (*_of_reach(config), *_of_budget(settings), *_of_rules(config, now))


def _of_reach(config: Config) -> Iterator[str]:
    settings, has_agent = config.settings, config.settings.agent.kind != "none"
    if not has_agent and not settings.channels:
        yield "nothing reaches you: there is no agent and no channel; `heartbeat brief` shows what has gathered"
    routes = routes_of(settings)
    if not any(channels_for(routes, MessageKind.NOTICE, urgency) for urgency in Urgency):
        for name in sorted(job.name for job in config.jobs.values() if job.notify):
            yield f"jobs.{name}.notify: no channel takes notices, so what it finds waits for the brief"
    if settings.brief.agent and not has_agent:
        yield "brief.agent: there is no agent to write the brief up, so it comes as it is"


def _of_budget(settings: Settings) -> Iterator[str]:
    for name in ("per_hour", "per_day"):
        if getattr(settings.budget, name) == 0:
            yield f"budget.{name} is 0: you are never interrupted but for what is critical"


def _of_rules(config: Config, now: datetime) -> Iterator[str]:
    zone = owner_zone(config.settings, Overrides())
    for number, rule in enumerate(config.settings.rules, 1):
        if rule.job and "*" not in rule.job and rule.job not in config.jobs:
            close = difflib.get_close_matches(rule.job, config.jobs, n=1)
            meant = f"; did you mean {close[0]!r}?" if close else ""
            yield f"rule {number}: there is no job {rule.job!r}{meant}"
        if rule.until is not None and rule.until <= now:
            yield f"rule {number}: it is over since {local(rule.until, zone):%Y-%m-%d %H:%M}; it may go"
