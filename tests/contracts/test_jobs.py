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
    told = place.data("tick", name_of(script), "--dry-run") if job_of(script, place) else None
    assert (told["verdict"], told["findings"]) == ("quiet", [])


def test_it_leaves_nothing_outside_its_cache(script: Path, place: Place) -> None:
    run(script, place)
    before = sorted(path for path in place.folder.rglob("*") if "cache" not in path.parts)
    run(script, place)
    assert sorted(path for path in place.folder.rglob("*") if "cache" not in path.parts) == before


@pytest.mark.parametrize(
    "broken",
    [
        {"HEARTBEAT_NOW": "tomorrow"},
        {"HEARTBEAT_OPTIONS": "[]"},
        {"HEARTBEAT_OPTIONS": "{"},
        {"HEARTBEAT_NOW": "9999-12-31T23:59:59Z", "HEARTBEAT_OPTIONS": "nonsense"},
    ],
    ids=str,
)
def test_an_impossible_environment_is_one_line_on_stderr(script: Path, place: Place, broken: dict[str, str]) -> None:
    done = run(script, place, **broken)
    reads_no_options = name_of(script) == "due-queue" and "HEARTBEAT_NOW" not in broken
    if not reads_no_options:
        assert done.returncode == 1
        assert done.stdout == b""
        assert done.stderr.startswith(b"cannot ")
        assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


def test_a_state_folder_that_is_a_file_and_a_cache_that_is_one_are_no_traceback(script: Path, place: Place) -> None:
    wrong = place.file("a-file", "x")
    done = run(script, place, HEARTBEAT_STATE_DIR=str(wrong), HEARTBEAT_CACHE_DIR=str(wrong))
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 1)
    assert (done.returncode == 0) == bool(done.stdout)
