"""Which instants a job is due at. Pure: nothing here reads a clock or a file."""

from heartbeat.schedule.cron import check_cron
from heartbeat.schedule.identity import identity_of, timing_of
from heartbeat.schedule.kinds import EVERY_DAY, At, Cron, Every, Schedule, Timing, Window
from heartbeat.schedule.walk import OVERLOOKED, first_slot, latest_slot, next_slot, slots_between

__all__ = [
    "EVERY_DAY",
    "OVERLOOKED",
    "At",
    "Cron",
    "Every",
    "Schedule",
    "Timing",
    "Window",
    "check_cron",
    "first_slot",
    "identity_of",
    "latest_slot",
    "next_slot",
    "slots_between",
    "timing_of",
]
