"""The service: installed, enabled, running, and as it would be installed today."""

from __future__ import annotations

from collections.abc import Iterator

from heartbeat.doctor._answer import Answer, count, fail, ok, skip, warn
from heartbeat.doctor._case import Case
from heartbeat.errors import HeartbeatError
from heartbeat.lock import holder_of
from heartbeat.marker import Marker
from heartbeat.probe.restarters import find_restarters, subject_of
from heartbeat.service import Manager, Plan, Standing, find_manager
from heartbeat.service.planning import doubts, make_plan, scope_of
from heartbeat.service.standing import runs_as

SECONDS = 10.0
"""Its supervisor is asked a few things one after the other; where none is known, each is."""


def look(case: Case) -> Iterator[Answer]:
    """What its supervisor says, and each way in which it differs from what we would write."""
    marker = case.marker
    if marker is None or marker.manager == "none":
        yield _unmarked(case, is_detached=marker is not None)
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


def _unmarked(case: Case, *, is_detached: bool) -> Answer:
    """Not by `install`; a unit of the owner's own may keep it all the same, and a second one would only fight it."""
    pid = _holder(case)
    keeper = _keeper(case) if pid else ""
    if keeper:
        return ok(f"{keeper} keeps it, and `heartbeat install` did not make that: nothing to compare it with", "own")
    if not pid and (other := _stranger(case)):
        seen = f"it does not run, and its unit is not one of `heartbeat install`: {other}"
        return warn(seen, "start that unit as you do; or take it away, then run `heartbeat install`", "own")
    install = f"`{case.as_owner}heartbeat install`"
    stop = f"`{case.as_owner}heartbeat stop`, then " if pid else ""
    if is_detached:
        seen = f"it {'runs' if pid else 'was run'} detached: nobody starts it again after a fault, or with the machine"
        return warn(seen, f"where there is systemd or launchd, {stop}{install}")
    if pid:
        seen = f"process {pid} runs, and no supervisor is seen to keep it: it does not come back by itself"
        return warn(seen, f"{stop}{install}")
    return warn("heartbeat is not installed as a service: it does not come back by itself", f"run {install}")


def _stranger(case: Case) -> str:
    """That somebody else wrote the unit of its name; empty when nobody did, or nobody can be asked."""
    scope = scope_of(case.home)
    manager = find_manager(scope, case.environ, "").manager
    if manager is None:
        return ""
    standing = manager.status(make_plan(case.home, case.settings, case.environ, scope=scope, user=runs_as(case.home)))
    return standing.detail if standing.state == "not installed" else ""


def _keeper(case: Case) -> str:
    return find_restarters(subject_of(str(case.home.config), str(case.home.state), now=case.now.timestamp())).keeper


def _holder(case: Case) -> str:
    """The pid of the daemon that runs; empty when none does."""
    try:
        return (holder_of(case.home.lock_file) or "").partition(":")[0]
    except OSError:
        return ""


def _standing(case: Case, standing: Standing, marker: Marker) -> Iterator[Answer]:
    unit, detail = marker.unit, f": {standing.detail}" if standing.detail else ""
    counted = f", {count(standing.restarts, 'restart')}" if standing.restarts else ""
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
