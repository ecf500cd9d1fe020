"""The queue's part of the ledger's contract: what comes again, what is snoozed, what is taken back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from heartbeat.clock import new_id
from heartbeat.errors import Invalid, Refused
from heartbeat.model import (
    Action,
    Change,
    Decision,
    Execution,
    Finding,
    Gate,
    Judgement,
    Plan,
    QueueItem,
    Reply,
    Run,
    State,
    Target,
    Urgency,
    Verdict,
    View,
)
from heartbeat.queue.telling import telling
from heartbeat.stores.memory import open_memory
from heartbeat.stores.sqlite import SqliteLedger, open_ledger

T0 = datetime(2026, 6, 10, 8, tzinfo=UTC)
DAY = timedelta(days=1)
DAILY = "cron 0 10 * * *; zone Europe/Berlin"  # T0 and each day after it
BEFORE = T0 - timedelta(hours=1)


@pytest.fixture(params=["memory", "file"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteLedger]:
    with open_memory() if request.param == "memory" else open_ledger(tmp_path / "ledger.db") as made:
        yield made


def daily(**more: Any) -> QueueItem:
    return replace(QueueItem("", "pills", "Take the pills", BEFORE, schedule=DAILY, words="daily at 10"), **more)


def only(ledger: SqliteLedger, now: datetime) -> QueueItem:
    (item,) = ledger.queue(now)
    return item


def report(ledger: SqliteLedger, now: datetime, action: Action = Action.WAKE) -> str | None:
    """What the script and the rules do with the only item; the wake that was made."""
    return report_of(ledger, only(ledger, now), now, action)


def report_of(ledger: SqliteLedger, item: QueueItem, now: datetime, action: Action) -> str | None:
    told = telling(item, now)
    run = Run(new_id("run", now), "due-queue", "manual", None, now)
    finding = Finding(told.key, "x", told.version)

    def choose(view: View) -> Plan:
        known = view.known.get(told.key)
        return Plan((Decision(finding, action, Change.NEW, "test", "", known, target=Target("a")),))

    ledger.claim(run, "1:1")
    judgement = Judgement(Verdict.WAKE, "wake", "", gate=Gate(True, findings=(finding,)))
    _plan, wakes = ledger.record(run, Execution(now, now), judgement, choose)
    (wake,) = wakes or (None,)
    return wake


def tell(ledger: SqliteLedger, now: datetime) -> None:
    wake = report(ledger, now)
    assert wake is not None
    assert ledger.begin_wake(wake, "1:1", now) is not None
    ledger.settle_wake(wake, Reply(), (), now)


def states(ledger: SqliteLedger) -> list[State]:
    return [row.state for row in ledger.findings()[::-1]]


def test_an_item_that_comes_again_begins_with_its_first_slot_and_goes_on(ledger: SqliteLedger) -> None:
    item, new = ledger.enqueue(daily(), BEFORE)
    assert (item.due_at, item.state, new) == (T0, "waiting", True)
    again, new = ledger.enqueue(daily(due_at=T0 + 5 * DAY), T0 + 5 * DAY)
    assert (again.due_at, new) == (T0, False)
    chosen, _ = ledger.enqueue(daily(due_at=T0 + 9 * DAY), T0 + 5 * DAY)
    assert chosen.due_at == T0 + 9 * DAY


@pytest.mark.parametrize(("chosen", "first"), [(False, timedelta(hours=3)), (True, timedelta())])
def test_an_interval_begins_after_its_length_or_when_it_was_told_to(
    ledger: SqliteLedger, *, chosen: bool, first: timedelta
) -> None:
    start = T0 if chosen else BEFORE
    item, _ = ledger.enqueue(daily(schedule="every 10800s", due_at=start), BEFORE)
    assert item.due_at == start + first


def test_a_schedule_that_never_comes_is_refused(ledger: SqliteLedger) -> None:
    with pytest.raises(Invalid, match="never comes due"):
        ledger.enqueue(daily(until=BEFORE), BEFORE)
    assert ledger.queue(T0) == []


def test_several_are_added_together_or_not_at_all(ledger: SqliteLedger) -> None:
    with pytest.raises(Invalid):
        ledger.enqueue_all([daily(), daily(key="never", until=BEFORE)], BEFORE)
    assert ledger.queue(T0) == []
    added = ledger.enqueue_all([daily(), daily(), daily(key="other")], BEFORE)
    assert [new for _, new in added] == [True, False, True]


def test_each_occurrence_stands_for_itself(ledger: SqliteLedger) -> None:
    ledger.enqueue(daily(), BEFORE)
    assert only(ledger, T0).state == "due"
    tell(ledger, T0)
    assert only(ledger, T0 + DAY - timedelta(seconds=1)).state == "told"
    assert only(ledger, T0 + DAY).state == "due"
    assert len(ledger.queue(T0, waiting_only=True)) == 1


def test_what_waits_is_taken_back_when_a_later_occurrence_is_reported(ledger: SqliteLedger) -> None:
    ledger.enqueue(daily(), BEFORE)
    ledger.enqueue(QueueItem("", "other", "x", BEFORE), BEFORE)
    ledger.cancel_item("other", BEFORE)
    item = ledger.queue(BEFORE)[1]
    for day in range(3):
        at = T0 + day * DAY
        report_of(ledger, item, at, Action.HOLD)
        assert ledger.withdraw_overtaken(at) == int(day > 0)
        assert ledger.withdraw_overtaken(at) == 0
    assert states(ledger) == [State.WITHDRAWN, State.WITHDRAWN, State.HELD]
    report_of(ledger, item, T0 + 3 * DAY, Action.WAKE)
    assert ledger.withdraw_overtaken(T0) == 1
    assert states(ledger)[2:] == [State.WITHDRAWN, State.WAKE]


def test_an_occurrence_that_is_with_the_agent_is_not_taken_back(ledger: SqliteLedger) -> None:
    ledger.enqueue(daily(), BEFORE)
    wake = report(ledger, T0)
    assert wake is not None
    ledger.begin_wake(wake, "1:1", T0)
    report(ledger, T0 + DAY)
    assert ledger.withdraw_overtaken(T0 + DAY) == 0
    ledger.settle_wake(wake, Reply(), (), T0 + DAY)
    assert states(ledger) == [State.TOLD, State.WAKE]


def test_occurrences_of_one_item_do_not_overtake_those_of_another(ledger: SqliteLedger) -> None:
    for key in "ab":
        ledger.enqueue(daily(key=key), BEFORE)
    first, second = ledger.queue(BEFORE)
    for item in (first, second):
        report_of(ledger, item, T0, Action.HOLD)
    report_of(ledger, second, T0 + DAY, Action.HOLD)
    assert ledger.withdraw_overtaken(T0 + DAY) == 1
    assert states(ledger) == [State.HELD, State.WITHDRAWN, State.HELD]


def test_cancelling_takes_back_the_occurrence_that_waits(ledger: SqliteLedger) -> None:
    ledger.enqueue(daily(), BEFORE)
    wake = report(ledger, T0)
    assert ledger.cancel_item("pills", T0).state == "cancelled"
    assert states(ledger) == [State.WITHDRAWN]
    assert wake is not None
    assert ledger.wake(wake).state == "cancelled"
    with pytest.raises(Refused, match="cancelled already"):
        ledger.cancel_item("pills", T0)


@pytest.mark.parametrize("change", [{"message": "x"}, {"schedule": "", "words": ""}, {"urgency": Urgency.HIGH}])
def test_changing_an_item_takes_back_what_waits_of_the_old_one(ledger: SqliteLedger, change: dict[str, Any]) -> None:
    ledger.enqueue(daily(), BEFORE)
    report(ledger, T0, Action.HOLD)
    ledger.enqueue(daily(due_at=T0, **change), T0)
    assert states(ledger) == [State.WITHDRAWN]
    assert only(ledger, T0 + DAY).state == "due"


def test_a_snooze_is_of_one_occurrence_and_ends_with_a_change(ledger: SqliteLedger) -> None:
    ledger.enqueue(daily(), BEFORE)
    tell(ledger, T0)
    hour = timedelta(hours=1)
    assert ledger.snooze_item("pills", T0 + 2 * hour, T0 + hour).state == "snoozed"
    assert only(ledger, T0 + 2 * hour).state == "due"
    tell(ledger, T0 + 2 * hour)
    assert only(ledger, T0 + 3 * hour).state == "told"
    assert ledger.snooze_item("pills", T0 + 4 * hour, T0 + 3 * hour).state == "snoozed"
    assert only(ledger, T0 + DAY).state == "due"
    changed, _ = ledger.enqueue(daily(message="x", due_at=T0 + 3 * hour), T0 + 3 * hour)
    assert (changed.state, changed.snoozed_until) == ("due", None)


def test_the_first_occurrence_may_be_snoozed_before_it_comes(ledger: SqliteLedger) -> None:
    ledger.enqueue(daily(), BEFORE)
    ledger.snooze_item("pills", T0 + timedelta(minutes=5), BEFORE)
    assert [only(ledger, T0 + timedelta(minutes=minute)).state for minute in (0, 5)] == ["snoozed", "due"]


def test_what_was_imported_is_not_imported_again(ledger: SqliteLedger) -> None:
    items = [QueueItem("", key, key, T0) for key in "ab"]
    assert ledger.import_once(items[:1], T0) == 1
    assert ledger.import_once(items, T0) == 1
    ledger.enqueue(replace(items[0], message="changed by the owner"), T0)
    ledger.cancel_item("b", T0)
    assert ledger.import_once(items, T0) == 0
    assert [(item.message, item.state) for item in ledger.queue(T0)] == [
        ("changed by the owner", "due"),
        ("b", "cancelled"),
    ]


def test_pruning_keeps_what_comes_again_and_forgets_what_has_ended(ledger: SqliteLedger) -> None:
    ledger.enqueue(daily(until=T0 + DAY), BEFORE)
    tell(ledger, T0)
    assert ledger.prune(T0 + DAY - timedelta(hours=1), timedelta(hours=12), 10)["queue"] == 0
    assert only(ledger, T0 + DAY - timedelta(hours=1)).state == "told"
    tell(ledger, T0 + DAY)
    ledger.prune(T0 + 9 * DAY, DAY, 10)
    assert ledger.queue(T0 + 9 * DAY) == []


def test_an_occurrence_stays_told_when_its_finding_was_pruned(ledger: SqliteLedger) -> None:
    ledger.enqueue(daily(schedule="cron 0 10 10 6 *; zone Europe/Berlin"), BEFORE)
    tell(ledger, T0)
    later = T0 + 100 * DAY
    run = Run(new_id("run", later), "due-queue", "manual", None, later)
    ledger.claim(run, "1:1")
    judgement = Judgement(Verdict.QUIET, "quiet", "")
    ledger.record(run, Execution(later, later), judgement, lambda _view: Plan())
    assert ledger.prune(later, 30 * DAY, 10)["findings"] == 1
    assert only(ledger, later).state == "told"
    snoozed = ledger.snooze_item("pills", later + DAY, later)
    assert (snoozed.state, only(ledger, later + DAY).state) == ("snoozed", "due")
    assert only(ledger, T0 + 365 * DAY).state == "due"


def test_an_occurrence_that_was_never_told_is_not_forgotten(ledger: SqliteLedger) -> None:
    ledger.enqueue(daily(until=T0), BEFORE)
    report(ledger, T0, Action.HOLD)
    ledger.prune(T0 + 400 * DAY, DAY, 10)
    assert only(ledger, T0 + 400 * DAY).state == "due"


def test_a_text_that_is_changed_and_changed_back_is_to_be_told_once_more(ledger: SqliteLedger) -> None:
    for message, state in (("a", "due"), ("b", "due"), ("a", "due")):
        item, _ = ledger.enqueue(QueueItem("", "k", message, T0), T0)
        assert item.state == state
        tell(ledger, T0)
        assert only(ledger, T0).state == "told"
