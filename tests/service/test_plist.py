"""The property list: what it says, that launchd would read just that, and what has changed since it was written."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.errors import Invalid, NotFound, ServiceError
from heartbeat.paths import share
from heartbeat.service.launchctl import Launchctl
from heartbeat.service.launchd import Launchd
from heartbeat.service.launchd_site import Site
from heartbeat.service.plan import Plan
from heartbeat.service.plist import differences, parse, read_plist, render, rot
from tests.service.launchd_world import plan_of
from tests.service.plist_check import check

HERE = Path(__file__).parent
FOLDER = Path('/Users/ann/Library/Application Support/<heartbeat> & "sons"/it\'s ü')
ME = os.getuid()

BAD = """<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0"><dict>
<key>Label</key><string>bad</string><key>Label</key><string>worse one</string>
<key>ProgramArguments</key><array><string>heartbeat</string></array>
<key>keepAlive</key><true/>
<key>KeepAlive</key><dict><key>Crashed</key><false/><key>SuccessfulExit</key><false/><key>Never</key><true/></dict>
<key>ThrottleInterval</key><string>30</string>
<key>ProcessType</key><string>Nice</string>
<key>LimitLoadToSessionType</key><array><string>Screen</string></array>
<key>StartCalendarInterval</key><dict><key>Hour</key><integer>25</integer></dict>
<key>EnvironmentVariables</key><dict><key>API_TOKEN</key><string>$X</string><key>N</key><integer>1</integer></dict>
<key>StandardOutPath</key><string>~/log</string><key>StandardErrorPath</key><string>/tmp/log</string>
</dict></plist>
"""


def written(plan: Plan, domain: str, folder: Path) -> Path:
    file = folder / f"local.{plan.name}.plist"
    file.write_text(render(plan, domain))
    return file


@pytest.mark.parametrize(
    ("scope", "domain", "key", "value"),
    [
        ("user", f"gui/{ME}", "LimitLoadToSessionType", "Aqua"),
        ("user", f"user/{ME}", "LimitLoadToSessionType", "Background"),
        ("system", "system", "UserName", "nobody"),
    ],
)
def test_the_property_list_says_all_that_keeps_the_daemon_alive_and_nothing_else(
    tmp_path: Path, scope: Any, domain: str, key: str, value: str
) -> None:
    plan = plan_of(FOLDER, scope=scope, user="nobody" if scope == "system" else "", name="heartbeat-work-1a2b3c")
    file = written(plan, domain, tmp_path)
    assert check(file) == ([], [])
    read = plistlib.loads(file.read_bytes())
    environment = read.pop("EnvironmentVariables")
    assert read == {
        "Label": "local.heartbeat-work-1a2b3c",
        "ProgramArguments": list(plan.argv),
        key: value,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 30,
        "ExitTimeOut": 20,
        "ProcessType": "Standard",
        "WorkingDirectory": str(plan.home.state),
        "Umask": 0o077,
        "StandardOutPath": "/dev/null",
        "StandardErrorPath": f"{plan.home.state}/launchd.err",
    }
    own = {"PATH": plan.path, "HEARTBEAT_SUPERVISOR": "launchd", "HEARTBEAT_INSTALLED_VERSION": "1.2.3"}
    of_daemons = {"HOME": "/nonexistent", "USER": "nobody", "LOGNAME": "nobody"} if scope == "system" else {}
    assert environment == dict(plan.environment) | own | of_daemons


@pytest.mark.parametrize("file", sorted(share("launchd").glob("*-*.plist")), ids=lambda file: file.name)
def test_an_example_to_copy_is_a_property_list(file: Path) -> None:
    label = plistlib.loads(file.read_bytes())["Label"]
    assert check(file) == ([], [f"the file is not called {label}.plist"])


@pytest.mark.skipif(not shutil.which("xmllint"), reason="libxml2-utils is not installed")
def test_the_property_list_has_the_shape_that_apples_has(tmp_path: Path) -> None:
    command = ("xmllint", "--noout", "--nonet", "--relaxng", str(HERE / "plist.rng"))
    good = written(plan_of(FOLDER), f"gui/{ME}", tmp_path)
    done = subprocess.run([*command, str(good)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    bad = tmp_path / "bad.plist"
    bad.write_text(good.read_text().replace("<true/>", "<yes/>"))
    assert subprocess.run([*command, str(bad)], capture_output=True, check=False).returncode != 0


def test_the_checker_finds_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "bad.plist"
    file.write_text(BAD)
    errors, warnings = check(file)
    for word in (
        "twice",
        "keepAlive",
        "ThrottleInterval",
        "'heartbeat'",
        "'~/log'",
        "Never",
        "Nice",
        "Screen",
        "25",
        "N must",
    ):
        assert [line for line in errors if word in line], word
    assert len(errors) == 10
    words = (
        "worse one",
        "not called",
        "ORed",
        "Crashed",
        "schedule",
        "ExitTimeOut",
        "/tmp",
        "API_TOKEN: a secret",
        "$",
    )
    for word in words:
        assert [line for line in warnings if word in line], word


@pytest.mark.parametrize(("drain", "seconds"), [(0, 20), (2, 20), (5, 20), (5.1, 21), (60, 75)])
def test_launchd_kills_only_after_running_scripts_had_their_time(drain: float, seconds: int) -> None:
    assert parse(render(plan_of(FOLDER, drain=timedelta(seconds=drain)), "gui/1"))["ExitTimeOut"] == seconds


def test_every_key_of_the_template_has_its_reason() -> None:
    template = (share("launchd") / "heartbeat.plist").read_text()
    body = template[template.index("<dict>") + len("<dict>") :]
    parts = re.split(r"\n\n", body.rpartition("\n\n</dict>")[0].strip())
    assert len(parts) == 13
    for part in parts:
        assert re.match(r"<!-- [A-Z0-9]", part), f"no reason: {part}"


def test_every_trap_names_a_test_that_there_is_or_why_there_is_none() -> None:
    rows = (share("launchd") / "README.md").read_text().partition("| trap |")[2].splitlines()[2:]
    written = {
        name for file in HERE.parent.rglob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text())
    }
    assert len(rows) > 20
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row)
        assert named or "not here: " in row, row
        assert set(named) <= written, row


# No control characters, which XML cannot hold, and no halves of a character, which UTF-8 cannot.
TEXT = st.text(st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"), max_size=40)


@given(words=st.lists(TEXT, max_size=4), path=TEXT, name=TEXT)
def test_whatever_the_plan_holds_launchd_reads_it_back_or_it_is_refused(words: list[str], path: str, name: str) -> None:
    plan = plan_of(FOLDER / name.replace("/", ""), argv=("/bin/x", *words), path=path)
    read = parse(render(plan, "gui/1"))
    assert read["ProgramArguments"] == ["/bin/x", *words]
    assert read["EnvironmentVariables"]["PATH"] == path
    assert read["WorkingDirectory"] == str(plan.home.state)


@pytest.mark.parametrize("path", ["/a\0b", "/a\x1bb", "/a\rb", "/a\udcffb", "/a\ufffeb"])
def test_what_no_property_list_can_hold_is_refused(path: str) -> None:
    with pytest.raises(Invalid, match=r"^cannot (write|put) .*rename"):
        render(plan_of(FOLDER, path=path), "gui/1")


def test_a_user_that_is_not_there_is_refused() -> None:
    with pytest.raises(NotFound, match="cannot find the user 'ghost'"):
        render(plan_of(FOLDER, scope="system", user="ghost"), "system")


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({}, []),
        ({"ExitTimeOut": 5}, ["ExitTimeOut is 5; it would be 20"]),
        ({"KeepAlive": True}, ["KeepAlive is True; it would be {'SuccessfulExit': False}"]),
        ({"RunAtLoad": 1}, ["RunAtLoad is 1; it would be True"]),
        ({"StartInterval": 60}, ["StartInterval is 60; it would not be there"]),
        ({"Umask": None}, ["Umask is missing; it would be 63"]),
        ({"EnvironmentVariables": 3}, ["EnvironmentVariables is 3; it would be {"]),
        (
            {
                "EnvironmentVariables": {
                    "PATH": "/old",
                    "HEARTBEAT_INSTALLED_VERSION": "1.2.3",
                    "LANG": "de_DE.UTF-8",
                    "API_KEY": "x",
                }
            },
            [
                "EnvironmentVariables HEARTBEAT_HOME is missing; it would be '/h/home'",
                "EnvironmentVariables PATH is '/old'; it would be '/usr/local/bin:/usr/bin:/bin'",
                "EnvironmentVariables API_KEY is 'x'; it would not be there",
            ],
        ),
    ],
)
def test_each_difference_is_named_with_both_values(change: dict[str, Any], shown: list[str]) -> None:
    wanted = parse(render(plan_of(Path("/h")), "gui/1"))
    installed = {key: value for key, value in (wanted | change).items() if value is not None}
    found = differences(installed, wanted)
    for line in shown:
        assert [difference for difference in found if difference.startswith(line)], (line, found)
    assert bool(found) == bool(shown)


def test_what_a_file_names_and_is_gone_is_found(tmp_path: Path) -> None:
    there = {"ProgramArguments": [sys.executable], "EnvironmentVariables": {"PATH": f"{tmp_path}:/usr/bin"}}
    assert rot(there) == []
    gone = {"ProgramArguments": ["/gone/python3"], "EnvironmentVariables": {"PATH": f"/usr/bin:{tmp_path}/a::/b"}}
    assert rot(gone) == [
        "the interpreter that it starts, /gone/python3, is gone or cannot be executed",
        f"its PATH names folders that are gone: {tmp_path}/a, /b",
    ]
    assert rot({"ProgramArguments": "x", "EnvironmentVariables": []}) == []


@pytest.mark.parametrize("content", ["", "no plist", "<plist><dict><key>a", "<plist version='1.0'><array/></plist>"])
def test_a_file_that_is_none_is_said_to_be_and_can_be_written_anew(tmp_path: Path, content: str) -> None:
    file = tmp_path / "x.plist"
    assert read_plist(file) is None
    file.write_text(content)
    with pytest.raises(ServiceError, match=f"^cannot (read|use) {file}: .*`heartbeat install` writes it anew"):
        read_plist(file)


# What is known of the host


def test_linux_has_no_launchd_but_a_test_may_have_one(tmp_path: Path) -> None:
    if sys.platform != "darwin":
        assert Launchd(environ={}).why_not("user") == "there is no launchd: this is not macOS"
    missing = str(tmp_path / "launchctl")
    assert Launchd(missing, environ={}).why_not("user") == f"there is no launchctl at {missing}"
    for text, reason in (("exit 0", ""), ("exit 125", "launchd has no domain for user")):
        (tmp_path / "launchctl").write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "launchctl").chmod(0o755)
        said = Launchd(environ={"HEARTBEAT_LAUNCHCTL": missing}).why_not("user")
        assert said.startswith(reason)
        assert bool(said) == bool(reason)


def test_what_macos_keeps_from_services_is_named_before_it_fails() -> None:
    home = Path("/Users/ann")
    plan = plan_of(home / "Documents", argv=(str(home / "Desktop/venv/bin/python"), "-m", "heartbeat"))
    said = Site(plan, Launchctl("/bin/false"), home, home).advice()
    assert [line.partition(" (")[0] for line in said] == [
        f"macOS keeps services out of {home}/Desktop/venv/bin/python",
        f"macOS keeps services out of {home}/Documents/home",
        f"macOS keeps services out of {home}/Documents/home/state",
    ]
    assert all("Operation not permitted" in line and "Full Disk Access" in line for line in said)
    plain = plan_of(home / "Library/Application Support/heartbeat")
    assert Site(plain, Launchctl("/bin/false"), home, home).advice() == ()
    (said_of_credentials,) = Site(
        replace(plain, credentials={"imap": "/x"}), Launchctl("/bin/false"), home, home
    ).advice()
    assert said_of_credentials.startswith("launchd hands over no credentials (imap): use { file")


@pytest.mark.parametrize(("follow", "more"), [(False, []), (True, ["-F"])])
def test_the_log_is_followed_also_when_it_is_rotated(follow: bool, more: list[str]) -> None:
    plan = plan_of(FOLDER)
    command = Launchd("/bin/true").logs(plan, lines=7, follow=follow)
    assert command == ("tail", "-n", "7", *more, str(plan.home.log_file))
