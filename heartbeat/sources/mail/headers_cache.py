"""Headers that were fetched before, by the number their service gave the mail; they never change.

A file a mailbox in the cache folder, for the owner's eyes alone. Without a folder nothing is kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from heartbeat.sources.mail.message import Message

_LARGEST = 64 << 20


class HeadersCache:
    """What was kept of one mailbox; *mailbox* is hashed to name the file."""

    def __init__(self, folder: str | None, mailbox: Sequence[str]) -> None:
        digest = sha256("\0".join(mailbox).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._path = os.path.join(folder, "headers", digest) if folder else None

    def load(self) -> dict[str, Message]:
        if self._path is None:
            return {}
        try:
            with open(self._path, "rb") as file:
                held = json.loads(file.read(_LARGEST))
            return {str(number): _thawed(mail) for number, mail in held.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return {}

    def store(self, messages: Mapping[str, Message]) -> None:
        """Replace the whole."""
        if self._path is None:
            return
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            draft = f"{self._path}.{os.getpid()}.tmp"
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({number: _frozen(mail) for number, mail in messages.items()}, file)
            os.replace(draft, self._path)


def _frozen(mail: Message) -> dict[str, Any]:
    # Latin-1 takes every byte through JSON and back.
    fields = [(name, value.decode("latin-1")) for name, value in mail.fields]
    return {"at": mail.arrived_at.timestamp() if mail.arrived_at else None, "fields": fields}


def _thawed(held: Mapping[str, Any]) -> Message:
    at = held["at"]
    fields = tuple((str(name), str(value).encode("latin-1")) for name, value in held["fields"])
    return Message(fields, None if at is None else datetime.fromtimestamp(float(at), UTC))
