"""The frozen records that travel between the rooms, in the design's words."""

from heartbeat.model.agent import Call, Prefs, Reply, Usage
from heartbeat.model.brief import Brief, MadeBrief, Tally
from heartbeat.model.depths import Depths
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
from heartbeat.model.message import Draft, Message, MessageKind, MessageState
from heartbeat.model.past import OWNER, Hold, Interruption, Overrides, Past, Spending, Target
from heartbeat.model.run import Captured, Execution, FaultChange, Incident, JobState, Run, Source, Streak
from heartbeat.model.slot import ClockEvent, Fate, Slot
from heartbeat.model.wake import Attempt, QueueItem, Wake
from heartbeat.model.words import Action, Change, SlotState, State, Urgency, Verdict, WhenAbsent

__all__ = [
    "OWNER",
    "Action",
    "Attempt",
    "Brief",
    "Call",
    "Captured",
    "Change",
    "ClockEvent",
    "Decision",
    "Depths",
    "Draft",
    "Execution",
    "Fate",
    "FaultChange",
    "Finding",
    "FindingEvent",
    "Gate",
    "Hold",
    "Incident",
    "Interruption",
    "JobState",
    "Judgement",
    "Known",
    "LedgerFinding",
    "MadeBrief",
    "Message",
    "MessageKind",
    "MessageState",
    "Overrides",
    "Past",
    "Plan",
    "Prefs",
    "QueueItem",
    "Reply",
    "Run",
    "Slot",
    "SlotState",
    "Source",
    "Spending",
    "State",
    "Step",
    "Streak",
    "Tally",
    "Target",
    "Urgency",
    "Usage",
    "Verdict",
    "View",
    "Wake",
    "WhenAbsent",
]
