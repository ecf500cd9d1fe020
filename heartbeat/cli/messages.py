"""`heartbeat messages`: what was and will be sent to the owner, and a trial of the ways there."""

from __future__ import annotations

from datetime import datetime
from threading import Event
from typing import Any

import typer

from heartbeat.cli.rights import refuse_as_root
from heartbeat.cli.shell import shell, table, when
from heartbeat.clock import new_id, utc_now
from heartbeat.errors import NotFound
from heartbeat.model import Message, MessageKind, MessageState, Urgency
from heartbeat.text import plain

app = typer.Typer(name="messages", help="What was and will be sent to you, and a trial of the channels.")
_STATES = ", ".join(MessageState)


@app.command(name="list")
def list_verb(
    state: str = typer.Option(None, help=f"Only in this state: {_STATES}."),
    limit: int = typer.Option(50, "-n", min=1),
) -> None:
    """List messages, newest first."""
    call = shell("messages list")
    with call.ledger_to_read() as ledger:
        found = ledger.messages(state, limit)
    zone = call.here()
    rows = [
        (
            *(each.id, each.state, each.channel, each.kind, when(each.created_at, zone), str(each.attempts)),
            f"{each.title}: {each.error}" if each.error else each.title,
        )
        for each in found
    ]
    headers = ("ID", "STATE", "CHANNEL", "KIND", "MADE", "TRIES", "TITLE, AND ERROR")
    call.show(
        {"messages": [as_data(each) for each in found]},
        lambda: table(headers, rows, "nothing was sent to you yet"),
        zone,
    )


@app.command()
def get(message: str = typer.Argument(help="Its id.")) -> None:
    """Show one message whole."""
    call = shell("messages get")
    with call.ledger_to_read() as ledger:
        found = ledger.message(message)
    zone = call.here()
    about = [
        f"{found.id}: {found.kind} by {found.channel}, {found.state} after {_tries(found.attempts)}",
        f"made {when(found.created_at, zone)}",
    ]
    if found.next_attempt_at:
        about.append(f"due {when(found.next_attempt_at, zone)}")
    if found.error:
        about.append(f"error: {found.error}")
    call.show(as_data(found), lambda: plain("\n".join([*about, "", found.title, "", found.body]).rstrip()), zone)


@app.command()
def retry(message: str = typer.Argument(help="Its id.")) -> None:
    """Make a message due now that is pending, failed, expired or cancelled; a running daemon sends it."""
    call = shell("messages retry")
    with call.ledger() as ledger:
        ledger.retry_message(message, utc_now())
        data = as_data(ledger.message(message))
    call.show(data, lambda: f"{message} is due now; a running daemon takes it up within 15 s")


@app.command()
def cancel(message: str = typer.Argument(help="Its id.")) -> None:
    """End a pending message."""
    call = shell("messages cancel")
    with call.ledger() as ledger:
        ledger.cancel_message(message, "the owner cancelled it", utc_now())
        data = as_data(ledger.message(message))
    call.show(data, lambda: f"{message} cancelled")


@app.command(name="test")
def try_out(channel: str = typer.Argument(help="Its name in the configuration.")) -> None:
    """Send a message through a channel now, and say what came of it."""
    from heartbeat.channels import find_channels

    call = shell("messages test")
    refuse_as_root(call, f"messages test {channel}")
    channels = find_channels(call.config().settings, call.home, call.environ, Event())
    if channel not in channels:
        known = ", ".join(sorted(channels)) or "none"
        raise NotFound(f"cannot find the channel {channel!r}; the configured channels are: {known}")
    message = _trial(channel, utc_now())
    proof = channels[channel].send(message)
    state = MessageState.DELIVERED if proof else MessageState.UNVERIFIED
    words = "delivered" if proof else "sent, but nothing confirms that it arrived: look for it"
    call.show({"id": message.id, "channel": channel, "state": state}, lambda: f"{channel}: {words}")


def _trial(channel: str, now: datetime) -> Message:
    return Message(
        new_id("msg", now),
        MessageKind.NOTICE,
        channel,
        MessageState.SENDING,
        "heartbeat: a test",
        "This is how heartbeat will reach you. Nothing needs doing.",
        created_at=now,
        urgency=Urgency.NORMAL,
    )


def _tries(count: int) -> str:
    return "1 try" if count == 1 else f"{count} tries"


def as_data(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "kind": message.kind,
        "channel": message.channel,
        "state": message.state,
        "title": message.title,
        "body": message.body,
        "urgency": message.urgency,
        "created_at": message.created_at,
        "next_attempt_at": message.next_attempt_at,
        "attempts": message.attempts,
        "failures": message.failures,
        "useful_until": message.useful_until,
        "settled_at": message.settled_at,
        "error": message.error,
        "wake_id": message.wake_id,
        "brief_id": message.brief_id,
        "incident_id": message.incident_id,
    }
