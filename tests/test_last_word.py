"""`heartbeat alarm`: the owner hears that heartbeat is down for good, whatever else is broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heartbeat.cli.last_word import PAUSES, tell, words_of
from heartbeat.cli.shell import Shell
from heartbeat.paths import find_home

UNIT = "heartbeat.service"
FAILED = {"MONITOR_SERVICE_RESULT": "exit-code", "MONITOR_EXIT_STATUS": "4", "JOURNAL_STREAM": "8:1"}
FILE = '[channels.file]\nkind = "file"\npath = "told.jsonl"\n'
PROGRAM = '[channels.program]\nkind = "command"\ncommand = ["{home}/say"]\n'


def call(folder: Path, config: str) -> Shell:
    (folder / "config.toml").write_text(config.replace("{home}", str(folder)))
    return Shell(find_home(str(folder), {}), as_json=False, environ={**FAILED, "HOME": str(folder)})


def program(folder: Path, text: str) -> None:
    path = folder / "say"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def told(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (folder / "told.jsonl").read_text().splitlines()]


def test_every_channel_that_takes_incidents_is_told_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program(tmp_path, f'cat >"{tmp_path}/said"')
    briefs = '[channels.briefs]\nkind = "file"\npath = "briefs.md"\ntakes = ["brief"]\n'
    waits: list[float] = []
    assert tell(call(tmp_path, FILE + PROGRAM + briefs), UNIT, waits.append) == 2
    (message,) = told(tmp_path)
    assert "the configuration, or the ledger, has faults" in message["body"]
    assert "What to do: `heartbeat check`" in message["body"]
    assert UNIT in (tmp_path / "said").read_text()
    assert not (tmp_path / "briefs.md").exists()
    assert waits == [0.0]
    assert not (tmp_path / "state").exists(), "no ledger is made, or touched"
    assert capfd.readouterr().err.startswith("<1>heartbeat is down on ")


def test_a_channel_that_fails_is_tried_again_and_costs_only_itself(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    count = tmp_path / "count"
    program(tmp_path, f'echo x >>"{count}"; [ "$(wc -l <"{count}")" = 3 ]')
    assert tell(call(tmp_path, PROGRAM + FILE), UNIT, lambda _: None) == 2
    assert len(count.read_text().splitlines()) == len(PAUSES) == 3
    assert len(told(tmp_path)) == 1, "who heard it is not told again"

    program(tmp_path, "echo no line today >&2; exit 1")
    assert tell(call(tmp_path, PROGRAM), UNIT, lambda _: None) == 0
    assert "<1>not told through the channel 'program'" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("config", "count", "expected"),
    [
        (FILE + "[nonsense]\nx = 1\n", 1, "<1>the configuration has a fault"),
        (FILE + "[agent]\nkind = 5\n", 1, "agent.kind"),
        (FILE + '[channels.other]\nkind = "none"\n', 1, "<1>the configuration has a fault"),
        ("[channels.file\n", 0, "<1>the configuration cannot be read, so no channel is known"),
        ("", 0, "<1>nobody was told of it: no channel takes incidents"),
    ],
)
def test_a_broken_configuration_is_used_as_far_as_it_can_be(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], config: str, count: int, expected: str
) -> None:
    assert tell(call(tmp_path, config), UNIT, lambda _: None) == count
    assert expected in capfd.readouterr().err


@pytest.mark.parametrize(
    ("result", "status", "expected"),
    [
        ("exit-code", "5", "another heartbeat runs with the same folders"),
        ("signal", "KILL", "it was killed by KILL"),
        ("watchdog", "ABRT", "it hung"),
        ("exit-code", "243", "a credential could not be handed over"),
        ("", "", "systemd does not say why"),
    ],
)
def test_what_systemd_says_is_put_into_words(result: str, status: str, expected: str) -> None:
    title, body = words_of(UNIT, {"MONITOR_SERVICE_RESULT": result, "MONITOR_EXIT_STATUS": status})
    assert title.startswith("heartbeat is down on ")
    assert body.startswith(f"{UNIT} failed, and stays down: {expected}")
