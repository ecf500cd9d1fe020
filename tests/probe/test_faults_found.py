"""What once made the probe say nothing, too little, or that all is well."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from heartbeat.cli import examination
from heartbeat.cli.health import answer
from heartbeat.config.watching import WatchSettings
from heartbeat.probe.forms import Assertion, as_prometheus
from heartbeat.probe.fresh import why_not_fresh
from heartbeat.probe.health import Health
from heartbeat.probe.instants import seconds_of
from heartbeat.probe.processes import Process, has_started
from heartbeat.pulse import read_pulse
from heartbeat.starts import read_log
from tests.probe.installation import Actor, Installation, enter_run
from tests.probe.scenes import Scene, codes, sleeping, ticks_of

DAY = 86_400.0
HUGE = int("9" * 400)


@pytest.fixture(scope="module")
def actor() -> Iterator[Actor]:
    found = Actor()
    yield found
    found.end()


@pytest.fixture
def place(tmp_path: Path, actor: Actor, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    monkeypatch.setattr(examination, "own_restarters", lambda _folders: ((), (), ""))
    yield Installation(tmp_path, actor)
    actor.drop()


@pytest.fixture
def watching(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """One target, beside a heartbeat that was never started."""
    monkeypatch.setattr(examination, "own_restarters", lambda _folders: ((), (), ""))
    return scene


def health(scene: Scene, capsys: pytest.CaptureFixture[str], *words: str, as_json: bool = False) -> tuple[int, str]:
    status = answer(str(scene.root), list(words), as_json=as_json)
    return status, "".join(capsys.readouterr())


# A job whose interval a wrong clock once told


@pytest.mark.parametrize("ahead", [3 * 3_600.0, 6 * DAY])
def test_a_clock_that_was_ahead_does_not_make_the_interval_of_a_job_days(place: Installation, ahead: float) -> None:
    ledger = place.ledger().home.ledger_file
    for age in (150, 145, 140):
        enter_run(ledger, "quick", age)
    for age in (10, 5, 0):
        enter_run(ledger, "quick", age - ahead)
    for age in (135, 130, 125):
        enter_run(ledger, "quick", age)
    assert "it may be 70 s old" in why_not_fresh(str(place.state), "quick", None, time.time())
    assert why_not_fresh(str(place.state), "quick", None, time.time() - 60) == ""


def test_the_hours_that_a_clock_was_ahead_are_no_interval_of_a_job(place: Installation) -> None:
    ledger = place.ledger().home.ledger_file
    for age in (7_310, 7_305, 7_300, 50 - DAY, 45 - DAY, 110, 105, 100):
        enter_run(ledger, "quick", age)
    assert "it may be 70 s old" in why_not_fresh(str(place.state), "quick", None, time.time())
    # Hours in which nothing ran are another matter.
    for age in (7_310, 7_305, 7_300, 110, 105, 100):
        enter_run(ledger, "slow", age)
    assert why_not_fresh(str(place.state), "slow", None, time.time()) == ""


def test_slots_that_are_yet_to_come_do_not_hide_those_that_tell_the_interval(place: Installation) -> None:
    ledger = place.ledger().home.ledger_file
    for count in range(12):
        enter_run(ledger, "quick", -DAY - 3_600 * count)
    for age in (3_010, 3_005, 3_000):
        enter_run(ledger, "quick", age)
    assert "it may be 70 s old" in why_not_fresh(str(place.state), "quick", None, time.time())


# A configuration that cannot be read


def break_text(path: Path) -> None:
    path.write_text("[watch.hermes\n")


def break_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def break_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def break_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


BROKEN = pytest.mark.parametrize("damage", [break_text, break_pipe, break_folder, break_link])


@BROKEN
def test_targets_that_cannot_be_known_are_no_good_news(
    watching: Scene, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    damage(watching.root / "config.toml")
    status, said = health(watching, capsys, "--all", "--assert-live")
    assert (status, "cannot read" in said, "config.toml" in said) == (1, True, True), said
    status, said = health(watching, capsys, "--all")
    assert "config_unreadable: cannot read" in said
    status, said = health(watching, capsys, "--all", "--nagios")
    assert (status, said.startswith("HEARTBEAT CRITICAL")) == (2, True)
    status, said = health(watching, capsys, "--all", "--prometheus")
    assert 'heartbeat_problems{target="heartbeat",code="config_unreadable"} 1.0' in said
    status, said = health(watching, capsys, "--all", "--assert-live", as_json=True)
    held = {each["assertion"]: each["holds"] for each in json.loads(said.partition("\n")[0])["data"]["assertions"]}
    assert held == {"--assert-live": True, "--all": False}


@BROKEN
def test_a_target_of_a_configuration_that_cannot_be_read_is_not_called_unknown(
    watching: Scene, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    damage(watching.root / "config.toml")
    status, said = health(watching, capsys, "other", "--assert-live")
    assert (status, "other is down: cannot read" in said, "no target" in said) == (1, True, False), said
    assert f"`heartbeat --home {watching.root} check`" in said
    assert health(watching, capsys, "other", "--nagios")[0] == 2


def test_a_configuration_that_is_not_there_names_no_target_and_is_no_fault(
    watching: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    (watching.root / "config.toml").unlink()
    assert health(watching, capsys, "--all", "--assert-live") == (0, "")


def test_a_section_without_a_name_is_told_and_stands_for_no_target(
    watching: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    watching.name = '""'
    watching.config(unit="x.service")
    said = health(watching, capsys, "--all", as_json=True)[1]
    (own,) = json.loads(said)["data"]["targets"]
    assert (own["target"], [each["code"] for each in own["problems"]]) == ("heartbeat", ["target_invalid"])
    assert health(watching, capsys, "--all", "--assert-live")[0] == 1


@pytest.mark.parametrize(
    ("keys", "problems"),
    [
        ({"required": ["telegram"]}, ["target_invalid"]),
        ({"phase_key": "phase", "phases": ["running"]}, ["target_invalid"]),
        ({}, []),
    ],
)
def test_what_only_a_state_file_could_tell_is_not_asked_for_in_silence(
    scene: Scene, keys: dict[str, Any], problems: list[str]
) -> None:
    scene.config(unit="x.service", **keys).unit("x.service")
    found = scene.examine()
    assert (found.state, codes(found)) == ("degraded" if problems else "up", problems)


@pytest.mark.parametrize("key", ["required", "phases"])
def test_check_refuses_what_only_a_state_file_could_tell(key: str) -> None:
    with pytest.raises(ValidationError, match=f"cannot use {key} without a state_file"):
        WatchSettings.model_validate({"unit": "x.service", key: ["running"]})
    WatchSettings.model_validate({"unit": "x.service", key: ["running"], "state_file": "/x/state.json"})


# Numbers beyond all


@pytest.mark.parametrize("recorded", [HUGE, -HUGE, float("inf"), float("nan"), 0])
def test_a_number_that_no_clock_shows_is_no_start(recorded: float) -> None:
    assert has_started(Process(1, ticks=5, started_at=1.7e9), recorded) is False


def test_a_year_beyond_all_is_no_instant() -> None:
    assert seconds_of(f"{HUGE}-01-01T00:00:00Z") is None


def test_a_pulse_with_counts_beyond_all_is_none(place: Installation) -> None:
    place.works()
    path = place.home.pulse_file
    lines = [f"jobs\t{HUGE}" if line.startswith("jobs\t") else line for line in path.read_text().split("\n")]
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match="counts"):
        read_pulse(path)


def test_a_state_file_with_a_number_beyond_all_costs_only_its_target(
    watching: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    watching.file("gateway_state.json", f'{{"pid": {watching.live}, "start_time": {HUGE}, "updated_at": 1}}')
    assert watching.examine().state == "down"
    status, said = health(watching, capsys, "--all", "--assert-live")
    assert (status, "hermes is down" in said) == (1, True), said


def test_a_target_that_breaks_the_probe_costs_only_itself(
    watching: Scene, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(name: str, *_: object, **__: object) -> Health:
        if name == "bad":
            raise OverflowError("too large")
        return Health("up", f"{name} is up", target=name)

    text = (watching.root / "config.toml").read_text()
    (watching.root / "config.toml").write_text(f'[watch.bad]\nunit = "x"\n{text}\n')
    monkeypatch.setattr(examination, "examine_watched", look)
    monkeypatch.delenv("HEARTBEAT_DEBUG", raising=False)
    status, said = health(watching, capsys, "--all")
    assert status == 1
    assert "hermes is up" in said
    assert "not_examined: cannot examine bad: OverflowError: too large" in said
    assert health(watching, capsys, "--all", "--nagios")[0] == 2
    status, said = health(watching, capsys, "--all", "--assert-live")
    assert (status, said.count("\n")) == (1, 1)


# Prometheus


def test_no_series_is_written_twice(watching: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    fresh = "--assert-fresh=check=10m"
    said = health(watching, capsys, "--all", "--assert-live", fresh, fresh, "--prometheus")[1]
    series = [line.rpartition(" ")[0] for line in said.splitlines() if line.startswith("heartbeat_")]
    assert len(series) == len(set(series))
    assert 'heartbeat_assertion{assertion="--assert-live"}' in series
    assert 'heartbeat_assertion{assertion="--assert-live hermes"}' in series


def test_of_two_assertions_that_read_alike_the_one_that_fails_is_told() -> None:
    alike = [Assertion("--assert-fresh a\1", ""), Assertion("--assert-fresh a\2", "old"), Assertion("x", "")]
    lines = as_prometheus([Health("up", "it is up")], alike).splitlines()
    assert lines[-2:] == [
        'heartbeat_assertion{assertion="--assert-fresh a "} 0.0',
        'heartbeat_assertion{assertion="x"} 1.0',
    ]


# What is asked of others


def test_a_silent_systemd_is_waited_for_once_and_not_for_each_target(
    watching: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    (watching.root / "hangs").touch()
    watching.state()
    section = (watching.root / "config.toml").read_text().partition("]")[2]
    (watching.root / "config.toml").write_text("".join(f"[watch.t{n}]{section}\n" for n in range(5)))
    begun = time.monotonic()
    status, said = health(watching, capsys, "--all")
    assert time.monotonic() - begun < 8
    assert (status, said.count("supervisor_silent")) == (0, 5)
    assert "is asked no more" in said
    # The next call begins anew.
    (watching.root / "hangs").unlink()
    assert "is asked no more" not in health(watching, capsys, "--all")[1]


def test_a_caller_that_ignores_its_children_hears_what_systemd_says(scene: Scene) -> None:
    with sleeping() as child:
        scene.state(pid=child.pid, start_time=ticks_of(child.pid), updated_at=time.time()).unit(MainPID=child.pid)
        command = [sys.executable, "-m", "heartbeat", "--home", str(scene.root), "health", "hermes"]
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
        )
    assert "supervisor_silent" not in done.stdout
    assert "hermes is up" in done.stdout


# The log of starts


def test_of_a_log_that_grew_too_long_the_latest_starts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "starts.log"
    path.write_text("".join(f"{1_780_000_000 + number}\tcrash\t\t\t\t\t\t\n" for number in range(20_000)))
    starts, is_whole = read_log(path)
    assert (starts[-1].at, is_whole) == (1_780_019_999, False)
