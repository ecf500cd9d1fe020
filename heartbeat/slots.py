"""What the daemon does with one job at one moment: start a slot, pass slots over, or wait. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Literal

from heartbeat.clock import to_seconds
from heartbeat.durations import show_duration
from heartbeat.faults import LONGEST_BACKOFF
from heartbeat.model import Fate, JobState, SlotState
from heartbeat.ports import TRUSTED
from heartbeat.schedule import (
    EVERY_DAY,
    OVERLOOKED,
    At,
    Every,
    Timing,
    first_slot,
    latest_slot,
    next_slot,
    slots_between,
)

CLOCK_STEP = timedelta(minutes=5)
"""What lies further ahead than this was entered under a clock that was wrong; what is nearer is waited for."""
LATE = timedelta(minutes=1)
"""From here on a slot is late, and has not merely waited for its turn."""
MOST_ROWS = 60
"""Slots passed over at once get a row each up to this many; more of them share one."""
MOST_ATTEMPTS = 3
"""A slot whose run is cut off each time is not begun more often than this."""
_ALL_SINCE = timedelta(days=1)
_TINY = timedelta.resolution
_SECOND = timedelta(seconds=1)
_LONG_AGO = datetime(1969, 12, 31, tzinfo=UTC)  # before every instant that a configuration can hold

CatchUp = Literal["once", "all", "skip"]
Overlap = Literal["skip", "queue", "replace"]


@dataclass(frozen=True, slots=True)
class Policy:
    """What the owner wants when a slot cannot simply run at its instant."""

    catch_up: CatchUp = "once"
    """Of several slots that passed: run the latest, run all of them, or run none that is late."""
    max_late: timedelta | None = None
    """A slot is not run any more when it is later than this."""
    overlap: Overlap = "skip"
    """A slot that comes due while the run before goes on: it is skipped, it waits, or it ends that run."""
    rerun_interrupted: bool = False
    """A slot whose run was cut off by the end of heartbeat's process runs again."""
    paused: bool = False
    """Slots come due and are skipped."""

    @property
    def limit(self) -> timedelta | None:
        """How late a slot may be and still run; None: any time."""
        return self.max_late or {"once": None, "all": _ALL_SINCE, "skip": LATE}[self.catch_up]


@dataclass(frozen=True, slots=True)
class Move:
    """What to do, and when to look again."""

    next_at: datetime | None
    """None: this job is never due again."""
    start: datetime | None = None
    """The slot to run now."""
    note: str = ""
    """What is to be said of the slot that is started."""
    again: bool = False
    """It is a slot whose run was interrupted."""
    fates: tuple[Fate, ...] = ()
    """What becomes of the slots that are due and do not run."""
    waits: bool = False
    """A slot waits for the end of the run that goes on: look again then."""
    ends_running: bool = False
    """The run that goes on is to be ended for it."""
    rewound: bool = False
    """The clock was set back so far that the schedule goes on from now."""


def next_move(timing: Timing, policy: Policy, state: JobState, now: datetime, running: datetime | None = None) -> Move:
    """The move of a job; *running* is the slot (or start) of its run that is still going."""
    rewound = is_rewound(state, now)
    if rewound:
        # Anchored anew as well: an interval begins at its anchor, and the slots from the old one may have run.
        state = replace(state, anchor_at=now, last_slot_at=now, interrupted_at=None)
    move = _move(timing, policy, state, now, running)
    return replace(move, rewound=True) if rewound else move


def first_look(timing: Timing, policy: Policy, state: JobState, now: datetime) -> datetime | None:
    """When a job is to be looked at first: at its first slot without a fate, which may lie in the past."""
    is_cut_off = policy.rerun_interrupted and state.interrupted_at is not None
    if is_rewound(state, now):
        return now
    return state.interrupted_at if is_cut_off else pending(timing, state)


def is_rewound(state: JobState, now: datetime) -> bool:
    """Whether what is known of a job was entered under a clock that showed a much later time."""
    ahead = max(state.anchor_at, state.last_slot_at or state.anchor_at) - now
    return ahead > CLOCK_STEP or (state.entered_at is not None and state.entered_at - now > TRUSTED)


def pending(timing: Timing, state: JobState) -> datetime | None:
    """The first slot without a fate."""
    if state.last_slot_at is None:
        return first_slot(timing, anchor=state.anchor_at)
    return next_slot(timing, state.last_slot_at, anchor=state.anchor_at)


def overlooked(timing: Timing, now: datetime) -> tuple[Fate, ...]:
    """What becomes of instants that had passed when heartbeat first saw their job."""
    instants = replace(timing, schedules=tuple(each for each in timing.schedules if isinstance(each, At)))
    end = now - OVERLOOKED
    first = next_slot(instants, _LONG_AGO, anchor=_LONG_AGO) if instants.schedules else None
    passed = slots_between(instants, first, end, anchor=_LONG_AGO) if first is not None else ()
    reason = "it had passed before heartbeat first saw this schedule"
    return tuple(Fate(SlotState.MISSED, slot, slot, reason) for slot in passed)


def superseded(timing: Timing, state: JobState, now: datetime, running: datetime | None = None) -> tuple[Fate, ...]:
    """What becomes of slots that are due by a schedule that is not the job's any more."""
    first = _after_running(timing, state, now, running)
    if first is None or first > now or is_rewound(state, now):
        return ()
    due = _Stretch(timing, state.anchor_at, first, now).up_to(now)
    return due.end_as(SlotState.SKIPPED, "the schedule was changed before it could run")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The slots of a job from *first* to *last*, which are slots both."""

    timing: Timing
    anchor: datetime
    first: datetime
    last: datetime

    def up_to(self, end: datetime) -> _Stretch:
        return replace(self, last=latest_slot(self.timing, self.first, min(self.last, end), anchor=self.anchor))

    def after(self, slot: datetime) -> datetime | None:
        return next_slot(self.timing, slot, anchor=self.anchor)

    def end_as(self, state: SlotState, reason: str) -> tuple[Fate, ...]:
        """A row for each of them, or one row for very many."""
        slots = list(islice(slots_between(self.timing, self.first, self.last, anchor=self.anchor), MOST_ROWS + 1))
        if len(slots) <= MOST_ROWS:
            return tuple(Fate(state, slot, slot, reason) for slot in slots)
        return (Fate(state, self.first, self.last, reason, count=self._count()),)

    def _count(self) -> int | None:
        """How many they are, where that is a division; walking through a year of minutes would take too long."""
        match self.timing.schedules:
            case (Every(period),) if not self.timing.between and self.timing.days == EVERY_DAY:
                return (self.last - self.first) // period + 1
            case _:
                return None


def _after_running(timing: Timing, state: JobState, now: datetime, running: datetime | None) -> datetime | None:
    """The first slot without a fate, but for one whose claim may be on its way into the ledger."""
    first = pending(timing, state)
    # After a clock was set back the slot that runs may lie far ahead.
    if running is not None and first is not None and first <= running <= now:
        return next_slot(timing, running, anchor=state.anchor_at)
    return first


def _move(timing: Timing, policy: Policy, state: JobState, now: datetime, running: datetime | None) -> Move:
    first = _after_running(timing, state, now, running)
    if first is None or first > now:
        return _rerun(policy, state, now, running, first)
    due = _Stretch(timing, state.anchor_at, first, now).up_to(now)
    upcoming = due.after(now)
    if policy.paused:
        reason = "paused: the job is paused in the configuration"
    elif state.backoff_until is not None and due.last < state.backoff_until <= now + LONGEST_BACKOFF:
        # Rounded up: a slot just before it must not seem to lie at it.
        reason = f"backing off until {to_seconds(state.backoff_until + _SECOND - _TINY)} after faults"
    elif running is None:
        return _start(policy, due, now)
    elif policy.overlap == "skip":
        reason = "overlap: the run before was still going"
    else:
        return Move(upcoming, waits=True, ends_running=policy.overlap == "replace")
    return Move(upcoming, fates=due.end_as(SlotState.SKIPPED, reason))


def _start(policy: Policy, due: _Stretch, now: datetime) -> Move:
    """Run the latest slot, or the first of all, of those that are not too late."""
    fates: tuple[Fate, ...] = ()
    limit = policy.limit
    if limit is not None and now - due.first > limit:
        gone = due.up_to(now - limit - _TINY)
        word = SlotState.MISSED if policy.catch_up == "skip" else SlotState.SKIPPED
        fates = gone.end_as(word, f"too late: more than {show_duration(limit)} after its instant")
        left = due.after(gone.last)
        if left is None or left > now:
            return Move(left, fates=fates)
        due = replace(due, first=left)
    slot = due.first if policy.catch_up == "all" else due.last
    note = f"{show_duration(now - slot)} late" if now - slot > LATE else ""
    if due.first < slot:
        fates += due.up_to(slot - _TINY).end_as(SlotState.SKIPPED, f"coalesced into {to_seconds(slot)}")
        note += f"{', ' if note else ''}stands for every slot since {to_seconds(due.first)}"
    return Move(due.after(slot), start=slot, note=note, fates=fates)


def _rerun(policy: Policy, state: JobState, now: datetime, running: datetime | None, next_at: datetime | None) -> Move:
    """Begin an interrupted slot again, when the job says so and nothing newer is due."""
    slot, limit = state.interrupted_at, policy.limit
    wanted = policy.rerun_interrupted and not policy.paused and running is None and state.attempts < MOST_ATTEMPTS
    if slot is None or not wanted or (limit is not None and now - slot > limit):
        return Move(next_at)
    note = f"begun again: run {state.attempts} for it was interrupted"
    return Move(next_at, start=slot, note=note, again=True)
