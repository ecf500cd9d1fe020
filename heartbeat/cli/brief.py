"""`heartbeat brief`: while you slept."""

from __future__ import annotations

import sys
from zoneinfo import ZoneInfo

import typer

from heartbeat.brief import as_document, as_markdown, as_text
from heartbeat.cli.shell import Shell, cut_off, shell
from heartbeat.cli.since import METAVAR, past_instant
from heartbeat.clock import utc_now
from heartbeat.errors import Refused
from heartbeat.model import Brief
from heartbeat.zones import zone_or


def register(app: typer.Typer) -> None:
    app.command()(brief)


def brief(
    consume: bool = typer.Option(False, "--consume", help="Mark it told, atomically."),
    since: str = typer.Option(None, metavar=METAVAR, help="Only what was first seen from then on, or so long ago: 7d."),
    markdown: bool = typer.Option(False, "--markdown"),
) -> None:
    """Say what has not been told yet. Without --consume nothing changes."""
    call = shell("brief")
    if consume and sys.__stdout__ is None:
        raise Refused("cannot tell the brief: standard output is closed; open it, nothing was marked told")
    now = utc_now()
    start = past_instant(since, now) if since is not None else None
    with call.ledger() if consume else call.ledger_to_read() as ledger:
        away = ledger.overrides(now).zone
        made = ledger.consume_brief(now, start) if consume else ledger.brief(now, start)
    zone = zone_or(away, call.zone())
    assert isinstance(zone, ZoneInfo)
    show = as_markdown if markdown else as_text
    try:
        call.show(as_document(made, zone), lambda: show(made, zone), None if markdown else zone)
        sys.stdout.flush()
    except BrokenPipeError:
        raise  # a reader that went away has read what it wanted
    except OSError as error:
        cut_off()
        _untell(call, made if consume else None, error)
        raise typer.Exit(1) from None


def _untell(call: Shell, made: Brief | None, error: OSError) -> None:
    """Nobody can have read it: what it would have told is told by the next."""
    why = f"standard output could not be written: {error.strerror or error}"
    kept = ""
    if made is not None:
        with call.ledger() as ledger:
            ledger.give_back_brief(made.id, why, utc_now())
        kept = "; nothing was marked told"
    # Also with --json: the envelope would go where nothing can be written.
    print(f"heartbeat: cannot show the brief, {why}; make room there{kept}", file=sys.stderr)
