"""One unread mail as its headers show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Message:
    """The header fields of one mail, in order, topmost first, and when it arrived."""

    fields: tuple[tuple[str, bytes], ...]
    """Names in lower case; values raw, unfolded, without the line end."""
    arrived_at: datetime | None = None
    """By the server's word (INTERNALDATE, receivedAt); None where only the headers tell."""
    damaged: bool = False
    """The header was cut off, too long, or held lines that are none."""
    file_time: datetime | None = None
    """Of a mail that is a file, where nothing else tells when it arrived."""

    def all(self, name: str) -> Iterator[bytes]:
        """Every value of the field *name*, topmost first."""
        return (value for field, value in self.fields if field == name)


@dataclass(frozen=True, slots=True)
class Unread:
    """What one source holds unread."""

    messages: tuple[Message, ...]
    fault: str = ""
    """Part of it could not be read, for this reason."""


WANTED = (
    "from", "sender", "reply-to", "subject", "date", "message-id", "list-id", "list-unsubscribe", "precedence",
    "auto-submitted", "authentication-results", "received",
)  # fmt: skip
"""The header fields that are asked for, and no others."""
