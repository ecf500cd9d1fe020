"""Evidence on disk -> state. Standard library only; reads, never writes, never asks the daemon, bounds every wait."""

from heartbeat.probe.evidence import Evidence, gather
from heartbeat.probe.health import Health
from heartbeat.probe.judge import judge_health
from heartbeat.probe.own import examine

__all__ = ["Evidence", "Health", "examine", "gather", "judge_health"]
