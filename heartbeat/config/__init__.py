"""The configuration file: its sections with their defaults, and reading it with every fault reported at once."""

from heartbeat.config.agents import AgentSettings
from heartbeat.config.reading import Reading, load_settings, read_job, read_settings
from heartbeat.config.settings import JobSettings, Schedules, Settings

__all__ = [
    "AgentSettings",
    "JobSettings",
    "Reading",
    "Schedules",
    "Settings",
    "load_settings",
    "read_job",
    "read_settings",
]
