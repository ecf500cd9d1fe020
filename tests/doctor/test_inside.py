"""What the daemon writes down of itself, and what the doctor makes of the differences."""

from __future__ import annotations

import json
import os
import stat
import threading
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import heartbeat.inside
from heartbeat.config import Settings
from heartbeat.doctor import Case
from heartbeat.inside import INSIDE, Inside, look_inside, read_inside, write_inside
from heartbeat.job import Config, load
from heartbeat.lock import KernelLock
from heartbeat.named import MOST, paths_named
from heartbeat.reach import reach
from tests.conftest import Place
from tests.doctor.asking import ask, case_of, home_of, see_inside, status

CANARY = "canary-5ecret-value"
CONFIG = f"""
[agent]
kind = "command"
command = ["agent.sh"]
[agent.env]
PASS_IT = "{CANARY}"
[agent.secrets]
KEY = {{ file = "~/key.txt" }}
OTHER = {{ env = "OTHER" }}
[jobs.check]
every = "10m"
[jobs.check.options]
notes = "~/notes.md"
api_key = "/{CANARY}"
deep = [{{ maildir = "mail" }}, {{ url = "https://host/{CANARY}" }}, {{ password = "~/{CANARY}" }}]
"""


def environ(place: Place) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(place.folder), "OTHER": CANARY, "LANG": "C.UTF-8", "AND": CANARY}


def written(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place.state / INSIDE).read_text())
    return found


def test_it_names_paths_and_what_this_process_is_and_no_secret(place: Place) -> None:
    place.configure(CONFIG)
    (place.file("key.txt", CANARY)).chmod(0o600)
    see_inside(place.folder, environ(place))
    found = written(place)
    assert CANARY not in (place.state / INSIDE).read_text()
    assert stat.S_IMODE((place.state / INSIDE).stat().st_mode) == 0o600
    assert set(found) == set(Inside.__slots__)
    assert (found["path"], found["home"], found["uid"]) == ("/usr/bin:/bin", str(place.folder), os.geteuid())
    assert found["paths"] == {
        f"{place.folder}/config.toml": "ok",
        f"{place.folder}/key.txt": "ok",
        f"{place.folder}/jobs/check.sh": "ok",
        f"{place.folder}/notes.md": "missing",
        f"{place.folder}/mail": "missing",
    }
    read = read_inside(place.state / INSIDE)
    assert read is not None
    assert json.loads(json.dumps(asdict(read))) == found


def test_a_secret_that_cannot_be_had_is_named_by_its_key_alone(place: Place) -> None:
    place.configure(CONFIG)
    see_inside(place.folder, {"PATH": "/usr/bin", "HOME": str(place.folder)})
    assert written(place)["unready"] == ["agent.secrets.KEY", "agent.secrets.OTHER"]


def test_it_never_raises(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, config = home_of(place.folder), load(home_of(place.folder), environ(place))
    assert not write_inside(tmp_path / "nowhere/at/all", config, home, {})
    monkeypatch.setattr(heartbeat.inside, "host_zone", lambda: 1 // 0)
    assert not write_inside(tmp_path / "inside.json", config, home, {})


def test_a_disk_that_hangs_holds_nothing_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(heartbeat.inside, "SECONDS", 0.05)
    monkeypatch.setattr(heartbeat.inside, "reach", lambda _path: str(release.wait(30)))
    home = home_of(place.folder)
    found = look_inside(load(home, environ(place)), home, environ(place))
    release.set()
    assert set(found.paths.values()) == {"unknown"}


def test_the_paths_are_bounded_in_number(place: Place) -> None:
    files = ", ".join(f'"/x/{number}"' for number in range(1000))
    place.configure(f'[jobs.check]\nevery = "10m"\n[jobs.check.options]\nfiles = [{files}]\n')
    home = home_of(place.folder)
    assert len(paths_named(load(home, {}), home, {"HOME": "/"})) == MOST
    assert paths_named(Config(Settings(), {}), home, {"HOME": "/"}) == (str(home.config_file),)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"owner": 7}', "\0" * 100])
def test_what_is_no_such_file_is_refused_with_words(place: Place, text: str) -> None:
    place.state.mkdir()
    (place.state / INSIDE).write_text(text)
    with pytest.raises(ValueError):
        read_inside(place.state / INSIDE)
    assert status("privacy", case_of(place.folder)) == {"": "skip"}


def test_how_far_a_path_can_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    assert reach(str(tmp_path)) == "ok"
    assert reach(str(tmp_path / "file")) == "ok"
    assert reach(str(tmp_path / "pipe")) == "ok"  # and nobody waits for a writer
    assert reach(str(tmp_path / "file/below")) == "missing"
    assert reach("a\0b") == "missing"
    assert reach("/" + "x" * 5000) == "ENAMETOOLONG"


def seen(place: Place, platform: str = "linux", **changed: Any) -> Case:
    """A case whose daemon, this process, saw all as we do, but for what is *changed*."""
    case = case_of(place.folder)
    assert case.config is not None
    inside = look_inside(case.config, case.home, case.environ)
    return replace(case, inside=replace(inside, **changed), lives=True, platform=platform)


def test_a_daemon_that_is_as_this_shell_is_well(place: Place) -> None:
    assert status("daemon", seen(place)) == {"": "ok"}
    assert status("privacy", seen(place)) == {"": "ok"}
    assert "PATH" in status("programs", seen(place))


@pytest.mark.parametrize(
    ("changed", "about", "remedy"),
    [
        ({"version": "0.0.1"}, "version", "heartbeat restart"),
        ({"python": "/opt/old/bin/python"}, "python", "heartbeat install"),
        ({"home": "/var/lib/elsewhere"}, "HOME", "heartbeat install"),
        ({"umask": 0}, "umask", "UMask=0077"),
        ({"files": 64}, "files", "LimitNOFILE"),
        ({"lang": "de_DE.ISO-8859-1"}, "locale", "UTF-8"),
        ({"uid": 65_534}, "user", "start it as"),
    ],
)
def test_each_difference_is_told_with_its_remedy(
    place: Place, changed: dict[str, Any], about: str, remedy: str
) -> None:
    answer = ask("daemon", seen(place, **changed))[about]
    assert answer.status == "warn"
    assert remedy in answer.remedy


def test_what_macos_keeps_from_the_daemon_is_named_with_the_right_to_give(place: Place) -> None:
    path = f"{place.folder}/Documents/notes.md"
    answer = ask("privacy", seen(place, "darwin", paths={path: "EPERM"}, python="/opt/py/bin/python3"))[path]
    assert answer.status == "fail"
    assert "Operation not permitted" in answer.seen
    assert "Full Disk Access, add /opt/py/bin/python3, then `heartbeat restart`" in answer.remedy


@pytest.mark.parametrize(
    ("word", "expected", "remedy"),
    [
        ("EACCES", "fail", "chmod u+r"),
        ("missing", "warn", "correct the path"),
        ("unknown", "warn", "ls -ld"),
        ("EIO", "fail", "log"),
    ],
)
def test_what_the_daemon_cannot_read_is_told(place: Place, word: str, expected: str, remedy: str) -> None:
    answer = ask("privacy", seen(place, paths={"/no/such/file": word}))["/no/such/file"]
    assert answer.status == expected
    assert remedy in answer.remedy


def test_a_zone_that_only_this_shell_has_is_to_be_named(place: Place) -> None:
    place.configure("")
    assert ask("zone", seen(place, zone="Asia/Tokyo"))["daemon"].status == "warn"
    place.configure('[owner]\nzone = "Europe/Berlin"\n')
    assert "daemon" not in ask("zone", seen(place, zone="Asia/Tokyo"))


TWO = '[agent]\nkind = "command"\ncommand = ["/bin/true"]\n[agent.secrets]\nKEY = { env = "KEY" }\n'


@pytest.mark.parametrize(
    ("shell", "daemon", "expected"),
    [
        ({}, {}, "fail"),
        ({"KEY": CANARY}, {}, "fail"),
        ({}, {"KEY": CANARY}, "ok"),
    ],
)
def test_the_daemons_word_on_a_variable_counts(
    place: Place, shell: dict[str, str], daemon: dict[str, str], expected: str
) -> None:
    place.configure(TWO)
    see_inside(place.folder, {"HOME": str(place.folder), **daemon})
    lock = KernelLock(place.state / "daemon.lock")
    assert lock.acquire(written(place)["owner"])  # as the daemon that wrote this holds it
    try:
        answer = ask("secrets", case_of(place.folder, shell))["agent.secrets.KEY"]
    finally:
        lock.release()
    assert answer.status == expected
    assert CANARY not in repr(answer)


def test_what_a_dead_daemon_wrote_says_nothing_of_secrets(place: Place) -> None:
    place.configure(TWO)
    see_inside(place.folder, {"HOME": str(place.folder), "KEY": CANARY})
    assert status("secrets", case_of(place.folder)) == {"agent.secrets.KEY": "fail"}


def test_a_secret_that_others_may_read_is_a_failure_with_its_command(place: Place) -> None:
    place.configure(CONFIG)
    place.file("key.txt", CANARY).chmod(0o644)
    answer = ask("secrets", case_of(place.folder, environ(place)))["agent.secrets.KEY"]
    assert answer.status == "fail"
    assert f"chmod 600 {place.folder}/key.txt" in answer.remedy
    assert CANARY not in repr(answer)
