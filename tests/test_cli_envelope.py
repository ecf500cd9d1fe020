"""How every call begins and ends: words, envelope, exit status, and what a terminal gets."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from heartbeat import __version__
from heartbeat.cli.shell import guarded
from tests.conftest import COMMAND, CONFIG, Place

FACTS = [
    ("quiet",),
    ("quiet", "until", "2h"),
    ("zone",),
    ("init", "--force"),
    ("check",),
    ("tick", "check"),
    ("tick", "check", "--dry-run"),
    ("jobs",),
    ("next",),
    ("slots",),
    ("clock",),
    ("schedule", "explain", "@daily"),
    ("runs",),
    ("queue", "add", "--message", "Call", "--due", "2026-06-10T08:00:00Z"),
    ("queue", "list"),
    ("ledger", "list"),
    ("ledger", "export"),
    ("wakes", "list"),
    ("brief",),
    ("brief", "--consume"),
    ("health",),
    ("watch",),
    ("watch", "--history"),
    ("install", "--dry-run"),
    ("stop",),
    ("uninstall",),
]
"""Calls that print facts and end well in a home that was never used."""

VERBS = [
    *("install", "uninstall", "start", "stop", "restart", "reload", "status", "logs"),
    *("quiet", "quiet until", "quiet off", "quiet clear", "zone", "replay", "incidents"),
    *("messages", "messages list", "messages get", "messages retry", "messages cancel", "messages test"),
    *("demo", "init", "check", "run", "tick", "jobs", "next", "slots", "clock", "runs", "why", "brief", "health"),
    *("queue", "queue add", "queue list", "queue cancel", "ledger", "ledger list", "ledger get", "ledger export"),
    *(
        "schedule",
        "schedule explain",
        "ledger quarantine",
        "wakes",
        "wakes list",
        "wakes get",
        "wakes release",
        "wakes retry",
        "wakes cancel",
        "watch",
        "doctor",
        "gate",
        "gate check",
    ),
]


def command_of(words: tuple[str, ...]) -> str:
    return " ".join(
        words[:2] if words[0] in ("queue", "ledger", "schedule", "wakes", "messages", "gate", "quiet") else words[:1]
    )


@pytest.mark.parametrize("words", FACTS, ids=" ".join)
def test_facts_come_as_one_line_of_five_fields_in_order(place: Place, words: tuple[str, ...]) -> None:
    done = place.call(*words, "--json")
    assert (done.status, done.err) == (0, "")
    envelope = done.envelope
    assert isinstance(envelope.pop("data"), dict)
    assert envelope == {"schema": "heartbeat/v1", "ok": True, "command": command_of(words), "error": None}
    assert done.out.isascii()


@pytest.mark.parametrize("words", FACTS, ids=" ".join)
def test_the_same_call_without_json_is_text_for_people(place: Place, words: tuple[str, ...]) -> None:
    done = place.call(*words)
    assert (done.status, done.err) == (0, "")
    # An export is for programs either way, and says nothing when nothing is there.
    assert words == ("ledger", "export") or not done.out.startswith("{")
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("tick", "no-such"), 3, "not_found"),
        (("next", "no-such"), 3, "not_found"),
        (("why", "run_none"), 3, "not_found"),
        (("why", "nonsense"), 3, "not_found"),
        (("why", "check@2026-06-10T08:00:00Z"), 3, "not_found"),
        (("slots", "no-such"), 3, "not_found"),
        (("ledger", "get", "fnd_none"), 3, "not_found"),
        (("wakes", "retry", "wake_none"), 3, "not_found"),
        (("wakes", "cancel", "wake_none"), 3, "not_found"),
        (("queue", "cancel", "none"), 3, "not_found"),
        (("check", "no-such.toml"), 4, "invalid_config"),
        (("queue", "add", "--message", "x", "--due", "tomorrow"), 4, "invalid_input"),
        (("next", "--from", "tomorrow"), 4, "invalid_input"),
        (("why", "check@tomorrow"), 4, "invalid_input"),
        (("slots", "--state", "nosuch"), 4, "invalid_input"),
        (("schedule", "explain", "at 9"), 4, "invalid_input"),
        (("schedule", "explain", "@daily", "--zone", "Nowhere"), 4, "invalid_input"),
        (("brief", "--since", "tomorrow"), 4, "invalid_input"),
        (("tick", "check", "--now", "tomorrow"), 4, "invalid_input"),
        (("ledger", "list", "--state", "nosuch"), 4, "invalid_input"),
        (("wakes", "list", "--state", "nosuch"), 4, "invalid_input"),
        (("init",), 5, "refused"),
        (("ledger", "quarantine"), 5, "refused"),
        (("nosuch",), 2, "usage"),
        (("queue", "nosuch"), 2, "usage"),
        (("jobs", "--nosuch"), 2, "usage"),
        (("tick",), 2, "usage"),
        (("tick", "check", "--now"), 2, "usage"),
        (("next", "-n", "0"), 2, "usage"),
        (("next", "-n", "1001"), 2, "usage"),
        (("next", "-n", "many"), 2, "usage"),
        (("queue", "add", "--message", "x"), 2, "usage"),
        (("queue", "add", "--message", "x", "--due", "2026-06-10T08:00:00Z", "--urgency", "mild"), 2, "usage"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_a_failure_is_an_envelope_with_json_and_one_message_without(
    place: Place, words: tuple[str, ...], status: int, code: str
) -> None:
    message = place.error(*words, status=status)
    error = place.call(*words, "--json").envelope
    assert (error["error"], error["command"]) == ({"code": code, "message": message}, command_of(words))


def test_what_cannot_be_foreseen_is_exit_1_and_no_traceback(place: Place) -> None:
    (place.folder / "state").write_text("not a folder")
    message = place.error("brief", status=1)
    assert message


def test_a_bug_is_one_line_and_with_debug_its_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEARTBEAT_DEBUG", raising=False)
    assert guarded(lambda: 1 // 0, "jobs", as_json=False) == 1
    assert capsys.readouterr().err.startswith("heartbeat: ZeroDivisionError: ")
    monkeypatch.setenv("HEARTBEAT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        guarded(lambda: 1 // 0, "jobs", as_json=False)


@pytest.mark.parametrize("group", [(), ("queue",), ("ledger",), ("wakes",), ("gate",)], ids=" ".join)
def test_no_verb_is_wrong_usage(place: Place, group: tuple[str, ...]) -> None:
    assert place.call(*group).status == 2
    enveloped = place.call(*group, "--json")
    assert enveloped.status == 2
    assert enveloped.envelope["error"]["code"] == "usage"


def test_an_unknown_verb_or_job_lists_the_known_ones(place: Place) -> None:
    assert "check" in place.error("tick", "chekc", status=3)
    assert "check" in place.error("next", "chekc", status=3)


@pytest.mark.parametrize(
    "words",
    [("--json", "queue", "list"), ("queue", "--json", "list"), ("queue", "list", "--json")],
    ids=" ".join,
)
def test_json_may_stand_anywhere(place: Place, words: tuple[str, ...]) -> None:
    assert place.call(*words).envelope["command"] == "queue list"


@pytest.mark.parametrize("position", [0, 1, 3])
def test_home_may_stand_anywhere(place: Place, position: int) -> None:
    place.file("elsewhere/config.toml", CONFIG.replace("check", "other").replace("{home}", "/nowhere"))
    place.file("elsewhere/jobs/other.sh", "#!/bin/sh\n")
    words = ["next", "-n", "1"]
    words[position:position] = ["--home", str(place.folder / "elsewhere")]
    done = place.call(*words)
    assert done.status == 0
    assert "other" in done.out


def test_after_two_dashes_nothing_is_an_option(place: Place) -> None:
    assert place.call("tick", "--", "--json").status == 3


@pytest.mark.parametrize("words", [("jobs", "--home"), ("jobs", "--home="), ("jobs", "--home", "")])
def test_home_without_a_value_is_wrong_usage_and_never_another_home(place: Place, words: tuple[str, ...]) -> None:
    assert "--home" in place.error(*words, status=2)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_help_page(place: Place, verb: str) -> None:
    done = place.call(*verb.split(), "--help")
    assert (done.status, done.err) == (0, "")
    usage, empty, purpose, *_ = done.out.strip().splitlines()
    assert usage.startswith(f"Usage: heartbeat {verb}")
    assert (empty, purpose == "") == ("", False)
    assert place.call(*verb.split(), "-h").out == done.out


def test_the_help_page_lists_every_verb_with_a_word_on_each(place: Place) -> None:
    _, _, commands = place.call("--help").out.partition("Commands:\n")
    listed = dict(line.split(maxsplit=1) for line in commands.rstrip().splitlines())
    assert listed.keys() == {verb for verb in VERBS if " " not in verb}
    assert all(listed.values())


def test_the_version_is_that_of_the_package(place: Place) -> None:
    assert place.call("--version").out == f"heartbeat {__version__}\n"


# The real command


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("jobs",), 0),
        (("tick", "nosuch"), 3),
        (("nosuch",), 2),
        (("queue", "add", "--message", "", "--due", "2026-06-10T08:00:00Z"), 4),
        (("init",), 5),
        (("health", "--nosuch"), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_the_installed_command_ends_with_the_same_status(place: Place, words: tuple[str, ...], status: int) -> None:
    done = place.run(*words, "--json")
    assert (done.status, done.err) == (status, "")
    assert done.envelope["ok"] is (status == 0)


def test_the_package_run_as_a_module_is_the_same_command(place: Place) -> None:
    module = subprocess.run(
        [sys.executable, "-m", "heartbeat", "--home", str(place.folder), "runs"],
        env=place.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (module.returncode, module.stderr, module.stdout) == (0, "", "nothing ran yet\n")


@pytest.mark.parametrize("words", [("jobs",), ("--help",), ("nosuch",)], ids=" ".join)
@pytest.mark.parametrize("env", [{}, {"FORCE_COLOR": "1", "NO_COLOR": "1"}], ids=str)
def test_nothing_is_coloured_when_stdout_is_no_terminal(
    place: Place, words: tuple[str, ...], env: dict[str, str]
) -> None:
    done = place.run(*words, env=env)
    assert "\x1b" not in done.out + done.err


def test_no_color_is_obeyed_at_a_terminal(place: Place) -> None:
    terminal, other_end = pty.openpty()
    with os.fdopen(terminal, "rb", buffering=0) as screen:
        shown = subprocess.Popen(
            [COMMAND, "--home", str(place.folder), "jobs"],
            env=place.environment(NO_COLOR="1", TERM="xterm-256color"),
            stdin=other_end,
            stdout=other_end,
            stderr=other_end,
        )
        os.close(other_end)
        text = b""
        while chunk := _read(screen.fileno()):
            text += chunk
        assert shown.wait(60) == 0
    assert b"check" in text
    assert b"\x1b[" not in text


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says EIO where macOS says end of file
        return b""


@pytest.mark.parametrize(
    "words", [("ledger", "export"), ("runs", "--json"), ("--help",), ("tick", "nosuch", "--json")], ids=" ".join
)
def test_a_reader_that_goes_away_is_no_error(place: Place, words: tuple[str, ...]) -> None:
    place.finds(*({"body": "x" * 4000} for _ in range(100)))
    place.call("tick", "check")
    reading, writing = os.pipe()
    os.close(reading)
    started = subprocess.Popen(
        [COMMAND, "--home", str(place.folder), *words],
        env=place.environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    os.close(writing)
    _, err = started.communicate(timeout=60)
    assert err == b""
    assert started.returncode in (0, 3)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_behind_stdout_is_one_message(place: Place) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [COMMAND, "--home", str(place.folder), "jobs"],
            env=place.environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"heartbeat: ")
    assert done.stderr.count(b"\n") == 1


def test_without_a_stdout_at_all_it_still_ends_as_it_should(place: Place) -> None:
    shell = f'"{COMMAND}" --home "{place.folder}" jobs >&-'
    done = subprocess.run(["sh", "-c", shell], env=place.environment(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_that_knows_only_ascii_still_gets_its_facts(place: Place) -> None:
    place.finds({"title": "Treffen 会议 😀"}, wake=False)
    place.call("tick", "check")
    for words in (("brief",), ("ledger", "list"), ("tick", "check")):
        done = place.run(*words, env={"PYTHONIOENCODING": "ascii"})
        assert (done.status, done.err) == (0, "")
        assert "Treffen" in done.out


def test_a_path_that_is_not_utf_8_is_shown_all_the_same(place: Place) -> None:
    done = subprocess.run(
        [COMMAND, "--home", os.fsencode(place.folder) + b"/\xff", "check"],
        env=place.environment(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"no such file" in done.stdout


def test_json_is_json_whatever_the_terminal_knows(place: Place) -> None:
    place.finds({"title": "Treffen 会议 😀"}, wake=False)
    place.call("tick", "check")
    done = place.run("brief", "--json", env={"PYTHONIOENCODING": "ascii"})
    assert json.loads(done.out)["data"]["items"][0]["title"] == "Treffen 会议 😀"
