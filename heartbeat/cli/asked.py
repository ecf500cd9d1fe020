"""What `why` was asked, and what all its answers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from zoneinfo import ZoneInfo

from heartbeat.cli.shell import localized
from heartbeat.clock import local
from heartbeat.errors import NotFound
from heartbeat.model import Step
from heartbeat.ports import Ledger

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Asked:
    """The ledger that is asked, when, and where the owner is."""

    ledger: Ledger
    zone: ZoneInfo
    now: datetime
    after: int | None = None
    """So many faults in a row are an incident; None: the configuration does not say."""

    def at(self, instant: datetime) -> str:
        return local(instant, self.zone).isoformat(timespec="seconds")

    def said(self, reason: str) -> str:
        """A reason of heartbeat's own, with its instants as `at` shows them."""
        return localized(reason, self.zone)

    def if_kept(self, explain: Callable[[Asked, Subject], list[Step]], subject: Subject) -> list[Step]:
        """The steps; none when their record is older than what is kept: a finding may outlive its run and its wake."""
        try:
            return explain(self, subject)
        except NotFound:
            return []
