"""What every provider stands on: the instant, the home, the time that is left, the connections, the memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from heartbeat.sources.fetch import Fetcher


@dataclass(frozen=True, slots=True)
class Ground:
    """One run of the scan, as its providers see it. They are asked one after the other, in one thread."""

    now: datetime
    """Aware; the clock is asked for nothing but the deadline."""
    zone: tzinfo
    """The owner's, for instants in messages."""
    cache: str | None
    """A folder that may vanish at any time; None: nothing is remembered."""
    deadline: float
    """On the monotonic clock, for all providers together: after it nobody asks any more."""
    fetcher: Fetcher
    contact: str = ""
    """The owner's mail address, for services that want to know who asks."""
    asked: dict[str, float] = field(default_factory=dict)
    """When each host was last asked, on the monotonic clock: two sources at one host share its pace."""
