"""`heartbeat alarm`: what systemd starts when heartbeat is down for good (OnFailure=), to have its owner told."""

from __future__ import annotations

import sys
import time

import typer

from heartbeat.cli.shell import shell
from heartbeat.marker import read_intent


def alarm(unit: str = typer.Option(help="The unit that failed.")) -> None:
    """Tell the owner that heartbeat is down for good, through every channel that takes incidents."""
    from heartbeat.cli.last_word import tell

    call = shell("alarm")
    word, by = read_intent(call.home.intent_file, time.time())
    if word == "stop":  # in the middle of a start, say: systemd takes that for a failure
        print(f"nobody is told that {unit} is down: its owner has just had it stopped ({by})", file=sys.stderr)
        raise typer.Exit(0)
    raise typer.Exit(0 if tell(call, unit, time.sleep) else 1)
