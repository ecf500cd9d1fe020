"""Between the columns of the ledger and the records of the model."""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

from heartbeat.clock import from_text, to_text
from heartbeat.errors import Invalid
from heartbeat.model import (
    Attempt,
    Change,
    Finding,
    FindingEvent,
    Incident,
    LedgerFinding,
    Message,
    MessageKind,
    MessageState,
    State,
    Step,
    Streak,
    Urgency,
    Usage,
    Wake,
    WhenAbsent,
)
from heartbeat.stores.sqlite.failures import Damaged

Record = TypeVar("Record")


def text(value: str) -> str:
    """*value* as UTF-8 can hold it: an undecodable byte of a file name or argument is shown as `\\udcff`."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode(errors="backslashreplace").decode()
    return value


def instant(value: datetime | None) -> str | None:
    return None if value is None else to_text(value)


def when(value: str | None) -> datetime | None:
    return None if value is None else from_text(value)


def to_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def from_trace(trace: Iterable[Step]) -> str:
    return to_json([(step.rule, step.outcome, step.reason) for step in trace])


def to_trace(value: str) -> tuple[Step, ...]:
    return tuple(Step(*step) for step in json.loads(value))


def one_of(what: str, value: str | None, known: tuple[str, ...]) -> None:
    """Raise Invalid for a name that no row can have."""
    if value is not None and value not in known:
        raise Invalid(f"cannot list {what} in state {value!r}; the states are {', '.join(known)}")


def reader(read: Callable[[sqlite3.Row], Record]) -> Callable[[sqlite3.Row], Record]:
    """Let *read* raise Damaged for what it cannot make sense of."""

    @functools.wraps(read)
    def checked(row: sqlite3.Row) -> Record:
        try:
            return read(row)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise Damaged(f"{read.__name__}: {error}") from error

    return checked


def finding_columns(finding: Finding) -> dict[str, Any]:
    """The columns of `findings` that hold what was reported."""
    return {
        "key": text(finding.key),
        "version": text(finding.version),
        "title": text(finding.title),
        "kind": text(finding.kind),
        "body": text(finding.body),
        "urgency": finding.urgency,
        "useful_until": instant(finding.useful_until),
        "starts_at": instant(finding.starts_at),
        "occurred_at": instant(finding.occurred_at),
        "source": text(finding.source),
        "url": text(finding.url),
        "origin": text(finding.origin),
        "when_absent": finding.when_absent,
        "absences": finding.absences,
        "scope": text(finding.scope),
        "data": to_json(finding.data),
    }


@reader
def read_finding(row: sqlite3.Row) -> Finding:
    return Finding(
        key=row["key"],
        title=row["title"],
        version=row["version"],
        kind=row["kind"],
        body=row["body"],
        urgency=Urgency(row["urgency"]),
        useful_until=when(row["useful_until"]),
        starts_at=when(row["starts_at"]),
        occurred_at=when(row["occurred_at"]),
        source=row["source"],
        url=row["url"],
        origin=row["origin"],
        when_absent=WhenAbsent(row["when_absent"]),
        absences=row["absences"],
        scope=row["scope"],
        data=json.loads(row["data"]),
    )


@reader
def read_ledger_finding(row: sqlite3.Row) -> LedgerFinding:
    return LedgerFinding(
        id=row["id"],
        job=row["job"],
        finding=read_finding(row),
        change=Change(row["change"]),
        state=State(row["state"]),
        rule=row["rule"],
        reason=row["reason"],
        current=bool(row["current"]),
        first_seen_at=from_text(row["first_seen_at"]),
        last_seen_at=from_text(row["last_seen_at"]),
        run_id=row["run_id"],
        wake_id=row["wake_id"],
        brief_id=row["brief_id"],
        held_until=when(row["held_until"]),
    )


@reader
def read_event(row: sqlite3.Row) -> FindingEvent:
    return FindingEvent(
        at=from_text(row["at"]),
        state=State(row["state"]),
        rule=row["rule"],
        reason=row["reason"],
        run_id=row["run_id"],
        wake_id=row["wake_id"],
        brief_id=row["brief_id"],
        trace=to_trace(row["trace"]),
    )


@reader
def read_wake(row: sqlite3.Row) -> Wake:
    """Without its findings and its history."""
    return Wake(
        id=row["id"],
        job=row["job"],
        run_id=row["run_id"],
        agent=row["agent"],
        state=row["state"],
        created_at=from_text(row["created_at"]),
        next_attempt_at=when(row["next_attempt_at"]),
        attempts=row["attempts"],
        failures=row["failures"],
        profile=row["profile"],
        brief_id=row["brief_id"],
        useful_until=when(row["useful_until"]),
        settled_at=when(row["settled_at"]),
        reply=row["reply"],
        error=row["error"],
    )


@reader
def read_attempt(row: sqlite3.Row) -> Attempt:
    return Attempt(
        number=row["number"],
        started_at=from_text(row["started_at"]),
        ended_at=when(row["ended_at"]),
        outcome=row["outcome"],
        message=row["message"],
        session=row["session"],
        usage=Usage(row["tokens_in"], row["tokens_out"], row["usd"]),
    )


@reader
def read_message(row: sqlite3.Row) -> Message:
    return Message(
        id=row["id"],
        kind=MessageKind(row["kind"]),
        channel=row["channel"],
        state=MessageState(row["state"]),
        title=row["title"],
        body=row["body"],
        urgency=Urgency(row["urgency"]),
        created_at=from_text(row["created_at"]),
        next_attempt_at=when(row["next_attempt_at"]),
        attempts=row["attempts"],
        failures=row["failures"],
        useful_until=when(row["useful_until"]),
        settled_at=when(row["settled_at"]),
        error=row["error"],
        wake_id=row["wake_id"],
        brief_id=row["brief_id"],
        incident_id=row["incident_id"],
    )


@reader
def read_streak(row: sqlite3.Row) -> Streak:
    return Streak(row["subject"], row["faults"], row["message"], when(row["last_ok_at"]))


@reader
def read_incident(row: sqlite3.Row) -> Incident:
    return Incident(
        id=row["id"],
        subject=row["subject"],
        code=row["code"],
        message=row["message"],
        opened_at=from_text(row["opened_at"]),
        resolved_at=when(row["resolved_at"]),
        told=row["told"],
        tell_at=when(row["tell_at"]),
    )
