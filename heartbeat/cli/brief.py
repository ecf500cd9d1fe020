"""`heartbeat brief`: while you slept."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import typer

from heartbeat.brief import as_document, as_markdown, as_text
from heartbeat.cli.shell import instant, shell
from heartbeat.clock import utc_now
from heartbeat.zones import zone_or


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
    now = utc_now()
    with call.ledger() if consume else call.ledger_to_read() as ledger:
        away = ledger.overrides(now).zone
        made = ledger.consume_brief(now, start) if consume else ledger.brief(now, start)
    zone = zone_or(away, call.zone())
    assert isinstance(zone, ZoneInfo)
    show = as_markdown if markdown else as_text
    call.show(as_document(made, zone), lambda: show(made, zone))
