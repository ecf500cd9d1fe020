"""The queue that LifeOS keeps, `queue.json`: an array of `{source, message, dueAt, created?, delivered?}`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from heartbeat.errors import Invalid
from heartbeat.gate.strict_json import describe
from heartbeat.model import QueueItem
from heartbeat.queue.items import Zone, content_key, read_item

LARGEST = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Found:
    """What there is to import."""

    items: tuple[QueueItem, ...]
    delivered: int
    """How many were delivered there, and are not told again."""
    refused: tuple[tuple[int, str], ...]
    """The number of each item that cannot be told, from 1, and why."""


def read_queue(value: object, zone: Zone, now: datetime) -> Found:
    """Raises Invalid for what is no queue. An item whose instant is missing or wrong is refused, never due at once."""
    if not isinstance(value, list):
        raise Invalid(f"cannot import this: it is {describe(value)}, not an array of items; give LifeOS's queue.json")
    items, delivered, refused = [], 0, []
    for number, one in enumerate(value, 1):
        if isinstance(one, dict) and one.get("delivered"):
            delivered += 1
            continue
        try:
            items.append(_read(one, zone, now))
        except Invalid as error:
            refused.append((number, str(error)))
    return Found(tuple(items), delivered, tuple(refused))


def _read(value: object, zone: Zone, now: datetime) -> QueueItem:
    if not isinstance(value, dict):
        raise Invalid(f"cannot use {describe(value)} as an item; write an object in braces")
    if not value.get("dueAt"):
        raise Invalid("cannot import the item: its dueAt is missing; write date, time and offset")
    given = {"message": value.get("message"), "source": value.get("source"), "due": value["dueAt"]}
    item = read_item(given, zone, now)
    return replace(item, key=content_key(item, "lifeos"))
