"""What the daemon does with one job at one moment: start a slot, skip it, or wait. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from heartbeat.clock import to_text
from heartbeat.faults import LONGEST_BACKOFF
from heartbeat.model import JobState
from heartbeat.schedule import Schedule, due, next_slot

CLOCK_STEP = timedelta(minutes=5)
"""What lies further ahead than this was entered under a clock that was wrong; what is nearer is waited for."""


@dataclass(frozen=True, slots=True)
class Move:
    """What to do, and when to look again."""

    next_at: datetime | None
    """None: this job is never due again."""
    start: datetime | None = None
    """The slot to run now."""
    skip: datetime | None = None
    """The slot that is due and will not run."""
    reason: str = ""
    """Why it is skipped, or what the started slot stands for."""
    rewound: bool = False
    """The clock was set back so far that the schedule goes on from now."""


def next_move(
    schedule: Schedule, state: JobState, now: datetime, zone: ZoneInfo, running: datetime | None = None
) -> Move:
    """The move of a job; *running* is the slot (or start) of its run that is still going."""
    anchor, last = state.anchor_at, state.last_slot_at
    rewound = max(anchor, last or anchor) - now > CLOCK_STEP
    if rewound:
        # Anchored anew as well: an interval begins at its anchor, and the slots from the old one may have run.
        anchor = last = now
    slot = due(schedule, anchor=anchor, last=last, now=now, zone=zone)
    after = max(now, slot.slot if slot else last or now)
    next_at = next_slot(schedule, after, anchor=anchor, zone=zone)
    if slot is None or slot.slot == running:
        return Move(next_at, rewound=rewound)
    if running is not None:
        return Move(next_at, skip=slot.slot, reason="overlap: the run before was still going", rewound=rewound)
    if state.backoff_until is not None and slot.slot < state.backoff_until <= now + LONGEST_BACKOFF:
        reason = f"backing off until {to_text(state.backoff_until)} after faults"
        return Move(next_at, skip=slot.slot, reason=reason, rewound=rewound)
    stands_for = f"stands for every slot since {to_text(slot.since)}" if slot.since else ""
    return Move(next_at, start=slot.slot, reason=stands_for, rewound=rewound)
