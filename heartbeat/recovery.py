"""Going on from what is left: by a process that was killed, by a configuration that was changed, by time."""

from __future__ import annotations

from datetime import datetime, timedelta

from heartbeat.beat import House
from heartbeat.log import event, warn
from heartbeat.ports import Ledger
from heartbeat.process import end_strays, is_alive

_SEEN = timedelta(days=1)


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
    """Resolve incidents that nothing else would: of what is no longer configured, of a ledger set aside."""
    for incident in house.ledger.incidents(open_only=True):
        kind, _, rest = incident.subject.partition(":")
        settings = house.config.settings
        is_removed = {
            "job": rest not in house.config.jobs,
            "source": rest.split("/", 1)[0] not in house.config.jobs,
            "agent": house.agent is None or rest != house.agent.name,
            "channel": rest not in settings.channels,
            "brief": not settings.brief.file,
            "ledger": now - incident.opened_at > _SEEN,  # nothing can mend it: it has been seen by then
        }
        if is_removed.get(kind, False):
            why = "closed after a day" if kind == "ledger" else "closed, for it is not configured any more"
            house.ledger.recover(incident.subject, now, closed=why)
            event("incident_closed", subject=incident.subject, reason=why)


def tidy(house: House, now: datetime) -> None:
    """Remove what is too old, and close what nothing else closes."""
    close_removed(house, now)
    kept = house.config.settings.retention

    def go_on() -> bool:
        house.progress.extend(0)
        return not house.stop.is_set()

    with house.progress.working("retention", 0):
        removed = house.ledger.prune(now, kept.history, kept.outputs, go_on)
    if any(removed.values()):
        event("pruned", **removed)
