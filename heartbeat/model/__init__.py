"""The frozen records that travel between the rooms, in the design's words."""

from heartbeat.model.finding import (
    Decision,
    Finding,
    FindingEvent,
    Gate,
    Judgement,
    Known,
    LedgerFinding,
    Plan,
    Step,
    View,
)
from heartbeat.model.run import Captured, Execution, FaultChange, Incident, JobState, Run, Source, Streak
from heartbeat.model.slot import ClockEvent, Fate, Slot
from heartbeat.model.wake import Attempt, Brief, QueueItem, Wake
from heartbeat.model.words import Action, Change, SlotState, State, Urgency, Verdict, WhenAbsent

__all__ = [
    "Action",
    "Attempt",
    "Brief",
    "Captured",
    "Change",
    "ClockEvent",
    "Decision",
    "Execution",
    "Fate",
    "FaultChange",
    "Finding",
    "FindingEvent",
    "Gate",
    "Incident",
    "JobState",
    "Judgement",
    "Known",
    "LedgerFinding",
    "Plan",
    "QueueItem",
    "Run",
    "Slot",
    "SlotState",
    "Source",
    "State",
    "Step",
    "Streak",
    "Urgency",
    "Verdict",
    "View",
    "Wake",
    "WhenAbsent",
]
