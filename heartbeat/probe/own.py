"""The state of heartbeat itself, as its evidence shows it just now. Standard library only."""

from __future__ import annotations

import os
import sys
import time

from heartbeat.folders import SYSTEM
from heartbeat.probe.evidence import Evidence, gather
from heartbeat.probe.health import Health
from heartbeat.probe.judge import judge_health

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heartbeat.marker import Marker
    from heartbeat.probe.supervisor import Supervised


def examine(state: str, *, thorough: bool = False, home: str = "") -> Health:
    """The state now, of the installation that keeps its evidence in the folder *state*.

    Its supervisor, if there is one, is asked if *thorough*, and when the files alone do not show that all is well.
    *home* is what `--home` was given: the commands of the problems name it, as they do that of the machine's own.
    """
    health = _examine(state, thorough=thorough)
    home = SYSTEM[0] if state == SYSTEM[1] else home
    if home and health.problems:
        from heartbeat.probe.naming import named  # here: what is well has no remedies

        health.problems = tuple((code, named(message, home)) for code, message in health.problems)
    return health


def _examine(state: str, *, thorough: bool) -> Health:
    health, evidence = _look(state, None)
    marker = evidence.marker or _usual_marker(state, evidence)
    if marker is None or (not thorough and health.state == "up"):
        return health
    health, _ = _look(state, _ask(state, marker))
    if any(code == "foreign_daemon" for code, _ in health.problems):
        # Between the two looks it may have been restarted.
        health, _ = _look(state, _ask(state, marker))
    return health


def _usual_marker(state: str, evidence: Evidence) -> Marker | None:
    """Of the machine's own installation, which everybody may ask after, even who may not read its marker."""
    if state != SYSTEM[1] or all(code != "marker_unreadable" for code, _ in evidence.faults):
        return None
    from heartbeat.marker import Marker

    is_mac = sys.platform == "darwin"
    return Marker("launchd" if is_mac else "systemd", "local.heartbeat" if is_mac else "heartbeat.service", "system")


def _look(state: str, supervised: Supervised | None) -> tuple[Health, Evidence]:
    evidence = gather(state)
    evidence.supervised = supervised
    return judge_health(evidence, monotonic=time.monotonic(), now=time.time()), evidence


def _ask(state: str, marker: Marker | None) -> Supervised | None:
    # Only here: what all is well without need not be loaded.
    from heartbeat.probe.processes import find_process
    from heartbeat.probe.supervision import MISSING
    from heartbeat.probe.supervisor import Supervised, ask_supervisor

    if marker is None or marker.manager not in ("systemd", "launchd"):
        return None
    domain = marker.domain
    user = os.stat(state).st_uid
    if domain == "user" and user != os.geteuid():
        if os.geteuid():
            return None  # the manager of another user does not answer us
        domain = f"user:{user}"
    said = ask_supervisor(marker.manager, marker.unit, domain)
    if said is None:
        return Supervised(marker.manager, marker.unit, domain, state=MISSING)
    if said.begun is None and said.pid:
        began = find_process(said.pid).started_at
        said.begun = None if began is None else time.monotonic() - (time.time() - began)
    return said
