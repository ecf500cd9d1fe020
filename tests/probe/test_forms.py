"""The forms of the answer: valid by the rules of whoever reads them, in every state, whatever a message holds."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.probe.forms import Assertion, as_json, as_nagios, as_prometheus, as_text
from heartbeat.probe.health import STATES, Health

# https://prometheus.io/docs/instrumenting/exposition_formats/
NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})\{{({LABEL}(?:,{LABEL})*)\}} (-?[0-9.]+(?:e[+-]?[0-9]+)?)")
HELP, TYPE = re.compile(rf"# HELP ({NAME}) .+"), re.compile(rf"# TYPE ({NAME}) (gauge|counter)")
# https://nagios-plugins.org/doc/guidelines.html, "Performance data"
PERFDATA = re.compile(r"'[^'=|]+'=-?[0-9.e+]+(?:s|c)?(?:;[0-9.:]*){0,4}")


def health(state: str, **fields: Any) -> Health:
    problems = (
        () if state in ("up", "absent") else (("code_a", "one | bar"), ("code_a", 'a "quote" \\'), ("code_b", "x"))
    )
    usual: dict[str, Any] = {
        "problems": problems,
        "since": 1_781_078_400.5,
        "pid": 7,
        "uptime_seconds": 123.4,
        "last_beat_at": "2026-06-10T08:00:00.000000Z",
        "recent_starts": 2,
        "restarts": 3,
        "facts": (
            ("pulse_age_seconds", 4.5),
            ("jobs", 3.0),
            ("items", 4.0),
            ("findings", 5.0),
            ("wakes", 6.0),
            ("messages", 7.0),
        ),
    }
    return Health(state, f"heartbeat is {state}", **usual | fields)


def samples(text: str) -> dict[tuple[str, str], float]:
    """What Prometheus would read, or an assertion that it would not."""
    found: dict[tuple[str, str], float] = {}
    families: list[str] = []
    lines = text.split("\n")
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("#"):
            match = HELP.fullmatch(line) or TYPE.fullmatch(line)
            assert match, line
            if line.startswith("# HELP"):
                assert match[1] not in families, "a family in two places"
                families.append(match[1])
            else:
                assert before.startswith(f"# HELP {families[-1]} ")
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        assert match[1] == families[-1]
        assert (match[1], match[2]) not in found, "twice the same sample"
        found[match[1], match[2]] = float(match[3])
    return found


@pytest.mark.parametrize("state", STATES)
def test_prometheus_reads_every_state(state: str) -> None:
    found = samples(
        as_prometheus([health(state)], [Assertion("--assert-live", "down"), Assertion("--assert-fresh a", "")])
    )
    states = {labels: value for (name, labels), value in found.items() if name == "heartbeat_state"}
    assert {f'target="heartbeat",state="{each}"': float(each == state) for each in STATES} == states
    own = 'target="heartbeat"'
    assert found["heartbeat_live", own] == (state in {"up", "degraded", "absent"})
    assert found["heartbeat_uptime_seconds", own] == 123.4
    assert found["heartbeat_pulse_age_seconds", own] == 4.5
    assert found["heartbeat_restarts_total", own] == 3
    assert found["heartbeat_recent_starts", own] == 2
    assert found["heartbeat_state_since_seconds", own] == 1_781_078_400.5
    waiting = [
        found["heartbeat_waiting", f'{own},queue="{queue}"'] for queue in ("items", "findings", "wakes", "messages")
    ]
    assert waiting == [4, 5, 6, 7]
    assert found["heartbeat_assertion", 'assertion="--assert-live"'] == 0
    assert found["heartbeat_assertion", 'assertion="--assert-fresh a"'] == 1
    if state not in ("up", "absent"):
        assert found["heartbeat_problems", f'{own},code="code_a"'] == 2
        assert found["heartbeat_problems", f'{own},code="code_b"'] == 1


def test_what_is_not_known_is_left_out() -> None:
    bare = Health("absent", "heartbeat was never started here")
    names = {name for name, _ in samples(as_prometheus([bare], []))}
    assert names == {"heartbeat_state", "heartbeat_live", "heartbeat_recent_starts"}
    assert as_nagios([bare], [])[0].endswith("| 'problems'=0;;;0 'recent_starts'=0;;;0")


def test_several_targets_are_told_apart_in_each_metric() -> None:
    both = [health("up"), health("down", target="hermes")]
    found = samples(as_prometheus(both, []))
    assert (found["heartbeat_live", 'target="heartbeat"'], found["heartbeat_live", 'target="hermes"']) == (1, 0)
    line, status = as_nagios(both, [])
    assert status == 2
    assert "'hermes_recent_starts'=2" in line
    data = json.loads(as_json(both, [], several=True))["data"]
    assert [each["target"] for each in data["targets"]] == ["heartbeat", "hermes"]


@given(st.text(), st.text(min_size=1))
def test_no_text_can_break_a_form(message: str, target: str) -> None:
    found = health("down", target=target)
    found.summary, found.problems = message, ((message, message),)
    samples(as_prometheus([found], [Assertion(message, message)]))
    line, _ = as_nagios([found, health("up")], [Assertion(message, message)])
    assert line.count("|") == 1
    assert line.isprintable()
    assert "\n" not in as_json([found], [], several=False)
    text = as_text([found])
    assert text.count("\n") == 1
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("state", "status", "word"),
    [
        ("up", 0, "OK"),
        ("degraded", 1, "WARNING"),
        ("down", 2, "CRITICAL"),
        ("stalled", 2, "CRITICAL"),
        ("flapping", 2, "CRITICAL"),
        ("absent", 3, "UNKNOWN"),
    ],
)
def test_nagios_gets_one_line_with_numbers_and_its_status(state: str, status: int, word: str) -> None:
    line, found = as_nagios([health(state)], [])
    assert found == status
    text, _, numbers = line.partition(" | ")
    assert text.startswith(f"HEARTBEAT {word} - heartbeat is {state}")
    assert "|" not in text
    parts = numbers.split(" ")
    assert all(PERFDATA.fullmatch(part) for part in parts), parts
    assert parts[:2] == ["'uptime'=123.4s;;;0", "'pulse_age'=4.5s;30;45;0"]


def test_an_assertion_that_fails_is_critical_and_named() -> None:
    line, status = as_nagios([health("up")], [Assertion("--assert-fresh vip-mail", "3 h old")])
    assert status == 2
    assert "CRITICAL" in line
    assert "--assert-fresh vip-mail: 3 h old" in line


@pytest.mark.parametrize(
    ("states", "status"),
    [(("up", "absent"), 3), (("absent", "degraded"), 1), (("degraded", "down"), 2), (("up", "up"), 0)],
)
def test_the_worst_of_several_targets_is_the_status(states: tuple[str, ...], status: int) -> None:
    assert as_nagios([health(state) for state in states], [])[1] == status


def test_people_read_the_state_since_when_and_each_problem() -> None:
    lines = as_text([health("degraded")]).split("\n")
    assert re.fullmatch(r"degraded: heartbeat is degraded \(since 2026-06-10 \d\d:\d\d:\d\d [+-]\d{4}\)", lines[0])
    assert lines[1:] == ["  code_a: one | bar", '  code_a: a "quote" \\', "  code_b: x"]


def test_programs_read_all_of_it() -> None:
    answer = json.loads(as_json([health("down")], [Assertion("--assert-live", "down: x")], several=False))
    assert (answer["schema"], answer["ok"], answer["command"], answer["error"]) == (
        "heartbeat/v1",
        True,
        "health",
        None,
    )
    data = answer["data"]
    assert (data["state"], data["live"], data["since"]) == ("down", False, "2026-06-10T08:00:00Z")
    assert data["problems"][0] == {"code": "code_a", "message": "one | bar"}
    assert data["assertions"] == [{"assertion": "--assert-live", "holds": False, "reason": "down: x"}]
    assert data["facts"]["wakes"] == 6
