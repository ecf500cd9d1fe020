"""`heartbeat ledger`: every finding, with the history of its states."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import typer

from heartbeat.cli.shell import plain_value, shell, table, when
from heartbeat.clock import utc_now
from heartbeat.errors import LedgerCorrupt, Refused
from heartbeat.lock import holder_of
from heartbeat.model import LedgerFinding, State

app = typer.Typer(name="ledger", help="Findings with their state history.")

_EVERYTHING = 1_000_000_000


@app.command(name="list")
def list_verb(
    job: str = typer.Option(None, help="Only of this job."),
    state: str = typer.Option(None, help=f"Only in this state: {', '.join(State)}."),
    key: str = typer.Option(None, help="Only under this key."),
    limit: int = typer.Option(50, "-n", min=1),
) -> None:
    """List findings, newest first."""
    call = shell("ledger list")
    with call.ledger_to_read() as ledger:
        found = ledger.findings(job, state, key, limit)
    zone = call.here()
    rows = [
        (item.id, item.state, item.change, item.job, when(item.first_seen_at, zone), item.finding.title)
        for item in found
    ]
    data = {"findings": [as_data(item) for item in found]}
    headers = ("ID", "STATE", "CHANGE", "JOB", "FIRST SEEN", "TITLE")
    call.show(data, lambda: table(headers, rows, "nothing was found yet"), zone)


@app.command()
def get(finding: str = typer.Argument(help="Its id.")) -> None:
    """Show one finding with everything that happened to it."""
    call = shell("ledger get")
    with call.ledger_to_read() as ledger:
        data = as_data(ledger.finding(finding))
    call.show(data, lambda: json.dumps(data, indent=2, default=plain_value))


@app.command()
def export(job: str = typer.Option(None, help="Only of this job.")) -> None:
    """Write every finding with its history as JSON, one a line; with --json all of them in the one line."""
    call = shell("ledger export")
    with call.ledger_to_read() as ledger:
        every = (as_data(ledger.finding(item.id)) for item in ledger.findings(job, None, None, _EVERYTHING))
        if call.as_json:
            call.show({"findings": list(every)}, str)
        else:
            for data in every:
                print(json.dumps(data, default=plain_value))


@app.command()
def quarantine() -> None:
    """Set a damaged ledger aside; the next use begins a new one. Refused for a sound one, and while the daemon runs."""
    from heartbeat.stores.sqlite import open_ledger
    from heartbeat.stores.sqlite import quarantine as set_aside

    call = shell("ledger quarantine")
    path = call.home.ledger_file
    if holder_of(call.home.lock_file) is not None:
        raise Refused("cannot set the ledger aside while the daemon runs; stop it first")
    try:
        open_ledger(path, check=True).close()
    except LedgerCorrupt:
        aside = set_aside(path, utc_now())
        call.show({"aside": str(aside)}, lambda: f"the damaged ledger lies in {aside}; the next use begins a new one")
        return
    raise Refused(f"cannot set {path} aside: it is sound")


def as_data(item: LedgerFinding) -> dict[str, Any]:
    """A finding as one flat JSON object."""
    fields = asdict(item)
    fields.update(fields.pop("finding"))
    if not fields["events"]:
        fields.pop("events")
    return fields
