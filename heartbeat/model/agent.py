"""What is said to an agent, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Prefs:
    """How the owner wants an agent called for a job; empty or None: as the agent does by itself."""

    model: str = ""
    tools: tuple[str, ...] | None = None
    """The names of the tools it may use, in its own words; None: those that are safe unattended."""
    trusted: bool = False
    """Text of third parties does not narrow what it may do."""
    max_usd: float | None = None
    """What one call may cost, where the agent can be told."""
    folder: str = ""
    """Where it works; empty: in a folder of its own, away from the ledger."""
    timeout: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Call:
    """One handing over of a wake."""

    wake_id: str
    """Also the idempotency key."""
    prompt: str
    restricted: bool = True
    """It holds text of third parties that the owner did not declare harmless: only the safe tools."""
    prefs: Prefs = Prefs()


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call cost, as far as the agent says; None is unknown."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of an agent that accepted a wake."""

    text: str = ""
    session: str = ""
    """The agent's own name for the conversation."""
    usage: Usage = Usage()
