"""Pings to a dead man's switch, against a real server: in order, bounded, and no part of the address in any log."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import tenacity

from heartbeat import pingline
from heartbeat import pings as pings_module
from heartbeat.beat import House
from heartbeat.config import Settings
from heartbeat.config.secret import Secret
from heartbeat.job import Config, Job, load
from heartbeat.job.vault import Vault
from heartbeat.paths import Home, find_home
from heartbeat.pings import Pings, address_of
from heartbeat.schedule import Every, Timing
from heartbeat.sources import fetch
from heartbeat.stores.memory import open_memory
from heartbeat.troubles import Troubles
from tests.conftest import Place
from tests.doubles.server import Answer, Asked, Double, Handler, hangs_up, says
from tests.servers import until

NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
UUID = "5e3c7f0a-4b1d-4a68-9c51-0d7f1f7b2a11"


class Switch(Double):
    """A dead man's switch."""

    def answer(self, asked: Asked) -> Answer:
        return Answer(b"OK")

    def heard(self, count: int) -> list[str]:
        """The paths that were asked for, once there are so many."""
        until(lambda: len(self.asked) >= count)
        return [asked.path.replace(UUID, "…") for asked in self.asked]


def say_nothing(handler: Handler) -> None:
    handler.server.over.wait(10)


@dataclass
class Stand:
    """Pings of a house that the test configures."""

    folder: Path
    environ: Mapping[str, str]
    said: dict[str, Any] = field(default_factory=lambda: {"ping": {"url": {"env": "DAEMON"}}})

    def __post_init__(self) -> None:
        self._ledger = open_memory()
        self.troubles = Troubles()
        self.pings = Pings(lambda: self.house, self.troubles)

    @property
    def house(self) -> House:
        home = Home(self.folder, self.folder / "state", self.folder / "cache")
        config = Config(Settings.model_validate({"owner": {"zone": "UTC"}, **self.said}), {})
        return House(self._ledger, home, config, None, self.environ, threading.Event(), lambda: NOW)

    def trouble(self) -> tuple[tuple[str, str], ...]:
        """What is in trouble, once something is."""
        return until(self.troubles.all)

    def close(self) -> None:
        self.pings.stop()
        self._ledger.close()


def job(name: str = "check", ping: Secret | None = None) -> Job:
    timing = Timing((Every(timedelta(minutes=10)),), ZoneInfo("UTC"))
    return Job(name, Path("/bin/true"), ("/bin/true",), timing, ping=ping)


JOB = job(ping=Secret(env="JOB"))


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Switch]:
    monkeypatch.setattr(fetch, "_growing", tenacity.wait_none())  # the pause between two tries is not the matter here
    with Switch().running() as switch:
        yield switch


@pytest.fixture
def stand(switch: Switch, tmp_path: Path) -> Iterator[Stand]:
    made = Stand(tmp_path, {"DAEMON": f"{switch.address}/{UUID}", "JOB": f"{switch.address}/job/{UUID}"})
    yield made
    made.close()


def test_the_daemon_pings_at_its_start_while_it_beats_and_when_it_cannot_go_on(stand: Stand, switch: Switch) -> None:
    stand.pings.start()
    stand.pings.beat(1000.0)
    stand.pings.fail()
    assert switch.heard(3) == ["/…/start", "/…", "/…/fail"]


def test_it_pings_every_so_often_to_the_second(stand: Stand, switch: Switch) -> None:
    stand.said["ping"]["every"] = "1m"
    for now in (1000.0, 1059.9, 1060.0, 1060.1, 1119.9, 1120.0):
        stand.pings.beat(now)
    stand.pings.fail()
    assert switch.heard(4) == ["/…"] * 3 + ["/…/fail"]


def test_a_job_pings_an_address_of_its_own(stand: Stand, switch: Switch) -> None:
    stand.pings.job(JOB, "start")
    stand.pings.job(JOB, "ok")
    switch.heard(2)
    stand.pings.job(JOB, "start")
    stand.pings.job(JOB, "fail")
    assert switch.heard(4) == ["/job/…/start", "/job/…", "/job/…/start", "/job/…/fail"]


def test_without_an_address_nothing_is_asked_and_no_thread_is_there(stand: Stand) -> None:
    stand.said = {}
    stand.pings.start()
    stand.pings.beat(1000.0)
    stand.pings.job(job(), "start")
    assert not [thread for thread in threading.enumerate() if thread.name in ("pings", "job-pings")]


def test_what_nobody_pings_costs_no_import() -> None:
    script = "import sys, heartbeat.pings; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("address", "start"),
    [
        ("https://hc-ping.com/uuid", "https://hc-ping.com/uuid/start"),
        ("https://hc-ping.com/uuid/", "https://hc-ping.com/uuid/start"),
        (" https://hc-ping.com/uuid\n", "https://hc-ping.com/uuid/start"),
        ("https://hc-ping.com/key/slug?create=1", "https://hc-ping.com/key/slug/start?create=1"),
        ("http://[::1]:8000/ping/uuid", "http://[::1]:8000/ping/uuid/start"),
    ],
)
def test_the_word_stands_at_the_end_of_the_path(address: str, start: str) -> None:
    assert address_of(address, "start") == start
    assert address_of(address, "ok") == address


# Failures


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The lines of the log."""
    caplog.set_level(logging.DEBUG)

    def lines() -> list[str]:
        return [record.getMessage() for record in caplog.records]

    return lines


def test_one_failure_is_tried_again_and_is_none(stand: Stand, switch: Switch, log: Callable[[], list[str]]) -> None:
    switch.first(hangs_up)
    stand.pings.start()
    stand.pings.fail()
    assert switch.heard(3) == ["/…/start", "/…/start", "/…/fail"]
    stand.pings.stop()
    assert [line for line in log() if "trouble" in line] == []


FAILING = [
    (says(404), "cannot ping: the server answers 404, nothing is there; check the address"),
    (says(503), "cannot ping: the server answers 503; it may be over later"),
    (says(200, b"OK (not found)"), "cannot ping: the service knows no such check; correct the address"),
    (hangs_up, "cannot ping: RemoteProtocolError; see whether the server and the network are up"),
]


@pytest.mark.parametrize(("play", "message"), FAILING)
def test_what_goes_on_failing_is_said_once_and_once_when_it_is_over(
    stand: Stand, switch: Switch, log: Callable[[], list[str]], play: Any, message: str
) -> None:
    switch.play = play
    for _ in range(2):
        stand.pings.job(JOB, "ok")
    assert stand.trouble() == (("ping_trouble", message),)
    until(lambda: len(switch.asked) >= (4 if play is hangs_up or "503" in message else 2))
    stand.pings.beat(0.0)
    until(lambda: len(stand.troubles.all()) == 2)
    switch.play = switch.well
    stand.pings.job(JOB, "ok")
    until(lambda: len(stand.troubles.all()) == 1)
    stand.pings.fail()
    until(lambda: not stand.troubles.all())
    said = [line for line in log() if "trouble" in line]
    assert [line.split(" error=")[0] for line in said] == [
        "trouble place=ping:check",
        "trouble place=ping",
        "trouble_over place=ping:check",
        "trouble_over place=ping",
    ]


def test_no_part_of_the_address_is_ever_in_the_log(stand: Stand, switch: Switch, log: Callable[[], list[str]]) -> None:
    bad = {
        "A": f"{switch.address}/{UUID}",
        "B": f"http://127.0.0.1:1/{UUID}",
        "C": UUID,
        "D": f"http://[{UUID}/",
        "E": f"http://{UUID}\u2100/",
    }
    stand.environ = bad
    switch.first(says(404), says(302, location=f"/{UUID}/other"))
    for name in ("A", "A", "A", "B", "C", "D", "E"):
        for word in ("ok", "start"):
            stand.pings.job(job(f"job-{name.lower()}", Secret(env=name)), word)
    until(lambda: len(stand.troubles.all()) == 4)
    stand.pings.stop()
    assert UUID[:8] not in "\n".join(log()) + str(stand.troubles.all())


def test_an_address_that_cannot_be_had_says_why(stand: Stand) -> None:
    stand.environ = {}
    stand.pings.start()
    message = "cannot find the variable DAEMON in heartbeat's environment; set it there"
    assert stand.trouble() == (("ping_trouble", message),)


def test_of_pings_that_cannot_be_sent_in_time_the_latest_two_of_each_job_are_kept(
    stand: Stand, switch: Switch, log: Callable[[], list[str]]
) -> None:
    held = threading.Event()

    def play(handler: Handler) -> None:
        held.wait(10)
        switch.well(handler)

    switch.play = play
    stand.environ = {**stand.environ, **{f"JOB{number}": f"{switch.address}/{number}" for number in range(300)}}
    for number in range(300):
        stand.pings.job(job(f"job-{number}", Secret(env=f"JOB{number}")), "start")
    switch.heard(8)
    for word in ("ok", "start", "fail"):
        stand.pings.job(job("job-299", Secret(env="JOB299")), word)
    held.set()
    heard = switch.heard(301)
    assert set(heard) == {f"/{number}/start" for number in range(300)} | {"/299/fail"}
    assert [path for path in heard if path.startswith("/299")] == ["/299/start", "/299/fail"]
    assert any("place=ping:job-299" in line and "left out" in line for line in log())


def test_a_server_that_hangs_holds_up_neither_the_daemon_nor_for_long_any_other_job(
    stand: Stand, switch: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pings_module, "_SECONDS", 0.3)
    monkeypatch.setattr(pingline, "_SLOW", 0.2)
    with Switch().running() as other:
        other.play = say_nothing
        stand.environ = {**stand.environ, "HANGS": f"{other.address}/x"}
        hanging = [job(f"hangs-{number}", Secret(env="HANGS")) for number in range(20)]
        for each in hanging:
            stand.pings.job(each, "start")
        stand.pings.start()
        stand.pings.job(JOB, "ok")
        assert sorted(switch.heard(2)) == ["/job/…", "/…/start"]
        asked = len(other.asked)
        assert asked <= 2 * 8
        for each in hanging:
            stand.pings.job(each, "ok")
        stand.pings.job(JOB, "fail")
        switch.heard(3)
        assert len(other.asked) == asked
        stand.pings.stop()


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_server_that_hung_is_tried_by_one_ping_after_a_minute_then_after_five(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pingline, "monotonic", clock := Clock())
    house = stand.house
    line = pingline.Line("x", lambda *_: None, lambda: house, stand.troubles, waiting=2, pauses=(60.0, 300.0))
    ping = pingline.Ping("ping:a", Secret(env="JOB"), Vault(stand.folder, {}, ""), "ok")

    def hangs() -> None:
        began = clock.now
        clock.now += 10
        line._leave_alone("s", began)

    hangs()
    line._leave_alone("s", 1001.0)  # was on its way at the same time
    for pause in (60, 300, 300):
        clock.now += pause - 1
        assert not line._may_ask("s", ping, clock.now)
        line._waiting.clear()
        clock.now += 1
        assert line._may_ask("s", ping, clock.now)
        assert not line._may_ask("s", ping, clock.now)
        line._waiting.clear()
        hangs()
    line._is_well("s")
    assert line._may_ask("s", ping, clock.now)


def test_whoever_asks_for_a_ping_does_not_wait_and_the_end_is_bounded(
    stand: Stand, switch: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pings_module, "_LAST_WAIT", 0.1)
    switch.play = say_nothing
    began = time.monotonic()
    for _ in range(50):
        stand.pings.job(JOB, "ok")
    stand.pings.stop()
    assert time.monotonic() - began < 2.0


def test_what_waits_at_the_end_is_sent(stand: Stand, switch: Switch) -> None:
    stand.pings.beat(0.0)
    stand.pings.fail()
    stand.pings.stop()
    assert switch.heard(2) == ["/…", "/…/fail"]


def test_at_the_end_no_program_that_keeps_an_address_is_left(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pings_module, "_LAST_WAIT", 0.3)
    mark = stand.folder / "started"
    script = f"echo $$ > {mark}; exec sleep 60"
    stand.said = {"ping": {"url": {"command": ["sh", "-c", script]}}}
    stand.pings.start()
    until(lambda: mark.exists() and mark.read_text())
    stand.pings.stop()
    until(lambda: not Path(f"/proc/{mark.read_text().strip()}").exists(), seconds=5)


# The configuration


def test_an_address_that_cannot_be_had_is_told_and_keeps_nobody_from_running(place: Place) -> None:
    place.file("config.toml", '[ping]\nurl = { env = "NO_A" }\n[jobs.check]\nevery = "10m"\nping = { file = "no-b" }\n')
    config = load(find_home(str(place.folder), {}), place.environment())
    assert list(config.jobs) == ["check"]
    assert [problem.key for problem in config.unready] == ["ping.url", "jobs.check.ping"]
    assert config.jobs["check"].ping == Secret(file="no-b")
