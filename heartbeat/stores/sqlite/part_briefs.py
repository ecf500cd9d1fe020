"""`ports.BriefLedger` in SQLite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime

from heartbeat.model import Brief, Draft, Incident, LedgerFinding, MadeBrief, Overrides, Target, Urgency
from heartbeat.stores.sqlite import briefs, filing, findings, issued, notices, overrides, undelivered
from heartbeat.stores.sqlite.database import Database


class BriefPart:
    """Briefs, notices of incidents, and what the owner said for the time being."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def brief(self, now: datetime, since: datetime | None = None) -> Brief:
        with self._database.reading() as db:
            return briefs.read(db, now, since)

    def consume_brief(self, now: datetime, since: datetime | None = None) -> Brief:
        with self._database.writing() as db:
            return briefs.consume(db, now, since)

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
        with self._database.writing() as db:
            return issued.issue(db, day, now, compose, target=target, empty=empty, file=file)

    def has_brief(self, day: date, now: datetime) -> bool:
        with self._database.reading() as db:
            return issued.is_made(db, day, now)

    def give_back_brief(self, brief_id: str, reason: str, now: datetime) -> None:
        with self._database.writing() as db:
            undelivered.give_back(db, None, brief_id, reason, now)

    def unfiled_briefs(self) -> list[tuple[str, date, str]]:
        with self._database.reading() as db:
            return filing.due(db)

    def enter_filed(self, brief_ids: Sequence[str]) -> None:
        with self._database.writing() as db:
            filing.enter(db, brief_ids)

    def abandon_file(self, brief_id: str, reason: str, now: datetime) -> None:
        with self._database.writing() as db:
            filing.abandon(db, brief_id, reason, now)

    def made_brief(self, brief_id: str) -> MadeBrief:
        with self._database.reading() as db:
            return issued.made(db, brief_id)

    def brief_text(self, brief_id: str) -> str:
        with self._database.reading() as db:
            return issued.text_of(db, brief_id)

    def brief_urgency(self, brief_id: str) -> Urgency:
        with self._database.reading() as db:
            return issued.urgency_of(db, brief_id)

    def due_notices(self, now: datetime) -> list[Incident]:
        with self._database.reading() as db:
            return notices.due(db, now)

    def enter_notice(
        self, incident: Incident, drafts: Sequence[Draft], tell_at: datetime | None, now: datetime
    ) -> bool:
        with self._database.writing() as db:
            return notices.enter(db, incident, drafts, tell_at, now)

    def enter_notices(
        self,
        due: Sequence[tuple[Incident, datetime | None]],
        compose: Callable[[Sequence[Incident]], Sequence[Draft]],
        now: datetime,
    ) -> int:
        with self._database.writing() as db:
            return notices.enter_all(db, due, compose, now)

    def overrides(self, now: datetime) -> Overrides:
        with self._database.reading() as db:
            return overrides.read(db, now)

    def override(self, name: str, value: str, until: datetime | None, now: datetime) -> None:
        with self._database.writing() as db:
            overrides.enter(db, name, value, until, now)

    def take_back(self, name: str) -> bool:
        with self._database.writing() as db:
            return overrides.take_back(db, name)

    def waiting(self, limit: int = 100) -> list[LedgerFinding]:
        with self._database.reading() as db:
            return findings.waiting(db, limit)
