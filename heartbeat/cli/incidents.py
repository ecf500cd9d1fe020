"""`heartbeat incidents`: lasting faults, and closing one by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import typer

from heartbeat.cli.shell import shell, table, when
from heartbeat.clock import utc_now
from heartbeat.errors import NotFound
from heartbeat.model import Incident
from heartbeat.text import one_line

app = typer.Typer(name="incidents", help="Lasting faults: what failed, since when, and whether you were told.")

_ALL = 1_000_000
_MOST_KNOWN = 20


@app.callback(invoke_without_command=True)
def list_verb(
    context: typer.Context,
    open_only: bool = typer.Option(False, "--open", help="Only those that are not over."),
    limit: int = typer.Option(50, "-n", min=1),
) -> None:
    """List incidents, newest first; or close one."""
    if context.invoked_subcommand is not None:
        return
    call = shell("incidents")
    with call.ledger_to_read() as ledger:
        found = ledger.incidents(open_only=open_only, limit=limit)
    zone = call.here()
    rows = [
        (
            incident.id,
            incident.subject,
            when(incident.opened_at, zone),
            when(incident.resolved_at, zone) if incident.resolved_at else "open",
            f"{incident.told}x" if incident.told else "no",
            one_line(incident.message),
        )
        for incident in found
    ]
    headers = ("ID", "SUBJECT", "SINCE", "UNTIL", "TOLD", "CAUSE")
    empty = "no incident is open" if open_only else "there was no incident"
    call.show({"incidents": [as_data(incident) for incident in found]}, lambda: table(headers, rows, empty), zone)


@app.command()
def close(incident: str = typer.Argument(metavar="ID|SUBJECT", help="Of one that is open.")) -> None:
    """Call an incident over; the next fault that makes one opens it anew."""
    call = shell("incidents close")
    with call.ledger_to_read() as ledger:
        found = ledger.incidents(open_only=True, limit=_ALL)
    meant = next((each for each in found if incident in (each.id, each.subject)), None)
    if meant is None:
        known = ", ".join(one_line(each.subject, 100) for each in found[:_MOST_KNOWN]) or "none"
        raise NotFound(f"cannot find the open incident {one_line(incident, 200)!r}; open are: {known}")
    now = utc_now()
    with call.ledger() as ledger:
        # None: it was over meanwhile.
        closed = ledger.recover(meant.subject, now, closed="closed by hand") or replace(meant, resolved_at=now)
    call.show(as_data(closed), lambda: f"{one_line(closed.subject)} is closed; its next fault may open it anew")


def as_data(incident: Incident) -> dict[str, Any]:
    return {
        "id": incident.id,
        "subject": incident.subject,
        "code": incident.code,
        "message": incident.message,
        "opened_at": incident.opened_at,
        "resolved_at": incident.resolved_at,
        "told": incident.told,
        "tell_at": incident.tell_at,
        "faults": incident.faults,
        "last_ok_at": incident.last_ok_at,
    }
