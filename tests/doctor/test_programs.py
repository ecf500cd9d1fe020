"""Programs that one PATH has and another has not; agents that hang, fail, or leak."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartbeat.doctor import agent
from tests.conftest import Place
from tests.doctor.asking import SHELL, ask, case_of, see_inside, status

GWS = """
[jobs.calendar-lookahead]
every = "10m"
[jobs.calendar-lookahead.options]
sources = [{ gws = "primary" }]
"""


def program(folder: Path, name: str, text: str = "#!/bin/sh\n") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(0o700)
    return path


def test_a_program_that_only_the_shell_has_is_a_failure_with_its_folder(place: Place, tmp_path: Path) -> None:
    own = program(tmp_path / "own", "gws")
    place.configure(GWS)
    shell = {"PATH": f"{own.parent}:{SHELL}"}
    answer = ask("programs", case_of(place.folder, shell))["gws for a source of the job calendar-lookahead"]
    assert answer.status == "fail"
    assert f"this shell has {own}" in answer.seen
    assert f"add {own.parent} to path in [environment] of {place.folder}/config.toml" in answer.remedy

    place.configure(f'[environment]\npath = "{own.parent}:/usr/bin"\n{GWS}')
    answer = ask("programs", case_of(place.folder, shell))["gws for a source of the job calendar-lookahead"]
    assert (answer.status, answer.seen) == ("ok", str(own))


def test_a_program_that_nobody_has_is_to_be_installed(place: Place) -> None:
    place.configure(GWS)
    answer = ask("programs", case_of(place.folder))["gws for a source of the job calendar-lookahead"]
    assert (answer.status, answer.remedy) == ("fail", "install gws")


def test_two_programs_of_one_name_are_told_apart(place: Place, tmp_path: Path) -> None:
    theirs, ours = program(tmp_path / "theirs", "gws"), program(tmp_path / "ours", "gws")
    place.configure(f'[environment]\npath = "{theirs.parent}"\n{GWS}')
    answer = ask("programs", case_of(place.folder, {"PATH": str(ours.parent)}))
    told = answer["gws for a source of the job calendar-lookahead"]
    assert told.status == "warn"
    assert (str(theirs) in told.seen, str(ours) in told.seen) == (True, True)


@pytest.mark.parametrize(
    ("first", "named"),
    [("#!/bin/sh", "sh"), ("#!/usr/bin/env python3", "python3"), ("#!/usr/bin/env -S python3 -P", "python3")],
)
def test_the_interpreter_of_a_script_of_ones_own_is_looked_for(place: Place, first: str, named: str) -> None:
    place.script("check", f"{first}\n")
    place.configure('[jobs.check]\nevery = "10m"\n')
    found = ask("programs", case_of(place.folder))
    if named == "sh":
        assert found["sh for the job check"].seen.endswith("sh")
    else:
        assert f"{named} for the job check" in found


def test_what_the_daemon_lacks_of_this_shells_path_is_told(place: Place, tmp_path: Path) -> None:
    see_inside(place.folder, {"PATH": "/usr/bin", "HOME": str(place.folder)})
    fleeting = tmp_path / "own"
    fleeting.mkdir()
    shell = {"PATH": f"/usr/sbin:/usr/bin:/no/such/folder:{fleeting}"}
    answer = ask("programs", case_of(place.folder, shell))["PATH"]
    assert answer.status == "warn"
    assert "the daemon lacks /usr/sbin, which" in answer.seen
    assert "heartbeat install" in answer.remedy


def claude(place: Place, tmp_path: Path, text: str) -> dict[str, str]:
    folder = program(tmp_path / "own", "claude", text).parent
    place.configure(
        f'[environment]\npath = "{folder}:/usr/bin:/bin"\n[agent]\nkind = "claude"\n[agent.env]\nCONFIG = "here"\n'
        '[agent.secrets]\nANTHROPIC_API_KEY = { env = "KEY" }\n'
    )
    return {"KEY": "canary-of-the-agent"}


def test_the_agent_is_asked_for_its_version_in_its_own_environment_without_its_secrets(
    place: Place, tmp_path: Path
) -> None:
    environ = claude(place, tmp_path, '#!/bin/sh\necho "2.1.332 $CONFIG,$ANTHROPIC_API_KEY,$1"\n')
    answer = ask("agent", case_of(place.folder, environ))["version"]
    assert (answer.status, answer.seen) == ("ok", f"{tmp_path}/own/claude, version 2.1.332 here,,--version")


def test_an_agent_that_hangs_or_fails_is_a_failure(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "_TO_ANSWER", 0.2)
    environ = claude(place, tmp_path, "#!/bin/sh\nexec sleep 60\n")
    answer = ask("agent", case_of(place.folder, environ))["version"]
    assert (answer.status, answer.seen) == ("fail", f"{tmp_path}/own/claude did not answer in time")

    claude(place, tmp_path, "#!/bin/sh\necho cannot find node >&2\nexit 127\n")
    answer = ask("agent", case_of(place.folder, environ))["version"]
    assert answer.status == "fail"
    assert "ends with 127: cannot find node" in answer.seen


def test_an_agent_that_is_not_there_is_a_failure(place: Place) -> None:
    place.configure('[agent]\nkind = "codex"\n')
    answer = ask("agent", case_of(place.folder, {"PATH": "/nowhere"}))["agent.command"]
    assert answer.status == "fail"
    assert "add its folder to path in [environment]" in answer.remedy


def test_a_command_of_the_owners_is_not_run(place: Place) -> None:
    # It may do anything.
    assert status("agent", case_of(place.folder))[""] == "ok"
    assert place.agent_calls == []


def test_an_agent_at_an_address_where_nobody_listens_is_a_failure(place: Place) -> None:
    place.configure('[agent]\nkind = "http"\nurl = "http://127.0.0.1:9/v1"\n')
    answer = ask("agent", case_of(place.folder))["server"]
    assert answer.status == "fail"
    assert "127.0.0.1:9" in answer.seen


@pytest.mark.parametrize("url", ["", "nonsense", "http://", "http://:80/v1", "ftp://host/", "http://host:99999/"])
def test_an_address_that_cannot_be_used_is_a_fault_of_the_configuration_alone(place: Place, url: str) -> None:
    place.configure(f'[agent]\nkind = "http"\nurl = "{url}"\n')
    case = case_of(place.folder)
    assert "fail" in status("configuration", case).values()
    assert not [answer for answer in ask("agent", case).values() if "cannot connect" in answer.seen]
    assert status("agent", case).get("server", "skip") == "skip"


def test_a_failed_call_and_a_hold_are_told(place: Place) -> None:
    place.finds({"urgency": "high"})
    place.file("agent.status", "1")
    place.call("tick", "check")
    answer = ask("agent", case_of(place.folder))["last call"]
    assert answer.status == "warn"
    assert "heartbeat why wake_" in answer.remedy


def test_channels_that_cannot_be_used_and_none_at_all(place: Place) -> None:
    assert status("channels", case_of(place.folder)) == {"": "warn"}
    place.configure('[channels.pager]\nkind = "command"\ncommand = ["/no/such/pager"]\ntakes = ["reply"]\n')
    found = ask("channels", case_of(place.folder))
    assert found["channels.pager.command"].status == "fail"
    assert found["incidents"].status == "warn"
