"""What would have woken under other rules: the recorded findings are decided anew, and compared with what happened."""

from heartbeat.replay.outcome import Busiest, Difference, End, Fate, Replay, Totals
from heartbeat.replay.walk import WARM_UP, History, replay
from heartbeat.replay.was import Recorded

__all__ = [
    "WARM_UP",
    "Busiest",
    "Difference",
    "End",
    "Fate",
    "History",
    "Recorded",
    "Replay",
    "Totals",
    "replay",
]
