"""From one reading of a calendar to the next: what moved, what was given a new place, what is unknown. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from heartbeat.sources.calendars.asking import Asking
from heartbeat.sources.kept import Copy, Memory
from heartbeat.sources.meetings import DAY, GRACE
from heartbeat.sources.rows import SLOT, START, UID, Row

if TYPE_CHECKING:
    from heartbeat.sources.trust import Reading

FILLED_FOR = timedelta(days=1)
Slots = dict[tuple[str, str], str]


def taken(memory: Memory, reading: Reading, ask: Asking, lookahead: timedelta) -> Copy:
    """The copy that takes the place of the one before."""
    before = memory.copy
    copy = Copy(
        fingerprint=reading.fingerprint,
        since=ask.since,
        until=reading.until,
        rows=reading.rows,
        events=reading.events,
        whole=reading.whole,
        warnings=reading.warnings,
        current_at=ask.now,
        lost=sorted(reading.lost),
        files=reading.files,
    )
    if before is None:
        return copy
    lost = _lost(before, reading)
    told_rows = told(memory, ask.now, lookahead)
    slots = _slots(before, told_rows, reading.rows, lost, ask)
    rows = [_renamed(row, slots) for row in reading.rows]
    there = {row[UID] for row in rows}
    older, at = _older(before)
    soon = (ask.now - DAY).timestamp()
    gone = [row for row in older if row[START] >= soon and row[UID] not in there] if not reading.whole else []
    filled = [row for row in older if row[START] >= soon and row[UID] in lost] + [
        row for row in gone if row[UID] not in lost
    ]
    return replace(
        copy,
        rows=rows,
        filled=filled,
        filled_at=at if filled else None,
        lost=sorted(lost),
        files={**{uid: names for uid, names in before.files.items() if uid in lost}, **reading.files},
        moved=_moved(before, told_rows, rows, lost, ask.now) if reading.whole else before.moved,
        slots=[(uid, slot, name) for (uid, slot), name in slots.items()],
    )


def is_filled(copy: Copy, now: datetime) -> bool:
    """Whether what is unknown is shown as it was."""
    return bool(copy.filled) and copy.filled_at is not None and now - copy.filled_at <= FILLED_FOR


def shown(copy: Copy, now: datetime) -> list[Row]:
    """The rows that stand, by their start."""
    if not is_filled(copy, now):
        return copy.rows
    unknown = {row[UID] for row in copy.filled}
    return sorted([*(row for row in copy.rows if row[UID] not in unknown), *copy.filled], key=_start)


def told(memory: Memory, now: datetime, lookahead: timedelta) -> list[Row]:
    """What the last run showed, for it was about to begin, and what has not begun since."""
    copy, at = memory.copy, last_shown(memory)
    if copy is None or at is None:
        return []
    first, last = (now - GRACE).timestamp(), max((at + lookahead).timestamp(), memory.ahead[1])
    return [row for row in shown(copy, at) if first <= row[START] <= last]


def last_shown(memory: Memory) -> datetime | None:
    """When the copy was last shown, as current or in place of the calendar."""
    if memory.copy is None:
        return None
    return max(memory.copy.current_at, memory.shown_at or memory.copy.current_at)


def _lost(before: Copy, reading: Reading) -> set[str]:
    """The UIDs of which a reading does not know all: those it names, and those of files that cannot be read."""
    missing = set(reading.missing)
    return {*reading.lost, *(uid for uid, names in before.files.items() if missing.intersection(names))}


def _older(before: Copy) -> tuple[list[Row], datetime]:
    """What was last known of each UID, and since when all of it is."""
    unknown = {row[UID] for row in before.filled}
    rows = sorted([*before.filled, *(row for row in before.rows if row[UID] not in unknown)], key=_start)
    return rows, before.filled_at or before.current_at


def _slots(before: Copy, told_rows: Sequence[Row], rows: Sequence[Row], lost: Collection[str], ask: Asking) -> Slots:
    """Under which slot each renamed instance was told of.

    A series that is moved as a whole, or made of a single event, gives its instances new slots: what was told of and
    is found on the same day under a new slot is the same meeting.
    """
    there: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        there[row[UID]].add(row[SLOT])
    # Under its old slot again it needs no other name.
    slots = {(uid, slot): name for uid, slot, name in before.slots if slot in there[uid] and name not in there[uid]}
    known = {(row[UID], row[SLOT]) for row in before.rows} | slots.keys()
    new: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    uids = {row[UID] for row in told_rows} - set(lost)
    for row in rows:
        if row[UID] in uids and (row[UID], row[SLOT]) not in known:
            new[row[UID], _day(row, ask.home)].append(row[SLOT])
    named = {(uid, name) for (uid, _), name in slots.items()}
    for row in told_rows:
        uid, slot = row[UID], row[SLOT]
        found = new[uid, _day(row, ask.home)] if uid in uids else []
        if slot not in there[uid] and (uid, slot) not in named and len(found) == 1:
            slots[uid, found[0]] = slot
    return slots


def _day(row: Row, home: tzinfo) -> str:
    return f"{datetime.fromtimestamp(row[START], UTC).astimezone(home):%Y%m%d}"


def _renamed(row: Row, slots: Slots) -> Row:
    name = slots.get((row[UID], row[SLOT]))
    return row if name is None else [*row[:SLOT], name, *row[SLOT + 1 :]]


def _moved(
    before: Copy, told_rows: Sequence[Row], rows: Sequence[Row], lost: Collection[str], now: datetime
) -> list[tuple[str, str, float]]:
    """What was told of and has another start now: out of sight, perhaps.

    Without this a meeting that moves to tomorrow would read as called off.
    """
    starts = {(row[UID], row[SLOT]): row[START] for row in told_rows}
    news = [
        (row[UID], row[SLOT], starts[row[UID], row[SLOT]] + GRACE.total_seconds())
        for row in rows
        if row[UID] not in lost and starts.get((row[UID], row[SLOT]), row[START]) != row[START]
    ]
    return [*(one for one in before.moved if one[2] >= now.timestamp()), *news]


def _start(row: Row) -> float:
    return float(row[START])
