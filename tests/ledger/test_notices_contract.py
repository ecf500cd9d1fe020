"""The contract of notices: when an incident is told by message, and that it is told once for each time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from heartbeat.model import FaultChange, Incident, MessageKind, Streak
from heartbeat.stores.memory import open_memory
from heartbeat.stores.sqlite import SqliteLedger
from tests.ledger.telling import at, draft

SUBJECT = "agent:claude"
DAY = timedelta(days=1)


@pytest.fixture
def ledger() -> Iterator[SqliteLedger]:
    with open_memory() as made:
        yield made


def fault(ledger: SqliteLedger, minute: float = 0, subject: str = SUBJECT) -> Incident:
    incident = ledger.fault(subject, "agent_failed", "it is gone", at(minute))
    assert incident is not None
    return incident


def due(ledger: SqliteLedger, minute: float) -> Incident:
    (incident,) = ledger.due_notices(at(minute))
    return incident


def tell(ledger: SqliteLedger, incident: Incident, minute: float, again: float | None = None) -> bool:
    drafts = [draft(kind=MessageKind.INCIDENT)]
    return ledger.enter_notice(incident, drafts, None if again is None else at(again), at(minute))


def test_an_incident_is_due_when_it_begins(ledger: SqliteLedger) -> None:
    opened = fault(ledger, 1)
    assert (opened.told, opened.tell_at) == (0, at(1))
    assert ledger.due_notices(at(0.99)) == []
    assert ledger.due_notices(at(1)) == [opened]
    assert ledger.next_due(at(0)) == at(1)
    assert ledger.fault(SUBJECT, "agent_failed", "still gone", at(2)) is None
    assert ledger.due_notices(at(2)) == [opened]


def test_a_streak_that_becomes_an_incident_is_due(ledger: SqliteLedger) -> None:
    from heartbeat.stores.sqlite import incidents

    with ledger._database.writing() as db:
        incidents.apply(db, FaultChange(Streak("job:x", 3, "exit 1"), opens=True, code="failed"), at(1))
    assert due(ledger, 1).subject == "job:x"


def test_an_incident_is_told_once_and_again_when_it_is_to_be(ledger: SqliteLedger) -> None:
    opened = fault(ledger)
    assert tell(ledger, opened, 1, again=60)
    (message,) = ledger.messages()
    assert (message.kind, message.incident_id) == (MessageKind.INCIDENT, opened.id)
    assert ledger.due_notices(at(59)) == []
    again = due(ledger, 60)
    assert again == replace(opened, told=1, tell_at=at(60))
    assert tell(ledger, again, 60)
    assert ledger.due_notices(at(9999)) == []
    assert ledger.incidents()[0].told == 2


def test_several_channels_are_one_telling(ledger: SqliteLedger) -> None:
    opened = fault(ledger)
    assert ledger.enter_notice(opened, [draft("phone"), draft("mail")], None, at(1))
    assert ledger.incidents()[0].told == 1
    assert {message.incident_id for message in ledger.messages()} == {opened.id}


def test_what_another_process_has_told_meanwhile_is_not_told_again(ledger: SqliteLedger) -> None:
    opened = fault(ledger)
    assert tell(ledger, opened, 1, again=60)
    assert not tell(ledger, opened, 1, again=30)
    assert len(ledger.messages()) == 1
    assert ledger.incidents()[0].tell_at == at(60)


def test_what_is_over_meanwhile_is_not_told_as_going_on(ledger: SqliteLedger) -> None:
    tell(ledger, fault(ledger), 1, again=60)
    going_on = due(ledger, 60)
    ledger.recover(SUBJECT, at(60))
    assert not tell(ledger, going_on, 61)
    assert len(ledger.messages()) == 1
    over = due(ledger, 61)
    assert over.resolved_at == at(60)
    assert tell(ledger, over, 61)
    assert ledger.due_notices(at(9999)) == []


def test_the_end_of_an_incident_is_told_to_an_owner_who_heard_of_it(ledger: SqliteLedger) -> None:
    tell(ledger, fault(ledger), 1)
    over = ledger.recover(SUBJECT, at(5))
    assert over is not None
    assert (over.told, over.tell_at) == (1, at(5))
    assert ledger.due_notices(at(5)) == [over]


def test_what_was_over_before_it_was_told_is_not_told_at_all(ledger: SqliteLedger) -> None:
    fault(ledger)
    over = ledger.recover(SUBJECT, at(5))
    assert over is not None
    assert over.tell_at is None
    assert ledger.due_notices(at(9999)) == []


def test_without_a_channel_nobody_was_told_and_it_comes_later(ledger: SqliteLedger) -> None:
    assert ledger.enter_notice(fault(ledger), [], at(60), at(1))
    assert ledger.due_notices(at(59)) == []
    later = due(ledger, 60)
    assert (later.told, ledger.messages()) == (0, [])
    assert tell(ledger, later, 60)


def test_an_incident_that_is_gone_is_not_told(ledger: SqliteLedger) -> None:
    assert not tell(ledger, Incident("inc_x", SUBJECT, "x", "y", at(0)), 1)
    assert ledger.messages() == []


def test_notices_are_due_oldest_first_whenever_they_are_to_be_told(ledger: SqliteLedger) -> None:
    first, second = fault(ledger, 5, "agent:a"), fault(ledger, 0, "agent:b")  # the clock was set back between them
    assert [incident.id for incident in ledger.due_notices(at(5))] == [first.id, second.id]


def test_an_incident_of_a_clock_that_was_ahead_is_due_after_a_release(ledger: SqliteLedger) -> None:
    opened = fault(ledger, 1_000_000)
    assert ledger.due_notices(at(1)) == []
    ledger.release_wakes(lambda _owner: True, at(1))
    assert due(ledger, 1).id == opened.id


def test_a_release_repeats_nothing_that_was_told(ledger: SqliteLedger) -> None:
    tell(ledger, fault(ledger), 1, again=60)
    ledger.release_wakes(lambda _owner: True, at(2))
    assert ledger.due_notices(at(59)) == []


def test_a_message_about_an_incident_that_fails_changes_nothing_of_it(ledger: SqliteLedger) -> None:
    tell(ledger, fault(ledger), 1)
    before = ledger.incidents()
    (message,) = ledger.messages()
    ledger.give_up_message(message.id, "503", at(2))
    assert ledger.incidents() == before
    brief = ledger.brief(at(3))
    assert [incident.id for incident in brief.incidents] == [before[0].id]
    assert brief.undelivered == (message.id,)
