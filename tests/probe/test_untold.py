"""Evidence that cannot be read: whoever asks is told so, and the supervisor's word counts for what it is worth."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from heartbeat import folders
from heartbeat.cli import examination, health
from heartbeat.cli.health import answer
from heartbeat.probe import naming, own
from heartbeat.probe.restarters import own as restarters_own
from heartbeat.probe.restarters import subject_of
from heartbeat.probe.restarters.subject import NAMED, UNNAMED, UNREAD
from tests.probe.installation import Actor, Installation


@pytest.fixture(scope="module")
def actor() -> Iterator[Actor]:
    found = Actor()
    yield found
    found.end()


@pytest.fixture
def machine(tmp_path: Path, actor: Actor, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """The machine's own installation, in other folders than the real one's."""
    made = Installation(tmp_path, actor)
    system = (str(tmp_path), str(made.state), str(tmp_path / "cache"))
    for module in (folders, health, naming, own):
        monkeypatch.setattr(module, "SYSTEM", system)
    monkeypatch.setattr(restarters_own, "SYSTEM_HOME", system[0])
    monkeypatch.setattr(examination, "own_restarters", lambda _folders: ((), (), ""))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    yield made
    actor.drop()


def closed(place: Installation) -> Installation:
    """No file of it can be read, not even by root: each leads round in a circle."""
    for name in ("starts.log", "daemon.lock", "pulse", "service", "ledger.db"):
        (place.state / name).unlink(missing_ok=True)
        (place.state / name).symlink_to(name)
    return place


def system_unit(place: Installation, state: str, pid: int) -> None:
    place.unit(ActiveState=state, MainPID=pid)
    (place.root / "user" / "heartbeat.service").rename(place.root / "system" / "heartbeat.service")


def test_what_cannot_be_read_is_unknown_and_never_called_dead_or_alive(
    machine: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    closed(machine)
    seen = machine.look(thorough=True)
    assert (seen.state, seen.is_told, seen.word, seen.summary) == (
        "down",
        False,
        "unknown",
        "it cannot be told whether heartbeat runs",
    )
    assert seen.problems[0] == (
        "not_known",
        "whether it runs cannot be told, for its own files cannot be read; ask as its owner, or as root",
    )
    assert answer(None, ["--system", "--nagios"], as_json=False) == 3
    assert capsys.readouterr().out.startswith("HEARTBEAT UNKNOWN - it cannot be told whether heartbeat runs")
    assert answer(None, ["--system", "--prometheus"], as_json=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.rpartition(" ")[2] for line in lines if line.startswith("heartbeat_state{")} == {"0.0"}
    assert answer(None, ["--system", "--assert-live"], as_json=False) == 1
    assert capsys.readouterr().err.startswith("heartbeat: unknown: whether it runs cannot be told")
    assert answer(None, ["--system"], as_json=False) == 0
    assert capsys.readouterr().out.startswith("unknown: it cannot be told whether heartbeat runs\n")
    assert answer(None, ["--system"], as_json=True) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    assert (data["state"], data["known"], data["live"]) == ("down", False, False)


def test_the_word_of_systemd_that_the_machines_service_runs_counts_and_makes_it_no_more_than_degraded(
    machine: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    system_unit(machine, "active", machine.actor.pid)
    seen = closed(machine).look(thorough=True)
    assert (seen.state, seen.pid, seen.is_live) == ("degraded", machine.actor.pid, True)
    assert seen.problems[0][0] == "known_by_supervisor"
    assert seen.summary.startswith("heartbeat runs, but what it does cannot be read")
    assert answer(None, ["--system", "--assert-live"], as_json=False) == 0
    assert answer(None, ["--system", "--nagios"], as_json=False) == 1
    assert capsys.readouterr().out.startswith("HEARTBEAT WARNING - heartbeat runs, but")


@pytest.mark.parametrize("state", ["inactive", "failed"])
def test_the_word_of_systemd_that_the_machines_service_does_not_run_counts_too(
    machine: Installation, state: str
) -> None:
    system_unit(machine, state, 0)
    seen = closed(machine).look(thorough=True)
    assert (seen.state, seen.is_told) == ("down", True)
    assert seen.problems[0] == (
        "not_running",
        f"systemd says that heartbeat.service is {state}; start it with `heartbeat start --system`",
    )


def test_system_is_the_same_as_the_machines_home_and_contradicts_any_other(
    machine: Installation, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    machine.works()
    for folder, words in ((None, ["--system"]), (str(tmp_path), []), (str(tmp_path), ["--system"])):
        assert answer(folder, words, as_json=False) == 0
        assert capsys.readouterr().out.startswith("up: heartbeat is up, 3 jobs")
    assert answer("/elsewhere", ["--system"], as_json=False) == 2
    assert "--system has folders of its own" in capsys.readouterr().err


def test_the_remedies_of_the_machines_own_name_it(machine: Installation) -> None:
    machine.started().installed(domain="system")
    assert dict(machine.look().problems)["not_running"].endswith("start it with `heartbeat start --system`")


def test_whose_unit_is_its_own_is_known_only_from_a_marker_that_can_be_read(machine: Installation) -> None:
    config, state = str(machine.root), str(machine.state)
    found = subject_of(config, state, now=0.0)
    assert (found.kept, found.units, found.scope) == (UNNAMED, ("heartbeat.service",), "system")
    assert subject_of(config, str(machine.installed().state), now=0.0).kept == NAMED
    machine.installed("none", "heartbeat run --detach", "")
    assert subject_of(config, state, now=0.0).kept == UNNAMED
    closed(machine)
    found = subject_of(config, state, now=0.0)
    assert (found.kept, found.units, found.labels) == (UNREAD, ("heartbeat.service",), ("local.heartbeat",))
