"""Jobs: a script, found and checked; its header; what the owner says; and the environment it runs in."""

from heartbeat.job.environment import agent_environment, environment
from heartbeat.job.load import Config, Job, load

__all__ = ["Config", "Job", "agent_environment", "environment", "load"]
