"""What an item of the queue has to tell at an instant. Pure, and with few imports: a script asks each minute."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, Protocol

from heartbeat.clock import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heartbeat.schedule import Timing

ONCE, AGAIN = "queue:", "queue-at:"
"""How the keys of findings begin: of an item that is told once, and of one occurrence of an item that comes again.

Two, so that no key an owner may choose is that of an occurrence. Nothing but the item's id and the occurrence follows
the second, which are of one length each: the keys of an item are in order of time.
"""


class Terms(Protocol):
    """What decides when an item is told, and under which key."""

    @property
    def id(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def due_at(self) -> datetime: ...
    @property
    def until(self) -> datetime | None: ...
    @property
    def schedule(self) -> str: ...
    @property
    def snoozed_slot(self) -> datetime | None: ...
    @property
    def snoozed_until(self) -> datetime | None: ...


class Telling(NamedTuple):
    """One occurrence of an item, and the finding that tells of it."""

    slot: datetime
    """When it falls due."""
    at: datetime
    """When it is told: then, or when its snooze ends."""
    key: str
    version: str
    """Another instant or message is told again."""


Latest = Callable[[Terms, datetime], datetime]
"""The occurrence of an item that comes again which is at hand at an instant."""


def latest(item: Terms, now: datetime) -> datetime:
    """The last slot up to *now*, so that of those passed over in a night one is told; the first while none has come."""
    timing = timing_of(item) if now > item.due_at else None
    if timing is None:
        return item.due_at
    from heartbeat.schedule import latest_slot  # imported here: it brings croniter, and few items come again

    return latest_slot(timing, item.due_at, now, anchor=item.due_at)


def telling(item: Terms, now: datetime, latest: Latest = latest) -> Telling:
    """What there is to tell of the item, from then on at which it is to be told."""
    import hashlib  # imported here: it is slow, and at most times nothing is due

    slot = latest(item, now) if item.schedule else item.due_at
    at = item.snoozed_until if item.snoozed_until is not None and item.snoozed_slot == slot else slot
    key = f"{AGAIN}{item.id}:{to_text(slot)}" if item.schedule else f"{ONCE}{item.key}"
    digest = hashlib.sha256(item.message.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    return Telling(slot, at, key, f"{to_text(at)}|{digest}")


def following(item: Terms, slot: datetime) -> datetime | None:
    """The occurrence after *slot*; None when there is none."""
    timing = timing_of(item)
    if timing is None:
        return None
    from heartbeat.schedule import next_slot  # imported here, as above

    return next_slot(timing, slot, anchor=item.due_at)


def first_slot(item: Terms, now: datetime) -> datetime | None:
    """The first occurrence of an item that is added *now*, from its due instant on; None when it never comes."""
    timing = timing_of(item)
    if timing is None:
        return None
    from heartbeat.schedule import next_slot  # imported here, as above

    # An interval that begins now ends after its length: who asks for "every 3 days" has just done it.
    is_chosen = item.due_at != now
    return next_slot(timing, item.due_at - datetime.resolution * is_chosen, anchor=item.due_at)


def timing_of(item: Terms) -> Timing | None:
    """None for an item that is told once, and where the zone of its schedule is not known any more."""
    if not item.schedule:
        return None
    from dataclasses import replace

    from heartbeat import schedule  # imported here, as above

    timing = schedule.timing_of(item.schedule)
    return timing and replace(timing, until=item.until)
