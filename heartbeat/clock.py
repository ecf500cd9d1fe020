"""The one place that reads the clock, and the text form of instants and ids made from it."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford base 32: no i, l, o, u


def utc_now() -> datetime:
    """The present instant, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the clocks of the machine."""

    wall: datetime
    """UTC; may be set at any time."""
    running: float
    """Seconds that stand still while the machine is suspended."""
    elapsed: float
    """Seconds that go on then."""


def read_clocks() -> Reading:
    """The present instant, and how much time passed, awake and in all."""
    # On macOS the clock of this name goes on in sleep, unlike time.monotonic.
    through_sleep = time.CLOCK_MONOTONIC if sys.platform == "darwin" else time.CLOCK_BOOTTIME
    return Reading(utc_now(), time.monotonic(), time.clock_gettime(through_sleep))


def to_text(instant: datetime) -> str:
    """Fixed-width UTC text whose order is the order of the instants: `2026-06-10T08:00:00.000000Z`."""
    if instant.tzinfo is None:
        raise ValueError(f"cannot write {instant!r}: it has no offset; make it aware")
    # strftime would write the year 999 with three digits, which breaks the order and cannot be read back.
    utc = instant if instant.tzinfo is UTC else instant.astimezone(UTC)
    return utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def to_seconds(instant: datetime) -> str:
    """For people, in a text that is kept: UTC to the second, `2026-06-10T08:00:00Z`."""
    return to_text(instant)[:19] + "Z"


def from_text(text: str) -> datetime:
    """The instant of an ISO 8601 text; raises ValueError without an offset."""
    try:
        instant = datetime.fromisoformat(text)
        if instant.tzinfo is not None:
            return instant if instant.tzinfo is UTC else instant.astimezone(UTC)
        problem = "it has no offset"
    except (ValueError, OverflowError):  # the latter: in UTC it lies before the year 1 or after 9999
        problem = "it is no date and time of the calendar"
    raise ValueError(f"cannot use {text!r}: {problem}; write it like 2026-06-10T08:00:00+02:00 or with Z")


def local(instant: datetime, zone: tzinfo) -> datetime:
    """The instant on the clock of a zone; as it is within a day of where the calendar begins or ends."""
    try:
        return instant.astimezone(zone)
    except OverflowError:
        return instant


def shown(instant: datetime, now: datetime, zone: tzinfo) -> str:
    """A time of day on the clock of a zone, with its date if that is not today's."""
    there = local(instant, zone)
    return there.strftime("%H:%M" if there.date() == local(now, zone).date() else "%Y-%m-%d %H:%M")


def new_id(kind: str, now: datetime) -> str:
    """A unique id such as `run_01jdyk6c8hk3f9x2am`, ordered by the millisecond it was made in."""
    number = int(now.timestamp() * 1000) << 40 | int.from_bytes(os.urandom(5), "big")
    letters = [_ALPHABET[number >> shift & 31] for shift in range(85, -1, -5)]
    return f"{kind}_{''.join(letters)}"
