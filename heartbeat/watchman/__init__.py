"""The watch from outside the daemon: looks at targets, remembers what it saw, and tells the owner what changed.

It asks nothing of the daemon or its ledger: either may be what is broken.
"""

from heartbeat.watchman.looking import Looker
from heartbeat.watchman.notebook import Notebook, places_of
from heartbeat.watchman.rounds import Outcome, Told, Watchman, Ways, held, take_note
from heartbeat.watchman.sending import bounded
from heartbeat.watchman.wording import Manner

__all__ = [
    "Looker",
    "Manner",
    "Notebook",
    "Outcome",
    "Told",
    "Watchman",
    "Ways",
    "bounded",
    "held",
    "places_of",
    "take_note",
]
