"""One source read the way the script reads it."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from heartbeat.sources.entries import read_entries
from heartbeat.sources.mail.message import Message, Unread
from heartbeat.sources.mail.read import KINDS, PATHS, read_mail
from tests.servers import NOW

SINCE = NOW - timedelta(days=2)


def read(
    *tables: dict[str, Any],
    since: datetime = SINCE,
    now: datetime = NOW,
    cache: Path | None = None,
    seconds: float = 20,
) -> list[Unread]:
    entries = read_entries(list(tables), KINDS, PATHS)
    return [unread for _, unread in read_mail(entries, since, now, str(cache) if cache else None, seconds)]


def read_one(table: dict[str, Any], **how: Any) -> Unread:
    (unread,) = read(table, **how)
    return unread


def subjects(unread: Unread) -> list[str]:
    """In the order of their letters: sources have orders of their own."""
    return sorted(subject(message) for message in unread.messages)


def subject(message: Message) -> str:
    return next(message.all("subject"), b"").decode()
