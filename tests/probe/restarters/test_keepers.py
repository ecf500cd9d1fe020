"""The unit or job that keeps the subject where nothing says its name: no second supervisor, and no restarter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from heartbeat.probe.restarters import Restarter, Subject, find_restarters, launchd
from heartbeat.probe.restarters.jobs import read_job
from heartbeat.probe.restarters.search import Search
from heartbeat.probe.restarters.subject import NAMED, UNNAMED, UNREAD
from heartbeat.probe.restarters.systemd import find_keeper, judge_units
from heartbeat.probe.restarters.units import read_units
from tests.probe.restarters.subjects import HOME, ours, script, search_for
from tests.probe.restarters.test_jobs import AGENT, DOMAIN, printed

ME, PARENT = os.getpid(), os.getppid()


def unit(name: str, pid: int, command: str = "/opt/x/bin/heartbeat run") -> str:
    return (
        f"Id={name}\nActiveState=active\nSubState=running\nUnitFileState=enabled\nRestart=always\nMainPID={pid}\n"
        f"Environment=HEARTBEAT_HOME={HOME}\n"
        f"ExecStart={{ path=x ; argv[]={command} ; ignore_errors=no ; pid={pid} }}\n"
    )


def look(kept: str, *units: str, pid: int | None = ME) -> tuple[str, list[Restarter]]:
    """The keeper that is found among the units of the user's manager, and who is accused."""
    search = Search(ours(kept=kept, pid=pid))
    known = read_units("\n".join(units))
    find_keeper(search, "user", known)
    return search.keeper, judge_units(search, "user", ("systemctl", "--user"), known)


@pytest.mark.parametrize(
    ("kept", "units", "keeper", "accused"),
    [
        (UNNAMED, [unit("mine.service", ME)], "mine.service", []),
        (UNNAMED, [unit("mine.service", ME, "/opt/x/run-it")], "mine.service", []),
        (UNNAMED, [unit("mine.service", PARENT)], "mine.service", []),
        (UNNAMED, [unit("user@1000.service", PARENT, "/lib/systemd/systemd --user")], "", []),
        (UNNAMED, [unit("other.service", 1)], "", ["other.service"]),
        (UNNAMED, [unit("mine.service", ME), unit("two.service", 0)], "mine.service", ["two.service"]),
        (UNNAMED, [unit("mine.service", ME), unit("heartbeat.service", 0)], "mine.service", ["heartbeat.service"]),
        (NAMED, [unit("mine.service", ME)], "", ["mine.service"]),
        (NAMED, [unit("heartbeat.service", ME)], "", []),
        (UNREAD, [unit("mine.service", ME)], "", []),
        (UNREAD, [unit("two.service", 0)], "", []),
    ],
    ids=[
        "a unit of one's own",
        "one whose command says nothing",
        "a shell around it",
        "a manager whose child it is",
        "a unit that runs another process",
        "one of one's own and a second",
        "one of one's own and the usual one",
        "another than the marker says",
        "the one that the marker says",
        "a marker that cannot be read",
        "a second one, with such a marker",
    ],
)
def test_a_unit_whose_main_process_it_is_keeps_it_where_no_marker_says_who_does(
    kept: str, units: list[str], keeper: str, accused: list[str]
) -> None:
    found, restarters = look(kept, *units)
    assert found == (f"{keeper} (user manager)" if keeper else "")
    assert [(each.kind, each.name) for each in restarters] == [("second_supervisor", name) for name in accused]


def test_whoever_restarts_the_keeper_is_a_restarter() -> None:
    kick = unit("kick.service", 7, "/bin/sh -c while sleep 20; do systemctl --user restart mine; done")
    assert [each.name for each in look(UNNAMED, unit("mine.service", ME), kick)[1]] == ["kick.service"]
    assert [each.name for each in look(NAMED, kick)[1]] == []


@pytest.mark.parametrize(("kept", "keeper"), [(UNNAMED, "my.job (gui/501)"), (NAMED, ""), (UNREAD, "")])
def test_a_job_whose_process_it_is_keeps_it(kept: str, keeper: str) -> None:
    search = search_for(ours(kept=kept), 58309)  # as printed
    found = launchd.judge_job(search, DOMAIN, "my.job", read_job(printed("my.job", "/opt/x/bin/heartbeat\nrun", AGENT)))
    assert search.keeper == keeper
    assert (found is not None) == (kept == NAMED)


def test_where_nobody_can_be_told_from_a_second_supervisor_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, "systemctl", f"#!/bin/sh\ncat {tmp_path}/units\n")
    (tmp_path / "units").write_text(unit("two.service", 0))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = find_restarters(Subject(commands=["heartbeat"], kept=UNREAD))
    assert (found.restarters, found.keeper) == ((), "")
    code, message = found.faults[-1]
    assert code == "restarters_unseen"
    assert message.startswith("cannot look for restarters in units and jobs: which of them is its own cannot be read;")
    found = find_restarters(Subject(commands=["heartbeat"], kept=UNNAMED, pid=ME, home=HOME))
    assert {each.name for each in found.restarters if each.kind == "second_supervisor"} == {"two.service"}
