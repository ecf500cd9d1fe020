"""`heartbeat health`: what the probe says, by exit status. Standard library only."""

from __future__ import annotations

import os
import sys

from heartbeat.folders import find_folders
from heartbeat.probe import Health, examine


def answer(folder: str | None, *, as_json: bool, assert_live: bool) -> int:
    """Answer `health` for the installation in *folder*; the exit status."""
    _, state, _ = find_folders(folder, os.environ)
    health = examine(state)
    status = 1 if assert_live and not health.is_live else 0
    try:
        show_health(health, as_json=as_json, assert_live=assert_live)
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # a reader that went away has heard enough
            print(f"heartbeat: cannot print the answer: {error.strerror}", file=sys.stderr)
        # What is still in the buffer must not fail a second time when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return status if isinstance(error, BrokenPipeError) else 1
    return status


def show_health(health: Health, *, as_json: bool, assert_live: bool) -> int:
    """Print the state; the status is 0 unless an assertion does not hold."""
    if as_json:
        import json  # here: without --json nobody waits for it

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
        "last_beat_at": health.last_beat_at or None,
        "recent_starts": health.recent_starts,
    }
    return {"schema": "heartbeat/v1", "ok": True, "command": "health", "data": data, "error": None}
