"""What becomes of each finding. Pure: nothing here reads a clock or a file."""

from heartbeat.decide.again import decide_again
from heartbeat.decide.budget import Budget, over_spending
from heartbeat.decide.line import Rules
from heartbeat.decide.meeting import decide
from heartbeat.decide.owner import OwnerRule
from heartbeat.decide.quiet import QuietHours, QuietWindow, quiet_hold

__all__ = [
    "Budget",
    "OwnerRule",
    "QuietHours",
    "QuietWindow",
    "Rules",
    "decide",
    "decide_again",
    "over_spending",
    "quiet_hold",
]
