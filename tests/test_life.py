"""Why a daemon starts, how the life before ended, and who said so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from heartbeat.life import Life, begin, enter_result, why_started
from heartbeat.marker import read_intent, write_intent
from heartbeat.paths import Home
from heartbeat.process import owner
from heartbeat.starts import Start, log_start, read_starts

NOW = 1_800_000_000.0
BOOT = owner().partition("@")[2]
GONE = f"4194000:1@{BOOT}"
"""A process of this boot that is no more: no pid is as high as that here."""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, tmp_path / "state", tmp_path / "cache")


def began(home: Home, ago: float, why: str = "unknown", *, who: str = GONE, how: str = "", ending: str = "") -> None:
    start = Start(NOW - ago, why, owner=who)
    log_start(home.starts_file, start.ended(NOW - ago + 1, how, ending) if how else start)


def starts(home: Home) -> list[Start]:
    return read_starts(home.starts_file)


def start(home: Home, *, at_terminal: bool = False) -> Life:
    return begin(home, NOW, at_terminal=at_terminal)


@pytest.mark.parametrize(
    ("last", "asked", "why"),
    [
        (None, False, "unknown"),
        (None, True, "asked"),
        (Start(1.0, owner=f"5:1@{BOOT}", how="lost"), False, "crash"),
        (Start(1.0, owner=f"5:1@{BOOT}", how="failed"), False, "crash"),
        (Start(1.0, owner=f"5:1@{BOOT}", how="killed"), False, "crash"),
        (Start(1.0, owner=f"5:1@{BOOT}", how="watchdog"), False, "watchdog"),
        (Start(1.0, owner=f"5:1@{BOOT}", how="stopped"), False, "unknown"),
        (Start(1.0, owner=f"5:1@{BOOT}", how="watchdog"), True, "asked"),
        (Start(1.0, owner="5:1@another-boot", how="lost"), False, "boot"),
        (Start(1.0, owner="5:1@another-boot", how="stopped"), False, "boot"),
        (Start(1.0, owner="5:1@another-boot", how="stopped"), True, "asked"),
        (Start(1.0, owner="", how=""), False, "crash"),
    ],
)
def test_why_it_starts_follows_from_the_life_before(last: Start | None, asked: bool, why: str) -> None:
    assert why_started(last, owner(), asked=asked) == why


def test_a_start_is_logged_with_why_and_who(home: Home) -> None:
    life = start(home, at_terminal=True)
    assert (life.why, life.by, life.flapping) == ("asked", "a terminal", None)
    assert starts(home) == [Start(NOW, "asked", owner=owner(), by="a terminal")]


def test_a_fresh_intent_makes_it_asked_for_and_is_used_up(home: Home) -> None:
    home.state.mkdir()
    write_intent(home.intent_file, "restart", "heartbeat restart by ann", NOW - 100)
    assert (start(home).why, starts(home)[-1].by) == ("asked", "heartbeat restart by ann")
    assert read_intent(home.intent_file, NOW) == ("", "")
    assert start(home).why == "crash"  # the life before this one (ours, in this test) told of no end


@pytest.mark.parametrize(("word", "ago"), [("restart", 121.0), ("restart", -1.0), ("stop", 1.0)])
def test_an_intent_that_is_old_of_the_future_or_another_asks_for_nothing(home: Home, word: str, ago: float) -> None:
    home.state.mkdir()
    write_intent(home.intent_file, word, "somebody", NOW - ago)
    assert start(home).why == "unknown"


def test_whoever_ended_without_a_word_has_it_written_by_the_next(home: Home) -> None:
    began(home, 500)
    home.pulse_file.touch()
    os.utime(home.pulse_file, (NOW - 40, NOW - 40))
    assert start(home).why == "crash"
    last = starts(home)[0]
    assert (last.how, last.ended_at, "without a word" in last.ending) == ("lost", NOW - 40, True)


@pytest.mark.parametrize(
    ("dump", "how", "why", "words"),
    [
        ("Timeout (0:03:00)!\nThread 0x1:\n", "watchdog", "watchdog", "dead man's timer"),
        ("Fatal Python error: Segmentation fault\n\nThread", "killed", "crash", "Segmentation fault"),
        ("Fatal Python error: Aborted\n", "killed", "crash", "Aborted"),
    ],
)
def test_what_the_interpreter_wrote_at_the_end_tells_how(home: Home, dump: str, how: str, why: str, words: str) -> None:
    began(home, 50)
    home.crash_file.write_text(dump)
    assert start(home).why == why
    assert starts(home)[0].how == how
    assert words in starts(home)[0].ending
    assert (home.state / "crash.last.txt").read_text() == dump


def test_an_ending_that_is_known_stays_as_it_is(home: Home) -> None:
    began(home, 50, how="stopped", ending="SIGTERM from process 1 of root (systemd)")
    assert start(home).why == "unknown"
    assert starts(home)[0].ending == "SIGTERM from process 1 of root (systemd)"


def test_it_says_once_how_it_ended_itself(home: Home) -> None:
    life = start(home)
    life.end(NOW + 5, "stopped", "SIGTERM", "7:7@x")
    life.end(NOW + 6, "failed", "something later")
    last = starts(home)[-1]
    assert (last.how, last.ending, last.sender, last.ended_at) == ("stopped", "SIGTERM", "7:7@x", NOW + 5)


def test_an_ending_that_cannot_be_written_does_not_keep_it_from_ending(home: Home) -> None:
    life = start(home)
    home.starts_file.unlink()
    home.starts_file.mkdir()
    life.end(NOW, "stopped", "SIGTERM")


@pytest.mark.parametrize(
    ("result", "code", "status", "how"),
    [
        ("watchdog", "killed", "ABRT", "watchdog"),
        ("signal", "killed", "KILL", "killed"),
        ("oom-kill", "killed", "KILL", "killed"),
        ("core-dump", "dumped", "SEGV", "killed"),
        ("timeout", "killed", "KILL", "killed"),
        ("exit-code", "exited", "1", "failed"),
        ("success", "exited", "0", "stopped"),
        ("protocol", "", "", "lost"),
        ("", "", "", "lost"),
    ],
)
def test_what_systemd_says_of_the_end_is_written_down(
    home: Home, result: str, code: str, status: str, how: str
) -> None:
    began(home, 50)
    said = {"SERVICE_RESULT": result, "EXIT_CODE": code, "EXIT_STATUS": status}
    assert enter_result(home, said, NOW)
    last = starts(home)[-1]
    assert (last.how, last.ended_at) == (how, NOW)
    assert (result or "nothing") in last.ending
    assert not enter_result(home, {"SERVICE_RESULT": "success"}, NOW + 1)


def test_what_systemd_says_of_a_start_that_was_refused_is_not_written_to_the_daemon_that_runs(home: Home) -> None:
    began(home, 50, who=owner())
    assert not enter_result(home, {"SERVICE_RESULT": "exit-code"}, NOW)
    assert starts(home)[-1].how == ""


def test_nothing_is_written_where_nothing_ever_started(home: Home) -> None:
    assert not enter_result(home, {"SERVICE_RESULT": "success"}, NOW)
    assert not home.starts_file.exists()


@pytest.mark.parametrize(
    ("before", "flaps"),
    [
        ([], None),
        ([400.0, 200.0], "chain"),
        ([400.0, 90.0], None),
        ([590.0, 300.5, 299.5], "burst"),
        ([8.0, 6.0, 4.0, 2.0], "burst"),
        ([240.0 * number for number in range(20, 0, -1)], "chain"),
    ],
)
def test_too_many_starts_are_seen_by_the_start_that_is_too_many(
    home: Home, before: list[float], flaps: str | None
) -> None:
    for ago in before:
        began(home, ago, "crash", how="failed")
    found = start(home).flapping
    assert (found and found.kind) == flaps


@pytest.mark.parametrize("at_terminal", [True, False])
def test_a_start_that_was_asked_for_flaps_by_no_history(home: Home, at_terminal: bool) -> None:
    for ago in (40, 30, 20, 10):
        began(home, ago, "crash", how="failed")
    if not at_terminal:
        write_intent(home.intent_file, "restart", "ann", NOW)
    assert start(home, at_terminal=at_terminal).flapping is None


def test_the_hidden_verb_enters_what_systemd_says(home: Home) -> None:
    began(home, 50)
    said = {**os.environ, "HEARTBEAT_HOME": str(home.config), "SERVICE_RESULT": "watchdog", "EXIT_CODE": "killed"}
    done = subprocess.run([sys.executable, "-P", "-m", "heartbeat", "ended"], env=said, check=False)
    assert (done.returncode, starts(home)[-1].how) == (0, "watchdog")
