"""`heartbeat tick --gate`: what is to be told, and a wake gate, for a scheduler that wakes an agent of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable

from heartbeat.beat import House, persist
from heartbeat.cli.shell import plain_value
from heartbeat.model import Change, Finding, Reply
from heartbeat.process import owner

GATE_AGENT = "gate"
"""The agent of a wake that another scheduler carries out."""


def hand_over(house: House, job: str, nothing: str) -> None:
    """Print what waits for the scheduler, then settle it: what it could not read is printed next time.

    That is the wake just made, and any that an earlier call left when it was killed.
    """
    waiting = [wake.id for wake in house.ledger.wakes("pending", 1000) if (wake.agent, wake.job) == (GATE_AGENT, job)]
    # Begun before anything is printed: what the daemon took up meanwhile is not told twice.
    begun = [house.ledger.begin_wake(wake_id, owner(), house.clock()) for wake_id in reversed(waiting)]
    wakes = [wake for wake in begun if wake is not None]
    try:
        print_gate([(item.finding, item.change) for wake in wakes for item in wake.findings], nothing)
    except BaseException:
        for wake in wakes:
            house.ledger.postpone_wake(wake.id, "its gate could not be printed", house.clock(), house.clock())
        raise
    for wake in wakes:
        _settle(house, wake.id)


def print_gate(told: Iterable[tuple[Finding, Change]], nothing: str) -> None:
    """A line of JSON for each finding, and the gate as the last line; *nothing* is its reason when there is none."""
    lines = [json.dumps(_line(finding, change), default=plain_value) for finding, change in told]
    gate = {"wakeAgent": bool(lines), "reason": f"{len(lines)} to tell" if lines else nothing}
    print("\n".join([*lines, json.dumps(gate)]), flush=True)


def _line(finding: Finding, change: Change) -> dict[str, object]:
    fields = {**as_fields(finding, change), "body": finding.body}
    return {name: value for name, value in fields.items() if value}


def as_fields(finding: Finding, change: Change) -> dict[str, object]:
    """What every answer of `tick` says of a finding."""
    return {
        "key": finding.key,
        "title": finding.title,
        "kind": finding.kind,
        "urgency": finding.urgency,
        "starts_at": finding.starts_at,
        "useful_until": finding.useful_until,
        "change": change,
    }


def _settle(house: House, wake_id: str) -> None:
    persist(house, lambda: house.ledger.settle_wake(wake_id, Reply(), (), house.clock()))
