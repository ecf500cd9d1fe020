#!/usr/bin/env -S python3 -P
# /// script
# requires-python = ">=3.11"
# dependencies = ["heartbeat"]
#
# [tool.heartbeat]
# description = "Tells of queue items that have come due."
# every = "1m"
# timeout = "30s"
# require_token = true
#
# [tool.heartbeat.options]
# ///
"""Every item of the queue (see `heartbeat queue`) that is due and untold, or was told in the last seven days.

It keeps no memory: heartbeat tells of each item once, and again when its time or text changes. Of an item that comes
again it reports the latest occurrence, under a key of its own. Files of the queue folder that could not be taken in
are a source that fails until somebody removes them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from heartbeat import tick
from heartbeat.clock import from_text, to_text
from heartbeat.folders import find_folders
from heartbeat.queue import telling
from heartbeat.queue.refused import FOLDER, REFUSED, is_in_the_way, lying, stuck
from heartbeat.stores.sqlite import due_items
from heartbeat.stores.sqlite.queue import DueItem

MEMORY = timedelta(days=7)
"""How long an item that was told is still reported, so that `heartbeat tick due-queue` shows what became of it."""
TITLE_LIMIT = 500
BODY_LIMIT = 4000
GATE_ROOM = 1_000_000
FIRST_YEAR = 1000
"""Earlier instants are none for a gate."""
FRESH = timedelta(days=1)


def main() -> None:
    now = tick.now()
    config, state, _ = find_folders(None, os.environ)
    slots = Slots(tick.cache_dir())
    due = due_items(Path(state, "ledger.db"), now, slots.latest)
    slots.save()
    items = [item for item in due if not item.is_settled or item.telling.at >= now - MEMORY]
    findings = list(_fitting(items))
    left = f"; {len(items) - len(findings)} more must wait" if len(findings) < len(items) else ""
    tick.finish(
        findings,
        sources=[
            {"name": "queue", "ok": True, "items": len(items), "message": ""},
            *_folder(f"{config}/{FOLDER}", now),
        ],
        reason=f"{len(items) or 'no'} item{'s'[: len(items) != 1]} due{left}",
    )


def _folder(folder: str, now: datetime) -> Iterator[dict[str, Any]]:
    """The folder as a source, for as long as there is one."""
    if not os.path.isdir(folder):
        return
    count, newest = lying(folder)
    left = stuck(folder, now)
    message = ""
    if is_in_the_way(folder):
        message = f"{FOLDER}/{REFUSED} is no folder, so that nothing can be set aside; move it away"
    elif left:
        first, count = _clean(left[0], 100), len(left)
        message = f"{count} file{'s'[: count != 1]} in {FOLDER} cannot be taken in nor set aside, such as {first!r}; "
        message += "see why with `heartbeat queue list`"
    elif count:
        message = f"{count} refused file{'s'[: count != 1]} in {FOLDER}/{REFUSED}; remove what is dealt with. Newest: "
        message += _clean(newest, 300) or "no reason is left"
    yield {"name": "queue folder", "ok": not message, "items": count, "message": message}


class Slots:
    """Which occurrence is at hand, remembered until the next one: to reckon it costs more than all the rest."""

    def __init__(self, folder: str | None) -> None:
        self._path = folder and f"{folder}/slots.json"
        self._known: dict[str, Any] | None = None
        self._is_new = False

    def latest(self, item: telling.Terms, now: datetime) -> datetime:
        if self._known is None:
            self._known = self._read()
        name = "|".join([item.schedule, *(to_text(at) if at else "" for at in (item.due_at, item.until))])
        with suppress(KeyError, TypeError, ValueError):
            slot, end = map(from_text, self._known[name])
            if slot <= now < end:
                return slot
        slot = telling.latest(item, now)
        end = min(telling.following(item, slot) or now + FRESH, now + FRESH)
        if slot <= now:
            self._known[name] = to_text(slot), to_text(end)
            self._is_new = True
        return slot

    def _read(self) -> dict[str, Any]:
        with suppress(OSError, ValueError, RecursionError), open(self._path or "", encoding="utf-8") as file:
            known = json.load(file)
            return known if isinstance(known, dict) and len(known) < 10_000 else {}  # noqa: PLR2004 - begins anew
        return {}

    def save(self) -> None:
        if self._is_new and self._path:
            draft = f"{self._path}.{os.getpid()}.tmp"
            with suppress(OSError):  # a full disk costs time, and nothing else
                with open(draft, "w", encoding="utf-8") as file:
                    json.dump(self._known, file)
                os.replace(draft, self._path)


def _fitting(items: list[DueItem]) -> Iterator[dict[str, Any]]:
    """As many findings as a gate line holds, those first that nobody was told of."""
    room = GATE_ROOM
    for item in sorted(items, key=lambda item: item.is_settled):
        finding = _finding(item)
        # A character takes up to twelve bytes when it is escaped.
        room -= 500 + 12 * sum(len(finding.get(name, "")) for name in ("key", "title", "body", "source"))
        if room < 0:
            return
        yield finding


def _finding(due: DueItem) -> dict[str, Any]:
    item, told = due.item, due.telling
    message = item.message.strip()
    title = _clean(message.split("\n", 1)[0], TITLE_LIMIT) or "(no text)"
    finding: dict[str, Any] = {
        "key": told.key,
        "version": told.version,
        "title": title,
        "kind": "reminder",
        "urgency": item.urgency,
        "source": item.source,
        "origin": "owner",
        # Told is told: an item that leaves the queue afterwards is no news.
        "when_absent": "keep",
    }
    if body := "\n".join(filter(None, (_snooze(due), _rest(message, title)))):
        finding["body"] = body if len(body) <= BODY_LIMIT else body[: BODY_LIMIT - 1] + "…"
    if told.at != told.slot:
        finding["data"] = {"snoozed_until": to_text(told.at)}
    until = None if item.schedule else item.until
    instants = {"occurred_at": told.slot, "useful_until": until}
    return finding | {name: at for name, at in instants.items() if at is not None and at.year >= FIRST_YEAR}


def _rest(message: str, title: str) -> str:
    """What the title does not say yet."""
    first, _, rest = message.partition("\n")
    return rest.strip() if _clean(first, BODY_LIMIT) == title else message


def _snooze(due: DueItem) -> str:
    """Why it is told again though it says what it said before."""
    told = due.telling
    return f"snoozed until {told.at.astimezone(tick.zone()):%H:%M}; again now" if told.at != told.slot else ""


def _clean(text: str, limit: int) -> str:
    from heartbeat.sources.text import clean_title  # imported here: at most times there is nothing to say

    return clean_title(text, limit)


if __name__ == "__main__":
    tick.run(main)
