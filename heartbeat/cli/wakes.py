"""`heartbeat wakes`: what was and will be handed to the agent."""

from __future__ import annotations

from typing import Any

import typer

from heartbeat.cli.shell import shell, table, when
from heartbeat.clock import utc_now
from heartbeat.model import Wake
from heartbeat.text import one_line

app = typer.Typer(name="wakes", help="The outbox: what was and will be handed to the agent.")


@app.command(name="list")
def list_verb(
    state: str = typer.Option(None, help="Only in this state: pending, sending, settled, failed, cancelled."),
    limit: int = typer.Option(50, "-n", min=1),
) -> None:
    """List wakes, newest first."""
    call = shell("wakes list")
    with call.ledger_to_read() as ledger:
        found = ledger.wakes(state, limit)
    zone = call.zone()
    rows = [
        (wake.id, wake.state, when(wake.created_at, zone), str(wake.attempts), _titles(wake), wake.error or wake.reply)
        for wake in found
    ]
    headers = ("ID", "STATE", "MADE", "TRIES", "FINDINGS", "REPLY OR ERROR")
    data = {"wakes": [as_data(wake) for wake in found]}
    call.show(data, lambda: table(headers, rows, "nobody was woken yet"))


@app.command()
def retry(wake: str = typer.Argument(help="Its id.")) -> None:
    """Make a pending, failed or cancelled wake due now; the daemon takes it up at its next beat."""
    call = shell("wakes retry")
    with call.ledger() as ledger:
        ledger.retry_wake(wake, utc_now())
        data = as_data(ledger.wake(wake))
    call.show(data, lambda: f"{wake} is due now; a running daemon takes it up within 15 s")


@app.command()
def cancel(wake: str = typer.Argument(help="Its id.")) -> None:
    """End a pending wake; its findings are dropped."""
    call = shell("wakes cancel")
    with call.ledger() as ledger:
        ledger.cancel_wake(wake, "the owner cancelled it", utc_now())
        data = as_data(ledger.wake(wake))
    call.show(data, lambda: f"{wake} cancelled")


def _titles(wake: Wake) -> str:
    titles = [one_line(item.finding.title, 40) for item in wake.findings]
    return ", ".join(titles[:1]) + (f" and {len(titles) - 1} more" if len(titles) > 1 else "")


def as_data(wake: Wake) -> dict[str, Any]:
    return {
        "id": wake.id,
        "job": wake.job,
        "run_id": wake.run_id,
        "agent": wake.agent,
        "state": wake.state,
        "created_at": wake.created_at,
        "next_attempt_at": wake.next_attempt_at,
        "attempts": wake.attempts,
        "useful_until": wake.useful_until,
        "settled_at": wake.settled_at,
        "reply": wake.reply,
        "error": wake.error,
        "findings": [{"id": item.id, "key": item.finding.key, "title": item.finding.title} for item in wake.findings],
    }
