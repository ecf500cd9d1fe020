"""The service: installed, enabled, running, and as it would be installed today."""

from __future__ import annotations

from collections.abc import Iterator

from heartbeat.doctor._answer import Answer, fail, ok, skip, warn
from heartbeat.doctor._case import Case
from heartbeat.errors import HeartbeatError
from heartbeat.marker import Marker
from heartbeat.service import Manager, Plan, Standing, find_manager
from heartbeat.service.planning import doubts, make_plan, scope_of
from heartbeat.service.standing import runs_as

SECONDS = 5.0
"""Its supervisor is asked a few things one after the other."""


def look(case: Case) -> Iterator[Answer]:
    """What its supervisor says, and each way in which it differs from what we would write."""
    marker = case.marker
    if marker is None:
        seen = "heartbeat is not installed as a service: it does not come back by itself"
        yield warn(seen, f"run `{case.as_owner}heartbeat install`")
        return
    if marker.manager == "none":
        seen = "it runs detached: nobody starts it again after a fault, or with the machine"
        yield warn(seen, "where there is systemd or launchd, run `heartbeat install`")
        return
    scope = scope_of(case.home)
    found = find_manager(scope, case.environ, marker.manager)
    if found.manager is None:
        yield skip(
            f"{marker.manager} cannot be asked: {'; '.join(found.reasons)}",
            marker.unit,
            f"run `{case.as_owner}heartbeat doctor`",
        )
        return
    try:
        plan = make_plan(case.home, case.settings, case.environ, scope=scope, user=runs_as(case.home))
        yield from _standing(case, found.manager.status(plan), marker)
        yield from _drift(case, found.manager, plan)
    except HeartbeatError as error:
        message, _, remedy = str(error).rpartition("; ")
        yield fail(message or str(error), remedy, marker.unit)


def _standing(case: Case, standing: Standing, marker: Marker) -> Iterator[Answer]:
    unit, detail = marker.unit, f": {standing.detail}" if standing.detail else ""
    counted = f", {standing.restarts} restarts" if standing.restarts else ""
    match standing.state:
        case "running" | "starting":
            yield ok(f"{standing.state}{detail}{counted}", unit)
        case "unknown":
            yield skip(f"{marker.manager} does not say{detail}", unit, f"run `{case.as_owner}heartbeat doctor`")
            return
        case "not installed":
            yield fail(f"{marker.manager} knows no {unit}, which was installed once", "run `heartbeat install`", unit)
            return
        case state:
            yield fail(
                f"{state}{detail}{counted}",
                f"`{case.as_owner}heartbeat start`; `heartbeat logs` says why it ended",
                unit,
            )
    if standing.enabled is False:
        yield fail(
            "it is not enabled: it does not come up by itself", f"run `{case.as_owner}heartbeat install`", "enabled"
        )


def _drift(case: Case, manager: Manager, plan: Plan) -> Iterator[Answer]:
    differences = manager.drift(plan)
    for difference in differences:
        yield warn(difference, f"run `{case.as_owner}heartbeat install` to write it anew", "drift")
    for doubt in doubts(plan, case.environ):
        message, _, remedy = doubt.rpartition("; ")
        yield warn(message or doubt, remedy, "doubt")
    if not differences:
        yield ok("it is what would be written now", "drift")
