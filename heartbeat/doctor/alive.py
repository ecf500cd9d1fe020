"""Whether the daemon lives, as the probe judges it: one that is dead is a failure, never left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from heartbeat.clock import from_text, to_seconds
from heartbeat.doctor._answer import Answer, fail, ok, warn
from heartbeat.doctor._case import Case
from heartbeat.probe import Health, examine

SECONDS = 6.0
"""Its supervisor is asked too, a second for each question."""
_WALL = re.compile(r"\b(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) ([+-]\d{4})\b")
"""An instant as the probe writes it, by the machine's clock on the wall, which need not be its owner's."""
_INCIDENT = "run `heartbeat incidents`, then `heartbeat why ID`"
_LOGS = "run `heartbeat logs` to see what it said"
_REMEDIES = {
    "configuration_trouble": "correct what it names, then `heartbeat reload`",
    "queue_folder_trouble": "correct the folder that it names",
    "ping_trouble": "see [ping] and the `ping` of each job, and whether the network is there",
    "outbox_trouble": "run `heartbeat wakes list`",
    "pulse_trouble": "make room in the state folder, or correct its permissions",
    "ledger_trouble": "make room around the ledger, or correct its permissions",
    "restart_requests": "take the request out of the script or crontab that it names; ten minutes later this is over",
    "just_restarted": "look again in a quarter of a minute: `heartbeat health`",
    "overdue": "run `heartbeat jobs`, then `heartbeat slots JOB`",
    "safe_mode": "mend why it ended (`heartbeat logs`), then `heartbeat restart`",
    "starts_missing": "`heartbeat restart` writes a whole log",
    "starts_malformed": "`heartbeat restart` writes a whole log",
    "unit_missing": "run `heartbeat install`",
    "marker_unreadable": "run `heartbeat install`",
    "supervisor_silent": "nothing, when all else is well",
    "restarting": "wait a minute, then `heartbeat health`",
    "process_stopped": "run the `kill -CONT` that it names, or `heartbeat restart`",
    "worker_wedged": "`heartbeat restart`",
    "ledger_missing": "`heartbeat restart` begins a new one",
    "clock_wrong": "set the clock; see `heartbeat clock`",
}
"""By the code of a problem; one that has an incident has none of these codes."""
_UNTOLD = ("foreign_daemon", "disk_full", "disk_read_only", "ledger_not_writable", "lock_stranger")
"""Problems whose own message says what to do."""


def look(case: Case) -> Iterator[Answer]:
    """The state and each problem of it."""
    health = examine(str(case.home.state), thorough=True)
    if health.state == "up":
        yield ok(health.summary)
    elif health.state == "absent":
        yield warn(health.summary, f"run `{case.as_owner}heartbeat install`, or `heartbeat run` to see it work")
    elif health.state == "degraded":
        for code, message in health.problems:
            yield warn(_said(message), _of_problem(code), code)
    else:
        yield fail(f"{health.word}: {health.summary}", _remedy(case, health))
        for code, message in health.problems:
            yield fail(_said(message), _REMEDIES.get(code) or _remedy(case, health), code)


def _said(message: str) -> str:
    return _WALL.sub(lambda found: to_seconds(from_text(found[1] + found[2])), message)


def _of_problem(code: str) -> str:
    if code in _UNTOLD:
        return "do as it says"
    return _REMEDIES.get(code) or (_LOGS if code.endswith("_trouble") else _INCIDENT)


def _remedy(case: Case, health: Health) -> str:
    start = f"`{case.as_owner}heartbeat {'start' if _is_service(case) else 'run --detach'}`"
    match health.state:
        case "flapping":
            return "run `heartbeat logs` to see why it ends; `heartbeat health` names who starts it again"
        case "stalled" if health.pid and _is_service(case):
            return f"run `heartbeat logs` to see what it waits for, then `{case.as_owner}heartbeat restart`"
        case "stalled" if health.pid:
            return f"run `{case.as_owner}heartbeat stop`, then start it as before, or with {start}"
        case "stalled":
            return f"run `fuser {case.home.lock_file}` to see who holds its lock, end that, then {start}"
    why = "`heartbeat logs` says" if case.marker else "`heartbeat run` shows at a terminal"
    return f"{start}; if it ends again, {why} why"


def _is_service(case: Case) -> bool:
    return case.marker is not None and case.marker.manager != "none"
