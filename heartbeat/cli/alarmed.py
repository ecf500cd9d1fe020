"""`heartbeat alarm`: what systemd starts when heartbeat is down for good (OnFailure=), to have its owner told."""

from __future__ import annotations

import time

import typer

from heartbeat.cli.shell import shell


def alarm(unit: str = typer.Option(help="The unit that failed.")) -> None:
    """Tell the owner that heartbeat is down for good, through every channel that takes incidents."""
    from heartbeat.cli.last_word import tell

    raise typer.Exit(0 if tell(shell("alarm"), unit, time.sleep) else 1)
