"""The wake gate: from what a run printed, and how it ended, to a verdict. Pure."""

from heartbeat.gate.judge import DIALECTS, MAX_LINE, check, judge, text_finding

__all__ = ["DIALECTS", "MAX_LINE", "check", "judge", "text_finding"]
