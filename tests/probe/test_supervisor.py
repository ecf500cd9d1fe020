"""What systemd and launchd print of one unit or job, and what is taken from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartbeat.probe.foreign import Evidence
from heartbeat.probe.foreign_trouble import judge_service
from heartbeat.probe.supervisor import Supervised, ask_supervisor
from heartbeat.probe.watched import Target
from tests.probe.restarters.subjects import script

PRINTED = """gui/501/local.heartbeat = {
\tactive count = 1
\tpath = /Users/ann/Library/LaunchAgents/local.heartbeat.plist
\tstate = %s
\targuments = {
\t\tpid = 4
\t\tstate = running
\t}
\tevent triggers = {
\t\tx => {
\t\t\truns = 99
\t\t}
\t}
\truns = 3
%s
}
"""


def asked(folder: Path, monkeypatch: pytest.MonkeyPatch, state: str, lines: str) -> Supervised:
    (folder / "printed").write_text(PRINTED % (state, lines))
    monkeypatch.setenv("HEARTBEAT_LAUNCHCTL", str(script(folder, "launchctl", f"#!/bin/sh\ncat {folder}/printed\n")))
    found = ask_supervisor("launchd", "local.heartbeat", "gui/501")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("state", "lines", "expected"),
    [
        ("running", "\tpid = 77\n\tlast exit code = (never exited)", ("active", 77, None, "")),
        ("not running", "\tlast exit code = 4: EX_CONFIG", ("inactive", None, 4, "")),
        ("not running", "\tlast terminating signal = Killed: 9", ("inactive", None, None, "Killed: 9")),
        ("spawn scheduled", "\tlast exit code = 1", ("activating", None, 1, "")),
    ],
)
def test_of_a_job_only_what_is_indented_once_counts(
    state: str,
    lines: str,
    expected: tuple[str, int | None, int | None, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = asked(tmp_path, monkeypatch, state, lines)
    assert (found.state, found.pid, found.exit_status, found.result) == expected
    assert (found.sub, found.restarts) == (state, 2)


def test_a_job_that_was_killed_is_told_with_its_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(tmp_path, monkeypatch, "not running", "\tlast terminating signal = Killed: 9")
    problems = judge_service(Target("x", {}), Evidence(supervised=(found,), was_asked=True), None)
    message = "local.heartbeat is inactive (not running), its last process was ended by a signal (Killed: 9)"
    assert problems == (("unit_inactive", message),)


def test_a_users_manager_is_found_where_the_session_is_set_but_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "printf 'LoadState=loaded\\nActiveState=active\\nSubState=%s\\n'"
    script(tmp_path, "systemctl", f'#!/bin/sh\n{said} "$XDG_RUNTIME_DIR${{DBUS_SESSION_BUS_ADDRESS-unset}}"\n')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name in ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"):
        monkeypatch.setenv(name, "")
    found = ask_supervisor("systemd", "heartbeat.service", "user")
    assert found is not None
    assert found.sub.startswith("/run/user/")
    assert found.sub.endswith("unset")
