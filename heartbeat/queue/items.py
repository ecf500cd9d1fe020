"""What an item must be to enter the queue, whoever gives it: a shell, a program's file, another program's queue."""

from __future__ import annotations

import difflib
import hashlib
import json
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from heartbeat.clock import from_text, to_text
from heartbeat.errors import Invalid
from heartbeat.gate.strict_json import BigNumber
from heartbeat.model import QueueItem, Urgency
from heartbeat.queue.telling import first_slot
from heartbeat.schedule import Timing, identity_of
from heartbeat.schedule.phrases import read_expression

LIMITS = {"message": 4_000, "key": 500, "source": 200}
FIELDS = ("message", "due", "key", "source", "urgency", "until", "every", "schedule")
"""What may be said of an item; all but a message, and a due instant or a schedule, may be left out."""

Zone = Callable[[], ZoneInfo]
"""The owner's: asked for only when it matters."""


def read_item(given: Mapping[str, object], zone: Zone, now: datetime, *, dash: str = "") -> QueueItem:
    """The item of *given* names and texts, without an id; raises Invalid. Errors name a field with *dash* before it."""
    texts = _texts(given, dash)
    for name, limit in LIMITS.items():
        if len(texts.get(name, "")) > limit:
            length = len(texts[name])
            raise Invalid(f"cannot add the item: its {name} has {length} characters; at most {limit} are kept")
    message = texts.get("message", "")
    if not message.strip():
        raise Invalid(f"cannot add the item: its message is empty; give it with {dash}message 'TEXT'")
    schedule, words = _schedule(texts, zone, dash)
    item = QueueItem(
        id="",
        key=_key(texts),
        message=message,
        due_at=_instant(texts, "due", zone, dash) or now,
        source=texts.get("source", ""),
        urgency=_urgency(texts, dash),
        until=_instant(texts, "until", zone, dash),
        schedule=schedule,
        words=words,
    )
    _require_time(item, texts, dash, now)
    return item


def content_key(item: QueueItem, kind: str) -> str:
    """A key made of what the item says: the same item, taken twice, is one."""
    said = (item.message, to_text(item.due_at) if not item.schedule else "", item.source, item.urgency, item.words)
    until = to_text(item.until) if item.until is not None else ""
    return f"{kind}:{hashlib.sha256(json.dumps((*said, until)).encode()).hexdigest()[:32]}"


def read_instant(text: str, label: str, zone: Zone) -> datetime:
    """An instant with its offset; raises Invalid, which for a clock time says what it would be for the owner."""
    try:
        return from_text(text)
    except ValueError as error:
        raise Invalid(f"{label}: {_meant(text, zone) or error}") from None


def _meant(text: str, zone: Zone) -> str:
    """What to write instead of a date or a time without an offset; empty for any other text."""
    try:
        wall = datetime.fromisoformat(text)
    except ValueError:
        return ""
    if wall.tzinfo is not None:
        return ""
    where, example = zone(), "2026-06-10T08:00:00+02:00"
    if _is_date(text):
        return f"cannot use {text!r}: it has no time of the day; write date, time and offset, such as {example}"
    readings = (wall.replace(tzinfo=where, fold=fold) for fold in (0, 1))
    real = dict.fromkeys(each.isoformat() for each in readings if _exists(each))
    lead = f"cannot use {text!r}: it has no offset; your zone is {where.key}: "
    if not real:
        return f"{lead}there the clock skips that time; write another one, such as {example}"
    return f"{lead}write {' or '.join(real)}"


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _exists(reading: datetime) -> bool:
    try:
        back = reading.astimezone(UTC).astimezone(reading.tzinfo)
    except OverflowError:
        return False
    return back.replace(tzinfo=None) == reading.replace(tzinfo=None)


def _texts(given: Mapping[str, object], dash: str) -> dict[str, str]:
    for name, value in given.items():
        if name not in FIELDS:
            close = difflib.get_close_matches(name, FIELDS, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise Invalid(f"cannot use the name {name[:60]!r}; {hint}known are {', '.join(FIELDS)}")
        if value is not None and (not isinstance(value, str) or isinstance(value, BigNumber)):
            raise Invalid(f"{dash}{name}: cannot use {repr(value)[:60]}; write a text, in double quotes")
    return {name: value for name, value in given.items() if isinstance(value, str)}


def _key(texts: Mapping[str, str]) -> str:
    key = texts.get("key", "")
    strange = next((letter for letter in key if unicodedata.category(letter) == "Cc"), None)
    if strange is not None:
        raise Invalid(f"cannot add the item: its key holds the character {strange!a}; use letters, digits and signs")
    return key


def _instant(texts: Mapping[str, str], name: str, zone: Zone, dash: str) -> datetime | None:
    return read_instant(texts[name], f"{dash}{name}", zone) if name in texts else None


def _urgency(texts: Mapping[str, str], dash: str) -> Urgency:
    text = texts.get("urgency", Urgency.NORMAL)
    if text not in tuple(Urgency):
        raise Invalid(f"{dash}urgency: cannot use {text[:60]!r}; it is one of {', '.join(Urgency)}")
    return Urgency(text)


def _schedule(texts: Mapping[str, str], zone: Zone, dash: str) -> tuple[str, str]:
    """The schedule of an item that comes again, as the ledger keeps it and as it was written."""
    given = [name for name in ("every", "schedule") if name in texts]
    if not given:
        return "", ""
    if len(given) > 1:
        raise Invalid(f"cannot use both {dash}every and {dash}schedule; leave one of them out")
    text = " ".join(texts[given[0]].split())
    words = f"every {text.removeprefix('every ')}" if given == ["every"] else text
    try:
        timing = Timing(read_expression(words), zone())
    except ValueError as error:
        raise Invalid(f"{dash}{given[0]}: {error}") from None
    return identity_of(timing), words


def _require_time(item: QueueItem, texts: Mapping[str, str], dash: str, now: datetime) -> None:
    """Raise Invalid when it would never be told."""
    if not item.schedule:
        if "due" not in texts:
            raise Invalid(f"cannot add the item: it has no {dash}due instant; give one, or a {dash}schedule")
        if item.until is not None and item.until < item.due_at:
            until, due = texts["until"], texts["due"]
            raise Invalid(f"cannot add the item: {dash}until {until!r} lies before {dash}due {due!r}; give a later one")
    elif _first_slot(item, texts, dash, now) is None:
        end = f" and {item.until.isoformat()}" if item.until is not None else ""
        between = f"after {item.due_at.isoformat(timespec='seconds')}{end}"
        raise Invalid(f"cannot add the item: {item.words!r} never comes due {between}; give another {dash}schedule")


def _first_slot(item: QueueItem, texts: Mapping[str, str], dash: str, now: datetime) -> datetime | None:
    try:
        return first_slot(item, now)
    except OverflowError:
        # The calendar begins there: nothing can be reckoned from the instant before it.
        raise Invalid(f"{dash}due: cannot count from {texts.get('due', now)!r}; give a later instant") from None
