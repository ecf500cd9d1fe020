"""What ties a daemon to whoever started it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from heartbeat.deadman import DeadMan
from heartbeat.flapping import Flapping
from heartbeat.notify import Notifier
from heartbeat.signals import Heard


@dataclass(frozen=True, slots=True)
class Ties:
    """The signals it hears, the supervisor it speaks to, and what its starts show."""

    listen: Callable[[Callable[[Heard], object]], object]
    """Has every signal handed to a function, which may be called in any thread."""
    stopping: Callable[[Heard], object]
    """Hears by which signal it is stopped."""
    notifier: Notifier
    why: str = ""
    """Of starts.WHYS."""
    flapping: Flapping | None = None
    """What the starts show: then it begins in safe mode."""
    dead_man: DeadMan | None = None
    """Who ends a daemon that nobody else watches."""
