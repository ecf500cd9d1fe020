"""Lasting faults that are open."""

from __future__ import annotations

from collections.abc import Iterator

from heartbeat.clock import to_seconds
from heartbeat.doctor._answer import Answer, ok, skip, warn
from heartbeat.doctor._case import Case
from heartbeat.doctor._ledger import opened, why_not
from heartbeat.errors import HeartbeatError

_SHOWN = 20


def look(case: Case) -> Iterator[Answer]:
    """Each with the verb that shows its history."""
    try:
        with opened(case.home.ledger_file) as ledger:
            found = ledger.incidents(open_only=True)
    except HeartbeatError as error:
        yield skip(why_not(error))
        return
    for incident in found[:_SHOWN]:
        seen = f"since {to_seconds(incident.opened_at)}: {incident.message}"
        yield warn(seen, f"`heartbeat why {incident.id}`", incident.subject)
    if len(found) > _SHOWN:
        yield warn(f"{len(found) - _SHOWN} more open", "`heartbeat incidents --open`")
    if not found:
        yield ok("none is open")
