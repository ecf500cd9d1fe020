"""What every shipped script must do: each file of jobs/, found by listing the folder."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from heartbeat import gate
from heartbeat.job import Job, load
from heartbeat.model import Captured, Execution
from heartbeat.paths import find_home, share
from tests.conftest import NOW, Place

SCRIPTS = sorted(path for path in share("jobs").iterdir() if path.is_file() and not path.name.startswith((".", "_")))
SCHEMA = json.loads((share("gates") / "wake.schema.json").read_text())
TOKEN = "0123456789abcdef"


@pytest.fixture(params=SCRIPTS, ids=lambda path: path.name)
def script(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def name_of(script: Path) -> str:
    return script.stem.replace("_", "-")


def job_of(script: Path, place: Place) -> Job:
    """The job that a mere `[jobs.NAME]` makes."""
    place.configure(f"[jobs.{name_of(script)}]\n")
    return load(find_home(str(place.folder), {}), place.environment()).jobs[name_of(script)]


def run(script: Path, place: Place, **env: str) -> subprocess.CompletedProcess[bytes]:
    job = job_of(script, place)
    declared = {
        "HEARTBEAT_JOB": job.name,
        "HEARTBEAT_HOME": str(place.folder),
        "HEARTBEAT_STATE_DIR": str(place.state),
        "HEARTBEAT_CACHE_DIR": str(place.folder / "cache"),
        "HEARTBEAT_NOW": NOW.isoformat(),
        "HEARTBEAT_TOKEN": TOKEN,
        "HEARTBEAT_ZONE": "Europe/Berlin",
        "HEARTBEAT_OPTIONS": "{}",
        **env,
    }
    return subprocess.run(
        job.argv,
        env=place.environment(**declared),
        cwd=place.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=job.timeout.total_seconds(),
        check=False,
    )


def gate_of(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return printed


def test_there_are_scripts() -> None:
    assert {"calendar-lookahead", "due-queue"} <= {name_of(script) for script in SCRIPTS}


def test_it_can_be_executed_as_it_is(script: Path, place: Place) -> None:
    assert os.access(script, os.X_OK)
    done = subprocess.run(
        [script], env=place.environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert gate_of(done)["wakeAgent"] is False


def test_its_header_says_all_that_a_job_needs(script: Path, place: Place) -> None:
    job = job_of(script, place)
    assert job.description.endswith(".")
    assert job.require_token
    assert job.script == script
    assert job.schedule


def test_with_no_options_it_prints_a_valid_gate_with_its_token(script: Path, place: Place) -> None:
    began = time.monotonic()
    done = run(script, place)
    assert time.monotonic() - began < job_of(script, place).timeout.total_seconds()
    assert (done.returncode, done.stderr) == (0, b"")
    ended = Execution(NOW, NOW, exit_code=0, stdout=Captured(head=done.stdout))
    judgement = gate.judge(ended, token=TOKEN, require_token=True, dialect="strict")
    assert judgement.gate is not None, judgement
    assert gate_of(done)["token"] == TOKEN
    jsonschema.validate(gate_of(done), SCHEMA)


def test_it_is_quiet_in_a_home_where_nothing_is(script: Path, place: Place) -> None:
    place.configure(f"[jobs.{name_of(script)}]\n")
    told = place.data("tick", name_of(script), "--dry-run")
    assert (told["verdict"], told["findings"]) == ("quiet", [])


def test_it_leaves_nothing_outside_its_cache(script: Path, place: Place) -> None:
    run(script, place)
    before = sorted(path for path in place.folder.rglob("*") if "cache" not in path.parts)
    run(script, place)
    assert sorted(path for path in place.folder.rglob("*") if "cache" not in path.parts) == before


def assert_refused(done: subprocess.CompletedProcess[bytes]) -> None:
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"cannot ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("now", ["tomorrow", "2026-06-10", "2026-02-30T00:00:00Z"])
def test_a_now_that_is_none_is_one_line_on_stderr(script: Path, place: Place, now: str) -> None:
    assert_refused(run(script, place, HEARTBEAT_NOW=now))


@pytest.mark.parametrize("options", ["[]", "{", "nonsense", '{"a": 1} {'])
def test_options_that_are_none_are_one_line_on_stderr(script: Path, place: Place, options: str) -> None:
    if job_of(script, place).options:
        assert_refused(run(script, place, HEARTBEAT_OPTIONS=options))
    else:
        assert run(script, place, HEARTBEAT_OPTIONS=options).stderr == b""


def test_a_state_folder_that_is_a_file_and_a_cache_that_is_one_are_no_traceback(script: Path, place: Place) -> None:
    wrong = place.file("a-file", "x")
    done = run(script, place, HEARTBEAT_STATE_DIR=str(wrong), HEARTBEAT_CACHE_DIR=str(wrong))
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 1)
    assert (done.returncode == 0) == bool(done.stdout)
