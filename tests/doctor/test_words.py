"""What the doctor says: remedies that fit the problem, whose unit keeps it, one of a thing, and the owner's clock."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import cast

import pytest

from heartbeat.doctor import Case, alive, configuration, service
from heartbeat.lock import KernelLock
from heartbeat.marker import Marker, write_marker
from heartbeat.probe import Health
from heartbeat.probe.restarters import Found
from heartbeat.process import owner
from heartbeat.service import Found as FoundManager
from heartbeat.service import Manager, Standing
from tests.conftest import Place
from tests.doctor.asking import ask, case_of, home_of, see_inside
from tests.doctor.test_service import Supervisor

JOB = '[owner]\nzone = "Asia/Tokyo"\n[jobs.check]\nevery = "10m"\n'


def judged(case: Case, health: Health, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(alive, "examine", lambda *_, **__: health)
    return {about: answer.remedy for about, answer in ask("alive", case).items()}


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("restart_requests", "take the request out of the script or crontab"),
        ("configuration_trouble", "correct what it names, then `heartbeat reload`"),
        ("run_trouble", "run `heartbeat logs`"),
        ("disk_full", "do as it says"),
        ("job_failing", "run `heartbeat incidents`"),
    ],
)
def test_the_remedy_of_a_problem_is_that_of_its_code(
    place: Place, monkeypatch: pytest.MonkeyPatch, code: str, remedy: str
) -> None:
    health = Health("degraded", "heartbeat is up, 1 problem", problems=((code, "it is so"),))
    assert judged(case_of(place.folder), health, monkeypatch)[code].startswith(remedy)


@pytest.mark.parametrize(
    ("manager", "state", "remedy"),
    [
        ("systemd", "down", "`heartbeat start`;"),
        ("none", "down", "`heartbeat run --detach`;"),
        ("", "down", "`heartbeat run --detach`;"),
        ("systemd", "stalled", "run `heartbeat logs` to see what it waits for, then `heartbeat restart`"),
        ("", "stalled", "run `heartbeat stop`,"),
    ],
)
def test_what_brings_it_back_is_a_verb_that_does_so_here(
    place: Place, monkeypatch: pytest.MonkeyPatch, manager: str, state: str, remedy: str
) -> None:
    if manager:
        place.state.mkdir(mode=0o700)
        write_marker(place.state / "service", Marker(manager, "heartbeat.service", "user"))
    found = judged(case_of(place.folder), Health(state, "heartbeat is not well", pid=7), monkeypatch)
    assert found[""].startswith(remedy)


def test_the_commands_within_an_answer_name_its_installation(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of(place.folder)
    health = Health("down", "heartbeat is down", problems=(("not_running", "start it with `heartbeat start`"),))
    monkeypatch.setattr(alive, "examine", lambda *_, **__: health)
    assert ask("alive", case)["not_running"].seen == f"start it with `heartbeat --home {place.folder} start`"


def test_what_the_probe_dates_by_the_clock_of_the_machine_is_dated_by_that_of_the_owner(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.configure(JOB)
    problems = (("ended_lost", "begun 2026-06-10 01:12:00 -0400"),)
    monkeypatch.setattr(alive, "examine", lambda *_, **__: Health("down", "heartbeat is down", problems=problems))
    assert ask("alive", case_of(place.folder))["ended_lost"].seen == "begun 2026-06-10T05:12:00Z"
    assert "begun 2026-06-10T14:12:00+09:00" in place.call("doctor").out


@pytest.mark.parametrize("manager", ["", "none"])
def test_a_unit_of_the_owners_own_that_keeps_it_is_no_reason_to_install_a_second(
    place: Place, monkeypatch: pytest.MonkeyPatch, manager: str
) -> None:
    place.state.mkdir(mode=0o700)
    if manager:
        write_marker(place.state / "service", Marker(manager, "heartbeat", ""))
    monkeypatch.setattr(service, "find_restarters", lambda _: Found(keeper="my-heartbeat.service (user manager)"))
    lock = KernelLock(home_of(place.folder).lock_file)
    assert lock.acquire(owner())
    try:
        (answer,) = ask("service", case_of(place.folder)).values()
    finally:
        lock.release()
    assert (answer.status, answer.remedy) == ("ok", "")
    assert answer.seen.startswith("my-heartbeat.service (user manager) keeps it")
    # While it does not run nobody can tell, and it would be asked for nothing.
    assert ask("service", case_of(place.folder))[""].status == "warn"


def test_a_unit_that_somebody_else_wrote_and_that_does_not_run_is_not_to_be_doubled(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Supervisor(Standing("not installed", "/units/heartbeat.service was not written by `heartbeat install`"))
    monkeypatch.setattr(service, "find_manager", lambda *_: FoundManager(cast("Manager", other), ()))
    answer = ask("service", case_of(place.folder))["own"]
    assert (answer.status, "/units/heartbeat.service was not written" in answer.seen) == ("warn", True)
    assert answer.remedy.startswith("start that unit as you do")


def test_a_daemon_that_nobody_keeps_is_to_be_stopped_before_a_service_is_made(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.state.mkdir(mode=0o700)
    monkeypatch.setattr(service, "find_restarters", lambda _: Found())
    lock = KernelLock(home_of(place.folder).lock_file)
    assert lock.acquire(owner())
    try:
        answer = ask("service", case_of(place.folder))[""]
    finally:
        lock.release()
    assert answer.seen.startswith(f"process {os.getpid()} runs, and no supervisor is seen to keep it")
    assert answer.remedy == "`heartbeat stop`, then `heartbeat install`"


def test_a_configuration_that_was_changed_after_the_daemon_read_it_is_to_be_reloaded(place: Place) -> None:
    place.configure(JOB)
    see_inside(place.folder, {"PATH": "/usr/bin", "HOME": str(place.folder)})
    lock = KernelLock(home_of(place.folder).lock_file)
    assert lock.acquire(owner())
    try:
        assert set(ask("configuration", case_of(place.folder))) == {""}
        place.configure(JOB.replace("10m", "20m"))
        answer = ask("configuration", case_of(place.folder))["reload"]
        assert (answer.status, answer.remedy) == ("warn", "run `heartbeat reload`")
    finally:
        lock.release()
    # A daemon that does not run reads it at its start.
    assert set(ask("configuration", case_of(place.folder))) == {""}


def test_of_one_thing_it_speaks_as_of_one(place: Place) -> None:
    place.configure(JOB)
    (answer,) = configuration.look(case_of(place.folder))
    assert "valid: 1 of 1 job is on, the agent is none" in answer.seen


def test_at_a_terminal_its_instants_are_the_owners(place: Place) -> None:
    place.configure(JOB)
    place.state.mkdir(mode=0o700)
    (place.state / "starts.log").write_text(f"{datetime(2026, 6, 10, 5, 12, tzinfo=UTC).timestamp()}\tboot\n")
    assert "the last start was 2026-06-10T14:12:00+09:00" in place.call("doctor").out
    assert "the last start was 2026-06-10T05:12:00Z" in place.call("doctor", "--json").out
