"""Going on from what a heartbeat process that was killed has left."""

from __future__ import annotations

from datetime import datetime

from heartbeat.beat import House
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


def close_removed(house: House, now: datetime) -> None:
    """Resolve the incidents of jobs and agents that are not configured any more: nobody else ever would."""
    for incident in house.ledger.incidents(open_only=True):
        kind, _, rest = incident.subject.partition(":")
        is_removed = {
            "job": rest not in house.config.jobs,
            "source": rest.split("/", 1)[0] not in house.config.jobs,
            "agent": house.agent is None or rest != house.agent.name,
        }
        if is_removed.get(kind, False):
            house.ledger.recover(incident.subject, now)
            event("incident_closed", subject=incident.subject, reason="it is not configured any more")
