"""What is said to the owner, each by one channel, and how far it came."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from heartbeat.model.words import Urgency


class MessageKind(StrEnum):
    REPLY = "reply"
    """What an agent answered."""
    NOTICE = "notice"
    """Findings told without an agent."""
    BRIEF = "brief"
    INCIDENT = "incident"
    """A lasting fault began, goes on, or is over."""


class MessageState(StrEnum):
    PENDING = "pending"
    SENDING = "sending"
    DELIVERED = "delivered"
    """The service at the other end has confirmed it."""
    UNVERIFIED = "unverified"
    """It was sent, and nothing confirms that it arrived."""
    FAILED = "failed"
    EXPIRED = "expired"
    """It was of no use any more before it could be sent."""
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Draft:
    """A message to be entered: one for each channel that is to send it."""

    kind: MessageKind
    channel: str
    title: str
    body: str
    urgency: Urgency = Urgency.NORMAL
    not_before: datetime | None = None
    useful_until: datetime | None = None
    wake_id: str | None = None
    brief_id: str | None = None
    incident_id: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A message as the ledger keeps it."""

    id: str
    kind: MessageKind
    channel: str
    state: MessageState
    title: str
    body: str
    urgency: Urgency
    created_at: datetime
    next_attempt_at: datetime | None = None
    attempts: int = 0
    """How often it was handed to the channel."""
    failures: int = 0
    """How many of these failed since it was entered or retried by hand."""
    useful_until: datetime | None = None
    settled_at: datetime | None = None
    error: str = ""
    wake_id: str | None = None
    brief_id: str | None = None
    incident_id: str | None = None
