"""`heartbeat wakes`: what was and will be handed to the agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import typer

from heartbeat.cli.shell import shell, table, when
from heartbeat.clock import utc_now
from heartbeat.model import Attempt, Message, Wake
from heartbeat.text import one_line, plain

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
    zone = call.here()
    rows = [
        (wake.id, wake.state, when(wake.created_at, zone), str(wake.attempts), _titles(wake), wake.error or wake.reply)
        for wake in found
    ]
    headers = ("ID", "STATE", "MADE", "TRIES", "FINDINGS", "REPLY OR ERROR")
    data = {"wakes": [as_data(wake) for wake in found]}
    call.show(data, lambda: table(headers, rows, "nobody was woken yet"), zone)


@app.command()
def get(wake: str = typer.Argument(help="Its id.")) -> None:
    """Show one wake: what it carries, every attempt and what that cost, the whole reply."""
    call = shell("wakes get")
    with call.ledger_to_read() as ledger:
        found, sent = ledger.wake(wake), ledger.messages_of(wake)
    data = as_data(found) | {
        "history": [_attempt(each) for each in found.history],
        "messages": [{"id": each.id, "channel": each.channel, "state": each.state} for each in sent],
    }
    zone = call.here()
    call.show(data, lambda: _text(found, sent, zone), zone)


@app.command()
def retry(wake: str = typer.Argument(help="Its id.")) -> None:
    """Make a pending, failed or cancelled wake due now, and end the hold of its agent."""
    call = shell("wakes retry")
    with call.ledger() as ledger:
        ledger.retry_wake(wake, utc_now())
        data = as_data(ledger.wake(wake))
    call.show(data, lambda: f"{wake} is due now; a running daemon takes it up within 15 s")


@app.command()
def release() -> None:
    """End the hold of an agent that asked for time: it is called again as soon as something waits for it."""
    call = shell("wakes release")
    with call.ledger() as ledger:
        now = utc_now()
        held = [hold for hold in ledger.past(now).holds.values() if hold.until > now]
        for hold in held:
            ledger.release_agent(hold.agent, now)
    data = {"released": [{"agent": hold.agent, "until": hold.until, "reason": hold.reason} for hold in held]}
    names = ", ".join(f"{hold.agent} (until {when(hold.until, call.zone())}: {one_line(hold.reason)})" for hold in held)
    call.show(data, lambda: f"released: {names}" if held else "no agent is on hold")


@app.command()
def cancel(wake: str = typer.Argument(help="Its id.")) -> None:
    """End a pending wake; its findings are dropped."""
    call = shell("wakes cancel")
    with call.ledger() as ledger:
        ledger.cancel_wake(wake, "the owner cancelled it", utc_now())
        data = as_data(ledger.wake(wake))
    call.show(data, lambda: f"{wake} cancelled")


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "outcome": attempt.outcome,
        "message": attempt.message,
        "session": attempt.session,
        "tokens_in": attempt.usage.tokens_in,
        "tokens_out": attempt.usage.tokens_out,
        "usd": attempt.usage.usd,
    }


def _text(wake: Wake, sent: Sequence[Message], zone: ZoneInfo) -> str:
    next_at = f", next attempt {when(wake.next_attempt_at, zone)}" if wake.next_attempt_at else ""
    lines = [f"{wake.id}: {wake.state} for {wake.agent}, made {when(wake.created_at, zone)}{next_at}"]
    lines += [f"  {item.id}  {item.state:<9}  {one_line(item.finding.title, 100)}" for item in wake.findings]
    for attempt in wake.history:
        cost = f", {attempt.usage.usd:.4f} USD" if attempt.usage.usd is not None else ""
        said = f": {one_line(attempt.message, 300)}" if attempt.message else ""
        lines.append(f"  attempt {attempt.number} {when(attempt.started_at, zone)} {attempt.outcome}{cost}{said}")
    lines += [f"  {each.id}  {each.state} by {each.channel}" for each in sent]
    if wake.error:
        lines.append(f"  {one_line(wake.error, 500)}")
    return "\n".join([*lines, plain(wake.reply)] if wake.reply else lines)


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
        "failures": wake.failures,
        "brief_id": wake.brief_id,
        "useful_until": wake.useful_until,
        "settled_at": wake.settled_at,
        "reply": wake.reply,
        "error": wake.error,
        "findings": [{"id": item.id, "key": item.finding.key, "title": item.finding.title} for item in wake.findings],
    }
