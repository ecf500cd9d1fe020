"""launchctl's answers: what is read from them, and what is said of the numbers, as reported from many a Mac."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from heartbeat.errors import ServiceError
from heartbeat.service import launchctl
from heartbeat.service.launchctl import Launchctl, Loaded, read_print

TARGET = "gui/501/local.heartbeat"
PATH = "/Users/ann/Library/LaunchAgents/local.heartbeat.plist"

PRINTED = f"""gui/501/local.heartbeat = {{
\tactive count = 1
\tpath = {PATH}
\ttype = LaunchAgent
\tstate = running

\tprogram = /opt/heartbeat/bin/python3
\targuments = {{
\t\t/opt/heartbeat/bin/python3
\t\tstate = forged
\t}}

\tenvironment = {{
\t\tPATH => /usr/bin:/bin
\t\tXPC_SERVICE_NAME => local.heartbeat
\t}}

\tminimum runtime = 30
\texit timeout = 20
\truns = 3
\tpid = 4242
\timmediate reason = semaphore
\tforks = 12
\tlast exit code = 0

\tresource coalition = {{
\t\tID = 1114
\t\tstate = active
\t\tpid = 1
\t}}
}}
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", Loaded("running", 4242, 3, "0", PATH)),
        ("exit code = 0", "exit code = (never exited)", Loaded("running", 4242, 3, "", PATH)),
        ("exit code = 0", "exit code = 78: EX_CONFIG", Loaded("running", 4242, 3, "78: EX_CONFIG", PATH)),
        ("exit code = 0", "terminating signal = Killed: 9", Loaded("running", 4242, 3, "Killed: 9", PATH)),
        ("\tpid = 4242\n", "", Loaded("running", None, 3, "0", PATH)),
        ("state = running", "state = spawn scheduled", Loaded("spawn scheduled", 4242, 3, "0", PATH)),
        ("\truns = 3\n", "", Loaded("running", 4242, None, "0", PATH)),
        ("runs = 3", "runs = many", Loaded("running", 4242, None, "0", PATH)),
    ],
)
def test_of_a_printed_job_only_its_own_lines_count(old: str, new: str, expected: Loaded) -> None:
    assert read_print(PRINTED.replace(old, new) if old else PRINTED) == expected


@pytest.mark.parametrize("text", ["", "{", "\n\n", "\tstate", "nonsense = \t = ", "\x00\tpid = 1", "\t\tpid = 1"])
def test_what_is_no_job_is_read_as_nothing_known(text: str) -> None:
    assert read_print(text) == Loaded("unknown", None, None, "", "")


def program(folder: Path, text: str) -> str:
    """A launchctl that answers what the test says, and notes what it was asked."""
    file = folder / "launchctl"
    file.write_text(f'#!/bin/sh\necho "$*" >> "{folder}/asked"\n{text}\n')
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ('"local.heartbeat" => disabled', True),
        ('"local.heartbeat" => true', True),
        ('"local.heartbeat" => enabled', False),
        ('"local.heartbeat" => false', False),
        ('"local.heartbeat-work" => disabled', False),
        ('"other" => disabled', False),
        ("", False),
    ],
)
def test_who_is_disabled_is_read_in_the_words_of_every_macos(tmp_path: Path, listed: str, expected: bool) -> None:
    text = f"cat <<'EOF'\n\tdisabled services = {{\n\t\t{listed}\n\t}}\nEOF"
    assert Launchctl(program(tmp_path, text)).is_disabled(TARGET) is expected
    assert (tmp_path / "asked").read_text() == "print-disabled gui/501\n"


@pytest.mark.parametrize(
    ("status", "meaning", "is_repeated"),
    [
        (5, "launchd does not take the job: the one before is still ending, it is disabled, or it is meant for", True),
        (36, "it is still being ended", True),
        (37, "an earlier request for it is still being carried out", True),
        (1, "it is not permitted: services of the machine need root, so use sudo", False),
        (112, "there is no such domain", False),
        (119, "the job is disabled, which outlives even its removal", False),
        (122, "launchd does not trust the file", False),
        (125, "the domain does not exist just now: nobody is logged in at the screen", False),
        (134, "the job is meant for another kind of session", False),
        (99, "launchctl refused", False),
    ],
)
def test_each_number_is_said_in_words_and_only_what_may_pass_is_tried_again(
    tmp_path: Path, status: int, meaning: str, is_repeated: bool
) -> None:
    text = f"case $1 in print) exit 113;; bootstrap) echo Bootstrap failed >&2; exit {status};; esac"
    with pytest.raises(ServiceError) as caught:
        Launchctl(program(tmp_path, text), tempo=0.01).bring_in(TARGET, "/x/local.heartbeat.plist", 10)
    said = str(caught.value)
    assert said.startswith(f"cannot load /x/local.heartbeat.plist into gui/501: {meaning}")
    assert f"(launchctl: {status}, Bootstrap failed)" in said
    lines = (tmp_path / "asked").read_text().splitlines()
    assert lines[0] == f"enable {TARGET}"
    assert (lines.count("bootstrap gui/501 /x/local.heartbeat.plist") > 1) == is_repeated


def test_what_was_refused_but_is_loaded_all_the_same_is_no_failure(tmp_path: Path) -> None:
    text = "case $1 in bootstrap) exit 5;; esac"
    Launchctl(program(tmp_path, text)).bring_in(TARGET, "/x/local.heartbeat.plist", 30)


@pytest.mark.parametrize("status", [0, 3, 5, 36])
def test_a_job_is_out_when_launchd_no_longer_knows_it_whatever_bootout_said(tmp_path: Path, status: int) -> None:
    gone = tmp_path / "gone"
    text = f"case $1 in print) [ ! -e {gone} ] || exit 113;; bootout) touch {gone}; exit {status};; esac"
    Launchctl(program(tmp_path, text), tempo=0.01).take_out(TARGET, 30)
    assert gone.exists()


def test_a_job_that_does_not_go_is_said_to_stay(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match=f"cannot stop {TARGET}: .*`launchctl print {TARGET}` shows it"):
        Launchctl(program(tmp_path, "exit 0"), tempo=0.01).take_out(TARGET, 10)


def test_a_launchctl_that_does_not_answer_is_waited_for_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launchctl, "_ANSWER", 0.2)
    began = time.monotonic()
    with pytest.raises(ServiceError, match=r"cannot ask launchd: .*launchctl did not answer in time"):
        Launchctl(program(tmp_path, "exec sleep 60")).loaded(TARGET)
    # `kickstart` was seen to wait for ever for a job that is "spawn scheduled".
    printed = "printf '\\tstate = spawn scheduled\\n\\truns = 2\\n'"
    stuck = program(tmp_path, f"case $1 in kickstart) exec sleep 60;; print) {printed};; esac")
    assert Launchctl(stuck, tempo=0.01).spawned(TARGET, 2, 30) is None
    assert time.monotonic() - began < 20
