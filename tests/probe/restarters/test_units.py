"""Units that restart the subject, in what systemd 252 really said of a machine with many guilty and innocent ones.

systemctl/*.txt are `systemctl --all show` of a system's and of ann's own manager; what each unit does stands there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from heartbeat.probe.restarters import Restarter, Subject, find_restarters, systemd
from heartbeat.probe.restarters.systemd import judge_units
from heartbeat.probe.restarters.units import read_units
from tests.probe.restarters.subjects import HOME, ours, script, search_for

RECORDED = Path(__file__).parent.parent / "systemctl"
WATCHDOG = "/usr/local/sbin/hb-watchdog"


def judged(subject: Subject, scope: str, folder: Path) -> dict[str, Restarter]:
    """The restarters among the recorded units of one manager, by name."""
    text = (RECORDED / f"{scope}-252.txt").read_text()
    if WATCHDOG in text:
        loop = "#!/bin/sh\nwhile sleep 20; do\n  systemctl restart heartbeat\ndone\n"
        text = text.replace(WATCHDOG, str(script(folder, "hb-watchdog", loop)))
    command = ("systemctl",) if scope == "system" else ("systemctl", "--user")
    search = search_for(subject)
    search.is_root = True
    return {found.name: found for found in judge_units(search, scope, command, read_units(text))}


def test_the_units_that_restart_a_service_of_the_system_are_named_and_no_other(tmp_path: Path) -> None:
    found = judged(ours("system", home="/etc/heartbeat", is_default=False), "system", tmp_path)
    assert {name: (each.kind, each.remedy) for name, each in found.items()} == {
        "hb-again.service": ("unit", "systemctl disable --now hb-again.service"),
        "hb-kick.service": ("unit", "systemctl disable --now hb-kick.timer"),
        "hb-loop.service": ("unit", "systemctl disable --now hb-loop.service"),
        "hb-path.service": ("unit", "systemctl disable --now hb-path.path"),
        "hb-script.service": ("unit", "systemctl disable --now hb-script.service"),
        "hb-second.service": ("second_supervisor", "systemctl disable --now hb-second.service"),
        "heartbeat-restarter.service": ("named", "systemctl disable --now heartbeat-restarter.service"),
        "transient-kick.service": ("unit", "systemctl stop transient-kick.timer"),
        "transient-loop.service": ("unit", "systemctl stop transient-loop.service"),
    }
    assert found["hb-kick.service"].message == (
        "hb-kick.service (system manager) runs `systemctl try-restart heartbeat.service`, started by hb-kick.timer"
    )
    assert found["hb-script.service"].message == (
        f"hb-script.service (system manager) runs {tmp_path}/hb-watchdog, which has `systemctl restart heartbeat`"
    )


def test_the_units_that_restart_a_service_of_the_user_are_named_and_no_other(tmp_path: Path) -> None:
    found = judged(ours("user"), "user", tmp_path)
    assert {name: (each.kind, each.remedy) for name, each in found.items()} == {
        "hb-loop.service": ("unit", "systemctl --user disable --now hb-loop.service"),
        "hb-second.service": ("second_supervisor", "systemctl --user disable --now hb-second.service"),
        "it\\x27s\\x20odd.service": ("unit", "systemctl --user stop 'it\\x27s\\x20odd.timer'"),
        "transient-loop.service": ("unit", "systemctl --user stop transient-loop.service"),
    }


def test_a_unit_of_the_system_can_restart_a_service_of_the_user(tmp_path: Path) -> None:
    found = judged(ours("user"), "system", tmp_path)
    # heartbeat.service of the system is not the user's: it bears the same name, and runs another heartbeat.
    assert {name: each.kind for name, each in found.items()} == {
        "hb-cross.service": "unit",
        "heartbeat-restarter.service": "named",
    }


def test_the_same_unit_of_the_system_and_the_user_for_one_home_are_two_supervisors(tmp_path: Path) -> None:
    text = (
        "Id=heartbeat.service\nActiveState=active\nSubState=running\nRestart=on-failure\nUser=ann\n"
        "Environment=HEARTBEAT_HOME=" + HOME + "\n"
        "ExecStart={ path=/usr/bin/python3 ; argv[]=/usr/bin/python3 -P -m heartbeat run ; ignore_errors=no ; pid=1 }\n"
    )
    units = read_units(text)
    search = search_for(ours("user"))
    search.is_root = False
    (found,) = judge_units(search, "system", ("systemctl",), units)
    assert (found.kind, found.remedy) == ("second_supervisor", "sudo systemctl disable --now heartbeat.service")
    assert found.problem[0] == "second_supervisor"
    assert judge_units(search_for(ours("user")), "user", ("systemctl", "--user"), units) == []


def test_a_command_of_several_lines_does_not_end_its_unit() -> None:
    command = "{ path=/bin/sh ; argv[]=/bin/sh -c x\n\nId=forged.service\ny ; ignore_errors=no ; z }"
    text = f"Id=a.service\nExecStart={command}\n\nId=b.service\n"
    units = read_units(text)
    assert list(units) == ["a.service", "b.service"]
    assert units["a.service"].commands == (("/bin/sh", "-c", "x\n\nId=forged.service\ny"),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "=\n",
        "Id=\n\nExecStart=\n",
        "ExecStart={ path=",
        "Failed to connect to bus",
        "Id=x.service\nExecStart={ argv[]= }",
    ],
)
def test_nonsense_is_no_unit_and_no_fault(text: str) -> None:
    assert judge_units(search_for(ours()), "system", ("systemctl",), read_units(text)) == []


SYSTEMCTL = """#!/bin/sh
case "$*" in
    *--all*) ;;
    *) exit 0 ;; # without it systemd leaves out every service that waits for its timer
esac
case "$*" in
    *--user*) cat {folder}/user-252.txt ;;
    *) cat {folder}/system-252.txt ;;
esac
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH on which lie only the programs that a test puts there, before those of the system."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def test_both_managers_are_asked(programs: Path) -> None:
    script(programs, "systemctl", SYSTEMCTL.format(folder=RECORDED))
    found = find_restarters(Subject(units=["heartbeat"], scope="user", commands=["heartbeat"]))
    names = {each.name for each in found.restarters if each.kind in {"unit", "named"}}
    assert names == {
        "heartbeat-restarter.service",
        "hb-loop.service",
        "it\\x27s\\x20odd.service",
        "transient-loop.service",
    }
    assert found.faults == ()


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("#!/bin/sh\nexec sleep 20\n", "systemctl did not answer in time"),
        ("#!/bin/sh\necho 'Access denied' >&2; exit 1\n", "Access denied"),
        ("not a program", "cannot run systemctl"),
    ],
)
def test_a_manager_that_cannot_be_asked_is_told(
    program: str, reason: str, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(programs, "systemctl", program)
    monkeypatch.setattr(systemd, "_sign", lambda _, scope, __: "/" if scope == "user" else "/nowhere")
    found = find_restarters(Subject(units=["heartbeat"], commands=["heartbeat"]))
    ((code, message),) = found.faults
    assert code == "restarters_unseen"
    assert message.startswith(f"cannot look for restarters in systemd (user manager): {reason}")


def test_a_manager_that_is_not_there_is_no_fault(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(programs, "systemctl", "#!/bin/sh\nexit 1\n")
    monkeypatch.setattr(systemd, "_sign", lambda *_: "/nowhere")
    assert find_restarters(Subject(units=["heartbeat"], commands=["heartbeat"])).faults == ()


@pytest.mark.parametrize(
    ("state", "is_named"), [("running", True), ("auto-restart", True), ("exited", False), ("dead", False)]
)
def test_a_loop_that_is_over_is_no_restarter(state: str, is_named: bool) -> None:
    active = "inactive" if state == "dead" else "active"
    command = "sh -c for i in 1 2; do systemctl --user restart heartbeat; done"
    facts = f"Id=a.service\nActiveState={active}\nSubState={state}\n"
    units = read_units(f"{facts}ExecStart={{ path=x ; argv[]={command} ; ignore_errors=no ; }}\n")
    assert bool(judge_units(search_for(ours()), "user", ("systemctl", "--user"), units)) is is_named
