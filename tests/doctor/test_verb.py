"""`heartbeat doctor` as it is called: its exit status, its two forms, a daemon that died, and no secret anywhere."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from heartbeat.doctor import questions
from heartbeat.service.acting import acting_as
from tests.conftest import Done, Place, wait_for

CANARY = "canary-5ecret-value"
WELL = """
[owner]
zone = "Europe/Berlin"
[jobs.check]
every = "10m"
[channels.page]
kind = "file"
path = "page.md"
"""


def answers(done: Done) -> list[Mapping[str, Any]]:
    assert done.envelope["ok"] is True
    found: list[Mapping[str, Any]] = done.envelope["data"]["answers"]
    return found


def of(done: Done, check: str) -> set[str]:
    return {answer["status"] for answer in answers(done) if answer["check"] == check}


def test_a_home_with_nothing_wrong_ends_with_0_and_both_forms_say_the_same(place: Place) -> None:
    place.configure(WELL)
    place.call("tick", "check")
    done, said = place.run("doctor", "--json"), place.run("doctor")
    data = done.envelope["data"]
    assert (done.status, said.status, done.err, said.err) == (0, 0, "", "")
    assert list(data) == ["home", "owner", "counts", "answers"]
    assert data["home"]["config"] == str(place.folder)
    assert data["counts"]["fail"] == 0
    assert sum(data["counts"].values()) == len(data["answers"])
    assert {answer["check"] for answer in data["answers"]} == set(questions())
    assert set(data["answers"][0]) == {"check", "status", "about", "seen", "remedy"}
    lines = said.out.splitlines()
    assert lines[-1] == ", ".join(
        f"{data['counts'][status]} {word}"
        for status, word in (("fail", "failed"), ("warn", "to know"), ("ok", "ok"), ("skip", "left out"))
    )
    assert sum(line.lstrip().startswith("-> ") for line in lines) == sum(
        bool(each["remedy"]) for each in data["answers"]
    )


def test_something_that_fails_ends_with_1(place: Place) -> None:
    place.configure(f'{WELL}[jobs.calendar-lookahead]\nevery = "10m"\n')
    done = place.call("doctor", "--json")
    assert done.status == 1
    assert of(done, "sources") == {"fail", "skip"}


@pytest.mark.parametrize("text", ["[agent\n", '[agent]\nkind = "clade"\n'])
def test_a_configuration_that_is_not_valid_ends_with_4_and_the_rest_is_answered(place: Place, text: str) -> None:
    place.call("tick", "check")
    place.configure(text)
    done = place.call("doctor", "--json")
    assert done.status == 4
    assert of(done, "configuration") == {"fail"}
    assert of(done, "ledger") == {"ok"}


def test_a_daemon_that_died_is_a_failure_and_never_left_out(place: Place) -> None:
    place.configure(WELL)
    daemon = place.start("run")
    wait_for(place.state / "pulse")
    wait_for(place.state / "inside.json")
    end = time.monotonic() + 20
    while of(done := place.call("doctor", "--json"), "alive") != {"ok"}:
        assert time.monotonic() < end
    assert of(done, "privacy") == {"ok"}
    assert any(
        answer["seen"].startswith(f"process {daemon.pid},") for answer in answers(done) if answer["check"] == "daemon"
    )
    os.kill(daemon.pid, signal.SIGKILL)
    daemon.communicate()
    done = place.call("doctor", "--json")
    assert done.status == 1
    assert of(done, "alive") == {"fail"}
    (first, *_) = [answer for answer in answers(done) if answer["check"] == "alive"]
    assert "down" in first["seen"]
    assert f"`heartbeat --home {place.folder} run --detach`" in first["remedy"]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that every user may look into; pytest's own are closed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_told_whose_installation_it_is_and_fails_softly(
    open_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(open_folder / "home", capsys, monkeypatch)
    place.call("tick", "check")
    place.call("doctor")  # all that is imported is imported as ourselves
    with acting_as(65_534):
        done = place.call("doctor", "--json")
    assert done.status == 4  # the configuration cannot be read
    found = answers(done)
    assert all("please report" not in answer["remedy"] for answer in found), found
    assert any("of the user root, and nobody looks" in answer["seen"] for answer in found)
    assert of(done, "alive") == {"fail"}
    assert of(done, "ledger") == {"fail"}


SECRETS = f"""
[agent]
kind = "claude"
[agent.env]
MY_TOKEN = "{CANARY}-1"
[agent.secrets]
KEY = {{ env = "KEY" }}
OTHER = {{ file = "other.txt" }}
[channels.phone]
kind = "apprise"
url = {{ file = "phone.txt" }}
[ping]
url = {{ file = "ping.txt" }}
[jobs.check]
every = "10m"
[jobs.check.env]
API_KEY = "{CANARY}-2"
[jobs.check.secrets]
PW = {{ env = "PW" }}
[jobs.vip-mail]
every = "10m"
[jobs.vip-mail.options]
vips = ["@example.org"]
sources = [{{ imap = "imap://127.0.0.1:9", user = "me", password = "{CANARY}-3" }},
  {{ jmap = "https://127.0.0.1:9/{CANARY}-4", token = {{ file = "token.txt" }} }}]
[jobs.calendar-lookahead]
every = "10m"
[jobs.calendar-lookahead.options]
sources = [{{ url = "http://me:{CANARY}-5@127.0.0.1:9/{CANARY}-6.ics" }}, {{ url = {{ env = "FEED" }} }}]
"""


def test_no_secret_is_in_any_output(place: Place) -> None:
    for name in ("other", "phone", "ping", "token"):
        place.file(f"{name}.txt", f"https://{CANARY}-{name}/\n")
    program = place.file("bin/claude", f'#!/bin/sh\nenv\necho "$(cat {place.folder}/other.txt)"\nexit 1\n')
    place.configure(f'[environment]\npath = "{program.parent}:/usr/bin:/bin"\n{SECRETS}')
    environ = {"KEY": f"{CANARY}-key", "PW": f"{CANARY}-pw", "FEED": f"http://127.0.0.1:9/{CANARY}-feed"}
    done = place.run("doctor", "--json", env=environ)
    assert done.status == 1
    assert CANARY not in done.out + done.err
    place.configure(SECRETS.replace('kind = "claude"', 'kind = "clade"'))
    done = place.run("doctor", env=environ)
    assert done.status == 4
    assert CANARY not in done.out + done.err
