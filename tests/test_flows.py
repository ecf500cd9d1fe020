"""Whole days, simulated: real scripts, the real beat, an agent that is a list, and a clock that is set by hand."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from freezegun import freeze_time

from heartbeat.beat import House, tick
from heartbeat.clock import utc_now
from heartbeat.job import load
from heartbeat.model import Call, Reply, Run, State, Verdict
from heartbeat.outbox import deliver_due
from heartbeat.paths import find_home
from heartbeat.schedule import identity_of
from heartbeat.slots import next_move
from heartbeat.stores.sqlite import SqliteLedger, open_ledger

MORNING = datetime(2026, 6, 10, 4, 0, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
EVENT = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//test//EN
BEGIN:VEVENT
UID:talk
DTSTAMP:20260601T000000Z
DTSTART;TZID=Europe/Berlin:{start:%Y%m%dT%H%M%S}
DURATION:PT30M
SUMMARY:Contract talk
END:VEVENT
END:VCALENDAR
"""


@dataclass
class Listener:
    """An agent that keeps what it is told, with the instant."""

    told: list[tuple[datetime, str]] = field(default_factory=list)
    name: str = "listener"

    def call(self, call: Call) -> Reply:
        assert call.wake_id in call.prompt
        self.told.append((utc_now(), call.prompt))
        return Reply("noted")


@dataclass
class World:
    """A home, its ledger and its agent."""

    folder: Path
    ledger: SqliteLedger
    agent: Listener = field(default_factory=Listener)

    def script(self, name: str, text: str) -> None:
        path = self.folder / "jobs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def configure(self, text: str) -> None:
        (self.folder / "config.toml").write_text(
            "[owner]\nzone = 'Europe/Berlin'\n[budget]\nmin_gap = '0s'\nper_hour = 60\n" + text
        )

    def live(self, start: datetime, hours: float, step: timedelta = timedelta(minutes=5)) -> None:
        """Let time pass, as the daemon would: what is due runs, what waits is delivered."""
        home = find_home(str(self.folder), {})
        house = House(self.ledger, home, load(home, os.environ), self.agent, os.environ, threading.Event(), utc_now)
        self.ledger.enlist(((job.name, identity_of(job.timing)) for job in house.config.jobs.values()), start)
        # The child's time limit runs on the real clock.
        with freeze_time(start, ignore=["heartbeat.process"]) as clock:
            while utc_now() <= start + timedelta(hours=hours):
                for job in house.config.jobs.values():
                    now = utc_now()
                    move = next_move(job.timing, job.policy, self.ledger.states()[job.name], now)
                    self.ledger.pass_over([(job.name, fate) for fate in move.fates], now)
                    if move.start:
                        tick(house, job, move.start, now)
                deliver_due(lambda: house)
                clock.tick(step)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with open_ledger(tmp_path / "state" / "ledger.db") as ledger:
        yield World(tmp_path, ledger)


def faults(runs: list[Run]) -> int:
    return sum(run.verdict is Verdict.FAILED for run in runs)


def test_a_quiet_day_wakes_nobody_and_leaves_only_its_runs(world: World) -> None:
    world.script("look.sh", "#!/bin/sh\necho looked\necho '{\"wakeAgent\": false}'\n")
    world.configure("[jobs.look]\nevery = '10m'\n")
    world.live(MORNING, hours=24)
    runs = world.ledger.runs(limit=1000)
    assert len(runs) == 24 * 6 + 1
    assert [run.slot_at for run in reversed(runs)] == [MORNING + timedelta(minutes=10 * n) for n in range(145)]
    assert {run.verdict for run in runs} == {Verdict.QUIET}
    assert (world.agent.told, world.ledger.findings(), world.ledger.wakes()) == ([], [], [])
    brief = world.ledger.brief(MORNING + timedelta(days=1))
    assert (brief.items, brief.incidents) == ((), ())


def test_a_meeting_is_told_once_then_moved_then_called_off(world: World) -> None:
    calendar = world.folder / "me.ics"
    world.configure(
        "[jobs.calendar-lookahead]\nevery = '10m'\n[jobs.calendar-lookahead.options]\nsources = [{ file = 'me.ics' }]\n"
    )
    calendar.write_text(EVENT.format(start=datetime(2026, 6, 10, 9, tzinfo=BERLIN)))
    world.live(MORNING, hours=2)  # to 08:00 in Berlin
    [(first, prompt)] = world.agent.told
    assert first == datetime(2026, 6, 10, 5, 30, tzinfo=UTC), "07:30 in Berlin, an hour and a half before"
    assert '"change": "new"' in prompt
    calendar.write_text(EVENT.format(start=datetime(2026, 6, 10, 9, 15, tzinfo=BERLIN)))
    world.live(MORNING + timedelta(hours=2, minutes=5), hours=0.5)
    assert [told.count('"change": "update"') for _, told in world.agent.told] == [0, 1]
    assert '"told_before": {' in world.agent.told[1][1]
    assert '"starts_at": "2026-06-10T07:00:00+00:00"' in world.agent.told[1][1], "what the owner was told first"
    calendar.write_text("BEGIN:VCALENDAR\nEND:VCALENDAR\n")
    world.live(MORNING + timedelta(hours=2, minutes=40), hours=6)
    assert [told.count('"change": "retraction"') for _, told in world.agent.told] == [0, 0, 1]
    assert world.ledger.brief(MORNING + timedelta(days=1)).items == ()


def test_a_meeting_that_takes_place_is_not_called_off_by_beginning(world: World) -> None:
    (world.folder / "me.ics").write_text(EVENT.format(start=datetime(2026, 6, 10, 9, tzinfo=BERLIN)))
    world.configure(
        "[jobs.calendar-lookahead]\nevery = '10m'\n[jobs.calendar-lookahead.options]\nsources = [{ file = 'me.ics' }]\n"
    )
    world.live(MORNING, hours=8)
    assert len(world.agent.told) == 1


def test_a_broken_afternoon_is_one_incident_and_one_recovery(world: World) -> None:
    world.script("look.sh", "#!/bin/sh\n[ -e broken ] && exit 3\necho '{\"wakeAgent\": false}'\n")
    world.configure("[jobs.look]\nevery = '10m'\n")
    world.live(MORNING, hours=1)
    (world.folder / "broken").touch()
    world.live(MORNING + timedelta(hours=1, minutes=5), hours=6)
    broken = faults(world.ledger.runs(limit=1000))
    assert 7 <= broken <= 12, "six hours hold 36 slots; backing off, far fewer are tried"
    [incident] = world.ledger.incidents(open_only=True)
    assert (incident.subject, incident.code) == ("job:look", "exit_status")
    (world.folder / "broken").unlink()
    world.live(MORNING + timedelta(hours=7, minutes=10), hours=2)
    [closed] = world.ledger.incidents()
    assert closed.resolved_at is not None
    assert faults(world.ledger.runs(limit=1000)) == broken
    assert world.agent.told == [], "a fault costs no model call"


def test_a_full_disk_is_told_once_and_again_when_it_comes_back(world: World) -> None:
    found = '{"key": "disk", "title": "The disk is full", "when_absent": "forget"}'
    world.script(
        "disk.sh",
        f'#!/bin/sh\nif [ -e full ]; then echo \'{{"wakeAgent": true, "findings": [{found}]}}\'; '
        "else echo '{\"wakeAgent\": false}'; fi\n",
    )
    world.configure("[jobs.disk]\nevery = '10m'\n")
    (world.folder / "full").touch()
    world.live(MORNING, hours=2)
    assert len(world.agent.told) == 1
    (world.folder / "full").unlink()
    world.live(MORNING + timedelta(hours=2, minutes=5), hours=1)
    (world.folder / "full").touch()
    world.live(MORNING + timedelta(hours=3, minutes=10), hours=1)
    assert len(world.agent.told) == 2


def test_other_options_call_nothing_off(world: World) -> None:
    near = (
        "[jobs.calendar-lookahead]\nevery = '10m'\n[jobs.calendar-lookahead.options]\nsources = [{ file = 'me.ics' }]\n"
    )
    (world.folder / "me.ics").write_text(EVENT.format(start=datetime(2026, 6, 10, 9, tzinfo=BERLIN)))
    world.configure(near)
    world.live(MORNING, hours=2)
    world.configure(near + "lookahead = '20m'\n")
    world.live(MORNING + timedelta(hours=2, minutes=5), hours=0.5)
    assert [told.count('"change": "retraction"') for _, told in world.agent.told] == [0]
    (row,) = world.ledger.findings()
    assert (row.state, row.current) == (State.TOLD, False)
