"""heartbeat as a service: one file for each supervisor, and which of them this host has."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from heartbeat.service.plan import Manager, Plan, Scope, Standing

__all__ = ["Found", "Manager", "Plan", "Scope", "Standing", "find_manager", "usual_manager"]


class Candidate(Manager, Protocol):
    """A manager that knows whether it can be had."""

    system: str
    """Where it is at home, as in `sys.platform`."""

    def why_not(self, scope: Scope) -> str:
        """What keeps this host from it; empty when nothing does."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """The supervisor of this host; None with the reasons, one for each that there could be."""

    manager: Manager | None
    reasons: tuple[str, ...] = ()


def find_manager(scope: Scope, environ: Mapping[str, str], kind: str = "") -> Found:
    """The supervisor that can keep a service in this scope now; with *kind* only that one will do."""
    reasons = {}
    for candidate in _candidates(environ):
        if kind in ("", candidate.kind):
            reason = candidate.why_not(scope)
            if not reason:
                return Found(candidate)
            reasons[candidate.system] = f"{candidate.kind}: {reason}"
    # That this is no Mac is news to nobody who does not sit before one.
    here = [reason for system, reason in reasons.items() if system == sys.platform]
    return Found(None, tuple(here or reasons.values()))


def usual_manager(environ: Mapping[str, str]) -> Manager:
    """The supervisor of this kind of system, whether or not it runs here just now: what could be installed."""
    launchd, systemd = _candidates(environ)
    return systemd if launchd.why_not("system") else launchd


def _candidates(environ: Mapping[str, str]) -> tuple[Candidate, Candidate]:
    # Here: most verbs need neither.
    from heartbeat.service.launchd import Launchd
    from heartbeat.service.systemd import Systemd

    # launchd first: where its launchctl is, or where a test puts one, it is what is meant.
    return Launchd(environ=environ), Systemd(environ)
