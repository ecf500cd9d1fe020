"""What a message says, made safe to hand on: no controls, no forged lines, within bounds, and where to read more."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass

from heartbeat.channels._apprise_worker import within
from heartbeat.clock import to_text
from heartbeat.model import Message

LONGEST = 32_768
"""Characters of a body."""
LONGEST_TITLE = 250
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_OVERRIDES = re.compile(r"[\u202a-\u202e\u2066-\u2069]")  # they show text in another order than it is in


@dataclass(frozen=True, slots=True)
class Said:
    """The parts of a message."""

    title: str
    """One line."""
    text: str
    tail: str
    """A last line that says where the reasons are; may be empty."""
    cut: str
    """A line for the case that the text had to be cut."""

    def body(self, room: int = LONGEST) -> str:
        """Text and tail within so many characters."""
        return within(self.text, self.tail, self.cut, room)


def said(message: Message, *, trailer: bool = True) -> Said:
    """The parts of *message*, whatever strangers wrote into it; what says the same twice says it once."""
    title, text = _title(message), _text(message)
    source = (message.wake_id or message.incident_id) if trailer else None
    tail = f"heartbeat why {source}" if source else ""
    if title == " ".join(text.split()):
        # Not without a body: there are services that refuse a message that has none.
        title, text = (title, "") if tail else ("", text)
    return Said(title or "heartbeat", text, tail, _cut(message))


def clean(text: str) -> str:
    """The text with LF as its only line end, and a space for each control character."""
    # Not format characters as such: they join the parts of many an emoji, and of words in some scripts.
    plain = _OVERRIDES.sub(" ", _LINE_ENDS.sub("\n", text))
    return "".join(
        letter if letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cs") else " " for letter in plain
    )


def as_json(message: Message) -> str:
    """The message for programs, as one line; its id stands first."""
    fields = {
        "id": message.id,
        "kind": message.kind,
        "channel": message.channel,
        "title": _title(message) or "heartbeat",
        "body": within(_text(message), "", _cut(message), LONGEST),
        "urgency": message.urgency,
        "created_at": to_text(message.created_at),
        "useful_until": to_text(message.useful_until) if message.useful_until else None,
        "wake_id": message.wake_id,
        "brief_id": message.brief_id,
        "incident_id": message.incident_id,
    }
    return json.dumps(fields)


def _title(message: Message) -> str:
    title = " ".join(clean(message.title).split())
    return title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…"


def _text(message: Message) -> str:
    return clean(message.body[: 2 * LONGEST]).strip()


def _cut(message: Message) -> str:
    return f"[cut; heartbeat messages get {message.id} shows all]"
