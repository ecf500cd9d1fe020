"""A simulated week: three sources every ten minutes, quiet nights, an agent that is down on Tuesday and rate-limited
on Thursday. All but the scripts, the agent and the phone is real: the rules, the ledger, the outbox, the brief."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from heartbeat import outbox
from heartbeat.beat import House, chooser
from heartbeat.briefing import issue_due, tell_incidents
from heartbeat.channels import routes_of
from heartbeat.clock import new_id
from heartbeat.errors import AgentError, AgentOnHold
from heartbeat.job import load
from heartbeat.model import (
    Call,
    Execution,
    Finding,
    Gate,
    Judgement,
    Message,
    Reply,
    Run,
    State,
    Urgency,
    Usage,
    Verdict,
    WhenAbsent,
)
from heartbeat.outbox import decide_held, deliver_due
from heartbeat.paths import find_home
from heartbeat.post import send_due
from heartbeat.stores.sqlite import SqliteLedger, open_ledger

ZONE = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 6, 8, tzinfo=ZONE)
TICK = timedelta(minutes=10)
CONFIG = """
[owner]
zone = "Europe/Berlin"
[agent]
kind = "command"
command = ["/bin/true"]
attempts = 5
[quiet]
windows = [{ start = "23:00", end = "07:00" }]
[budget]
min_gap = "2m"
per_hour = 2
[brief]
at = "08:00"
[channels.phone]
kind = "file"
path = "phone.md"
[jobs.calendar]
script = "/bin/true"
every = "10m"
[jobs.mail]
script = "/bin/true"
every = "10m"
[jobs.shows]
script = "/bin/true"
every = "10m"
"""
Source = Callable[[datetime], tuple[Finding, ...]]


def at(day: int, clock: str) -> datetime:
    """Of the week: Monday is 0."""
    hour, minute = map(int, clock.split(":"))
    return (MONDAY + timedelta(days=day)).replace(hour=hour, minute=minute)


def meetings(*starts: datetime) -> Source:
    """Reports each from 90 minutes before until it starts, when it is of no use any more."""

    def report(now: datetime) -> tuple[Finding, ...]:
        near = (start for start in starts if start - timedelta(minutes=90) <= now <= start)
        return tuple(
            Finding(f"{start:%a%H%M}", f"Meeting {start:%a %H:%M}", starts_at=start, useful_until=start)
            for start in near
        )

    return report


def mails(*arrivals: tuple[datetime, datetime, Urgency]) -> Source:
    """Reports each from its arrival until it was read."""

    def report(now: datetime) -> tuple[Finding, ...]:
        unread = ((came, urgency) for came, read, urgency in arrivals if came <= now < read)
        return tuple(
            Finding(f"{came:%a%H%M}", f"Mail {came:%a %H:%M}", urgency=urgency, when_absent=WhenAbsent.FORGET)
            for came, urgency in unread
        )

    return report


@dataclass
class Agent:
    """Down on Tuesday; on Thursday its limit is used up until 15:00."""

    world: World
    name: str = "agent"
    calls: list[tuple[str, tuple[str, ...], str]] = field(default_factory=list)

    def call(self, call: Call) -> Reply:
        now = self.world.now
        titles = tuple(item.finding.title for item in self.world.ledger.wake(call.wake_id).findings)
        if now.weekday() == 1:
            raise AgentError("it does not answer", retryable=True)
        limit = at(3, "15:00")
        if now.weekday() == 3 and now < limit:
            raise AgentOnHold("its limit is used up", seconds=(limit - now).total_seconds())
        self.calls.append((f"{now:%a %H:%M}", titles, call.wake_id))
        return Reply("noted", usage=Usage(1000, 50, 0.01))


@dataclass
class Phone:
    """Keeps what reaches the owner."""

    world: World
    name: str = "phone"
    got: list[tuple[str, str]] = field(default_factory=list)

    def send(self, message: Message) -> bool:
        self.got.append((f"{self.world.now:%a %H:%M}", f"{message.kind}: {message.title}"))
        return True


class World:
    """A ledger, and a clock that goes on by ten minutes."""

    def __init__(self, folder: Path, config: str = CONFIG) -> None:
        (folder / "config.toml").write_text(config)
        home = find_home(str(folder), {})
        self.now = MONDAY
        self.ledger: SqliteLedger = open_ledger(folder / "ledger.db")
        self.agent, self.phone = Agent(self), Phone(self)
        loaded = load(home, {"HOME": str(folder)})
        base = House(self.ledger, home, loaded, self.agent, {}, threading.Event(), lambda: self.now)
        self.house = replace(base, channels={"phone": self.phone}, routes=routes_of(loaded.settings))

    def live(self, sources: dict[str, Source], days: float) -> None:
        """Run every source every ten minutes, and deliver what is due each minute in between."""
        end = self.now + timedelta(days=days)
        while self.now < end:
            for name, source in sources.items():
                self.tick(name, source(self.now))
            following = self.now + TICK
            while True:
                self.round()
                due = self.ledger.next_due(self.now)
                if due is None or not self.now < due < following:
                    break
                self.now = due.astimezone(ZONE)
            self.now = following

    def tick(self, job: str, found: tuple[Finding, ...]) -> None:
        verdict = Verdict.WAKE if found else Verdict.QUIET
        judgement = Judgement(verdict, str(verdict), "because", gate=Gate(bool(found), findings=found))
        run = Run(new_id("run", self.now), job, "schedule", self.now, self.now)
        self.ledger.claim(run, "1:1")
        choose = chooser(self.house, self.house.config.jobs[job], judgement, self.now)
        self.ledger.record(run, Execution(self.now, self.now, exit_code=0), judgement, choose)

    def round(self) -> None:
        """What the daemon's couriers do."""
        decide_held(self.house)
        deliver_due(lambda: self.house, to_owner=False)
        deliver_due(lambda: self.house, to_owner=True)
        issue_due(self.house)
        tell_incidents(self.house)
        send_due(self.house)

    @property
    def woken(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(when, titles) for when, titles, _ in self.agent.calls]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    # Without what makes each delay another.
    monkeypatch.setattr(outbox, "delay", lambda failures, _: timedelta(seconds=15 * 2**failures))
    made = World(tmp_path)
    yield made
    made.ledger.close()


pytestmark = pytest.mark.slow


def test_a_week_wakes_exactly_when_it_should_and_loses_nothing(world: World) -> None:
    sources = {
        "calendar": meetings(
            *(at(0, "07:15"), at(0, "10:00"), at(2, "05:00"), at(2, "14:00")),
            *(at(3, "13:00"), at(3, "16:30"), at(4, "10:00"), at(4, "10:05"), at(4, "10:10")),
        ),
        "mail": mails(
            (at(0, "12:00"), at(0, "13:00"), Urgency.NORMAL),
            (at(0, "23:30"), at(1, "02:00"), Urgency.NORMAL),
            (at(1, "09:00"), at(1, "18:00"), Urgency.NORMAL),
            (at(2, "01:00"), at(2, "09:00"), Urgency.CRITICAL),
            (at(3, "12:00"), at(3, "18:00"), Urgency.NORMAL),
            (at(5, "03:00"), at(5, "20:00"), Urgency.HIGH),
        ),
        "shows": mails((at(6, "12:00"), at(6, "20:00"), Urgency.LOW)),
    }
    world.live(sources, 8)
    assert world.woken == [
        # Found at 05:50 in the quiet, of use when that ends.
        ("Mon 07:00", ("Meeting Mon 07:15",)),
        ("Mon 08:30", ("Meeting Mon 10:00",)),
        ("Mon 12:00", ("Mail Mon 12:00",)),
        # The meeting of Wednesday 05:00 has its last call in the quiet; the agent is well again.
        ("Wed 04:30", ("Meeting Wed 05:00",)),
        ("Wed 12:30", ("Meeting Wed 14:00",)),
        # Thursday's limit is over at 15:00: what was held shares one wake with what is found then.
        ("Thu 15:00", ("Mail Thu 12:00", "Meeting Thu 16:30")),
        # Three meetings found at 08:30, 08:40 and 08:40: two interruptions.
        ("Fri 08:30", ("Meeting Fri 10:00",)),
        ("Fri 08:40", ("Meeting Fri 10:05", "Meeting Fri 10:10")),
        ("Sat 07:00", ("Mail Sat 03:00",)),
    ]
    others = [(when, said) for when, said in world.phone.got if not said.startswith("reply")]
    assert others == [
        *((f"{day} 08:00", "brief: While you slept") for day in ("Mon",)),
        # The mail of the night was read before its end, so that nobody is woken for it.
        ("Tue 08:00", "brief: While you slept"),
        # Three failures; after five the next brief tells what the agent was not told.
        ("Tue 09:01", "incident: heartbeat: agent:agent is failing"),
        ("Tue 10:01", "incident: heartbeat: agent:agent is still failing"),
        ("Tue 13:01", "incident: heartbeat: agent:agent is still failing"),
        ("Tue 21:01", "incident: heartbeat: agent:agent is still failing"),
        # Critical breaks the quiet, and does not wait for an agent that has been failing.
        ("Wed 01:00", "notice: [critical] Mail Wed 01:00"),
        ("Wed 07:00", "incident: heartbeat: agent:agent is well again"),
        *((f"{day} 08:00", "brief: While you slept") for day in ("Wed", "Thu", "Fri", "Sat", "Sun", "Mon")),
    ]
    fates = {item.finding.title: item.state for item in world.ledger.findings()}
    briefed = {"Mail Mon 23:30", "Mail Tue 09:00", "Mail Sun 12:00", "Meeting Thu 13:00"}
    assert {title for title, state in fates.items() if state is State.BRIEFED} == briefed
    assert {state for title, state in fates.items() if title not in briefed} == {State.TOLD}


def test_a_week_of_nothing_calls_no_agent_says_one_line_a_day_and_hardly_grows(world: World, tmp_path: Path) -> None:
    nothing: dict[str, Source] = {name: lambda _: () for name in ("calendar", "mail", "shows")}
    world.live(nothing, 1)
    size = sum(file.stat().st_size for file in tmp_path.glob("ledger.db*"))
    world.live(nothing, 2)
    assert world.agent.calls == []
    assert [said for _, said in world.phone.got] == ["brief: While you slept"] * 3
    grown = sum(file.stat().st_size for file in tmp_path.glob("ledger.db*")) - size
    runs = 2 * 144 * 3
    assert grown < runs * 1024
    assert world.ledger.findings() == []
    assert {item.state for item in world.ledger.findings()} <= {State.TOLD, State.BRIEFED}
