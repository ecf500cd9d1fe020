"""`heartbeat queue`: items that must be told at their time."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from heartbeat.cli.shell import instant, shell, table, when
from heartbeat.clock import new_id, utc_now
from heartbeat.errors import Invalid
from heartbeat.model import QueueItem, Urgency

app = typer.Typer(name="queue", help="Items to be told when they fall due.")

_LIMITS = {"message": 4_000, "key": 500, "source": 200}


@app.command()
def add(
    message: str = typer.Option(..., help="What to tell; its first line is the title."),
    due: str = typer.Option(..., metavar="ISO", help="When, with offset: 2026-06-10T08:00:00+02:00."),
    key: str = typer.Option(None, help="An item's identity: the same key again changes the item."),
    source: str = typer.Option("", help="Who asks."),
    urgency: Urgency = typer.Option(Urgency.NORMAL),
    until: str = typer.Option(None, metavar="ISO", help="After this it is no longer worth telling."),
) -> None:
    """Add an item; a key given twice is one item."""
    now = utc_now()
    item_id = new_id("item", now)
    for name, value in (("message", message), ("key", key or ""), ("source", source)):
        if len(value) > _LIMITS[name]:
            raise Invalid(
                f"cannot add the item: its {name} has {len(value)} characters; at most {_LIMITS[name]} are kept"
            )
    if not message.strip():
        raise Invalid("cannot add the item: its message is empty; give it with --message 'TEXT'")
    due_at, until_at = instant(due, "--due"), instant(until, "--until") if until is not None else None
    if until_at is not None and until_at < due_at:
        raise Invalid(f"cannot add the item: --until {until!r} lies before --due {due!r}; give a later one")
    item = QueueItem(item_id, key or item_id, message, due_at, source, urgency, until_at)
    call = shell("queue add")
    with call.ledger() as ledger:
        stored, created = ledger.enqueue(item, now)
    word = "added" if created else f"was there already and is {stored.state}"
    call.show(
        {**asdict(stored), "created": created}, lambda: f"{stored.id} {word}, due {when(stored.due_at, call.zone())}"
    )


@app.command(name="list")
def list_verb(
    waiting: bool = typer.Option(False, "--waiting", help="Leave out what was told or cancelled."),
) -> None:
    """List the items by due instant."""
    call = shell("queue list")
    with call.ledger_to_read() as ledger:
        items = ledger.queue(waiting_only=waiting)
    zone = call.zone()
    rows = [(item.id, item.state, when(item.due_at, zone), item.key, item.message) for item in items]
    data: dict[str, Any] = {"items": [asdict(item) for item in items]}
    call.show(data, lambda: table(("ID", "STATE", "DUE", "KEY", "MESSAGE"), rows, "the queue is empty"))


@app.command()
def cancel(item: str = typer.Argument(help="Its id or its key.")) -> None:
    """Cancel a waiting item."""
    call = shell("queue cancel")
    with call.ledger() as ledger:
        cancelled = ledger.cancel_item(item, utc_now())
    call.show(asdict(cancelled), lambda: f"{cancelled.id} cancelled")
