"""What is to be installed as a service, whoever supervises it; and what a supervisor can do for us."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Literal, Protocol

from heartbeat.marker import Marker
from heartbeat.paths import Home

Scope = Literal["user", "system"]


@dataclass(frozen=True, slots=True)
class Plan:
    """One installation as a service."""

    name: str
    """`heartbeat`, or `heartbeat-SLUG` for a home of its own: two installations never share a unit."""
    scope: Scope
    home: Home
    argv: tuple[str, ...]
    """The daemon's command; its first word is an absolute path."""
    path: str
    """The PATH that the daemon has; launchd and systemd give none of the owner's."""
    version: str
    user: str = ""
    """Who it runs as in the system's scope; empty in the user's own."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Beside PATH: how the daemon finds its folders, LANG; never a secret."""
    credentials: Mapping[str, str] = field(default_factory=dict)
    """Name -> path of the file that the supervisor hands over."""
    is_owners: bool = False
    """Its unit was written by the owner, not by `install`: started and stopped, never changed."""
    drain: timedelta = timedelta(seconds=2)
    """How long running scripts may take to finish when it is stopped."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What the supervisor says of the service just now."""

    state: Literal["running", "starting", "stopped", "failed", "not installed", "unknown"]
    detail: str = ""
    """In the supervisor's own words, one line."""
    pid: int | None = None
    restarts: int | None = None
    """What it counted."""
    enabled: bool | None = None
    """Whether it comes up with the machine or the login."""


class Manager(Protocol):
    """systemd, launchd, or neither. Every verb may be repeated; each raises ServiceError with what to do about it.

    What a verb returns is what it did, in sentences for the owner.
    """

    kind: str

    def files(self, plan: Plan) -> Mapping[Path, str]:
        """Every file of the service, with its text; nothing is written."""
        ...

    def marker(self, plan: Plan) -> Marker:
        """How the probe finds this service."""
        ...

    def install(self, plan: Plan) -> tuple[str, ...]:
        """Write the files, have them read, enable the service and start it; waits until it says that it is ready."""
        ...

    def uninstall(self, plan: Plan) -> tuple[str, ...]:
        """Stop it and take away all that `install` made; the owner's configuration and ledger stay."""
        ...

    def start(self, plan: Plan) -> tuple[str, ...]: ...

    def stop(self, plan: Plan) -> tuple[str, ...]: ...

    def restart(self, plan: Plan) -> tuple[str, ...]: ...

    def status(self, plan: Plan) -> Standing: ...

    def logs(self, plan: Plan, *, lines: int, follow: bool) -> tuple[str, ...]:
        """The command that shows the service's log."""
        ...

    def drift(self, plan: Plan) -> tuple[str, ...]:
        """Each way in which what is installed is not what would be written now; nothing when it is not installed."""
        ...
