"""What happened to the clock between two looks at it. Pure."""

from __future__ import annotations

from heartbeat.clock import Reading, to_seconds
from heartbeat.model import ClockEvent

NOTICED = 2.0
"""Seconds; what the clock is moved less than this is adjusting, and no event."""
FROZEN_AFTER = 30.0
"""Seconds between two looks from which on the process stood still."""


def what_happened(before: Reading, after: Reading) -> list[ClockEvent]:
    """Suspend, standstill and steps, as far as three clocks tell them apart."""
    running = after.running - before.running
    elapsed = after.elapsed - before.elapsed
    events = []
    if elapsed - running >= NOTICED:
        events.append(_event(after, "suspend", elapsed - running, "the machine was suspended"))
    if running >= FROZEN_AFTER:
        events.append(_event(after, "frozen", running, "the process stood still, or was too busy to look"))
    step = (after.wall - before.wall).total_seconds() - elapsed
    if abs(step) >= NOTICED:
        was = f"the clock was set {'forward' if step > 0 else 'back'}, after it showed {to_seconds(before.wall)}"
        events.append(_event(after, "forward" if step > 0 else "back", step, was))
    return events


def _event(after: Reading, kind: str, seconds: float, detail: str) -> ClockEvent:
    return ClockEvent(after.wall, kind, round(seconds, 3), detail)
