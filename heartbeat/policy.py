"""The owner's rules for a job, from the configuration: what `decide` goes by."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from heartbeat.config import Settings
from heartbeat.config.discipline import BudgetSettings, QuietSettings, RuleSettings
from heartbeat.decide import Budget, OwnerRule, QuietHours, Rules
from heartbeat.job import Job
from heartbeat.model import OWNER, MessageKind, Overrides, Prefs, Target, Urgency
from heartbeat.routing import Route, channels_for
from heartbeat.zones import zone_or


def rules_of(settings: Settings, job: Job | None, name: str, *, agent: str, routes: Sequence[Route]) -> Rules:
    """For a job, None when it is not configured any more; *agent* is the name of whoever is woken, or ''."""
    if job is not None and job.notify:
        target = Target(OWNER)
    else:
        target = Target(agent, profile(job.prefs if job else settings.agent.prefs()) if agent else "")
    return Rules(
        target=target,
        told=frozenset(urgency for urgency in Urgency if channels_for(routes, MessageKind.NOTICE, urgency)),
        job=name,
        owner=_rules(settings.rules),
        quiet=quiet_hours(settings),
        budget=budget_of(settings),
        zone=ZoneInfo(settings.owner.zone),
    )


def quiet_hours(settings: Settings) -> QuietHours:
    """Those of the configuration; `under` makes of them what the owner wants for the time being."""
    return _hours(settings.quiet, settings.owner.zone)


def budget_of(settings: Settings) -> Budget:
    return _budget(settings.budget)


def owner_zone(settings: Settings, overrides: Overrides) -> ZoneInfo:
    """Where the owner is now."""
    home = ZoneInfo(settings.owner.zone)
    zone = zone_or(overrides.zone, home)
    return zone if isinstance(zone, ZoneInfo) else home


def profile(prefs: Prefs) -> str:
    """How an agent is to be called, as text; empty when it is as it comes."""
    said = {name: value for name, value in asdict(prefs).items() if value != getattr(_PLAIN, name)}
    return json.dumps(said, sort_keys=True, default=_plain) if said else ""


def _plain(value: object) -> object:
    if isinstance(value, timedelta):
        return value.total_seconds()
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


# For each finding of each run; the patterns in the rules take long to compile.
@lru_cache(maxsize=8)
def _rules(rules: tuple[RuleSettings, ...]) -> tuple[OwnerRule, ...]:
    return tuple(rule.rule(number) for number, rule in enumerate(rules, 1))


@lru_cache(maxsize=8)
def _hours(quiet: QuietSettings, zone: str) -> QuietHours:
    return quiet.hours(ZoneInfo(zone))


@lru_cache(maxsize=8)
def _budget(budget: BudgetSettings) -> Budget:
    return budget.budget()


_PLAIN = Prefs()
