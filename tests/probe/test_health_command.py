"""`heartbeat health` as it is called: words, forms, assertions that may be combined, and exit statuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from heartbeat.cli import app, examination
from heartbeat.cli.health import answer
from heartbeat.probe import own
from tests.probe.installation import Actor, Installation

COMMAND = Path(sys.executable).with_name("heartbeat")
PROBLEM = (("restarter", "cron restarts it; take it away with: crontab -e"),)


@dataclass(frozen=True)
class Said:
    status: int
    out: str
    err: str


@pytest.fixture(scope="module")
def actor() -> Iterator[Actor]:
    found = Actor()
    yield found
    found.end()


@pytest.fixture
def place(tmp_path: Path, actor: Actor, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    monkeypatch.setattr(examination, "own_restarters", lambda _folders: ((), (), ""))
    yield Installation(tmp_path, actor)
    actor.drop()


def ask(place: Installation, capsys: pytest.CaptureFixture[str], *words: str, as_json: bool = False) -> Said:
    status = answer(str(place.root), list(words), as_json=as_json)
    out, err = capsys.readouterr()
    return Said(status, out, err)


def call(place: Installation, *words: str, cwd: Path | None = None) -> Said:
    """The installed command."""
    done = subprocess.run(
        [COMMAND, "--home", place.root, "health", *words], capture_output=True, check=False, text=True, cwd=cwd
    )
    return Said(done.returncode, done.stdout, done.stderr)


FRESH, OLD, NONE = "--assert-fresh=check=10m", "--assert-fresh=check=1s", "--assert-fresh=nosuch"


@pytest.mark.parametrize(
    ("words", "status", "begins"),
    [
        ((), 0, []),
        (("--assert-live",), 0, []),
        (("--assert-live", "--assert-no-restarter", FRESH), 0, []),
        (("--assert-fresh", "check=10m"), 0, []),
        (("--assert-fresh", "check"), 0, []),
        ((FRESH, "--assert-fresh", "check=2h", "--assert-live"), 0, []),
        ((OLD,), 1, ["--assert-fresh check=1s: its last good run"]),
        ((FRESH, OLD, NONE), 1, ["--assert-fresh check=1s: ", "--assert-fresh nosuch: the ledger knows no such job"]),
        ((NONE, "--assert-live"), 1, ["--assert-fresh nosuch: "]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_every_assertion_of_a_call_is_looked_at_and_each_that_fails_is_a_line(
    place: Installation, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, begins: Sequence[str]
) -> None:
    place.works()
    said = ask(place, capsys, *words)
    lines = said.err.splitlines()
    assert (said.status, len(lines)) == (status, len(begins)), said
    assert all(line.startswith(f"heartbeat: {begin}") for line, begin in zip(lines, begins, strict=True))
    assert bool(said.out) == (not words)


def test_a_dead_daemon_and_a_stale_job_and_a_restarter_are_three_lines(
    place: Installation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    unseen = (("restarters_unseen", "cannot look for restarters in cron: no"),)
    monkeypatch.setattr(examination, "own_restarters", lambda _folders: (PROBLEM, unseen, ""))
    place.ledger().started()
    said = ask(place, capsys, OLD, "--assert-no-restarter", "--assert-live")
    assert said.status == 1
    assert [line.split(": ")[1] for line in said.err.splitlines()] == [
        "--assert-no-restarter",  # what could not be looked at: told, and no failure by itself
        "down",
        "--assert-no-restarter",
        "--assert-fresh check=1s",
    ]
    monkeypatch.setattr(examination, "own_restarters", lambda _folders: ((), unseen, ""))
    assert ask(place, capsys, "--assert-no-restarter").status == 0


def test_a_restarter_is_found_where_heartbeat_was_never_started(
    place: Installation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "own_restarters", lambda _folders: (PROBLEM, (), ""))
    said = ask(place, capsys, "--assert-no-restarter", "--assert-live")
    assert (said.status, said.err) == (1, f"heartbeat: --assert-no-restarter: {PROBLEM[0][1]}\n")


def test_a_restarter_degrades_a_daemon_that_beats(
    place: Installation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "own_restarters", lambda _folders: (PROBLEM, (), ""))
    place.works()
    said = ask(place, capsys)
    assert said.out.startswith("degraded: ")
    assert "  restarter: cron restarts it" in said.out
    assert ask(place, capsys, "--nagios").status == 1
    # Where only its life is asked for nobody waits for the rest.
    assert ask(place, capsys, "--assert-live", as_json=True).out.count("restarter") == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--nosuch",), "there is no option '--nosuch'"),
        (("-x",), "there is no option '-x'"),
        (("",), "there is no option ''"),
        (("--assert-fresh",), "needs the name of a job"),
        (("--assert-fresh", "--assert-live"), "needs the name of a job"),
        (("--assert-fresh=",), "needs the name of a job"),
        (("--assert-fresh==5m",), "needs the name of a job"),
        (("--assert-fresh=a=",), "cannot read '' as an age"),
        (("--assert-fresh=a=5",), "cannot read '5' as an age"),
        (("--assert-fresh=a=soon",), "cannot read 'soon' as an age"),
        (("--assert-fresh=a=0s",), "cannot read '0s' as an age"),
        (("--nagios", "--prometheus"), "one form"),
        (("a", "b"), "one target at a time"),
        (("hermes", "--all"), "--all"),
        (("hermes", "--assert-fresh=a"), "leave out 'hermes'"),
        (("--assert-live=yes",), "there is no option"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_usage_is_status_2_and_says_what_is_wrong(
    place: Installation, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    found = ask(place, capsys, *words)
    assert (found.status, found.out) == (2, "")
    assert said in found.err
    assert found.err.count("\n") == 1
    enveloped = ask(place, capsys, *words, as_json=True)
    assert (enveloped.status, enveloped.err) == (2, "")
    assert json.loads(enveloped.out)["error"]["code"] == "usage"


@pytest.mark.parametrize("form", ["--nagios", "--prometheus"])
def test_json_and_another_form_are_wrong_usage(
    place: Installation, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    assert ask(place, capsys, form, as_json=True).status == 2


def test_an_unknown_target_is_status_3_with_those_that_are_known(
    place: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    place.home.config_file.write_text('[watch.backup]\npid_file = "/nowhere/pid"\n')
    found = ask(place, capsys, "nosuch")
    assert (found.status, found.out) == (3, "")
    assert "known are heartbeat, backup, hermes, openclaw" in found.err
    assert f"to watch another, write [watch.nosuch] in {place.home.config_file}" in found.err


def test_heartbeat_and_its_targets_answer_to_their_names(
    place: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    place.works()
    place.home.config_file.write_text('[watch.backup]\npid_file = "/nowhere/pid"\ninstalled = "/"\n')
    assert ask(place, capsys, "heartbeat").out == ask(place, capsys).out
    assert ask(place, capsys, "backup").out.startswith("down: backup is down")
    several = ask(place, capsys, "--all", "--assert-live")
    assert (several.status, several.err.count("\n")) == (1, 1)
    assert "backup is down: " in several.err
    data = json.loads(ask(place, capsys, "--all", as_json=True).out)["data"]
    assert [(each["target"], each["state"]) for each in data["targets"]] == [("heartbeat", "up"), ("backup", "down")]


def test_json_tells_of_each_assertion(place: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    place.works()
    said = ask(place, capsys, OLD, FRESH, "--assert-live", as_json=True)
    data = json.loads(said.out)["data"]
    assert (said.status, said.err.count("\n")) == (1, 1)
    assert [(each["assertion"], each["holds"]) for each in data["assertions"]] == [
        ("--assert-live", True),
        ("--assert-fresh check=1s", False),
        ("--assert-fresh check=10m", True),
    ]


# As installed


def test_the_installed_command_answers_as_the_one_inside_another_call_does(
    place: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    place.works()
    for words in (("--assert-live",), ("--assert-fresh", "check=10m", "--assert-fresh", "nosuch"), ("nosuch",)):
        inside = app.run(["--home", str(place.root), "health", *words])
        out, err = capsys.readouterr()
        assert call(place, *words) == Said(inside, out, err), words


def test_help_lists_every_option(place: Installation) -> None:
    said = call(place, "--help")
    assert said.status == 0
    for option in ("--assert-live", "--assert-no-restarter", "--assert-fresh", "--nagios", "--prometheus", "--all"):
        assert option in said.out


def test_a_stopped_process_is_stalled_at_once(place: Installation) -> None:
    place.works()
    place.actor.stop()
    try:
        said = call(place, "--assert-live")
    finally:
        place.actor.go_on()
    assert (said.status, said.err.startswith("heartbeat: stalled: somebody stopped it")) == (1, True)
    assert call(place, "--assert-live") == Said(0, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("words", [[], ["--json"], ["--nagios"], ["--prometheus"]], ids=str)
def test_an_answer_that_cannot_be_written_is_a_failure(place: Installation, words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [COMMAND, "--home", place.works().root, "health", *words], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, b"cannot print the answer" in done.stderr) == (1, True)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-"])
def test_descriptors_that_are_closed_change_no_status(place: Installation, closed: str) -> None:
    place.ledger().started()
    script = f'"{COMMAND}" --home "{place.root}" health --assert-live {closed}'
    assert subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=False).returncode == 1
    place.lock().pulse()
    script = f'"{COMMAND}" --home "{place.root}" health --assert-live --assert-fresh check=10m {closed}'
    assert subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=False).returncode == 0


def test_a_probe_that_hangs_in_the_kernel_is_ended_and_is_no_good_news(place: Installation) -> None:
    code = (
        "import sys, time; from heartbeat.cli import health\n"
        "health.examine = lambda *_, **__: time.sleep(60)\n"
        "health.bound(0.3)\n"
        "sys.exit(health.answer(sys.argv[1], ['--assert-live'], as_json=False))"
    )
    done = subprocess.run([sys.executable, "-c", code, place.root], check=False, timeout=30)
    assert done.returncode == -signal.SIGALRM


def test_whatever_goes_wrong_inside_is_no_good_news(
    place: Installation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_state: str) -> None:
        raise RuntimeError("what nobody foresaw")

    monkeypatch.setattr(own, "gather", fail)
    monkeypatch.delenv("HEARTBEAT_DEBUG", raising=False)
    for words in ([], ["--assert-live"], ["--nagios"], ["--prometheus"]):
        said = ask(place, capsys, *words)
        assert said.status == 1
        assert said.err.startswith("heartbeat: cannot examine: RuntimeError: what nobody foresaw")


def test_what_a_terminal_cannot_show_is_spelt_out(place: Installation) -> None:
    place.works().pulse(problems=(("source_failed", "no answer \u4f1a"),))
    done = subprocess.run(
        [COMMAND, "--home", place.root, "health", "--nagios"],
        env={**os.environ, "PYTHONIOENCODING": "ascii:strict"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, b"no answer \\u4f1a" in done.stdout) == (1, True)
