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
"""Every item of the queue (see `heartbeat queue`) that is due and untold, or came due in the last seven days.

It keeps no memory: heartbeat tells of each item once, and again when its time or text changes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from heartbeat import tick
from heartbeat.model import QueueItem
from heartbeat.paths import find_home
from heartbeat.sources.text import clean_title
from heartbeat.stores.sqlite.queue import due_items, item_key, item_version

MEMORY = timedelta(days=7)
"""How long an item that was told is still reported, so that `heartbeat tick due-queue` shows what became of it."""
TITLE_LIMIT = 500
BODY_LIMIT = 4000
GATE_ROOM = 1_000_000


def main() -> None:
    now = tick.now()
    due = due_items(find_home(None, os.environ).ledger_file, now)
    items = [item for item in due if item.state == "waiting" or item.due_at >= now - MEMORY]
    findings = list(_fitting(items))
    left = f"; {len(items) - len(findings)} more must wait" if len(findings) < len(items) else ""
    tick.finish(
        findings,
        sources=[{"name": "queue", "ok": True, "items": len(items), "message": ""}],
        reason=f"{len(items) or 'no'} item{'s'[: len(items) != 1]} due{left}",
    )


def _fitting(items: list[QueueItem]) -> Iterator[dict[str, Any]]:
    """As many findings as a gate line holds, those first that nobody was told of."""
    room = GATE_ROOM
    for item in sorted(items, key=lambda item: item.state != "waiting"):
        finding = _finding(item)
        # A character takes up to twelve bytes when it is escaped.
        room -= 500 + 12 * sum(len(finding.get(name, "")) for name in ("key", "title", "body", "source"))
        if room < 0:
            return
        yield finding


def _finding(item: QueueItem) -> dict[str, Any]:
    message = item.message.strip()
    title = clean_title(message.split("\n", 1)[0], TITLE_LIMIT) or "(no text)"
    finding = {
        "key": item_key(item),
        "version": item_version(item),
        "title": title,
        "kind": "reminder",
        "urgency": item.urgency,
        "occurred_at": item.due_at,
        "source": item.source,
        "origin": "owner",
        # Told is told: an item that leaves the queue afterwards is no news.
        "when_absent": "keep",
    }
    if message != title:
        finding["body"] = message if len(message) <= BODY_LIMIT else message[: BODY_LIMIT - 1] + "…"
    if item.until is not None:
        finding["useful_until"] = item.until
    return finding


if __name__ == "__main__":
    tick.run(main)
