"""The configuration file: its sections with their defaults, and reading it with every fault reported at once."""

from heartbeat.config.settings import (
    AgentSettings,
    JobSettings,
    Reading,
    Settings,
    host_zone,
    load_settings,
    read_settings,
)

__all__ = ["AgentSettings", "JobSettings", "Reading", "Settings", "host_zone", "load_settings", "read_settings"]
