"""Any life of the delivery side: findings, time, quiet, agents and phones that fail, crashes at any call of the ledger.

Rules, ledger, outbox, brief and post are real. Whatever happens, each finding ends told, briefed, withdrawn or dropped
by a rule, never as two of them, and never in silence.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from heartbeat.beat import House, chooser
from heartbeat.briefing import issue_due, tell_incidents
from heartbeat.channels import routes_of
from heartbeat.clock import new_id
from heartbeat.errors import AgentError, AgentOnHold, ChannelError
from heartbeat.job import load
from heartbeat.model import (
    Call,
    Execution,
    Finding,
    Gate,
    Judgement,
    LedgerFinding,
    Message,
    Reply,
    Run,
    State,
    Urgency,
    Verdict,
    WhenAbsent,
)
from heartbeat.outbox import decide_held, deliver_due
from heartbeat.paths import find_home
from heartbeat.post import send_due
from heartbeat.stores.sqlite import SqliteLedger

NOW = datetime(2026, 6, 8, 9, tzinfo=UTC)
LAST_CALL = timedelta(minutes=30)
CONFIG = """
[owner]
zone = "UTC"
[agent]
kind = "command"
command = ["/bin/true"]
attempts = 3
[budget]
per_hour = 1
[[rules]]
do = "mute"
kind = "noise"
[channels.phone]
kind = "file"
path = "phone.md"
attempts = 3
[jobs.check]
script = "/bin/true"
every = "10m"
[jobs.remind]
script = "/bin/true"
every = "10m"
notify = true
"""
ENDS = {State.TOLD, State.BRIEFED, State.WITHDRAWN, State.DROPPED}
TOLD = (State.TOLD, State.BRIEFED)
MAY_COME_BACK = {"undelivered", "retried", "remind"}


class Crash(BaseException):
    """The process was killed."""


class Mortal:
    """A ledger whose process dies before or after one of its calls, and that answers no more until it is revived."""

    def __init__(self, ledger: SqliteLedger) -> None:
        self._ledger = ledger
        self._left: int | None = None
        self._after = False
        self._dead = False

    def die_in(self, calls: int, *, after: bool) -> None:
        self._left, self._after = calls, after

    def revive(self) -> None:
        self._left, self._dead = None, False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._ledger, name)

        def call(*arguments: Any, **named: Any) -> Any:
            if self._left is not None:
                self._left -= 1
                self._dead |= self._left < 0
            if self._dead and not self._after:
                raise Crash
            if self._dead:
                # What was done stands; whoever asked never hears of it.
                self._after = False
                method(*arguments, **named)
                raise Crash
            return method(*arguments, **named)

        return call


found = st.builds(
    lambda key, version, urgency, kind, absent, retract, hours: (
        Finding(key, f"{key}{version}", version, kind, "", urgency, retract=retract, when_absent=absent),
        hours,
    ),
    key=st.sampled_from("abc"),
    version=st.sampled_from("12"),
    urgency=st.sampled_from(Urgency),
    kind=st.sampled_from(("", "", "", "noise")),
    absent=st.sampled_from(WhenAbsent),
    retract=st.sampled_from((False, False, False, True)),
    hours=st.sampled_from((None, None, 0.2, 3.0, 30.0)),
)


class Lives(RuleBasedStateMachine):
    """One installation; the test is its scripts, its agent, its phone and its clock."""

    @initialize()
    def begin(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            home = find_home(folder, {})
            (Path(folder) / "config.toml").write_text(CONFIG)
            loaded = load(home, {"HOME": folder})
        self.now = NOW
        self.ledger = SqliteLedger(None)
        self.mortal = Mortal(self.ledger)
        self.agent_is, self.phone_is = "well", "well"
        self.quiet_until = NOW
        house = House(self.mortal, home, loaded, None, {}, threading.Event(), lambda: self.now)
        self.house = replace(house, agent=self, channels={"phone": self}, routes=routes_of(loaded.settings))

    # What heartbeat talks to

    name = "command"

    def call(self, call: Call) -> Reply:
        carried = [item.finding for item in self.ledger.wake(call.wake_id).findings if item.state is State.WAKE]
        assert self.now >= self.quiet_until or any(map(self._cannot_wait, carried))
        errors = {
            "down": AgentError("it does not answer", retryable=True),
            "broken": AgentError("no such model", retryable=False),
            "busy": AgentOnHold("its limit is used up", seconds=7200),
        }
        if self.agent_is in errors:
            raise errors[self.agent_is]
        return Reply("noted")

    def _cannot_wait(self, finding: Finding) -> bool:
        until = finding.useful_until
        return finding.urgency is Urgency.CRITICAL or (until is not None and until - LAST_CALL <= self.now)

    def send(self, message: Message) -> bool:
        del message
        if self.phone_is in ("down", "broken"):
            raise ChannelError("no answer", retryable=self.phone_is == "down")
        return self.phone_is == "well"

    # What happens

    @rule(
        job=st.sampled_from(("check", "check", "remind")),
        wakes=st.sampled_from((True, True, True, False)),
        items=st.lists(found, min_size=1, max_size=3),
        minutes=st.sampled_from((0, 1, 5, 30, 120, 600)),
        agent=st.sampled_from(("well", "well", "down", "broken", "busy")),
        phone=st.sampled_from(("well", "well", "mute", "down", "broken")),
    )
    def a_script_runs(
        self, *, job: str, wakes: bool, items: list[tuple[Finding, float | None]], minutes: int, agent: str, phone: str
    ) -> None:
        self.agent_is, self.phone_is = agent, phone
        findings = tuple(
            item if hours is None else replace(item, useful_until=self.now + timedelta(hours=hours))
            for item, hours in items
        )
        verdict = Verdict.WAKE if wakes else Verdict.QUIET
        judgement = Judgement(verdict, str(verdict), "because", gate=Gate(wakes, findings=findings))
        run = Run(new_id("run", self.now), job, "manual", None, self.now)

        def beat() -> None:
            self.mortal.claim(run, "1:1")
            choose = chooser(self.house, self.house.config.jobs[job], judgement, self.now)
            self.mortal.record(run, Execution(self.now, self.now, exit_code=0), judgement, choose)

        self._live(beat)
        self.time_passes(minutes)

    @rule(minutes=st.sampled_from((1, 5, 30, 120)))
    def time_passes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)
        self._live(self._round)

    @rule(hours=st.sampled_from((1, 8)))
    def the_owner_wants_quiet(self, hours: int) -> None:
        self.quiet_until = self.now + timedelta(hours=hours)
        self.ledger.override("quiet", "", self.quiet_until, self.now)

    @rule(calls=st.integers(0, 12), after=st.booleans())
    def it_is_killed_soon(self, calls: int, after: bool) -> None:
        self.mortal.die_in(calls, after=after)

    def _round(self) -> None:
        decide_held(self.house)
        deliver_due(lambda: self.house)
        issue_due(self.house)
        tell_incidents(self.house)
        send_due(self.house)

    def _live(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Crash:
            self.mortal.revive()
            self.ledger.interrupt(lambda _: False, self.now)
            self.ledger.release_wakes(lambda _: False, self.now)

    # What must hold

    @invariant()
    def no_more_interruptions_than_the_budget_allows(self) -> None:
        if not hasattr(self, "ledger"):
            return
        times = [each.at for each in self.ledger.past(self.now).interruptions if not each.critical]
        for first, second in pairwise(times):
            assert second - first >= timedelta(hours=1)

    def teardown(self) -> None:
        if not hasattr(self, "ledger"):
            return
        self.mortal.revive()
        self.agent_is = self.phone_is = "well"
        for _ in range(4 * 24):
            self.now += timedelta(hours=1)
            self._round()
        for item in self.ledger.findings(limit=10_000):
            self._has_ended(self.ledger.finding(item.id))
        assert not [wake.id for wake in self.ledger.wakes() if wake.state in ("pending", "sending")]
        assert not [each.id for each in self.ledger.messages(limit=10_000) if each.state in ("pending", "sending")]
        self.ledger.close()

    def _has_ended(self, item: LedgerFinding) -> None:
        assert item.state in ENDS, item
        assert item.rule
        assert " " in item.reason
        told = False
        for event in item.events:
            if event.state in TOLD:
                assert not told, item.events
                told = True
            elif event.rule in MAY_COME_BACK:
                told = False
        if item.state is State.TOLD:
            assert item.wake_id is not None
            assert self.ledger.wake(item.wake_id).state == "settled"
            self._has_arrived(item, self.ledger.messages_of(item.wake_id))
        if item.state is State.BRIEFED:
            sent = [each for each in self.ledger.messages(limit=10_000) if each.brief_id == item.brief_id]
            assert sent
            self._has_arrived(item, sent)

    def _has_arrived(self, item: LedgerFinding, sent: list[Message]) -> None:
        """At the owner's, unless something newer took its place meanwhile."""
        newest, *_ = self.ledger.findings(item.job, key=item.finding.key, limit=1)
        assert newest.id != item.id or any(each.state in ("delivered", "unverified") for each in sent)


TestLives = Lives.TestCase
TestLives.settings = settings(deadline=None, max_examples=200, stateful_step_count=30)
TestLives = pytest.mark.slow(TestLives)
