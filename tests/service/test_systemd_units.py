"""The units of systemd: their text for every odd path, and what heartbeat tells the manager to do with them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from heartbeat.errors import Invalid, NotFound, ServiceError
from heartbeat.paths import Home, share
from heartbeat.service.plan import Plan, Scope
from heartbeat.service.results import in_words
from heartbeat.service.systemctl import Systemctl
from heartbeat.service.systemd import Systemd
from heartbeat.service.systemd_site import occasion
from heartbeat.service.unit_files import program_of
from heartbeat.service.unit_text import alarm_text, directives, exec_line, quoted, rest_of_line, service_text
from tests.service import fake_systemctl

NAME = "heartbeat.service"
ALARM = "heartbeat-alarm@.service"


def plan_of(scope: Scope = "user", **more: object) -> Plan:
    home = Home(Path("/etc/heartbeat"), Path("/var/lib/heartbeat"), Path("/var/cache/heartbeat"))
    plan = Plan(
        name="heartbeat",
        scope=scope,
        home=home,
        argv=("/opt/hb/bin/python", "-P", "-m", "heartbeat", "run"),
        path="/usr/local/bin:/usr/bin:/bin",
        version="1.2.3",
        user="root" if scope == "system" else "",
        environment={**home.environment(), "LANG": "C.UTF-8"},
        credentials={"mail": "/etc/mail pass.word"},
        drain=timedelta(seconds=2.5),
    )
    return replace(plan, **more)  # type: ignore[arg-type]


def said(text: str, section: str = "Service") -> dict[str, tuple[str, ...]]:
    """The directives of one section."""
    return {name: values for (where, name), values in directives(text).items() if where == section}


# The text

ODD = [
    ("/opt/my folder/x", '"/opt/my folder/x"', '"/opt/my folder/x"'),
    ("/opt/100%/x", '"/opt/100%%/x"', '"/opt/100%%/x"'),
    ("/opt/$HOME/x", '"/opt/$HOME/x"', '"/opt/$$HOME/x"'),
    ("/opt/a\\b/x", '"/opt/a\\\\b/x"', '"/opt/a\\\\b/x"'),
    ('/opt/"a"/x', '"/opt/\\"a\\"/x"', '"/opt/\\"a\\"/x"'),
    ("/opt/it's/x", '"/opt/it\'s/x"', '"/opt/it\'s/x"'),
    ("/opt/müll/x", '"/opt/müll/x"', '"/opt/müll/x"'),
    ("/opt/a;b/x", '"/opt/a;b/x"', '"/opt/a;b/x"'),
    ("/opt/{name}/x", '"/opt/{name}/x"', '"/opt/{name}/x"'),
    ("/opt/plain-1.2/x", "/opt/plain-1.2/x", "/opt/plain-1.2/x"),
]


@pytest.mark.parametrize(("path", "program", "argument"), ODD)
def test_odd_paths_are_written_by_systemds_own_rules(path: str, program: str, argument: str) -> None:
    assert exec_line((path, path)) == f"{program} {argument}"
    assert program_of(exec_line((path, path))) == path
    home = Home(Path(path), Path(path), Path(path))
    text = service_text(plan_of(home=home, argv=(path, "run"), path=path, environment=home.environment()))
    assert said(text)["Environment HEARTBEAT_HOME"] == (quoted(f"HEARTBEAT_HOME={path}"),)
    assert said(text)["ExecStart"] == (f"{program} run",)


@pytest.mark.parametrize(
    "bad", ["/opt/a\nExecStartPre=/bin/evil", "/opt/a\0b", "/opt/a\tb", "/opt/\x1b[31m", "/a\u2028b", "/a\udcff"]
)
def test_what_could_begin_a_line_of_its_own_is_refused(bad: str) -> None:
    home = Home(Path("/a"), Path("/a"), Path("/a"))
    for plan in (
        plan_of(argv=(bad, "run")),
        plan_of(path=bad),
        plan_of(environment={"HEARTBEAT_HOME": bad}),
        plan_of(credentials={"a": bad}),
        plan_of("system", home=replace(home, state=Path(bad))),
    ):
        with pytest.raises(Invalid, match=r"control character|LINE SEPARATOR|a byte that is not UTF-8"):
            service_text(plan, "/root")
    with pytest.raises(Invalid):
        service_text(plan_of("system"), bad)


@pytest.mark.parametrize("bad", [" /a", "/a ", "/a\\"])
def test_a_value_that_systemd_would_cut_or_go_on_with_is_refused(bad: str) -> None:
    with pytest.raises(Invalid):
        rest_of_line(bad)


def test_what_is_no_service_is_refused() -> None:
    with pytest.raises(Invalid, match="absolute"):
        exec_line(("python", "run"))
    with pytest.raises(Invalid, match="heartbeat run"):
        service_text(plan_of(argv=("/opt/python", "-m", "heartbeat")))
    for user in ("a b", "-x", "a\nb", "%u"):
        with pytest.raises(Invalid, match="no such name"):
            service_text(plan_of("system", user=user), "/root")
    for name in ("a:b", "", "a b", "../x"):
        with pytest.raises(Invalid, match="credential"):
            service_text(plan_of(credentials={name: "/x"}))


def test_the_users_unit_has_what_was_decided() -> None:
    text = service_text(plan_of())
    assert "{" not in text
    unit, service = said(text, "Unit"), said(text)
    assert said(text, "Install") == {"WantedBy": ("default.target",)}
    assert unit["OnFailure"] == ("heartbeat-alarm@%n.service",)
    assert unit["X-Heartbeat-Version"] == ("1.2.3",)
    expected = {
        "Type": "notify",
        "NotifyAccess": "main",
        "ExecStart": "/opt/hb/bin/python -P -m heartbeat run",
        "ExecStopPost": "-/opt/hb/bin/python -P -m heartbeat ended",
        "WatchdogSec": "90",
        "Restart": "on-failure",
        "RestartPreventExitStatus": "2 4 5",
        "TimeoutStopSec": "13",
        "KillMode": "mixed",
        "Environment PATH": "PATH=/usr/local/bin:/usr/bin:/bin",
        "LoadCredential": "mail:/etc/mail pass.word",
        "SetCredential": "mail:\\n",
    }
    assert {name: service[name] for name in expected} == {name: (value,) for name, value in expected.items()}
    needs_a_namespace = ("ProtectSystem", "PrivateTmp", "ProtectHome", "ReadWritePaths", "PrivateUsers", "User")
    assert not service.keys() & set(needs_a_namespace), "systemd 252 passes over these in silence"


def test_no_unit_has_a_line_that_breaks_agents() -> None:
    for scope in ("user", "system"):
        service = said(service_text(plan_of(scope), "/root"))
        breaks = ("MemoryDenyWriteExecute", "RestrictNamespaces", "ProtectProc", "ProcSubset", "ProtectKernelTunables")
        assert not service.keys() & set(breaks)
        assert "@mount" not in " ".join(service["SystemCallFilter"])


def test_the_machines_unit_names_its_user_and_all_that_may_be_written() -> None:
    text = service_text(plan_of("system", user="ann"), "/home/ann b")
    service = said(text)
    assert said(text, "Install") == {"WantedBy": ("multi-user.target",)}
    assert (service["User"], service["StateDirectory"], service["CacheDirectory"]) == (
        ("ann",),
        ("heartbeat",),
        ("heartbeat",),
    )
    assert service["ReadWritePaths"] == ('"-/home/ann b"',), "a user may have no home folder"
    assert service["ProtectSystem"] == ("strict",)
    elsewhere = Home(Path("/srv/hb"), Path("/srv/hb/state"), Path("/srv/h b/cache"))
    service = said(service_text(plan_of("system", user="ann", home=elsewhere), "/home/ann"))
    assert "StateDirectory" not in service
    assert service["ReadWritePaths"] == ("/srv/hb/state", '"/srv/h b/cache"', "-/home/ann")


def test_the_alarm_runs_as_the_same_user_in_the_same_folders() -> None:
    for scope in ("user", "system"):
        alarm, service = said(alarm_text(plan_of(scope))), said(service_text(plan_of(scope), "/root"))
        assert alarm["ExecStart"] == ("/opt/hb/bin/python -P -m heartbeat alarm --unit %i",)
        for name in ("Environment HEARTBEAT_HOME", "Environment PATH", "LoadCredential", "SetCredential"):
            assert alarm[name] == service[name]
        assert alarm.get("User") == service.get("User")


def test_every_directive_of_the_templates_has_its_reason_above_it() -> None:
    folder, bare = share("systemd"), []
    for file in (*folder.glob("*.service"), *folder.glob("*.conf"), *folder.glob("drop-ins/*.conf")):
        lines = file.read_text().splitlines()
        bare += [
            f"{file.name}: {line}"
            for before, line in pairwise(lines)
            if line and line[0] not in "#[" and (not before or before[0] == "[") and not line.startswith("Description=")
        ]
    assert bare == []


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
@pytest.mark.parametrize("scope", ["user", "system"])
def test_systemd_itself_finds_nothing_wrong_with_them(tmp_path: Path, scope: Scope) -> None:
    program = tmp_path / "my python"
    program.symlink_to(sys.executable)
    plan = plan_of(scope, argv=(str(program), "-P", "-m", "heartbeat", "run"))
    (tmp_path / NAME).write_text(service_text(plan, "/root"))
    (tmp_path / ALARM).write_text(alarm_text(plan))
    words = ["systemd-analyze", *(["--user"] if scope == "user" else []), "verify", "--man=no", str(tmp_path / NAME)]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
    )
    ours = [line for line in (done.stdout + done.stderr).splitlines() if str(tmp_path) in line or "heartbeat" in line]
    assert ours == []


# The manager


class Stage:
    """A user's manager that is only played, and heartbeat before it."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.folder = folder
        self.environ = environ
        self.units = folder / "config" / "systemd" / "user"
        self.manager = Systemd(environ, folder / "booted", folder / "runtime")
        self.plan = plan_of(argv=(sys.executable, "-P", "-m", "heartbeat", "run"), credentials={})

    def facts(self, **facts: str) -> None:
        file = self.folder / "state.json"
        before = json.loads(file.read_text()) if file.exists() else fake_systemctl.EMPTY
        file.write_text(json.dumps(before | facts))

    def refuses(self, verb: str, text: str) -> None:
        (self.folder / "fails").write_text(f"{verb}\t{text}\n")

    def told(self) -> list[str]:
        """What was told since the last time."""
        log = self.folder / "told.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    def edit(self, change: Callable[[str], str], name: str = NAME) -> None:
        (self.units / name).write_text(change((self.units / name).read_text()))


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    programs, runtime = tmp_path / "bin", tmp_path / "runtime" / str(os.geteuid())
    (runtime / "systemd").mkdir(parents=True)
    (runtime / "systemd" / "private").touch()
    (tmp_path / "booted").mkdir()
    programs.mkdir()
    (programs / "systemctl").write_text(f'#!/bin/sh\nexec {sys.executable} -IS {fake_systemctl.__file__} "$@"\n')
    (programs / "journalctl").write_text("#!/bin/sh\necho the last line of the journal\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    return Stage(
        tmp_path,
        {
            "PATH": f"{programs}:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "FAKE_SYSTEMCTL": str(tmp_path),
            "FAKE_UNIT": str(tmp_path / "config" / "systemd" / "user" / NAME),
        },
    )


@pytest.fixture(autouse=True)
def found_on_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "stage" in request.fixturenames:  # posix_spawnp looks on our own PATH
        monkeypatch.setenv("PATH", request.getfixturevalue("stage").environ["PATH"])


def test_installing_twice_does_each_thing_once(stage: Stage) -> None:
    done = stage.manager.install(stage.plan)
    assert stage.told() == ["daemon-reload", f"enable {NAME}", f"reset-failed {NAME}", f"start {NAME}"]
    assert f"started {NAME}: process 4711" in done
    assert (stage.units / NAME).stat().st_mode & 0o777 == 0o644
    again = stage.manager.install(stage.plan)
    assert stage.told() == []
    assert "installed as it should be" in again[0]
    assert {file.name for file in stage.units.iterdir()} == {NAME, ALARM}


def test_what_changed_is_written_and_the_service_restarted_for_its_own_file_only(stage: Stage) -> None:
    stage.manager.install(stage.plan)
    stage.told()
    stage.edit(lambda text: text + "# other\n", ALARM)
    stage.manager.install(stage.plan)
    assert stage.told() == ["daemon-reload"]
    stage.manager.install(replace(stage.plan, version="9"))
    assert stage.told() == ["daemon-reload", f"reset-failed {NAME}", f"restart {NAME}"]


def test_uninstalling_leaves_nothing_and_may_be_repeated(stage: Stage) -> None:
    stage.manager.install(stage.plan)
    wants = stage.units / "default.target.wants"
    wants.mkdir()
    (wants / NAME).symlink_to(stage.units / NAME)  # as the real one leaves it when `disable` fails
    stage.told()
    done = stage.manager.uninstall(stage.plan)
    assert stage.told()[:2] == [f"stop {NAME}", f"disable {NAME}"]
    assert f"removed {stage.units / NAME}" in done
    assert not stage.units.parent.exists()
    assert stage.manager.uninstall(stage.plan) == (f"{NAME} was not installed",)


def test_uninstalling_leaves_the_owners_drop_ins_and_says_so(stage: Stage) -> None:
    stage.manager.install(stage.plan)
    (stage.units / f"{NAME}.d").mkdir()
    (stage.units / f"{NAME}.d" / "mine.conf").write_text("[Service]\nNice=5\n")
    assert f"left your own drop-ins in {stage.units / NAME}.d" in stage.manager.uninstall(stage.plan)
    assert (stage.units / f"{NAME}.d" / "mine.conf").exists()


def test_files_are_removed_also_where_no_manager_answers(stage: Stage) -> None:
    stage.manager.install(stage.plan)
    (stage.folder / "runtime" / str(os.geteuid()) / "systemd" / "private").unlink()
    assert f"removed {stage.units / NAME}" in stage.manager.uninstall(stage.plan)
    assert not stage.units.exists()


DRIFT: list[tuple[str, Callable[[str], str], str]] = [
    (
        "another value",
        lambda text: text.replace("RestartSec=10", "RestartSec=1"),
        "Service RestartSec: there is '1', it would be '10'",
    ),
    (
        "a line that is gone",
        lambda text: text.replace("KillMode=mixed\n", ""),
        "Service KillMode: there is nothing, it would be 'mixed'",
    ),
    ("a line more", lambda text: text + "[Service]\nNice=5\n", "Service Nice: there is '5', it would be nothing"),
    (
        "another version",
        lambda text: text.replace("Version=1.2.3", "Version=1.0"),
        "Unit X-Heartbeat-Version: there is '1.0', it would be '1.2.3'",
    ),
    (
        "another PATH",
        lambda text: text.replace("PATH=/usr/local", "PATH=/old:/usr/local"),
        "Service Environment PATH: there is 'PATH=/old:/usr/local/bin:/usr/bin:/bin'",
    ),
    (
        "another interpreter",
        lambda text: text.replace(sys.executable, "/gone/python"),
        "the interpreter /gone/python is gone",
    ),
    (
        "a value given twice",
        lambda text: text + "[Service]\nUMask=0022\n",
        "Service UMask: there is '0077' and '0022', it would be '0077'",
    ),
    (
        "a line over two",
        lambda text: text.replace("KillMode=mixed", "KillMode=\\\nprocess"),
        "Service KillMode: there is 'process'",
    ),
    ("a target more", lambda text: text + "[Install]\nWantedBy=x.target\n", "Install WantedBy"),
]


@pytest.mark.parametrize(("change", "expected"), [row[1:] for row in DRIFT], ids=[row[0] for row in DRIFT])
def test_drift_is_told_directive_by_directive(stage: Stage, change: Callable[[str], str], expected: str) -> None:
    stage.manager.install(stage.plan)
    assert stage.manager.drift(stage.plan) == ()
    stage.edit(change)
    found = stage.manager.drift(stage.plan)
    assert any(expected in line for line in found), found
    assert all(str(stage.units / NAME) in line for line in found)


def test_another_shells_path_is_no_drift_while_all_folders_of_the_services_own_are_there(
    stage: Stage, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    plan = replace(stage.plan, path=f"/usr/bin:/bin:{gone}:{Path(sys.executable).parent}")
    stage.manager.install(plan)
    cron = replace(plan, path=f"/usr/bin:/bin:{Path(sys.executable).parent}")
    assert stage.manager.drift(cron) == ()
    gone.rmdir()
    found = stage.manager.drift(cron)
    assert [line.partition(": there is")[0] for line in found] == [f"{stage.units / NAME}: Service Environment PATH"]


def test_what_was_edited_by_hand_is_not_to_be_restarted_as_it_is(stage: Stage) -> None:
    stage.manager.install(stage.plan)
    stage.edit(lambda text: text.replace("RestartSec=10", "RestartSec=1"))
    stage.facts(NeedDaemonReload="yes")
    assert stage.manager.drift(stage.plan)[-1] == (
        f"{NAME} was changed on disk, and systemd has not read it yet; "
        "`heartbeat install` writes it anew and has it read"
    )


def test_a_reason_stands_above_no_directive_only_where_there_is_one() -> None:
    assert "Secrets that systemd hands over" in service_text(plan_of())
    without = service_text(plan_of(credentials={}))
    assert "Secrets that systemd hands over" not in without
    assert "which costs those who need it" not in without
    assert "# As the service has it, so that channels and their secrets are found." in alarm_text(plan_of())


@pytest.mark.parametrize(
    ("scope", "lingering", "said"),
    [("user", False, "your first login"), ("user", True, "the machine"), ("system", False, "the machine")],
)
def test_with_lingering_a_users_service_comes_up_with_the_machine(
    scope: Scope, lingering: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heartbeat.service.systemd_site.lingers", lambda name: lingering)
    assert occasion(plan_of(scope)) == said


def test_comments_and_order_are_no_drift(stage: Stage) -> None:
    stage.manager.install(stage.plan)
    stage.edit(lambda text: "; hello\n" + "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    assert stage.manager.drift(stage.plan) == ()


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"UnitFileState": "disabled"}, "is not enabled: it does not come up with your first login"),
        ({"NeedDaemonReload": "yes"}, "`systemctl --user daemon-reload`"),
        ({"LoadState": "masked"}, "is masked, so it cannot be started; `systemctl --user unmask heartbeat.service`"),
    ],
)
def test_drift_of_what_the_manager_knows(stage: Stage, facts: dict[str, str], expected: str) -> None:
    stage.manager.install(stage.plan)
    stage.facts(**facts)
    assert any(expected in line for line in stage.manager.drift(stage.plan))


def test_a_missing_file_is_drift_and_none_at_all_is_not(stage: Stage) -> None:
    assert stage.manager.drift(stage.plan) == ()
    stage.manager.install(stage.plan)
    (stage.units / ALARM).unlink()
    assert stage.manager.drift(stage.plan) == (f"{stage.units / ALARM}: the file is missing",)


def test_drop_ins_are_the_owners_and_no_drift(stage: Stage) -> None:
    stage.manager.install(stage.plan)
    stage.facts(DropInPaths="/a/mine.conf /b/more.conf")
    assert stage.manager.drift(stage.plan) == ()
    notes = stage.manager.notes(stage.plan)
    assert [note for note in notes if "drop-in of your own" in note] == [
        "/a/mine.conf is a drop-in of your own, which heartbeat leaves alone",
        "/b/more.conf is a drop-in of your own, which heartbeat leaves alone",
    ]


def test_a_start_that_fails_is_told_with_the_journal_and_what_to_do(stage: Stage) -> None:
    stage.facts(Result="exit-code", ExecMainStatus="4")
    stage.refuses("start", "Job for heartbeat.service failed.")
    with pytest.raises(ServiceError) as caught:
        stage.manager.install(stage.plan)
    told = str(caught.value)
    assert "cannot start heartbeat.service: the configuration, or the ledger, has faults" in told
    assert "`heartbeat check`" in told
    assert told.endswith("the last line of the journal")


def test_a_masked_unit_is_not_written_over(stage: Stage) -> None:
    stage.units.mkdir(parents=True)
    (stage.units / NAME).symlink_to(os.devnull)
    with pytest.raises(ServiceError, match=r"`systemctl --user unmask heartbeat\.service`"):
        stage.manager.install(stage.plan)
    with pytest.raises(NotFound, match="systemd knows no such unit; `heartbeat install` writes it"):
        stage.manager.start(stage.plan)
    assert stage.manager.drift(stage.plan) == (
        f"{NAME} is masked, so it cannot be started; `systemctl --user unmask {NAME}`",
    )


def test_a_unit_that_the_manager_reads_from_elsewhere_is_not_taken_for_ours(stage: Stage) -> None:
    other = stage.folder / "other.service"
    other.write_text("[Service]\n")
    stage.environ["FAKE_UNIT"] = str(other)
    with pytest.raises(ServiceError, match=r"systemd does not read .*it has .*other\.service"):
        stage.manager.install(stage.plan)


STANDINGS = [
    ({}, ("not installed", "", None, None, None)),
    (
        {
            "LoadState": "loaded",
            "ActiveState": "active",
            "SubState": "running",
            "MainPID": "7",
            "NRestarts": "2",
            "StatusText": "3 jobs",
            "UnitFileState": "enabled",
        },
        ("running", "active (running); 3 jobs", 7, 2, True),
    ),
    (
        {
            "LoadState": "loaded",
            "ActiveState": "activating",
            "SubState": "auto-restart",
            "Result": "watchdog",
            "UnitFileState": "enabled",
        },
        ("starting", "activating (auto-restart); it hung: systemd heard nothing of it for too long", None, 0, True),
    ),
    (
        {
            "LoadState": "loaded",
            "ActiveState": "failed",
            "SubState": "failed",
            "Result": "exit-code",
            "ExecMainStatus": "5",
            "UnitFileState": "disabled",
        },
        ("failed", "failed (failed); another heartbeat runs with the same folders", None, 0, False),
    ),
    (
        {"LoadState": "loaded", "StatusText": "3 jobs", "UnitFileState": "enabled"},
        ("stopped", "inactive (dead)", None, 0, True),
    ),
    (
        {"LoadState": "masked", "UnitFileState": "masked"},
        ("stopped", "inactive (dead); masked: it cannot be started", None, 0, False),
    ),
]


@pytest.mark.parametrize(("facts", "expected"), STANDINGS)
def test_status_is_what_systemd_says(stage: Stage, facts: dict[str, str], expected: tuple[object, ...]) -> None:
    stage.facts(**facts)
    standing = stage.manager.status(stage.plan)
    found = (standing.state, standing.detail, standing.pid, standing.restarts, standing.enabled)
    assert found == expected


def test_why_a_manager_cannot_be_used(stage: Stage, tmp_path: Path) -> None:
    assert stage.manager.why_not("user") == ""
    assert stage.manager.why_not("system") == ""
    nowhere = Systemd(stage.environ, tmp_path / "not-booted", tmp_path / "runtime")
    for scope in ("user", "system"):
        assert "systemd does not run this machine" in nowhere.why_not(scope)
        assert "heartbeat run --detach" in nowhere.why_not(scope)
    nobody = Systemd(stage.environ, tmp_path / "booted", tmp_path / "elsewhere")
    expected = "--system --as USER" if os.geteuid() == 0 else "loginctl enable-linger"
    assert expected in nobody.why_not("user")
    assert nobody.status(stage.plan).state == "unknown"
    with pytest.raises(ServiceError, match="cannot use systemd"):
        nobody.install(stage.plan)


def test_a_runtime_folder_that_su_left_over_from_somebody_else_is_not_used(stage: Stage, tmp_path: Path) -> None:
    left = {**stage.environ, "XDG_RUNTIME_DIR": str(tmp_path / "of-nobody")}
    assert Systemctl("user", left, tmp_path / "booted", tmp_path / "runtime").why_not() == ""


def test_a_program_of_the_machine_in_tmp_is_refused(stage: Stage) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gets that far")
    plan = plan_of("system", argv=("/tmp/venv/bin/python", "-m", "heartbeat", "run"))
    with pytest.raises(ServiceError, match="its /tmp is its own"):
        stage.manager.install(plan)


@pytest.mark.parametrize(
    ("result", "status", "what"),
    [
        ("exit-code", "4", "the configuration, or the ledger, has faults"),
        ("exit-code", "203", "its interpreter cannot be run by that user, or is gone"),
        ("exit-code", "77", "it ended with exit status 77"),
        ("signal", "KILL", "it was killed by KILL"),
        ("watchdog", "ABRT", "it hung: systemd heard nothing of it for too long"),
        ("timeout", "", "it did not start, or stop, in time"),
        ("start-limit-hit", "0", "it was started too often"),
        ("new-in-260", "3", "it ended with exit status 3"),
    ],
)
def test_how_it_ended_in_words(result: str, status: str, what: str) -> None:
    assert in_words(result, status)[0] == what


def test_the_log_is_found_with_and_without_a_journal_of_the_users_own(stage: Stage) -> None:
    user = stage.manager.logs(stage.plan, lines=5, follow=True)
    assert user[:3] == ("journalctl", "--no-hostname", f"--user-unit={NAME}")
    assert user[-2:] == ("--lines=5", "--follow")
    assert "--user" not in user, "with it only a journal on disk is read"
    assert "--quiet" in user, "who can read it is told nothing beside"
    (stage.folder / "bin" / "journalctl").write_text("#!/bin/sh\n")
    assert "--quiet" not in stage.manager.logs(stage.plan, lines=5, follow=True), "who sees nothing is told why"
    assert f"--unit={NAME}" in stage.manager.logs(plan_of("system"), lines=5, follow=False)
