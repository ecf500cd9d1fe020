"""Whatever is added, snoozed, cancelled, told or delayed: each item is told once at each of its times, never early."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from heartbeat.clock import new_id
from heartbeat.decide import Budget, Rules, decide
from heartbeat.errors import Invalid, NotFound, Refused
from heartbeat.model import Execution, Finding, Gate, Judgement, Plan, QueueItem, Reply, Run, State, Target, Verdict
from heartbeat.queue.telling import telling
from heartbeat.stores.memory import open_memory

T0 = datetime(2026, 6, 10, 8, tzinfo=UTC)
RULES = Rules(Target("a"), budget=Budget(timedelta(), None, None, None))
KEYS = st.sampled_from(("once", "hourly", "other"))
MINUTES = st.integers(min_value=1, max_value=150)
HOUR = timedelta(hours=1)


@dataclass
class Model:
    """One item: when it was to be told, and what was told of it."""

    message: str
    due: datetime
    is_hourly: bool
    snoozed: tuple[datetime, datetime] | None = None
    cancelled: bool = False
    changes: int = 0

    def told(self, now: datetime) -> tuple[int, datetime, str]:
        """What there is to tell, which after a change is something else."""
        return self.changes, self.at(now), self.message

    def thing(self, now: datetime) -> datetime | None:
        """What of the item is told of: each occurrence of one that comes again is a thing of its own."""
        return self.slot(now) if self.is_hourly else None

    def slot(self, now: datetime) -> datetime:
        return self.due + max(0, (now - self.due) // HOUR) * HOUR if self.is_hourly else self.due

    def at(self, now: datetime) -> datetime:
        slot = self.slot(now)
        return self.snoozed[1] if self.snoozed and self.snoozed[0] == slot else slot


class QueueMachine(RuleBasedStateMachine):
    """The ledger beside a model of it; the script and the rules are the real ones, as far as they matter."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = open_memory()
        self.now = T0
        self.model: dict[str, Model] = {}
        self.expected: set[tuple[str, tuple[int, datetime, str]]] = set()
        self.told: list[tuple[str, tuple[int, datetime, str]]] = []
        self.latest: dict[tuple[str, datetime | None], tuple[int, datetime, str]] = {}

    def teardown(self) -> None:
        self.ledger.close()

    @rule(key=KEYS, message=st.sampled_from(("a", "b")), minutes=st.sampled_from((-90, -5, 5, 120)))
    def add(self, key: str, message: str, minutes: int) -> None:
        due = self.now + timedelta(minutes=minutes, seconds=1)
        schedule = "every 3600s" if key == "hourly" else ""
        self.ledger.enqueue(QueueItem("", key, message, due, schedule=schedule, words=schedule), self.now)
        before = self.model.get(key)
        if before is None or (before.message, before.due) != (message, due):
            item = Model(message, due, key == "hourly", changes=before.changes + 1 if before else 0)
            told = self.latest.get((key, item.thing(self.now)))
            if told is not None and told[1:] == (item.at(self.now), message):
                item.changes = told[0]  # changed back before anybody was told otherwise: that is no news
            self.model[key] = item

    @rule(key=KEYS)
    def cancel(self, key: str) -> None:
        try:
            self.ledger.cancel_item(key, self.now)
        except (NotFound, Refused):
            return
        self.model[key].cancelled = True

    @rule(key=KEYS, minutes=MINUTES)
    def snooze(self, key: str, minutes: int) -> None:
        if key not in self.model:
            return
        until = self.now + timedelta(minutes=minutes)
        try:
            self.ledger.snooze_item(key, until, self.now)
        except (Refused, Invalid):
            return
        item = self.model[key]
        item.snoozed = (item.slot(self.now), until)

    @rule(minutes=MINUTES)
    def time_passes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule()
    def tick(self) -> None:
        """A run of the script, whose wake the agent accepts at once."""
        self.ledger.withdraw_overtaken(self.now)
        items = [item for item in self.ledger.queue(self.now) if item.state != "cancelled"]
        due = [(item, told) for item in items if (told := telling(item, self.now)).at <= self.now]
        gate = Gate(bool(due), findings=tuple(Finding(told.key, item.message, told.version) for item, told in due))
        judgement = Judgement(Verdict.WAKE, "wake", "", gate=gate)
        run = Run(new_id("run", self.now), "due-queue", "manual", None, self.now)
        self.ledger.claim(run, "1:1")
        _, wakes = self.ledger.record(
            run,
            Execution(self.now, self.now),
            judgement,
            lambda view: Plan(decide(judgement, view, RULES, self.now)),
        )
        names = {told.key: item.key for item, told in due}
        for wake in wakes:
            begun = self.ledger.begin_wake(wake, "1:1", self.now)
            assert begun is not None
            for row in begun.findings:
                key = names[row.finding.key]
                assert row.finding.title == self.model[key].message
                self.told.append((key, self.model[key].told(self.now)))
                self.latest[key, self.model[key].thing(self.now)] = self.model[key].told(self.now)
            self.ledger.settle_wake(wake, Reply(), (), self.now)
        for key, item in self.model.items():
            if not item.cancelled and item.at(self.now) <= self.now:
                self.expected.add((key, item.told(self.now)))

    @invariant()
    def each_is_told_once_at_each_of_its_times(self) -> None:
        assert len(self.told) == len(set(self.told))
        assert set(self.told) == self.expected

    @invariant()
    def the_list_is_honest(self) -> None:
        for item in self.ledger.queue(self.now):
            model = self.model[item.key]
            at = model.at(self.now)
            if model.cancelled:
                expected = "cancelled"
            elif (item.key, model.told(self.now)) in self.expected:
                expected = "told"
            elif at <= self.now:
                expected = "due"
            else:
                expected = "waiting" if at == model.slot(self.now) else "snoozed"
            assert item.state == expected

    @invariant()
    def nothing_waits_when_every_wake_is_accepted(self) -> None:
        assert [row for row in self.ledger.findings(limit=1000) if row.state in (State.WAKE, State.HELD)] == []


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
