"""Whether the daemon lives, as the probe judges it: one that is dead is a failure, never left out."""

from __future__ import annotations

from collections.abc import Iterator

from heartbeat.doctor._answer import Answer, fail, ok, warn
from heartbeat.doctor._case import Case
from heartbeat.probe import Health, examine

SECONDS = 6.0
"""Its supervisor is asked too, a second for each question."""


def look(case: Case) -> Iterator[Answer]:
    """The state and each problem of it."""
    health = examine(str(case.home.state), thorough=True)
    if health.state == "up":
        yield ok(health.summary)
    elif health.state == "absent":
        yield warn(health.summary, "run `heartbeat install`, or `heartbeat run` to see it work at a terminal")
    elif health.state == "degraded":
        for code, message in health.problems:
            yield warn(message, "run `heartbeat incidents`, then `heartbeat why ID`", code)
    else:
        yield fail(f"{health.state}: {health.summary}", _remedy(case, health))
        for code, message in health.problems:
            yield fail(message, _remedy(case, health), code)


def _remedy(case: Case, health: Health) -> str:
    start = f"`{case.as_owner}heartbeat {'start' if case.marker else 'run'}`"
    match health.state:
        case "flapping":
            return "run `heartbeat logs` to see why it ends; `heartbeat health` names who starts it again"
        case "stalled" if health.pid:
            return f"run `heartbeat logs` to see what it waits for, then `kill {health.pid}`, then {start}"
        case "stalled":
            return f"run `fuser {case.home.lock_file}` to see who holds its lock, end that, then {start}"
    return f"{start}; if it ends again, `heartbeat logs` says why"
