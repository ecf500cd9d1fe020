"""`heartbeat brief`: while you slept."""

from __future__ import annotations

from typing import Any

import typer

from heartbeat.brief import as_markdown, as_text
from heartbeat.cli.shell import instant, shell
from heartbeat.clock import utc_now
from heartbeat.model import Brief, LedgerFinding


def register(app: typer.Typer) -> None:
    app.command()(brief)


def brief(
    consume: bool = typer.Option(False, "--consume", help="Mark it told, atomically."),
    since: str = typer.Option(None, metavar="ISO", help="Only what was first seen from then on."),
    markdown: bool = typer.Option(False, "--markdown"),
) -> None:
    """Say what has not been told yet. Without --consume nothing changes."""
    call = shell("brief")
    start = instant(since, "--since") if since is not None else None
    with call.ledger() if consume else call.ledger_to_read() as ledger:
        made = ledger.consume_brief(utc_now(), start) if consume else ledger.brief(utc_now(), start)
    show = as_markdown if markdown else as_text
    call.show(as_data(made), lambda: show(made, call.zone()))


def as_data(made: Brief) -> dict[str, Any]:
    return {
        "id": made.id,
        "since": made.since,
        "until": made.until,
        "items": [_item(item) for item in made.items],
        "incidents": [
            {
                "id": incident.id,
                "subject": incident.subject,
                "code": incident.code,
                "message": incident.message,
                "opened_at": incident.opened_at,
                "resolved_at": incident.resolved_at,
            }
            for incident in made.incidents
        ],
    }


def _item(item: LedgerFinding) -> dict[str, Any]:
    finding = item.finding
    return {
        "id": item.id,
        "key": finding.key,
        "job": item.job,
        "title": finding.title,
        "body": finding.body,
        "kind": finding.kind,
        "urgency": finding.urgency,
        "change": item.change,
        "at": item.first_seen_at,
        "why_not_told": item.reason,
    }
