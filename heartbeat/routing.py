"""Which channels a message goes to: each channel says what kinds and urgencies it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heartbeat.model import MessageKind, Urgency


@dataclass(frozen=True, slots=True)
class Route:
    """What one channel takes."""

    channel: str
    kinds: frozenset[MessageKind] = frozenset(MessageKind)
    urgencies: frozenset[Urgency] = frozenset(Urgency)


def channels_for(routes: Sequence[Route], kind: MessageKind, urgency: Urgency) -> tuple[str, ...]:
    """The names of the channels that take it, in the order of the configuration."""
    return tuple(route.channel for route in routes if kind in route.kinds and urgency in route.urgencies)
