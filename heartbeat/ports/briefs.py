"""The ledger as briefs and notices of incidents need it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Protocol

from heartbeat.model import Brief, Draft, Incident, LedgerFinding, MadeBrief, Overrides, Target, Urgency


class BriefLedger(Protocol):
    """The brief, incidents and what the owner said for the time being."""

    def brief(self, now: datetime, since: datetime | None = None) -> Brief:
        """What waits to be told, oldest first; with *since*, only what was first seen from then on.

        The tally and `Brief.since` are always reckoned from the brief before, or the last day if there is none; one
        that is dated after *now* was made under a clock that was wrong, and does not count.
        """

    def consume_brief(self, now: datetime, since: datetime | None = None) -> Brief:
        """The same, and mark it told, atomically; one with nothing in it leaves no trace."""

    def issue_brief(
        self,
        day: date,
        now: datetime,
        compose: Callable[[Brief], tuple[str, Sequence[Draft]]],
        *,
        target: Target | None = None,
        empty: bool = True,
        file: bool = False,
    ) -> tuple[Brief, str | None] | None:
        """The brief of the owner's *day*, consumed, with its messages, in one transaction; None when it was made.

        *compose* is pure: it gives the text that is kept, and the messages. With a *target*, a wake of that agent
        is to write it up instead; then the drafts are not entered, and its id is returned too. One that is empty is
        entered as made without messages and wake, unless *empty*. With *file* it is also to be written to a file.

        A brief that was made under a clock more than TRUSTED ahead does not count, and gives up its day.
        """

    def has_brief(self, day: date, now: datetime) -> bool:
        """Whether the brief of the owner's day was made; as in `issue_brief`, not by a clock that was wrong."""

    def give_back_brief(self, brief_id: str, reason: str, now: datetime) -> None:
        """Nobody was told what it told: it is in the next one, unless some message or a file has it."""

    def unfiled_briefs(self) -> list[tuple[str, date, str]]:
        """The briefs that are still to be written to a file, oldest first: id, day and text."""

    def enter_filed(self, brief_ids: Sequence[str]) -> None:
        """They are in the file: their owner has them."""

    def abandon_file(self, brief_id: str, reason: str, now: datetime) -> None:
        """It is not to be written any more; what nobody else tells is in the next one."""

    def made_brief(self, brief_id: str) -> MadeBrief:
        """A brief that was consumed, issued or not; raises NotFound."""

    def brief_text(self, brief_id: str) -> str:
        """What an issued brief said; raises NotFound."""

    def brief_urgency(self, brief_id: str) -> Urgency:
        """How urgent a brief is as a message; raises NotFound."""

    def due_notices(self, now: datetime) -> list[Incident]:
        """Incidents of which the owner is to be sent a message now: begun, going on, or over, oldest first."""

    def enter_notice(
        self, incident: Incident, drafts: Sequence[Draft], tell_at: datetime | None, now: datetime
    ) -> bool:
        """Enter the messages about an incident, and when the next is due; False when it was told, or ended, meanwhile.

        Without drafts, because no channel takes them, nobody was told: only the instant moves.
        """

    def enter_notices(
        self,
        due: Sequence[tuple[Incident, datetime | None]],
        compose: Callable[[Sequence[Incident]], Sequence[Draft]],
        now: datetime,
    ) -> int:
        """The same for several incidents, each with when its next is due, that share their messages.

        *compose* is pure and is given those that were not told meanwhile; returns how many these are.
        """

    def overrides(self, now: datetime) -> Overrides:
        """What still holds; `quiet` and `loud` not when they were entered more than TRUSTED after *now*."""

    def override(self, name: str, value: str, until: datetime | None, now: datetime) -> None:
        """Enter what the owner said: `quiet` or `loud` (one ends the other) or `zone`, until then or taken back.

        Raises Invalid for another name, for `quiet` or `loud` without an end, and for an empty zone.
        """

    def take_back(self, name: str) -> bool:
        """Forget it; whether there was one."""

    def waiting(self, limit: int = 100) -> list[LedgerFinding]:
        """What is held or in a wake that is not settled, oldest first."""
