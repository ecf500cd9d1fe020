"""The answer of the probe: a state, its reasons, and since when. Standard library only."""

from __future__ import annotations

from heartbeat.record import Record

STATES = ("absent", "flapping", "down", "stalled", "degraded", "up")
"""In their precedence: the first that the evidence shows is the state."""
LIVE = ("up", "degraded", "absent")
"""The states in which `--assert-live` holds."""
UNTOLD = "not_known"
"""The code of the problem that whether it runs cannot be told."""


class Health(Record):
    """What the evidence of one target shows.

    `problems` are (code, message); `since` is when the state began, in seconds since 1970, None where nothing tells;
    `target` is empty for heartbeat itself; `restarts` are what the supervisor counted, None when it was not asked;
    `facts` are numbers that a monitor may want to draw, as (name, value). `unseen` is where its restarters could not be
    looked for, as (code, message): no problem of the target.
    """

    __slots__ = (
        "facts",
        "last_beat_at",
        "pid",
        "problems",
        "recent_starts",
        "restarts",
        "since",
        "state",
        "summary",
        "target",
        "unseen",
        "uptime_seconds",
    )

    def __init__(
        self,
        state: str,
        summary: str,
        *,
        target: str = "",
        problems: tuple[tuple[str, str], ...] = (),
        since: float | None = None,
        pid: int | None = None,
        uptime_seconds: float | None = None,
        last_beat_at: str | None = None,
        recent_starts: int = 0,
        restarts: int | None = None,
        facts: tuple[tuple[str, float], ...] = (),
        unseen: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.state = state
        self.summary = summary
        self.target = target
        self.problems = problems
        self.since = since
        self.pid = pid
        self.uptime_seconds = uptime_seconds
        self.last_beat_at = last_beat_at
        self.recent_starts = recent_starts
        self.restarts = restarts
        self.facts = facts
        self.unseen = unseen

    @property
    def is_live(self) -> bool:
        return self.state in LIVE

    @property
    def is_told(self) -> bool:
        """Whether the evidence tells the state; where it cannot be read, `down` only means: not known to live."""
        return all(code != UNTOLD for code, _ in self.problems)

    @property
    def word(self) -> str:
        """The state for people."""
        return self.state if self.is_told else "unknown"
