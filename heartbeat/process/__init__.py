"""One child process, bounded in time, output and offspring."""

from heartbeat.process.child import Command, execute
from heartbeat.process.pids import command_of, is_alive, owner
from heartbeat.process.redact import redacted, without
from heartbeat.process.tree import become_reaper, end_strays

__all__ = [
    "Command",
    "become_reaper",
    "command_of",
    "end_strays",
    "execute",
    "is_alive",
    "owner",
    "redacted",
    "without",
]
