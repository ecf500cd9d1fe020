"""The error tree.

HeartbeatError              exit 1  internal_error
├── NotFound                exit 3  not_found
├── Invalid                 exit 4  invalid_input
│   └── ConfigError         exit 4  invalid_config     (carries every problem at once)
├── LedgerError             exit 1  ledger_error       (retrying helps: disk full, locked)
│   ├── LedgerMistake       exit 1  ledger_error       (not this one: our mistake)
│   ├── LedgerCorrupt       exit 4  integrity_error
│   │   └── LedgerMoved     exit 4  integrity_error
│   └── LedgerTooNew        exit 4  integrity_error
├── AgentError              exit 1  agent_error        (retryable says whether to try again)
│   └── AgentOnHold         exit 1  agent_on_hold      (it asked for time; that is no failure)
├── ServiceError            exit 1  service_error      (the supervisor refused, or did not answer)
├── ChannelError            exit 1  channel_error      (retryable says whether to try again)
└── Refused                 exit 5  refused
    └── SlotTaken           exit 5  refused            (waiting does not help: it has its fate)

A message starts with "cannot", quotes the value, and ends with what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar


class HeartbeatError(Exception):
    """Anything heartbeat reports to a person; `retryable` says whether trying again can help."""

    code: ClassVar[str] = "internal_error"
    exit_code: ClassVar[int] = 1
    retryable: bool = False


class NotFound(HeartbeatError):
    """A job, run, finding, wake or item that does not exist."""

    code = "not_found"
    exit_code = 3


class Invalid(HeartbeatError):
    """Input that breaks a documented rule."""

    code = "invalid_input"
    exit_code = 4


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a configuration: where it is, what was found, what to do."""

    file: str
    key: str
    message: str
    remedy: str

    def __str__(self) -> str:
        where = f"{self.file}: {self.key}" if self.key else self.file
        return f"{where}: {self.message}; {self.remedy}"


class ConfigError(Invalid):
    """Every problem of a configuration, together."""

    code = "invalid_config"

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class LedgerError(HeartbeatError):
    """The ledger could not be read or written just now (disk full, locked, read-only)."""

    code = "ledger_error"
    retryable = True


class LedgerMistake(LedgerError):
    """What was to be written breaks a rule of the ledger's tables: heartbeat is wrong, not the ledger."""

    retryable = False


class LedgerCorrupt(LedgerError):
    """The ledger file is damaged; it must be set aside, never overwritten."""

    code = "integrity_error"
    exit_code = 4
    retryable = False


class LedgerMoved(LedgerCorrupt):
    """The open ledger lost its name: taken away or replaced. What lies in its place now is not damaged."""


class LedgerTooNew(LedgerError):
    """The ledger was written by a later version of heartbeat."""

    code = "integrity_error"
    exit_code = 4
    retryable = False


class AgentError(HeartbeatError):
    """The agent did not accept a wake; `usage` is what that cost all the same."""

    code = "agent_error"

    def __init__(self, message: str, *, retryable: bool, retry_after: float | None = None, usage: Any = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after
        """Seconds."""
        self.usage = usage
        """A `model.Usage`, or None."""


class AgentOnHold(AgentError):
    """The agent is not to be called for a while: a rate limit, a quota that is used up."""

    code = "agent_on_hold"

    def __init__(self, message: str, *, seconds: float | None = None, usage: Any = None) -> None:
        super().__init__(message, retryable=True, retry_after=seconds, usage=usage)


class ChannelError(HeartbeatError):
    """A channel did not take a message."""

    code = "channel_error"

    def __init__(self, message: str, *, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after
        """Seconds."""


class ServiceError(HeartbeatError):
    """The supervisor (systemd, launchd) did not do what it was asked to."""

    code = "service_error"
    retryable = True


class Refused(HeartbeatError):
    """Allowed in general, but not now: another process holds the lock, the job already runs."""

    code = "refused"
    exit_code = 5


class SlotTaken(Refused):
    """The due instant has its fate already; the schedule goes on after it."""
