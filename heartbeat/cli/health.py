"""`heartbeat health`: what the probe says, by exit status. Standard library only."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from heartbeat.paths import find_home
from heartbeat.probe import Health, examine


def try_health(words: Sequence[str]) -> int | None:
    """Answer `[--home DIR] health [--assert-live] [--json]`; None for any other command line."""
    folder: str | None = None
    rest = []
    remaining = iter(words)
    for word in remaining:
        if word == "--home":
            folder = next(remaining, None)
        elif word.startswith("--home="):
            folder = word.removeprefix("--home=")
        else:
            rest.append(word)
    if rest.count("health") != 1 or not set(rest) <= {"health", "--assert-live", "--json"}:
        return None
    health = examine(find_home(folder, os.environ))
    return show_health(health, as_json="--json" in rest, assert_live="--assert-live" in rest)


def show_health(health: Health, *, as_json: bool, assert_live: bool) -> int:
    """Print the state; the status is 0 unless an assertion does not hold."""
    if as_json:
        print(json.dumps(_envelope(health)))
    elif not assert_live:
        print(f"{health.state}: {health.summary}")
        for code, message in health.problems:
            print(f"  {code}: {message}")
    if not assert_live or health.is_live:
        return 0
    reasons = "; ".join(message for _, message in health.problems)
    print(f"heartbeat: {health.state}: {reasons or health.summary}", file=sys.stderr)
    return 1


def _envelope(health: Health) -> dict[str, object]:
    data = {
        "state": health.state,
        "summary": health.summary,
        "problems": [{"code": code, "message": message} for code, message in health.problems],
        "pid": health.pid,
        "uptime_seconds": health.uptime_seconds,
        "last_beat_at": health.last_beat_at,
        "recent_starts": health.recent_starts,
    }
    return {"schema": "heartbeat/v1", "ok": True, "command": "health", "data": data, "error": None}
