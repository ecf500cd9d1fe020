"""`heartbeat queue`: items that must be told at their time."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import typer

from heartbeat.cli.instants import MOMENT, MOMENT_HELP, as_iso, read_moment
from heartbeat.cli.shell import Shell, shell, table, when
from heartbeat.clock import utc_now
from heartbeat.durations import parse_duration
from heartbeat.errors import Invalid
from heartbeat.model import QueueItem, Urgency
from heartbeat.ports import Ledger
from heartbeat.queue.telling import following, telling

app = typer.Typer(name="queue", help="Items to be told when they fall due.")

_PATIENCE = 5.0


@app.command()
def add(
    message: str = typer.Option(..., help="What to tell; its first line is the title."),
    due: str = typer.Option(None, metavar=MOMENT, help=f"When: {MOMENT_HELP}"),
    key: str = typer.Option("", help="An item's identity: the same key again changes the item."),
    source: str = typer.Option("", help="Who asks."),
    urgency: Urgency = typer.Option(Urgency.NORMAL),
    until: str = typer.Option(None, metavar=MOMENT, help="After this it is no longer worth telling, or ends."),
    every: str = typer.Option(None, metavar="TIME", help="Tell it again and again: 3d, 90m. Counts from --due."),
    schedule: str = typer.Option(None, metavar="EXPR", help="The same by any schedule: 'weekdays at 9'."),
) -> None:
    """Add an item; a key given twice is one item."""
    from heartbeat.queue.items import read_item

    if due is None and every is None and schedule is None:
        raise typer.BadParameter(
            "an item needs to know when: give --due 20m (from now), --due 09:00 (the next time the clock shows it),"
            " --due 2026-06-10T08:00:00+02:00, --every 3d or --schedule 'weekdays at 9'"
        )
    call, now = shell("queue add"), utc_now()
    given = {"message": message, "due": due, "key": key, "source": source, "urgency": urgency, "until": until}
    for name in ("due", "until"):
        if (text := given[name]) is not None:
            given[name] = as_iso(text, f"--{name}", call, now)
    item = read_item({**given, "every": every, "schedule": schedule}, call.zone, now, dash="--")
    with call.ledger() as ledger:
        bring_in(call, ledger)
        stored, created = ledger.enqueue(item, now)
    word = "added" if created else f"was there already and is {stored.state}"
    data = {**_fields(stored, now), "created": created}
    zone = call.here()
    call.show(data, lambda: f"{stored.id} {word}, due {_when(stored, now, zone)}", zone)


@app.command(name="list")
def list_verb(
    waiting: bool = typer.Option(False, "--waiting", help="Only those of which something is still to come."),
) -> None:
    """List the items by due instant."""
    call, now = shell("queue list"), utc_now()
    if _has_dropped(call):
        with call.ledger() as ledger:
            bring_in(call, ledger)
    with call.ledger_to_read() as ledger:
        items = ledger.queue(now, waiting_only=waiting)
    data: dict[str, Any] = {"items": [_fields(item, now) for item in items]}

    zone = call.here()

    def text() -> str:
        rows = [(item.id, item.state, _when(item, now, zone), item.key, item.message) for item in items]
        return table(("ID", "STATE", "DUE", "KEY", "MESSAGE"), rows, "the queue is empty")

    call.show(data, text, zone)


@app.command()
def cancel(item: str = typer.Argument(help="Its id or its key.")) -> None:
    """Cancel an item, and all that would still come of it."""
    call, now = shell("queue cancel"), utc_now()
    with call.ledger() as ledger:
        bring_in(call, ledger)
        cancelled = ledger.cancel_item(item, now)
    call.show(_fields(cancelled, now), lambda: f"{cancelled.id} cancelled")


@app.command()
def snooze(
    item: str = typer.Argument(help="Its id or its key."),
    length: str = typer.Option(None, "--for", metavar="TIME", help="From now on: 30m, 2h."),
    until: str = typer.Option(None, "--until", metavar=MOMENT, help=MOMENT_HELP),
) -> None:
    """Let an item come again later, told or not; of one that comes again only this time."""
    if (length is None) == (until is None):
        raise typer.BadParameter(f"give one of --for TIME and --until {MOMENT}")
    call, now = shell("queue snooze"), utc_now()
    at = read_moment(until, "--until", call, now) if until is not None else _after(now, length)
    with call.ledger() as ledger:
        bring_in(call, ledger)
        snoozed = ledger.snooze_item(item, at, now)
    zone = call.here()
    call.show(_fields(snoozed, now), lambda: f"{snoozed.id} snoozed until {when(at, zone)}", zone)


@app.command(name="import")
def import_verb(file: str = typer.Argument(metavar="FILE", help="LifeOS's queue.json; it is only read.")) -> None:
    """Take over the queue of LifeOS, once: what was imported before, or delivered there, is left out."""
    from heartbeat.queue.files import read_json
    from heartbeat.queue.lifeos import LARGEST, read_queue

    call, now = shell("queue import"), utc_now()
    found = read_queue(read_json(file, LARGEST), call.zone, now)
    with call.ledger() as ledger:
        bring_in(call, ledger)
        imported = ledger.import_once(found.items, now)
    data = {
        "imported": imported,
        "known": len(found.items) - imported,
        "delivered": found.delivered,
        "refused": [{"number": number, "reason": reason} for number, reason in found.refused],
    }
    counts = f"{imported} imported, {data['known']} known already, {found.delivered} delivered there"
    complaints = [f"item {number} refused: {reason}" for number, reason in found.refused]
    call.show(data, lambda: "\n".join([f"{counts}, {len(complaints)} refused", *complaints]))


def bring_in(call: Shell, ledger: Ledger) -> None:
    """Take in what other programs dropped, so that a verb sees it; what stands against it is said on stderr."""
    from heartbeat.queue import drop
    from heartbeat.text import plain

    taken = drop.bring_in(call.home, ledger, call.zone, utc_now(), patience=_PATIENCE)
    if taken.problem:
        print(f"heartbeat: {plain(taken.problem)}", file=sys.stderr)


def _has_dropped(call: Shell) -> bool:
    from heartbeat.queue.drop import has_dropped

    return has_dropped(call.home)


def _after(now: datetime, length: str) -> datetime:
    try:
        return now + parse_duration(length)
    except ValueError as error:
        raise Invalid(f"--for: {error}") from error
    except OverflowError:
        raise Invalid(f"--for: cannot use {length!r}: it ends after the year 9999; give a shorter one") from None


def _fields(item: QueueItem, now: datetime) -> dict[str, Any]:
    return {
        "id": item.id,
        "key": item.key,
        "message": item.message,
        "due_at": item.due_at,
        "source": item.source,
        "urgency": item.urgency,
        "until": item.until,
        "state": item.state,
        "schedule": item.words or None,
        "snoozed_until": item.snoozed_until if item.state == "snoozed" else None,
        "next_at": _next_at(item, now),
    }


def _next_at(item: QueueItem, now: datetime) -> datetime | None:
    """When it is told next; an instant that has passed when it is due."""
    told = telling(item, now)
    if item.state in ("waiting", "due", "snoozed"):
        return told.at
    return None if item.state == "cancelled" else following(item, told.slot)


def _when(item: QueueItem, now: datetime, zone: ZoneInfo) -> str:
    shown = when(_next_at(item, now) or telling(item, now).at, zone)
    return f"{shown} ({item.words})" if item.words else shown
