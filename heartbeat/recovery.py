"""Going on from what a heartbeat process that was killed has left."""

from __future__ import annotations

from datetime import datetime

from heartbeat.log import event, warn
from heartbeat.ports import Ledger
from heartbeat.process import end_strays, is_alive


def clear_up(ledger: Ledger, now: datetime) -> bool:
    """End the children of processes that are gone, and take over their runs and wakes; whether there were any."""
    left = ledger.orphaned(is_alive)
    if not left:
        return False
    # First: were we killed in between, nobody would look for the children of runs that are entered as over.
    strays = end_strays(left)
    runs = ledger.interrupt(is_alive, now)
    for run in runs:
        warn("run_interrupted", job=run.job, run=run.id)
    wakes = ledger.release_wakes(is_alive, now)
    if wakes or strays:
        event("cleared_up", wakes=len(wakes), strays=strays)
    return True
