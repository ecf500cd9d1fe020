"""heartbeat: tick scripts on a schedule, a wake gate, and a ledger for the morning."""

__version__ = "0.1.0"
